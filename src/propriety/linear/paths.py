"""The regularization path: one fit for each strength of the penalty, each from the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from propriety.data.cost_terms import CostTerms
from propriety.data.parameters import choice, number
from propriety.data.training import NUMBERS, Training
from propriety.linear import solvers
from propriety.linear.classifier import LinearClassifier
from propriety.linear.descent import Run
from propriety.linear.design import Design
from propriety.linear.learning import LinearRows, linear_scores, minimize_binary
from propriety.linear.moments import moments
from propriety.linear.objective import BinaryLoss, Objective, row_losses
from propriety.linear.penalties import Penalty
from propriety.linear.settings import LinearSettings, loss_to_fit
from propriety.linear.solvers import AnyLoss
from propriety.losses import Composite
from propriety.separators.linalg import Floats


@dataclass(frozen=True)
class Path:
    """Coefficients along the path.

    Attributes
    ----------
    alphas : array of shape (m,), decreasing
    coefs : array of shape (m, K, d)
    intercepts : array of shape (m, K)
    objectives : array of shape (m,)
        The objective reached at each alpha.
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
    training = _training("path", model, X, y, sample_weight)
    settings, loss = LinearSettings.read(model), loss_to_fit(model, training.costs)
    return _follow(LinearRows.of(training), loss, settings, alphas, eps)


def _training(name: str, model: Any, X: Any, y: Any, sample_weight: Any) -> Training:
    """What the model would be fitted to, its costs included."""
    return Training.read(
        name, X, y, sample_weight, reads=NUMBERS, terms=CostTerms.of(model), stakes=model.stakes
    )


def _follow(rows: LinearRows, loss: AnyLoss, settings: LinearSettings, alphas: Any, eps: float) -> Path:
    if settings.solver.smooth is None:
        raise ValueError(
            f"a path needs one of the solvers {', '.join(solvers.SMOOTH)}, got {settings.solver.name!r}"
        )
    design = Design(rows.X, settings.intercept, settings.n_jobs, moments(rows.X, rows.weight))
    parts = row_losses(loss, rows.codes, rows.n_classes)
    none = Penalty.make(design, 0.0, 0.0)
    bare = [Objective(design, part, rows.weight, none) for part in parts]
    if isinstance(alphas, int):
        top = max(_largest(objective, settings.l1_ratio) for objective in bare)
        alphas = top * np.logspace(0, np.log10(number("eps", eps, 0, 1, above=True)), alphas)
    alphas = np.sort(np.asarray([number("alpha", a, 0) for a in alphas]))[::-1]
    solvers.check(settings.solver, loss, float(alphas[0]), settings.l1_ratio)
    thetas = [objective.start() for objective in bare]
    unit = parts[0].scale * (1.0 if isinstance(loss, Composite) or len(parts) == 1 else loss.factor)
    coefs, intercepts, objectives = [], [], []
    for alpha in alphas:
        penalty = Penalty.make(design, float(alpha), settings.l1_ratio)
        runs = [
            _run(Objective(design, part, rows.weight, penalty), theta, rows.weight, settings)
            for part, theta in zip(parts, thetas, strict=True)
        ]
        thetas = [run.point.theta for run in runs]
        coef, intercept = design.unpack(np.column_stack(thetas))
        coefs.append(coef)
        intercepts.append(intercept)
        objectives.append(unit * sum(run.point.value for run in runs))
    return Path(alphas, np.array(coefs), np.array(intercepts), np.array(objectives))


def _run(objective: Objective, theta: Floats, weight: Floats, settings: LinearSettings) -> Run:
    """From the minimum of the last alpha on; a loss that is not convex by its stations, as `fit` does."""
    loss = objective.loss
    if isinstance(loss, BinaryLoss) and not loss.composite.properties()["convex"]:
        return minimize_binary(objective.design, loss, weight, objective.penalty, settings, None)
    return settings.solver.minimize(objective, theta, settings.tol, settings.max_iter)


