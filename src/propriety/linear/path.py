"""The regularization path: one fit for each strength of the penalty, each from the one before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from propriety import losses
from propriety.linear import fitting
from propriety.linear.classifier import LinearClassifier
from propriety.linear.design import Design, Floats
from propriety.linear.objective import BinaryLoss, Objective, SimplexRows
from propriety.linear.penalties import Penalty
from propriety.linear.solve import Run, solve
from propriety.losses.value import number


@dataclass(frozen=True)
class Path:
    """Coefficients along the path.

    Attributes
    ----------
    alphas : array of shape (m,), decreasing
    coefs : array of shape (m, K, d)
    intercepts : array of shape (m, K)
    objectives : array of shape (m,)
        The objective reached at each alpha, in the units of ``LinearClassifier.trace_``.
    """

    alphas: Floats
    coefs: Floats
    intercepts: Floats
    objectives: Floats


def path(
    model: LinearClassifier,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    alphas: Any = 100,
    eps: float = 1e-3,
) -> Path:
    """Fit `model` for a falling sequence of alphas, each fit starting from the one before.

    A loss that is not convex is reached by growing focus at every alpha, so that each point of the path is
    the fit at its alpha, whatever the other alphas.

    Parameters
    ----------
    model : LinearClassifier
        With a smooth solver; its own `alpha` is ignored.
    alphas : int or array, default=100
        The values, or how many: then from the alpha at which all slopes are 0 (for the ridge, a thousand
        times what the lasso would need) down to `eps` times that, evenly in the logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety.linear import LinearClassifier, path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 5))
    >>> y = X[:, 0] + rng.standard_normal(200) > 0
    >>> way = path(LinearClassifier(l1_ratio=1.0), X, y, alphas=20)
    >>> int(np.count_nonzero(way.coefs[0])), int(np.count_nonzero(way.coefs[-1]))
    (0, 5)
    """
    model = clone(model)
    settings, data = model._settings(), model._data(X, y, sample_weight)
    if settings.solver not in fitting.SMOOTH:
        raise ValueError(
            f"a path needs one of the solvers {', '.join(fitting.SMOOTH)}, got {settings.solver!r}"
        )
    loss = model._loss(data.n_classes)
    design = Design(data.X, data.weight, settings.intercept, settings.n_jobs)
    problems = _problems(design, loss, data)
    if isinstance(alphas, int):
        top = max(_largest(problem, settings.l1_ratio) for problem in problems)
        alphas = top * np.logspace(0, np.log10(number("eps", eps, 0, 1)), alphas)
    alphas = np.sort(np.asarray([number("alpha", a, 0, np.inf, closed="left") for a in alphas]))[::-1]
    unit = fitting.unit(loss, data.n_classes, settings.solver)
    thetas = [problem.start() for problem in problems]
    coefs, intercepts, objectives = [], [], []
    for alpha in alphas:
        penalty, values = Penalty.make(design, float(alpha), settings.l1_ratio), []
        for k, problem in enumerate(problems):
            now = Objective(design, problem.loss, data.weight, penalty)
            run = _run(now, thetas[k], data.weight, settings)
            thetas[k] = run.point.theta
            values.append(run.point.value)
        coef, intercept = design.unpack(np.column_stack(thetas))
        coefs.append(coef)
        intercepts.append(intercept)
        objectives.append(unit * sum(values))
    return Path(alphas, np.array(coefs), np.array(intercepts), np.array(objectives))


def _run(problem: Objective, theta: Floats, weight: Floats, settings: fitting.Settings) -> Run:
    """From the minimum of the last alpha on; a loss that is not convex by its stations, as `fit` does."""
    rows = problem.loss
    if isinstance(rows, BinaryLoss) and not rows.composite.properties()["convex"]:
        penalty = problem.penalty
        return fitting.fit_binary(problem.design, rows.y, weight, rows.composite, penalty, settings, None)
    return solve(problem, theta, settings.solver, settings.tol, settings.max_iter)


def _problems(design: Design, loss: Any, data: fitting.Data) -> list[Objective]:
    """The problem, or one for each class against the rest, without a penalty."""
    none = Penalty.make(design, 0.0, 0.0)
    if isinstance(loss, losses.Composite):
        rows: list[Any] = [BinaryLoss(loss, data.y.astype(np.float64))]
    elif loss.one_vs_rest is not None:
        rows = [BinaryLoss(loss.one_vs_rest, (data.y == k).astype(np.float64)) for k in range(data.n_classes)]
    else:
        rows = [SimplexRows(loss, data.y, data.n_classes)]
    return [Objective(design, r, data.weight, none) for r in rows]


def _largest(problem: Objective, l1_ratio: float) -> float:
    """Alpha from which the lasso has no slopes: the largest slope of the objective at the base rate."""
    design = problem.design
    g = np.abs(problem.at(problem.start()).gradient[: design.d])
    inverse = design.inverse_scale[:, None]
    raw = np.divide(g, inverse, out=np.zeros_like(g), where=inverse > 0)
    return float(raw.max(initial=0.0)) / max(l1_ratio, 1e-3) or 1.0


class LinearPath(ClassifierMixin, BaseEstimator):
    """A linear model whose penalty is chosen by cross-validation along the path.

    Parameters
    ----------
    estimator : LinearClassifier, optional
        The model; its `alpha` is what is chosen.
    alphas : int or array, default=100
        Values to try, or how many between the one without slopes and `eps` times it.
    eps : float, default=1e-3
    cv : int, splitter or iterable, default=5
    rule : {"best", "one_se"}, default="best"
        The alpha of least mean loss on held-out rows, or the largest within one standard error of it.

    Attributes
    ----------
    alpha_ : float
    alphas_ : array of shape (m,)
    cv_loss_ : array of shape (folds, m)
        Mean loss of held-out rows, the loss being the one that is fitted.
    path_ : Path
        The path on all rows.
    estimator_ : LinearClassifier
        The model fitted to all rows with `alpha_`.

    Examples
    --------
    >>> import numpy as np
    >>> from propriety.linear import LinearClassifier, LinearPath
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 10))
    >>> y = X[:, 0] + rng.standard_normal(200) > 0
    >>> model = LinearPath(LinearClassifier(l1_ratio=1.0), alphas=20).fit(X, y)
    >>> bool(0 < model.alpha_ < model.alphas_[0])
    True
    """

    def __init__(self, estimator=None, *, alphas=100, eps=1e-3, cv=5, rule="best"):
        self.estimator = estimator
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.rule = rule

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Choose alpha on held-out rows, then fit all rows with it."""
        if self.rule not in ("best", "one_se"):
            raise ValueError(f"rule must be 'best' or 'one_se', got {self.rule!r}")
        model = clone(self.estimator) if self.estimator is not None else LinearClassifier()
        data = model._data(X, y, None)
        if sample_weight is not None:
            # Rows of weight 0 stay, so that the folds of `cv` keep their numbers.
            model._data(X, y, sample_weight)
            data = replace(data, weight=np.asarray(sample_weight, dtype=np.float64) * np.ones(len(data.y)))
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        whole = path(model, data.X, data.y, data.weight, alphas=self.alphas, eps=self.eps)
        folds = []
        for train, test in check_cv(self.cv, data.y, classifier=True).split(data.X, data.y):
            if data.weight[test].sum() > 0:
                way = path(model, data.X[train], data.y[train], data.weight[train], alphas=whole.alphas)
                folds.append(self._held_out(model, data, test, way))
        self.cv_loss_ = np.array(folds)
        self.alphas_, self.path_ = whole.alphas, whole
        self.alpha_ = float(whole.alphas[self._choose()])
        model.set_params(alpha=self.alpha_).fit(X, y, sample_weight)
        self.estimator_, self.classes_ = model, model.classes_
        return self

    @staticmethod
    def _held_out(model: LinearClassifier, data: fitting.Data, test: np.ndarray, way: Path) -> Floats:
        """Mean loss of the held-out rows at each alpha."""
        loss = model._loss(data.n_classes)
        design = Design(data.X[test], data.weight[test], True, model.n_jobs, standardize=False)
        result = []
        for coef, intercept in zip(way.coefs, way.intercepts, strict=True):
            F = design.scores(np.vstack([coef.T, intercept]))
            if isinstance(loss, losses.Composite):
                values = loss.value(data.y[test].astype(np.float64), F[:, 0])
            else:
                values = loss.value(data.y[test], F)
            result.append(np.average(values, weights=data.weight[test]))
        return np.array(result)

    def _choose(self) -> int:
        mean = self.cv_loss_.mean(axis=0)
        best = int(np.argmin(mean))
        if self.rule == "best" or len(self.cv_loss_) < 2:
            return best
        error = self.cv_loss_[:, best].std(ddof=1) / np.sqrt(len(self.cv_loss_))
        return int(np.flatnonzero(mean <= mean[best] + error)[0])

    def _fitted(self) -> LinearClassifier:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    @property
    def coef_(self) -> Floats:
        """Coefficients at `alpha_`."""
        return self._fitted().coef_

    @property
    def intercept_(self) -> Floats:
        """Intercepts at `alpha_`."""
        return self._fitted().intercept_

    def decision_function(self, X) -> Floats:
        """The score F."""
        return self._fitted().decision_function(X)

    def predict_proba(self, X) -> Floats:
        """Probabilities of the classes."""
        return self._fitted().predict_proba(X)

    def predict(self, X):
        """Decisions by the estimator's costs."""
        return self._fitted().predict(X)
