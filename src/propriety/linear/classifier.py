"""LinearClassifier: linear models for any proper loss."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from propriety.aliases import CostTerm, Label, MatrixLike
from propriety.data.folds import read_folds, with_folds
from propriety.data.parameters import number
from propriety.data.table import Table, is_sparse
from propriety.data.training import NUMBERS, Training, n_scores_of
from propriety.distributed.dispatch import distributed_fit
from propriety.export.formula import Formula, Linear, readout_of
from propriety.linear import state, summary
from propriety.linear.learning import LinearFit, check_spread, complaint, learn, linear_scores
from propriety.linear.ordinal import learn_ordinal
from propriety.linear.row_tailoring import RowTailored, focus_of
from propriety.linear.rows import FittedLoss, LinearRows, composite_of
from propriety.linear.settings import LinearSettings, loss_to_fit
from propriety.linear.strength import N_FOLDS, cross_fit
from propriety.linear.text import scorecard
from propriety.linear.updates import update_of
from propriety.losses.simplex import OrderedLoss
from propriety.model.base import Capabilities, shares, squeezed
from propriety.model.offsets import OffsetClassifier
from propriety.separators.linalg import Floats
from propriety.separators.separation import SeparationWarning
from propriety.storage.checks import Arrays

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike
    from propriety.losses.registry import LinkLike, LossLike


class LinearClassifier(OffsetClassifier):
    r"""A linear score F = Xb + b₀ fitted to any proper loss with any link.

    It minimizes Σ wᵢ ℓ(yᵢ, p(Fᵢ))/(s Σ wᵢ) + alpha (l1_ratio ‖b‖₁ + ½ (1 − l1_ratio) ‖b‖²). The loss is
    measured in units in which stating ½ costs log 2 (s = 1 for the log loss), so that `alpha` means the same
    for ``loss`` and ``3 * loss``; for the log loss alpha is 1/(n C) of scikit-learn. The intercept is never
    penalized.

    Parameters
    ----------
    loss : loss, composite, simplex loss or str, default="auto"
        "auto" is the log loss, whatever the costs. "tailored" is ``Tailored(c)`` for
        c = fp_cost/(fp_cost + fn_cost) and, where rows have costs of their own, for the c of each row;
        "tailored(5)" has the focus 5 in the place of 10. A loss that is not convex in the score starts from
        the log loss's fit and follows a path of growing focus to its own; "tailored" stops on the way where
        more focus would let the slopes grow without bound (`loss_` says where). "bag", for two classes and
        the solver "uls", chooses among the losses of a bag as it goes, see ``linear.updates.Uls``.
    link : link or str, optional
        The loss's default link if not given; not together with a composite.
    costs : Costs, default=None
        What mistakes cost and right decisions bring: a `propriety.Costs`.
    fp_cost, fn_cost : float, pair, distribution, str or callable, default=1.0
        The short form of it: cost of a false alarm and of a miss; they decide ``predict``.
    pos_label : label, default=None
        The class whose miss costs ``fn_cost``; None is ``classes_[1]``, the last in sorted order.
    alpha : float or "cv", default=0
        Strength of the penalty. "cv" chooses it among 15 from 10 to 1e-6 by the loss on held-out rows of
        five folds, which follow the content of the rows alone; it is then the penalty of columns of unit
        standard deviation, so that units do not matter.
    l1_ratio : float in [0, 1], default=0
        0 is the ridge, 1 the lasso (fitted by proximal Newton steps), between them the elastic net.
    fit_intercept : bool, default=True
    solver : str, default="fisher"
        - "fisher": iteratively reweighted least squares with Fisher's weights and a line search, after
          quasi-Newton steps if there are too many columns for a matrix of second derivatives; where these
          weights lead slowly, the Hessian's if it is positive. "newton": with the Hessian; "lbfgs":
          quasi-Newton throughout.
        - "uls": universal linear separators: boosting of the columns of X;
          "uls_corrective", which updates all columns used so far. ``linear.updates.Uls`` has parameters.
        - Bregman-distance updates: "parallel", all coefficients at once; "sequential" and "sequential2", one
          at a time; "confidence", one with the step that is best for it; "norm", between the parallel and
          the second sequential rule by a norm, ``linear.updates.Norm(p)``, and "sphere", p = 2; "lp", where a
          linear program scales the steps (not a norm). "gis", "iis": generalized and improved iterative
          scaling, for the log loss. These and "uls" take convex losses with a margin form and no penalty.
    multiclass : {"auto", "ovr", "ordinal"}, default="auto"
        With more than two classes the loss's own form on the simplex, if it has one, or one class against the
        rest. "ordinal", for classes whose sorted order means something: one vector of slopes, and a threshold
        between each two neighbours, at which the loss is taken. Costs are then |i − j| if none are stated.
    tol : float, default=1e-8
        Largest violation of the optimality conditions that is left, for features of unit variance.
    max_iter : int, optional
        100 for "fisher", "newton" and a bag of losses, 2000 for "lbfgs", 10000 for the others.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (K, d)
    intercept_ : array of shape (1,) or (K,)
    classes_ : array
    loss_ : the composite, or the loss on the simplex, that was fitted
        If it was tailored to each row, that of a row at the mean costs.
    alpha_ : float
        The strength of the penalty.
    alphas_, cv_loss_ : arrays
        With ``alpha="cv"``, the strengths tried and the mean loss of held-out rows at each.
    oof_decision_function_ : array of shape (n,) or (n, K)
        With ``alpha="cv"``, the score of each training row by the model that was fitted to the other folds. A
        model file does not keep it.
    n_iter_ : int
    trace_ : array
        The objective before the first step and after each, in the loss's own units; it never rises. With a
        bag of losses, the cost of the decisions on the training rows.
    converged_ : bool
    report_ : the report of a run of "uls", else None
    chosen_ : tuple of composites
        With ``loss="bag"``, the loss of each round, the last of which is ``loss_``; a model file does not
        keep it.

    References
    ----------
    Buja, Stuetzle & Shen (2005), sections 9 and 12–15. Nock & Nielsen (2009), section 4. Collins, Schapire &
    Singer (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from propriety.linear import LinearClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> y = np.array([0, 1, 0, 1])
    >>> model = LinearClassifier().fit(X, y)
    >>> model.coef_.round(4), model.intercept_.round(4)
    (array([[0.9082]]), array([-1.3623]))
    >>> model.predict_proba(X)[:, 1].round(3)
    array([0.204, 0.388, 0.612, 0.796])
    >>> model.contributions(X)[3].round(4) + 0.0, model.decision_function(X)[3].round(4)
    (array([1.3623, 0.    ]), np.float64(1.3623))
    """

    capabilities: ClassVar[Capabilities] = Capabilities(soft_labels=True, groups=True)
    _reads: ClassVar[str] = NUMBERS
    coef_: Floats
    intercept_: Floats
    _centre: Floats  # means of the columns, and
    _spread: Floats  # their standard deviations, over the training rows
    _separated: str | None

    def __init__(
        self,
        loss: LossLike = "auto",
        *,
        link: LinkLike | None = None,
        costs: CostsLike | None = None,
        fp_cost: CostTerm = 1.0,
        fn_cost: CostTerm = 1.0,
        pos_label: Label | None = None,
        alpha: float | str = 0.0,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "fisher",
        multiclass: str = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.link = link
        self.costs = costs
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.pos_label = pos_label
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.multiclass = multiclass
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    @staticmethod
    def _value_of(parameter: str, text: str) -> Any:
        return update_of(text) if parameter == "solver" else OffsetClassifier._value_of(parameter, text)

    # --- fitting ----------------------------------------------------------------------------------

    @classmethod
    def table_settings(cls, n_rows: int) -> dict[str, Any]:
        """A ridge of 1/rows on columns of unit variance: scikit-learn's default for logistic regression."""
        return {"alpha": 1 / n_rows}

    @distributed_fit
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
        X : array, sparse matrix, data frame or Dask collection of shape (n, d)
            Numbers in every cell.
        y : array of shape (n,)
            Labels of any type.
            Soft labels are probabilities of class 1, K columns of probabilities, or a tuple (successes,
            trials): each row is then fitted as one weighted row of each class.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows; rows of weight 0 take no part.
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of each row, in the place of those of the constructor; a data frame has columns such as
            ``fp`` and ``fn``. ``predict`` then takes them as well.
        fp_cost, fn_cost : array of shape (n,), optional
            The short form of it.
        offset : array of shape (n,), or (n, K) for more than two classes, optional
            Added to the score of each row, with no coefficient: the log of an exposure, or the score of a
            model to improve upon, as ``decision_function`` has it: of ``classes_[1]``, whichever class is
            positive, and through the link. ``predict`` and its kin then take it as well.
        groups : array of shape (n,), optional
            Rows that belong together, such as those of a customer: the folds of ``alpha="cv"`` part no group.
        folds : array of shape (n,), optional
            The fold of each row, for ``alpha="cv"``: whole numbers from 0 on, −1 for a row that is never
            held out. By default five that follow the content of the rows.

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
        settings = LinearSettings.read(self, training.costs.mean(training.weights.array))
        loss = loss_to_fit(self, training.costs)
        rows = LinearRows.of(training, loss)
        check_spread(rows, loss, settings)
        start = self._start(training.n_features, training.n_classes)
        if folds is not None and groups is not None:
            raise ValueError("give groups or folds, not both")
        curve: dict[str, Any] = {}
        looked_at, at_cuts = rows, None
        if isinstance(loss, OrderedLoss):
            looked_at, at_cuts, fit = learn_ordinal(rows, loss, settings)
        elif settings.chosen:
            fit, settings, curve = _by_folds(training, loss, settings, folds, start)
        elif folds is not None:
            raise ValueError("folds choose the penalty, so they need alpha='cv'")
        else:
            fit = learn(rows, loss, replace(settings, found=self._fit_context.shared), start)
        warning = complaint(looked_at, at_cuts or fit, settings)
        for name in ("alphas_", "cv_loss_", "oof_decision_function_", "chosen_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._keep(
            training,
            fit.loss,
            alpha_=settings.alpha,
            **_attributes(fit),
            **curve,
            _separated=str(warning) if isinstance(warning, SeparationWarning) else None,
            _training=rows if rows.communicator.size == 1 and at_cuts is None else None,
        )
        if warning is not None:
            warnings.warn(warning, stacklevel=2)
        return self

    def _row_bytes(self, d: int, n_classes: int, n_rows: int) -> int:
        """Bytes that a row takes in a fit: its columns as floats, and scores with their derivatives."""
        return 8 * d + 8 + 32 * n_scores_of(n_classes)

    def _start(self, d: int, n_classes: int) -> tuple[Floats, Floats] | None:
        """Coefficients of the last fit, if they are to be gone on from and are of this shape."""
        shape = 1 if n_classes == 2 else n_classes, d
        if not self.warm_start or not hasattr(self, "coef_") or self.coef_.shape != shape:
            return None
        return self.coef_, self.intercept_

    # --- using the model --------------------------------------------------------------------------

    def _scores(self, table: Table) -> Floats:
        return linear_scores(table.matrix, self.coef_, self.intercept_, self.n_jobs)

    def _contributions(self, table: Table) -> Floats:
        """Coefficient times distance from the mean of the training rows; last the score of that mean."""
        X, d = table.matrix, self.n_features_in_
        parts = np.empty((table.n_rows, len(self.coef_), d + 1))
        for k, coef in enumerate(self.coef_):
            if is_sparse(X):
                parts[:, k, :d] = (X @ sparse.diags_array(coef)).toarray() - coef * self._centre
            else:
                np.multiply(X - self._centre, coef, out=parts[:, k, :d])
        parts[:, :, d] = self.intercept_ + self.coef_ @ self._centre
        return parts

    def _formula(self) -> Formula:
        return Formula(Linear(self.coef_, self.intercept_), readout_of(self.loss_, len(self.classes_)))

    def importances(self) -> Floats:
        """Size of the coefficients in standard deviations of their columns, as shares.

        Of several classes, the mean of the sizes is taken.
        """
        check_is_fitted(self)
        return shares(np.abs(self.coef_).mean(axis=0) * self._spread)

    def export_text(self, *, decimals: int = 3, class_names: Sequence[str] | None = None) -> str:
        """The model in words: a scorecard, with the points that each column adds to the score.

        `class_names` are what it calls the classes; by default the labels themselves.

        >>> model = LinearClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
        >>> print(model.export_text())
        score of 1 = -1.362
          +0.908 × x0
        <BLANKLINE>
        probability of 1 = Logit().inverse(score)
        """
        check_is_fitted(self)
        text = scorecard(self, self._schema, decimals=decimals, class_names=class_names)
        return self._as_adapted(text, class_names)

    def summary(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        eta: ArrayLike | None = None,
        level: float = 0.95,
    ) -> summary.Summary:
        """Coefficients with standard errors, z, p values and intervals; the loss beside the null model's.

        Uses the rows of the last fit, or the rows given (after unpickling, they must be given). Says when
        columns are collinear, which leaves their coefficients undetermined and without errors, and when the
        classes are separated, which leaves all errors without meaning.

        Parameters
        ----------
        eta : array of shape (n,) or "recalibrated", optional
            For two classes, the true probability of ``classes_[1]`` of each row: with it, errors that take
            the bias of the model into account [B (40)–(41)], and whether that bias makes the coefficients
            more or less stable [B (43)]. "recalibrated" puts isotonic regression on the score in the place
            of the truth, which sees bias along the score alone.
        level : float, default=0.95
            Coverage of the confidence intervals.
        """
        check_is_fitted(self)
        if isinstance(self.loss_, OrderedLoss):
            raise ValueError(
                "summary is not for ordered classes: what a row says at several thresholds is not independent"
            )
        rows: LinearRows | None = self.__dict__.get("_training")
        if X is not None:
            rows = self._rows_of(X, y, sample_weight, offset)
        if rows is None:
            raise ValueError("the rows of the fit are not stored with the model: call summary(X, y)")
        loss = self._loss_of(rows)
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))
        level = number("level", level, 0, 1)
        return summary.summarize(self, rows, loss, names, level, self._truth(rows, eta))

    def _truth(self, rows: LinearRows, eta: Any) -> Floats | None:
        """The true probabilities of class 1 that `summary` is given, or an estimate of them."""
        if eta is None:
            return None
        from propriety.evaluation import inputs, recalibrate

        if rows.n_classes != 2:
            raise ValueError(f"eta is for two classes, and there are {rows.n_classes}")
        if isinstance(eta, str):
            if eta != "recalibrated":
                raise ValueError(f"eta must be probabilities or 'recalibrated', got {eta!r}")
            F = rows.shifted(linear_scores(rows.X, self.coef_, self.intercept_, self.n_jobs))
            p = np.clip(composite_of(self._loss_of(rows)).inverse(F[:, 0]), 0.0, 1.0)
            return recalibrate(rows.codes, p, sample_weight=rows.weight)(p)
        given = inputs.probabilities(eta, "eta")
        if len(given) != len(rows.codes):
            raise ValueError(
                f"eta has {len(given)} values, and {len(rows.codes)} rows take part in the summary: give one "
                "for each row of positive weight"
            )
        return given

    def _loss_of(self, rows: LinearRows) -> FittedLoss:
        """The loss of rows: the fitted one, tailored to each row if that is how it was fitted."""
        if rows.thresholds is None or focus_of(self.loss) is None:
            return self.loss_
        return RowTailored(self.loss_.loss.cost, self.loss_.loss.focus)

    def _rows_of(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> LinearRows:
        """Rows to be summed up, which must have the columns and the classes of the fit."""
        self._table(X)
        training = self._read(X, y, sample_weight, offset=offset)
        fitted, given = self.classes_.tolist(), training.classes.tolist()
        if given != fitted:
            raise ValueError(f"y must hold the classes of the fit, {fitted}, got {given}")
        return LinearRows.of(training, loss_to_fit(self, training.costs))

    # --- keeping it -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_training"}

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return state.state_of(self)

    def _restore(self, values: dict[str, Any], arrays: Arrays) -> None:
        state.restore(self, values, arrays)


def _attributes(fit: LinearFit) -> dict[str, Any]:
    return {
        "coef_": fit.coef,
        "intercept_": fit.intercept,
        "n_iter_": max(1, fit.n_iter),
        "trace_": np.array(fit.trace),
        "converged_": fit.converged,
        "report_": fit.report,
        **({"chosen_": fit.chosen} if fit.chosen else {}),
        "_centre": fit.columns.mean,
        "_spread": fit.columns.spread,
    }


def _by_folds(
    training: Training, loss: Any, settings: LinearSettings, folds: Any, start: tuple[Floats, Floats] | None
) -> tuple[LinearFit, LinearSettings, dict[str, Any]]:
    """The fit at the penalty of least held-out loss, that penalty, and what the model keeps of the choice."""
    if folds is None:
        training, numbers = with_folds(training, N_FOLDS)
    else:
        numbers = read_folds(folds, training)
    crossed, fit = cross_fit(training, loss, settings, numbers, start)
    kept = {
        "alphas_": crossed.alphas,
        "cv_loss_": crossed.curve,
        "oof_decision_function_": squeezed(training.as_given(crossed.scores)),
    }
    return fit, replace(settings, alpha=crossed.alpha), kept
