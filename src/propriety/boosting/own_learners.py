"""A weak learner of the user's own: the oracle that boosting asks in every round. [C §2, §6] [B §10]

Any classifier or regressor of scikit-learn that takes weights, or any at all where rows are filtered. A round
fits a copy of it to every score:

- a classifier to the signs of −g with weights |g|, g the gradient; it adds ±1 ("sign") or 2P − 1
  ("gradient"), P its probability of the sign +;
- a regressor to −g/h with weights h ("fisher", "newton", h the curvature), or to the signs as above.

What it adds is multiplied by a coefficient of the rules in `coefficients`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

from propriety.boosting import coefficients
from propriety.boosting.algorithm import Algorithm, algorithm_of
from propriety.boosting.compatibility import check_coefficient
from propriety.boosting.learning import shifted
from propriety.boosting.objective import Objective, objective_of
from propriety.boosting.reach import Reach
from propriety.communicator import refuse_if_spread
from propriety.data.parameters import Parameters
from propriety.data.streamed import StreamedTable
from propriety.data.table import Schema, Table, encoders
from propriety.data.training import Training
from propriety.trees.fixed_point import row_weights
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.boosting.classifier import BoostingClassifier
    from propriety.losses import Composite
    from propriety.losses.simplex import SimplexLoss

Floats = NDArray[np.float64]
#: Rounds, learning rate and the bound of a step where they are left to us.
_ROUNDS, _RATE, _MAX_STEP = 100, 0.1, 1.5
_FLAT = 1e-10  # of the largest curvature: rows of less have no working response
_SEEDS = np.iinfo(np.int32).max
#: Log-odds at which the slope of a loss is looked at to see whether it has a bound.
_NEAR, _FAR = 30.0, 300.0
#: Parameters that matter here; all others are those of the library's own learners, or need their folds.
_FOR_OWN = {
    "algorithm", "categorical_features", "costs", "fn_cost", "fp_cost", "learning_rate", "link", "loss",
    "max_iter", "max_step", "multiclass", "n_jobs", "pos_label", "random_state", "subsample",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class OwnLearner:
    """A fitted estimator, what is read of it, and the coefficient; ``limit`` bounds what it says."""

    estimator: Any
    reads: str  # "sign", "vote" (2P − 1) or "value"
    factor: float = 1.0
    limit: float = np.inf

    def says(self, X: Floats) -> Floats:
        """h of each row, before the coefficient."""
        if self.reads == "vote":
            positive = int(np.flatnonzero(self.estimator.classes_ == 1)[0])
            return 2.0 * np.asarray(self.estimator.predict_proba(X), dtype=np.float64)[:, positive] - 1.0
        values = np.asarray(self.estimator.predict(X), dtype=np.float64).reshape(len(X))
        if not np.isfinite(values).all():
            raise ValueError(
                f"the weak learner {self.estimator!r} predicts values that are no finite numbers"
            )
        if self.reads == "sign":
            return np.where(values > 0, 1.0, -1.0)
        return np.clip(values, -self.limit, self.limit)


@dataclass(frozen=True, eq=False)
class OwnLearners:
    """Learners in the order of their rounds; learner t adds to the score number t mod ``n_scores``.

    It has the methods of ``Forest`` by which scores are made.
    """

    learner: Any  # not fitted
    items: tuple[OwnLearner, ...]
    n_scores: int

    def __len__(self) -> int:
        return len(self.items)

    def add_scores(
        self, X: NDArray[np.floating], scores: Floats, n_jobs: int, first: int = 0, last: int | None = None
    ) -> None:
        """Add the learners first … last−1 (default: all) to ``scores``, (n, n_scores)."""
        values = np.asarray(X, dtype=np.float64)
        for t in range(first, len(self.items) if last is None else last):
            item = self.items[t]
            if item.factor != 0:
                scores[:, t % self.n_scores] += item.factor * item.says(values)


def numbers(table: Table, schema: Schema) -> Floats:
    """The table as the learners read it: an array of numbers, NaN where a value is missing."""
    chosen = [schema.labels[f] for f, values in enumerate(schema.categories) if values is not None]
    if chosen:
        raise ValueError(
            f"a weak learner of your own reads numbers, and column {chosen[0]!r} is categorical: encode it "
            "before, for example by a OneHotEncoder in a pipeline"
        )
    parts = [np.array(values, dtype=np.float64) for _, _, values in table.chunks(no_encoders(schema))]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def no_encoders(schema: Schema) -> list[Any]:
    """Of a table whose columns are all numbers."""
    return encoders([None] * len(schema.categories))


@dataclass(frozen=True)
class OwnSettings:
    """The parameters of a fit with a learner of the user's own, checked."""

    algorithm: Algorithm
    reads: str
    filters: bool
    rounds: int
    rate: float
    max_step: float | None
    seed: int

    @classmethod
    def of(cls, model: BoostingClassifier, seed: int) -> OwnSettings:
        """The parameters of a BoostingClassifier whose weak learner is an estimator."""
        given, algorithm = Parameters(model), algorithm_of(model.algorithm)
        learner, defaults = algorithm.weak_learner, type(model)().get_params(deep=False)
        for name in [name for name in defaults if name not in _FOR_OWN]:
            value = getattr(model, name)
            same = isinstance(value, type(defaults[name])) and value == defaults[name]
            if value is not defaults[name] and not same:
                raise ValueError(
                    f"{name}={value!r} is for the library's own weak learners, and weak_learner is "
                    f"{learner!r}: set what it has in the learner itself, and leave {name} out"
                )
        filters = _filters(model)
        if not filters and not has_fit_parameter(learner, "sample_weight"):
            raise TypeError(
                f"{type(learner).__name__}.fit takes no sample_weight, by which a round tells it what "
                "matters; with subsample='filter' it is given rows that are drawn by their weights instead"
            )
        rounds = _ROUNDS
        if not (isinstance(model.max_iter, str) and model.max_iter == "auto"):
            if isinstance(model.max_iter, str):
                raise ValueError(
                    f"max_iter={model.max_iter!r} finds the rounds by folds, which is for the library's own "
                    "weak learners; give a number, or search for it with GridSearchCV"
                )
            rounds = given.number("max_iter", 0, whole=True)
        free = algorithm.regularized
        rate = given.number_or_auto("learning_rate", _RATE if free else 1.0, 0, above=True)
        max_step = _MAX_STEP if free else None
        if not (isinstance(model.max_step, str) and model.max_step == "auto"):
            max_step = given.number_or_none("max_step", 0, above=True)
        given.choice("multiclass", ("auto", "ovr"))
        if algorithm.coefficient == "corrective" and (rate != 1 or max_step is not None):
            raise ValueError(
                "coefficient='corrective' changes the coefficients of all learners in every round; set "
                "learning_rate=1 and max_step=None"
            )
        return cls(algorithm, _reads(learner, algorithm.step), filters, rounds, rate, max_step, seed)


