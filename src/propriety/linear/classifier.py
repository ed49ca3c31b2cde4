"""LinearClassifier: linear models for any proper loss."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from propriety import losses
from propriety.linear import fitting, separation, summary
from propriety.linear.design import Design, Floats
from propriety.linear.table import read
from propriety.linear.tailoring import SlopeWarning
from propriety.losses import simplex
from propriety.losses.value import number
from propriety.model.base import ProperClassifier

_ITERATIONS = {"fisher": 100, "newton": 100, "lbfgs": 2000}
#: Probability from which separation is suspected.
_EXTREME = 1e-6


class LinearClassifier(ProperClassifier):
    r"""A linear score F = Xb + b₀ fitted to any proper loss with any link.

    It minimizes Σ wᵢ ℓ(yᵢ, p(Fᵢ))/(s Σ wᵢ) + alpha (l1_ratio ‖b‖₁ + ½ (1 − l1_ratio) ‖b‖²). The loss is
    measured in units in which stating ½ costs log 2 (s = 1 for the log loss), so that `alpha` means the same
    for ``loss`` and ``3 * loss``; for the log loss alpha is 1/(n C) of scikit-learn. The intercept is never
    penalized.

    Parameters
    ----------
    loss : loss, composite, simplex loss or str, default="auto"
        "auto" is ``Tailored(c)`` for c = fp_cost/(fp_cost + fn_cost) when the costs differ, else the log
        loss. A loss that is not convex in the score starts from the log loss's fit and follows a path of
        growing focus to its own; "auto" stops on the way where more focus would let the slopes grow without
        bound (`loss_` says where).
    link : link or str, optional
        The loss's default link if not given; not together with a composite.
    fp_cost, fn_cost : float, default=1
        What a false alarm and a miss cost; `predict` decides by them. For two classes.
    alpha : float, default=0
        Strength of the penalty.
    l1_ratio : float in [0, 1], default=0
        0 is the ridge, 1 the lasso (fitted by proximal Newton steps), between them the elastic net.
    fit_intercept : bool, default=True
    solver : str, default="fisher"
        - "fisher": iteratively reweighted least squares with Fisher's weights and a line search, after
          quasi-Newton steps if there are too many columns for a matrix of second derivatives; "newton": with
          the Hessian; "lbfgs": quasi-Newton throughout.
        - "uls": universal linear separators: boosting of the columns of X, see `features`.
        - "parallel", "sequential", "sequential2", "sphere", "lp": Bregman-distance updates; "gis":
          generalized iterative scaling. These and "uls" take convex losses with a margin form and no penalty.
    features : {"one", "all", "active"} or int, default="one"
        Features that a round of "uls" updates: the one of largest edge, all, all used so far and the one of
        largest edge, or as many of the largest edges.
    multiclass : {"auto", "ovr"}, default="auto"
        With more than two classes the loss's own form on the simplex, if it has one, or one class against the
        rest.
    tol : float, default=1e-8
        Largest violation of the optimality conditions that is left, for features of unit variance.
    max_iter : int, optional
        100 for "fisher" and "newton", 2000 for "lbfgs", 10000 for the others.
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
    n_iter_ : int
    trace_ : array
        The objective before the first step and after each, times s: the mean loss in the loss's own units,
        plus s times the penalty. It never rises.
    converged_ : bool
    report_ : the report of a run of "uls", else None

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
    """

    def __init__(
        self,
        loss="auto",
        *,
        link=None,
        fp_cost=1.0,
        fn_cost=1.0,
        alpha=0.0,
        l1_ratio=0.0,
        fit_intercept=True,
        solver="fisher",
        features="one",
        multiclass="auto",
        tol=1e-8,
        max_iter=None,
        warm_start=False,
        n_jobs=None,
    ):
        self.loss = loss
        self.link = link
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.features = features
        self.multiclass = multiclass
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- fitting --------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of shape (n,)
            Labels of any type.
        sample_weight : array of shape (n,), optional
            A row of weight k counts as k rows.

        Returns
        -------
        self
        """
        settings = self._settings()
        start = self._start() if self.warm_start else None
        data = self._data(X, y, sample_weight)
        loss = self._loss(data.n_classes)
        fitted = fitting.fit(data, loss, settings, start)
        loss = loss if fitted.loss is None else fitted.loss
        self.classes_, self.loss_, self.report_ = data.classes, loss, fitted.report
        self.coef_, self.intercept_ = fitted.coef, fitted.intercept
        self.n_iter_, self.converged_ = max(1, fitted.n_iter), fitted.converged
        self.trace_ = fitting.unit(loss, data.n_classes, settings.solver) * np.array(fitted.trace)
        self._training, self._separated = data, None
        self._warn(data, fitted, settings)
        return self

    def _settings(self) -> fitting.Settings:
        alpha = number("alpha", self.alpha, 0, np.inf, closed="left")
        ratio = number("l1_ratio", self.l1_ratio, 0, 1, closed="both")
        if self.solver not in fitting.SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(fitting.SOLVERS)}, got {self.solver!r}")
        if self.solver == "lbfgs" and alpha * ratio > 0:
            raise ValueError("solver='lbfgs' has no L1 penalty: use solver='fisher' or l1_ratio=0")
        if self.multiclass not in ("auto", "ovr"):
            raise ValueError(f"multiclass must be 'auto' or 'ovr', got {self.multiclass!r}")
        whole = (
            isinstance(self.features, Integral) and not isinstance(self.features, bool) and self.features > 0
        )
        if self.features not in ("one", "all", "active") and not whole:
            raise ValueError(
                f"features must be 'one', 'all', 'active' or a positive integer, got {self.features!r}"
            )
        most = _ITERATIONS.get(self.solver, 10_000) if self.max_iter is None else self.max_iter
        if not isinstance(most, Real) or most < 1:
            raise ValueError(f"max_iter must be a positive integer or None, got {self.max_iter!r}")
        tol = number("tol", self.tol, 0, np.inf)
        return fitting.Settings(
            self.solver,
            alpha,
            ratio,
            bool(self.fit_intercept),
            tol,
            int(most),
            int(self.features) if whole else self.features,
            self.n_jobs,
            isinstance(self.loss, str) and self.loss == "auto",
        )

    def _start(self) -> tuple[Floats, Floats] | None:
        return (self.coef_, self.intercept_) if hasattr(self, "coef_") else None

    def _data(self, X, y, sample_weight) -> fitting.Data:
        """Check everything that was given."""
        X, y = read(self, X, y)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y has only one class, {classes[0]!r}: a classifier needs at least two classes")
        weight = np.ones(len(codes))
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if np.any(weight == 0):
                X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
            if len(np.unique(codes)) < len(classes):
                raise ValueError("a class has no row of positive weight: every class in y needs one")
        return fitting.Data(X, codes, weight, classes)

    def _loss(self, n_classes: int) -> Any:
        """The composite to fit, or for more than two classes the loss on the simplex."""
        cost = self._threshold()
        if n_classes > 2 and (self.fp_cost, self.fn_cost) != (1, 1):
            raise ValueError(f"fp_cost and fn_cost are for two classes, got {n_classes} classes")
        loss = losses.parse(self.loss) if isinstance(self.loss, str) and self.loss != "auto" else self.loss
        if isinstance(loss, simplex.SimplexLoss):
            if self.link is not None:
                raise ValueError(f"loss={loss!r} has a link already; give link=None")
            return loss if n_classes > 2 else loss.binary
        tailored = losses.Tailored(cost) if cost != 0.5 and n_classes == 2 else None
        composite = self._resolve_composite(tailored)
        if n_classes == 2:
            return composite
        if self.multiclass == "ovr":
            return simplex.OneVsRest(composite)
        own = composite.link == losses.links.Logit() and composite == composite.loss.composite()
        return simplex.of(composite.loss if own else composite)

    def _warn(self, data: fitting.Data, fitted: fitting.Fit, settings: fitting.Settings) -> None:
        if settings.alpha == 0:
            said = self._separation(data, fitted)
            if said is not None:
                self._separated = said
                warnings.warn(said, separation.SeparationWarning, stacklevel=3)
                return
            if fitted.ran_off:
                warnings.warn(
                    f"{self.loss_!r} is not convex, and its slopes grew without bound: with this focus a "
                    "steep step costs less than any sloping fit. Lower the focus, or set alpha > 0 to shrink "
                    "the slopes",
                    SlopeWarning,
                    stacklevel=3,
                )
                return
        if not fitted.converged:
            warnings.warn(
                f"solver {settings.solver!r} stopped after {fitted.n_iter} steps with a gradient of "
                f"{fitted.gap:.2g} (tol={settings.tol:.2g}): raise max_iter or tol"
                + (", or set alpha > 0" if settings.alpha == 0 else ""),
                ConvergenceWarning,
                stacklevel=3,
            )

    def _separation(self, data: fitting.Data, fitted: fitting.Fit) -> str | None:
        """Words on separation, looked for when a probability is next to 0 or 1, or no end is reached."""
        if fitted.converged and fitted.span is not None and isinstance(self.loss_, losses.Composite):
            low, high = self.loss_.inverse(np.array(fitted.span))
            if low > _EXTREME and 1 - high > _EXTREME:
                return None
        scores = self._scores(data.X)
        for k in range(scores.shape[1]):
            if isinstance(self.loss_, losses.Composite):
                own, p = data.y == 1, self.loss_.inverse(scores[:, 0])
            else:
                own, p = data.y == k, self.loss_.inverse(scores)[:, k]
            right = np.where(own, p, 1 - p)
            if fitted.converged and np.max(right) < 1 - _EXTREME:
                continue
            said = separation.message(data.X, own, right - 0.5, bool(self.fit_intercept))
            if said is not None:
                return said
        return None

    # -- using the model ------------------------------------------------------------------------------

    def _scores(self, X) -> Floats:
        design = Design(X, np.ones(X.shape[0]), True, self.n_jobs, standardize=False)
        return design.scores(np.vstack([self.coef_.T, self.intercept_]))

    def decision_function(self, X) -> Floats:
        """The score F: of shape (n,) for two classes, (n, K) for more."""
        check_is_fitted(self)
        scores = self._scores(read(self, X, reset=False))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X) -> Floats:
        """Probabilities of the classes, of shape (n, K), through the link."""
        F = self.decision_function(X)
        if F.ndim == 2:
            return self.loss_.inverse(F)
        p = np.asarray(self.loss_.inverse(F))
        return np.column_stack([1 - p, p])

    def summary(self, X=None, y=None, sample_weight=None, *, level=0.95) -> summary.Summary:
        """Coefficients with standard errors, z, p values and intervals; the loss beside the null model's.

        Uses the rows of the last fit, or the rows given (after unpickling, they must be given). Says when
        columns are collinear, which leaves their coefficients undetermined and without errors, and when the
        classes are separated, which leaves all errors without meaning.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the confidence intervals.
        """
        check_is_fitted(self)
        if X is not None:
            data = self._data(X, y, sample_weight)
        else:
            data = self.__dict__.get("_training")
            if data is None:
                raise ValueError("the rows of the fit are not stored with the model: call summary(X, y)")
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))
        return summary.summarize(self, data, names, number("level", level, 0, 1))

    def __getstate__(self):
        return {key: value for key, value in super().__getstate__().items() if key != "_training"}