def _largest(objective: Objective, l1_ratio: float) -> float:
    """Alpha from which the lasso has no slopes: the largest slope of the objective at the base rate."""
    design = objective.design
    g = np.abs(objective.at(objective.start()).gradient[: design.d])
    inverse = design.slopes[:, None]
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
    >>> round(float(model.alphas_[0]), 4), round(model.alpha_, 4)
    (0.3081, 0.0168)
    >>> model.coef_.round(2)
    array([[ 1.82,  0.  ,  0.  ,  0.  , -0.09, -0.4 ,  0.  ,  0.  , -0.12, -0.27]])
    """

    def __init__(
        self,
        estimator: LinearClassifier | None = None,
        *,
        alphas: Any = 100,
        eps: float = 1e-3,
        cv: Any = 5,
        rule: str = "best",
    ) -> None:
        self.estimator = estimator
        self.alphas = alphas
        self.eps = eps
        self.cv = cv
        self.rule = rule

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose alpha on held-out rows, then fit all rows with it."""
        choice("rule", self.rule, ("best", "one_se"))
        model = clone(self.estimator) if self.estimator is not None else LinearClassifier()
        training = _training("LinearPath", model, X, y, sample_weight)
        settings, loss = LinearSettings.read(model), loss_to_fit(model, training.costs)
        whole = _follow(LinearRows.of(training), loss, settings, self.alphas, self.eps)
        cv_loss = np.array(list(self._folds(training, loss, settings, whole.alphas)))
        alpha = float(whole.alphas[_choose(cv_loss, self.rule)])
        model.set_params(alpha=alpha).fit(X, y, sample_weight)
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.alpha_, self.alphas_, self.cv_loss_, self.path_ = alpha, whole.alphas, cv_loss, whole
        self.estimator_, self.classes_ = model, model.classes_
        return self

    def _folds(
        self, training: Training, loss: AnyLoss, settings: LinearSettings, alphas: Floats
    ) -> Iterator[Floats]:
        """Mean loss of held-out rows at each alpha, fold by fold.

        Rows of weight 0 count when rows are divided, so that the folds of `cv` keep their numbers.
        """
        cv = check_cv(self.cv, training.codes, classifier=True)
        for train, test in cv.split(training.table.matrix, training.codes):
            held_out, rows = LinearRows.of(training, test), LinearRows.of(training, train)
            if len(held_out.codes) == 0:
                continue
            if len(np.unique(rows.codes)) < rows.n_classes:
                raise ValueError("cv leaves a class without training rows: use fewer or stratified folds")
            yield _held_out(held_out, loss, _follow(rows, loss, settings, alphas, 1e-3), settings.n_jobs)

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

    def decision_function(self, X: Any) -> Floats:
        """The score F."""
        return self._fitted().decision_function(X)

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes."""
        return self._fitted().predict_proba(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Decisions by the estimator's costs."""
        return self._fitted().predict(X)


def _held_out(rows: LinearRows, loss: AnyLoss, way: Path, n_jobs: int | None) -> Floats:
    """Mean loss of the rows at each alpha."""
    means = []
    for coef, intercept in zip(way.coefs, way.intercepts, strict=True):
        scores = linear_scores(rows.X, coef, intercept, n_jobs)
        if isinstance(loss, Composite):
            values = loss.value(rows.codes.astype(np.float64), scores[:, 0])
        else:
            values = loss.value(rows.codes, scores)
        means.append(np.average(values, weights=rows.weight))
    return np.array(means)


def _choose(cv_loss: Floats, rule: str) -> int:
    mean = cv_loss.mean(axis=0)
    best = int(np.argmin(mean))
    if rule == "best" or len(cv_loss) < 2:
        return best
    error = cv_loss[:, best].std(ddof=1) / np.sqrt(len(cv_loss))
    return int(np.flatnonzero(mean <= mean[best] + error)[0])