def _filters(model: Any) -> bool:
    """Whether rows are accepted at random by their weights, rather than handed over with them."""
    if isinstance(model.subsample, str):
        if model.subsample not in ("auto", "filter"):
            raise ValueError(f"subsample must be a number, 'auto' or 'filter', got {model.subsample!r}")
        return model.subsample == "filter"
    if model.subsample != 1:
        raise ValueError(
            f"subsample={model.subsample!r} is for the library's own weak learners; with one of your own it "
            "is 'filter' or left out"
        )
    return False


def _reads(learner: Any, step: str) -> str:
    """What is read of the learner; refuses a step that it cannot take."""
    if is_classifier(learner):
        if step not in ("sign", "gradient"):
            raise ValueError(
                f"step={step!r} fits numbers, and {type(learner).__name__} is a classifier: use step='sign', "
                "step='gradient' for its probabilities, or a regressor"
            )
        if step == "gradient" and not hasattr(learner, "predict_proba"):
            raise ValueError(
                f"step='gradient' needs predict_proba of {type(learner).__name__}; use step='sign'"
            )
        return "sign" if step == "sign" else "vote"
    if not is_regressor(learner):
        raise ValueError(f"weak_learner must be a classifier or a regressor, got {learner!r}")
    if step == "exact":
        raise ValueError(
            "step='exact' sets the leaves of the library's own trees one by one; use step='fisher' with "
            "coefficient='line'"
        )
    return "sign" if step == "sign" else "value"


