"""KernelClassifier: smooth scores for any proper loss."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from propriety.aliases import CostTerm, Label, MatrixLike, RandomState
from propriety.data.folds import read_folds, with_folds
from propriety.data.table import Table
from propriety.data.training import Training
from propriety.export.formula import Formula, Kernel, readout_of
from propriety.kernel import state
from propriety.kernel.features import LIMIT, read, scores_of
from propriety.kernel.learning import fit_kernel
from propriety.kernel.settings import KernelSettings, settings_of
from propriety.kernel.shapley import contributions
from propriety.linear.strength import N_FOLDS
from propriety.model.base import Capabilities, names_of_classes, shares, squeezed
from propriety.model.fitted_loss import fitted_loss
from propriety.model.offsets import OffsetClassifier
from propriety.storage.checks import Arrays

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike
    from propriety.losses.registry import LinkLike, LossLike

Floats = NDArray[np.float64]


class KernelClassifier(OffsetClassifier):
    r"""A smooth score for any proper loss: a sum of Gaussians around rows of the training table.

    F(x) = b + Σⱼ aⱼ exp(−½ ‖z(x) − lⱼ‖²/(width² D)), with z the standardized columns, lⱼ the landmarks and D
    the mean squared distance of two training rows. It minimizes the mean loss + ½ alpha · ‖F − b‖², the norm
    being that of the kernel's space: kernel logistic regression for the log loss, restricted to the span of
    the landmarks (Nyström features). The loss is measured in units as in `LinearClassifier`.

    Missing numbers are filled with the median and marked; categories become indicators. Landmarks are drawn
    by what rows hold, so that neither the order of the rows nor their weights matter for the draw.

    Parameters
    ----------
    loss : loss, composite, simplex loss or str, default="auto"
        "auto" is the log loss, whatever the costs.
    link : link or str, default=None
        The loss's default link if not given; not together with a composite.
    costs : Costs, default=None
        What mistakes cost and right decisions bring: a `propriety.Costs`.
    fp_cost, fn_cost : float, pair, distribution, str or callable, default=1.0
        The short form of it: cost of a false alarm and of a miss; they decide ``predict``.
    pos_label : label, default=None
        The class whose miss costs ``fn_cost``; None is ``classes_[1]``, the last in sorted order.
    n_landmarks : int, default=300
        Distinct rows that become landmarks, or all of them if there are fewer. Above 100,000 rows there are
        fewer landmarks, so that memory is bounded.
    width : float or "cv", default="cv"
        Width of the Gaussian. "cv" goes from 2 over 1 and 0.5 to 0.25 while the loss on held-out rows of five
        folds falls; above 3,000 distinct rows these choose it.
    alpha : float or "cv", default="cv"
        Strength of the ridge. "cv" takes the best of nine from 0.1 to 2.5e-7 by the same folds; of many rows,
        all choose once more among its neighbours.
    categorical_features : "from_dtype", None, mask or list of columns, default="from_dtype"
    multiclass : {"auto", "ovr"}, default="auto"
        With more than two classes the loss's own form on the simplex, if it has one, or one class against the
        rest.
    tol : float, default=1e-6
        Largest violation of the optimality conditions that is left, for features of unit variance.
    n_jobs : int, default=None
        Threads; None means all cores.
    random_state : int, RandomState or None, default=None
        Of the draw of the landmarks. None is 0.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    landmarks_ : array of shape (m, terms)
        The landmarks, in standardized columns.
    dual_coef_ : array of shape (1, m) or (K, m)
    intercept_ : array of shape (1,) or (K,)
    width_, alpha_ : float
        Those that were given or chosen.
    widths_, alphas_, cv_loss_ : arrays
        What folds chose from, and the mean loss of held-out rows, of shape (widths, alphas); NaN for pairs
        that were not tried, because a wider Gaussian or a stronger ridge lost less.
    oof_decision_function_ : array of shape (n,) or (n, K)
        If folds chose, the score of each training row by the model that was fitted to the other folds. A
        model file does not keep it.

    References
    ----------
    Williams & Seeger (2001), Using the Nyström method to speed up kernel machines. Zhu & Hastie (2005),
    Kernel logistic regression and the import vector machine.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from propriety import KernelClassifier
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> model = KernelClassifier(fp_cost=1, fn_cost=4).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.dual_coef_.shape
    (True, (1, 300))
    """

    capabilities: ClassVar[Capabilities] = Capabilities(groups=True)

    def __init__(
        self,
        loss: LossLike = "auto",
        *,
        link: LinkLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        n_landmarks: int = 300,
        width: float | str = "cv",
        alpha: float | str = "cv",
        categorical_features: ArrayLike | None = "from_dtype",
        multiclass: str = "auto",
        tol: float = 1e-6,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.loss = loss
        self.link = link
        self.costs = costs
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.pos_label = pos_label
        self.n_landmarks = n_landmarks
        self.width = width
        self.alpha = alpha
        self.categorical_features = categorical_features
        self.multiclass = multiclass
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --- fitting ----------------------------------------------------------------------------------

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        folds: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            NaN is missing.
        y : array of shape (n,)
            Labels of any type.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows; rows of weight 0 take no part.
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of each row, in the place of those of the constructor; a data frame has columns such as
            ``fp`` and ``fn``. ``predict`` then takes them as well.
        fp_cost, fn_cost : array of shape (n,), optional
            The short form of it.
        offset : array of shape (n,), or (n, K) for more than two classes, optional
            Added to the score of each row, as in `LinearClassifier`.
        groups : array of shape (n,), optional
            Rows that belong together: the folds part no group.
        folds : array of shape (n,), optional
            The fold of each row: whole numbers from 0 on, −1 for a row that is never held out. By default
            five that follow the content of the rows.

        Returns
        -------
        self
        """
        training = self._read(
            X,
            y,
            sample_weight,
            costs=costs,
            fp_cost=fp_cost,
            fn_cost=fn_cost,
            offset=offset,
            groups=groups,
        )
        settings = settings_of(self)
        loss = fitted_loss(self.loss, self.link, training.n_classes, multiclass=self.multiclass)
        if folds is not None and groups is not None:
            raise ValueError("give groups or folds, not both")
        parted, numbers = _folds(training, settings, folds)
        if numbers is None:
            settings = settings.without_folds(training.weights.total)
        found = fit_kernel(parted, loss, settings, numbers)
        for name in ("widths_", "alphas_", "cv_loss_", "oof_decision_function_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        chosen = {}
        if found.curve is not None:
            chosen = {"widths_": settings.widths, "alphas_": settings.alphas, "cv_loss_": found.curve}
        if found.scores is not None:
            chosen["oof_decision_function_"] = squeezed(parted.as_given(found.scores))
        self._keep(
            training,
            loss,
            dual_coef_=found.coef,
            intercept_=found.intercept,
            width_=found.width,
            alpha_=found.alpha,
            _landmarks=found.landmarks,
            **chosen,
        )
        if not found.fit.converged:
            warnings.warn(
                ConvergenceWarning(
                    f"the fit stopped after {found.fit.n_iter} steps with a gradient of {found.fit.gap:.2g} "
                    f"(tol={self.tol:.2g}): raise tol or alpha"
                ),
                stacklevel=2,
            )
        return self

    # --- using the model --------------------------------------------------------------------------

    @property
    def landmarks_(self) -> Floats:
        """The landmarks, of shape (m, terms), in standardized columns."""
        check_is_fitted(self, "_landmarks")
        return self._landmarks.points

    @property
    def _rate(self) -> float:
        return self._landmarks.rate(self.width_)

    def _numbers(self, table: Table) -> Floats:
        return read(self._landmarks.numbers, table, self._schema)

    def _scores(self, table: Table) -> Floats:
        Z = self._numbers(table)
        return scores_of(Z, self._landmarks.points, self._rate, self.dual_coef_.T) + self.intercept_

    def _formula(self) -> Formula:
        kernel = Kernel(
            self._landmarks.numbers,
            LIMIT,
            self._landmarks.points,
            self._rate,
            self.dual_coef_,
            self.intercept_,
        )
        return Formula(kernel, readout_of(self.loss_, len(self.classes_)))

    # --- reading it -------------------------------------------------------------------------------

    def _contributions(self, table: Table) -> Floats:
        """Shapley values of the product of the columns' kernels, the mean over training rows last."""
        Z, d = self._numbers(table), self.n_features_in_
        return contributions(Z, self._landmarks, self._rate, self.dual_coef_, self.intercept_, d)

    def importances(self) -> Floats:
        """Mean size of the contributions at the landmarks, as shares."""
        check_is_fitted(self, "_landmarks")
        landmarks, d = self._landmarks, self.n_features_in_
        points = landmarks.points
        parts = contributions(points, landmarks, self._rate, self.dual_coef_, self.intercept_, d)
        sizes = np.abs(parts[:, :, :-1]).mean(axis=1)
        return shares(landmarks.weight @ sizes / landmarks.weight.sum())

    def export_text(self, *, class_names: Sequence[str] | None = None) -> str:
        """The model in words: its formula, what was chosen, and how much each column counts.

        `class_names` are what it calls the classes; by default the labels themselves.

        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
        >>> print(KernelClassifier(width=1.0, alpha=0.1).fit(X, y).export_text())
        score of 1 = 0 + a sum of 4 Gaussians of width 1, around rows of the training table
        width in units of the root mean squared distance of two rows; ridge 0.1
        importance of the columns: x0 100%
        probability of 1 = Logit().inverse(score)
        """
        check_is_fitted(self, "_landmarks")
        names = names_of_classes(self.classes_, class_names)
        names = names[1:] if len(names) == 2 else names
        m = len(self._landmarks.points)
        lines = [
            f"score of {name} = {round(float(intercept), 3) + 0.0:g} + a sum of {m} Gaussians of width "
            f"{self.width_:g}, around rows of the training table"
            for name, intercept in zip(names, self.intercept_, strict=True)
        ]
        lines.append(f"width in units of the root mean squared distance of two rows; ridge {self.alpha_:.3g}")
        if "cv_loss_" in vars(self):
            lines[-1] += (
                f", which has a mean loss of {np.nanmin(self.cv_loss_):.4g} on rows held out by folds"
            )
        each = self.importances()
        order = np.argsort(-each, kind="stable")[:10]
        listed = ", ".join(f"{self._schema.labels[f]} {each[f]:.0%}" for f in order if each[f] > 0)
        lines.append(f"importance of the columns: {listed or 'none'}")
        link = "probabilities = softmax of the scores"
        if len(names) == 1:
            link = f"probability of {names[0]} = {self.loss_.link!r}.inverse(score)"
        return self._as_adapted("\n".join([*lines, link]), class_names)

    # --- keeping it -------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return state.state_of(self)

    def _restore(self, values: dict[str, Any], arrays: Arrays) -> None:
        state.restore(self, values, arrays)


def _folds(
    training: Training, settings: KernelSettings, folds: Any
) -> tuple[Training, NDArray[np.intp] | None]:
    """The rows in their folds; no folds if nothing is to be chosen, or if too few rows differ."""
    if folds is not None:
        return training, read_folds(folds, training)
    if not settings.chosen:
        return training, None
    parted, numbers = with_folds(training, N_FOLDS)
    return (parted, numbers) if len(np.unique(numbers[numbers >= 0])) > 1 else (training, None)