class OwnBooster:
    """Scores of the training rows, and rounds that improve them.

    Parameters
    ----------
    X : array of shape (n, d)
    objective : Objective
    weights : Weights
        All positive.
    settings : OwnSettings
    start : array of shape (K,), or (n, K)
    n_jobs : int
    """

    def __init__(
        self,
        X: Floats,
        objective: Objective,
        weights: Weights,
        settings: OwnSettings,
        start: Floats,
        n_jobs: int,
    ) -> None:
        self.X, self.objective, self.settings = X, objective, settings
        self._weight = weights.array
        self.scores = np.empty((len(X), objective.n_scores))
        self.scores[...] = start
        self._losses = coefficients.Losses(objective, row_weights(weights), None, n_jobs)
        self._span = objective.span(0.5 / (weights.total + 1.0))
        most = settings.max_step
        self._reach = Reach.of_size(np.inf) if most is None else objective.reach(most)
        self._corrective: Any = None
        self._random = np.random.RandomState(settings.seed)
        self._bound = slope_bound(objective) if settings.filters else np.inf
        if settings.filters and not np.isfinite(self._bound):
            raise ValueError(
                f"subsample='filter' accepts a row with the probability of its weight, and those of "
                f"{objective.loss!r} have no bound; use a loss whose slope has one, such as Log()"
            )

    def rounds(self) -> Iterator[list[OwnLearner]]:
        """The learners of each round; ends early where no learner can be fitted any more."""
        for _ in range(self.settings.rounds):
            items = self._round()
            if items is None:
                return
            yield items

    def finished(self, items: Sequence[OwnLearner]) -> tuple[OwnLearner, ...]:
        """The learners with their coefficients, which a totally corrective fit changes in every round."""
        if self._corrective is None:
            return tuple(items)
        return tuple(
            replace(item, factor=float(c))
            for item, c in zip(items, self._corrective.coefficients[: len(items)], strict=True)
        )

    def _round(self) -> list[OwnLearner] | None:
        curvature = "newton" if self.settings.algorithm.step == "newton" else "fisher"
        G, H = self._losses.gradients(self.scores, curvature)
        found = []
        for k in range(self.objective.n_scores):
            fitted = self._fit(G[k], H[k])
            if fitted is None:
                return None
            h = fitted.says(self.X)
            found.append((fitted, h, -self._losses.sum(G[k] * h)))
        moved = set(range(len(found)))
        if self.settings.algorithm.sequential:
            edges = np.abs([edge for _, _, edge in found])
            moved = {int(np.argmax(edges >= edges.max() * (1 - 1e-9)))}
        return [
            self._take(k, fitted, h, edge) if k in moved else replace(fitted, factor=0.0)
            for k, (fitted, h, edge) in enumerate(found)
        ]

    def _fit(self, g: Floats, h: Floats) -> OwnLearner | None:
        """A learner of one score; None if what is left has nothing to tell apart."""
        settings, learner = self.settings, clone(self.settings.algorithm.weak_learner)
        seeded = [name for name in learner.get_params() if name.split("__")[-1] == "random_state"]
        learner.set_params(**{name: int(self._random.randint(_SEEDS)) for name in seeded})
        signs = np.where(g < 0, 1, -1)
        weight = self._weight * np.abs(g)
        target: NDArray[Any] = signs if is_classifier(learner) else signs.astype(np.float64)
        if settings.algorithm.step in ("fisher", "newton"):
            known = h > _FLAT * h.max(initial=0.0)
            target = np.divide(-g, h, out=np.zeros_like(g), where=known)
            weight = self._weight * np.where(known, h, 0.0)
        if settings.filters:
            # [C §1]: weights within bounds, so that a row is accepted with the probability of its weight.
            most = float(self._weight.max())
            chosen = self._random.random_sample(len(g)) * most * self._bound < self._weight * np.abs(g)
            if len(np.unique(signs[chosen])) < 2:
                return None
            learner.fit(self.X[chosen], target[chosen])
        else:
            total = float(weight.sum())
            if not total > 0:
                return None
            learner.fit(self.X, target, sample_weight=weight * (len(weight) / total))
        bounded = settings.algorithm.coefficient == "fixed" and settings.max_step is not None
        limit = self._reach.constant if bounded else None
        return OwnLearner(learner, settings.reads, limit=np.inf if limit is None else limit)

    def _take(self, k: int, fitted: OwnLearner, h: Floats, edge: float) -> OwnLearner:
        """The learner with its coefficient; its part is added to the scores."""
        settings, losses = self.settings, self._losses
        if settings.algorithm.coefficient == "corrective":
            if self._corrective is None:
                self._corrective = coefficients.Corrective(losses, self.scores.copy(), self._span)
            self.scores[:] = self._corrective.add(h)
            return fitted
        delta = 1.0
        if settings.algorithm.coefficient == "line":
            delta = coefficients.line(losses, self.scores, k, h, self._span)
        elif settings.algorithm.coefficient == "bregman":
            total = coefficients.total_weight(self.objective, losses, self.scores)
            delta = coefficients.bregman(edge, total, self._span)
        delta *= self._allowed(delta, k, h) * settings.rate
        self.scores[:, k] += delta * h
        return replace(fitted, factor=float(delta))

    def _allowed(self, delta: float, k: int, h: Floats) -> float:
        """The share of a step that no row's reach forbids."""
        if self.settings.max_step is None:
            return 1.0
        down, up = self._reach.at(self.scores[:, k])
        moves = delta * h
        return 1.0 / max(1.0, float(np.max(moves / np.where(moves > 0, up, -down), initial=0.0)))


def slope_bound(objective: Objective) -> float:
    """The largest |gradient| of a loss of two classes or more; infinite if it grows without end.

    >>> from propriety import losses
    >>> slope_bound(objective_of(losses.Log().composite(), np.array([0, 1]), 2))
    1.0
    """
    composite = getattr(objective.loss, "one_vs_rest", None) or getattr(objective, "composite", None)
    if composite is None:
        return 1.0 if objective.grows_slowly() else np.inf  # scores are multinomial log-odds

    def largest(F: Floats) -> float:
        F = F[np.isfinite(F)]
        return float(max(np.max(np.abs(composite.gradient(float(y), F))) for y in (0, 1)))

    def scores(odds: float) -> Floats:
        points = np.linspace(-odds, odds, 2001)
        return np.asarray(composite.link(1 / (1 + np.exp(-points)), 1 / (1 + np.exp(points))))

    near, beyond = largest(scores(_NEAR)), scores(_FAR)
    if not composite.link.has_real_range:  # scores go beyond the range of the link
        beyond = np.append(beyond, _FAR * np.array([composite.link.low, composite.link.high]))
    far = largest(beyond)
    return max(near, far) if far <= 2 * near else np.inf


def boost_own(
    model: BoostingClassifier, training: Training, loss: Composite | SimplexLoss, seed: int
) -> dict[str, Any]:
    """What a BoostingClassifier with a learner of the user's own keeps."""
    streamed = isinstance(training.table, StreamedTable)
    unfit = {"a weak learner of your own": True}
    refuse_if_spread(training.communicator, unfit, "use one of the library's", parts=streamed)
    settings = OwnSettings.of(model, seed)
    X = numbers(training.table, training.schema)
    objective = objective_of(loss, training.codes, training.n_classes)
    check_coefficient(settings, objective)
    start = _start(settings, objective, training, model._threads)
    booster = OwnBooster(
        X, objective, training.weights, settings, shifted(start, training.offset), model._threads
    )
    items = [item for taken in booster.rounds() for item in taken]
    return {
        "_forest": OwnLearners(settings.algorithm.weak_learner, booster.finished(items), objective.n_scores),
        "_marginals": None,
        "_binner": None,
        "_start_score": start,
        "_seed": seed,
        "_class_factors": None,
        "n_iter_": len(items) // objective.n_scores,
        "train_score_": np.array([]),
        "validation_score_": np.array([]),
    }


def _start(settings: OwnSettings, objective: Objective, training: Training, n_jobs: int) -> Floats:
    """The score before the first round."""
    if settings.algorithm.init == "zero":
        return np.zeros(objective.n_scores)
    if training.offset is None:
        return objective.start(training.weights)
    from propriety.boosting.constant import best_constant

    return best_constant(objective, training.weights, training.offset, n_jobs)
