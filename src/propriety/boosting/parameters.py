"""The parameters of BoostingClassifier, checked; and the learning problem that they and the data pose."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from propriety import losses, parallel
from propriety.boosting.compatibility import check_coefficient, check_learner
from propriety.boosting.constraints import interaction_groups, monotone_signs
from propriety.boosting.objective import (
    COEFFICIENTS,
    CRITERIA,
    STEPS,
    BinaryObjective,
    Objective,
    SimplexObjective,
)
from propriety.frames import Schema, Table

if TYPE_CHECKING:
    from propriety.boosting.rounds import Settings
    from propriety.boosting.shapes import Marginals
    from propriety.boosting.validation import Validation
    from propriety.engine.binning import Binner
    from propriety.engine.layout import Binned

_AUTO_LEAF, _AUTO_SHARE = 20.0, 3.0
_SEEDS = np.iinfo(np.int32).max
Floats = NDArray[np.float64]


def _number(
    estimator: Any,
    name: str,
    low: float,
    high: float = math.inf,
    *,
    whole: bool = False,
    open_low: bool = False,
) -> Any:
    """The parameter, if it is a number in the range; else an error that says what it must be."""
    value = getattr(estimator, name)
    kind = numbers.Integral if whole else numbers.Real
    fits = (
        isinstance(value, kind) and not isinstance(value, bool) and low <= value <= high and value < math.inf
    )
    if not fits or (open_low and value == low):
        what = "a whole number" if whole else "a number"
        bounds = f"{'above' if open_low else 'at least'} {low:g}" + (
            f" and at most {high:g}" if high < math.inf else ""
        )
        raise ValueError(f"{name} must be {what} {bounds}, got {value!r}")
    return int(value) if whole else float(value)


def _choice(estimator: Any, name: str, allowed: tuple[str, ...]) -> str:
    value = getattr(estimator, name)
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}")
    return value


def settings_of(estimator: Any, schema: Schema, classes: Any, total: float, seed: int) -> Settings:
    """Check the parameters and resolve what depends on the data: automatic values, numbers of features."""
    from propriety.boosting.rounds import Settings

    d = len(schema.categories)
    _number(estimator, "max_iter", 0, whole=True)
    _number(estimator, "max_bins", 2, 255, whole=True)
    _number(estimator, "n_iter_no_change", 1, whole=True)
    _number(estimator, "tol", 0)
    _number(estimator, "validation_fraction", 0, 1, open_low=True)
    _choice(estimator, "init", ("base_rate", "zero"))
    max_depth = estimator.max_depth
    if estimator.min_samples_leaf == "auto":
        least = min(_AUTO_LEAF, total / _AUTO_SHARE)
    else:
        least = _number(estimator, "min_samples_leaf", 0)
    weak_learner = _choice(estimator, "weak_learner", ("tree", "stump", "histogram"))
    leaves = _number(estimator, "max_leaf_nodes", 2, whole=True)
    step = _choice(estimator, "step", STEPS)
    criterion = _choice(estimator, "criterion", ("auto", "fisher", "newton", "gradient"))
    check_learner(estimator, weak_learner)
    return Settings(
        weak_learner=weak_learner,
        step=step,
        criterion=CRITERIA[step] if criterion == "auto" else criterion,
        coefficient=_choice(estimator, "coefficient", COEFFICIENTS),
        sequential=_choice(estimator, "multiclass", ("auto", "ovr", "sequential")) == "sequential",
        learning_rate=_number(estimator, "learning_rate", 0, open_low=True),
        max_leaf_nodes=2 if weak_learner == "stump" else leaves,
        max_intervals=(
            None
            if estimator.max_intervals is None
            else _number(estimator, "max_intervals", 2, 255, whole=True)
        ),
        max_depth=None if max_depth is None else _number(estimator, "max_depth", 1, whole=True),
        min_samples_leaf=least,
        min_weight_leaf=_number(estimator, "min_weight_leaf", 0),
        l2_regularization=_number(estimator, "l2_regularization", 0),
        min_gain=_number(estimator, "min_gain", 0),
        subsample=_number(estimator, "subsample", 0, 1, open_low=True),
        tree_features=max(1, round(_number(estimator, "max_features_tree", 0, 1, open_low=True) * d)),
        split_features=max(1, round(_number(estimator, "max_features", 0, 1, open_low=True) * d)),
        monotone=monotone_signs(estimator.monotonic_cst, schema, classes),
        groups=interaction_groups(estimator.interaction_cst, schema),
        seed=seed,
        n_jobs=parallel.n_threads(estimator.n_jobs),
    )


def objective_of(estimator: Any, n_classes: int, y: NDArray[np.intp]) -> Objective:
    """The loss, with its gain, bound to encoded labels."""
    estimator._threshold()  # the costs must be right before anything is fitted
    loss = estimator.loss
    if isinstance(loss, str) and loss != "auto":
        loss = losses.parse(loss)
    on_simplex = isinstance(loss, losses.simplex.SimplexLoss)
    if on_simplex and estimator.link is not None:
        raise ValueError(f"loss={loss!r} has a link already; give link=None")
    composite = None if on_simplex else estimator._resolve_composite()
    if estimator.gain is not None:
        gain = estimator._gain()
        if composite is None:
            raise ValueError(
                f"gain is for losses of two classes, or of one class against the rest, and the "
                f"loss is {loss!r}"
            )
        composite = composite.shrunk(gain)
    if n_classes == 2:
        return BinaryObjective(loss.binary if composite is None else composite, y)
    if (estimator.fp_cost, estimator.fn_cost) != (1, 1):
        raise ValueError(f"fp_cost and fn_cost are for two classes, got {n_classes} classes")
    if composite is None:
        simplex = loss
    elif estimator.multiclass == "ovr":
        simplex = losses.simplex.OneVsRest(composite)
    else:
        plain = composite.link == composite.loss.default_link
        simplex = losses.simplex.of(composite.loss if plain else composite)
    return SimplexObjective(simplex, y, n_classes)


def class_factors(
    class_weight: Any, classes: Any, y: NDArray[np.intp], weight: Floats | None
) -> Floats | None:
    """Weight of each class; the total weight stays, so that ``min_samples_leaf`` keeps its meaning.

    "balanced" gives every class the same total.
    """
    if class_weight is None:
        return None
    shares = np.bincount(y, weights=weight, minlength=len(classes))
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
        return shares.sum() / (len(classes) * shares)
    unknown = [c for c in class_weight if not np.any(classes == c)]
    if unknown:
        raise ValueError(f"class_weight names the classes {unknown}, which are not in y")
    factors = np.array([class_weight.get(c, 1.0) for c in classes.tolist()], dtype=np.float64)
    if not np.all(np.isfinite(factors) & (factors > 0)):
        raise ValueError(f"class_weight must be positive, got {class_weight!r}")
    return factors * (shares.sum() / np.sum(shares * factors))


@dataclass(frozen=True)
class Problem:
    """Everything that a fit needs, checked and binned."""

    schema: Schema
    classes: Any
    binner: Binner
    binned: Binned
    weight: Floats | None
    objective: Objective
    settings: Settings
    start: Floats
    class_factors: Floats | None
    rounds_done: int
    held_out: tuple[Any, ...] | None
    estimator: Any
    table: Table

    @property
    def n_scores(self) -> int:
        """Scores per row: 1 for two classes."""
        return self.objective.n_scores

    @classmethod
    def make(
        cls,
        estimator: Any,
        schema: Schema,
        table: Table,
        labels: NDArray[Any],
        weight: Floats | None,
        held_out: Any,
        again: bool,
    ) -> Problem:
        """Encode labels, weigh classes, hold rows out, and bin the table."""
        from propriety.engine.sharing import SharedBins

        weight = _in_rows(weight)
        classes, y = encode_labels(labels, weight)
        seed = estimator._seed if again else int(check_random_state(estimator.random_state).randint(_SEEDS))
        total = float(len(y) if weight is None else weight.sum())
        settings = settings_of(estimator, schema, classes, total, seed)
        factors = class_factors(estimator.class_weight, classes, y, weight)
        weight = _times(weight, factors, y)
        if held_out is None and estimator.early_stopping:
            chosen = _hold_out(estimator, y, weight, settings.seed)
            own = None if weight is None else weight[chosen]
            weight = np.ones(len(y)) if weight is None else weight.copy()
            weight[chosen] = 0.0
            held_out = (chosen, y[chosen], own)
        elif held_out is not None:
            held_out = _encode_held_out(held_out, classes, factors)
        objective = objective_of(estimator, len(classes), y)
        check_coefficient(estimator, objective)
        start = estimator._start_score if again else start_of(estimator, objective, weight)
        if again:
            _check_same(estimator, schema, classes)
            binner = estimator._binner
            binned = binner.transform(table, settings.n_jobs)
        else:
            # A search over losses gives its models the bins to share.
            shared = getattr(estimator, "_shared_bins", None) or SharedBins()
            target, max_bins = _target(y, weight, classes), bins_of(settings, estimator.max_bins, total)
            binner, binned = shared.bins(
                table, weight, target, schema.n_categories, max_bins, settings.n_jobs
            )
        done = estimator.n_iter_ if again else 0
        return cls(
            schema,
            classes,
            binner,
            binned,
            weight,
            objective,
            settings,
            start,
            factors,
            done,
            held_out,
            estimator,
            table,
        )

    def marginals(self) -> Marginals | None:
        """How the training rows lie in the bins, for models that may be additive; else None."""
        from propriety.boosting.shapes import Marginals, may_be_additive

        return Marginals.of(self.binned, self.weight, self.table) if may_be_additive(self) else None

    def validation(self) -> Validation | None:
        """The held-out rows, ready to be scored."""
        if self.held_out is None:
            return None
        from propriety.boosting.validation import Validation

        where, y, weight = self.held_out
        if isinstance(where, Table):
            binned = self.binner.transform(where, self.settings.n_jobs)
        else:
            binned = self.binned._replace(rows=self.binned.rows[where], columns=self.binned.columns[:, :0])
        objective = objective_of(self.estimator, len(self.classes), y)
        decide, scoring = self.estimator._decide, self.estimator.scoring
        return Validation(
            binned,
            self.binner,
            objective,
            weight,
            self.start,
            scoring,
            self.classes[y],
            self.classes,
            decide,
        )


def start_of(estimator: Any, objective: Objective, weight: Floats | None) -> Floats:
    """The score before the first round: that of the base rates, or 0 as in the papers on boosting."""
    return objective.start(weight) if estimator.init == "base_rate" else np.zeros(objective.n_scores)


def bins_of(settings: Settings, max_bins: int, total: float) -> int:
    """Bins per feature; a histogram learner's hold at least ``min_samples_leaf`` rows each on average."""
    if settings.weak_learner != "histogram" or settings.min_samples_leaf <= 1:
        return max_bins
    return int(min(max_bins, max(2.0, total // settings.min_samples_leaf)))


def encode_labels(labels: NDArray[Any], weight: Floats | None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes that occur with a positive weight, and the index of each row's.

    Rows of weight 0 may hold other labels; they get index 0, and take no part.
    """
    kept = labels if weight is None else labels[weight > 0]
    classes = np.unique(kept)
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes with positive weight, got 1 class: {classes.tolist()}"
        )
    y = np.searchsorted(classes, labels)
    y = np.where((y < len(classes)) & (classes[np.minimum(y, len(classes) - 1)] == labels), y, 0)
    return classes, y.astype(np.intp)


def _in_rows(weight: Floats | None) -> Floats | None:
    """Weights as numbers of rows: whole numbers are copies, others are taken relative to their mean."""
    if weight is None or np.all(weight == np.rint(weight)):
        return weight
    return weight / np.mean(weight[weight > 0])


def _target(y: NDArray[np.intp], weight: Floats | None, classes: Any) -> Floats:
    """1 for rows of class 1 or, of several classes, of the largest one."""
    largest = 1 if len(classes) == 2 else int(np.argmax(np.bincount(y, weights=weight)))
    return (y == largest).astype(np.float64)


def _times(weight: Floats | None, factors: Floats | None, y: NDArray[np.intp]) -> Floats | None:
    if factors is None:
        return weight
    return factors[y] if weight is None else weight * factors[y]


def _hold_out(estimator: Any, y: NDArray[np.intp], weight: Floats | None, seed: int) -> NDArray[np.intp]:
    """Rows for validation, each class in proportion."""
    usable = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0)
    _, chosen = train_test_split(
        usable, test_size=estimator.validation_fraction, stratify=y[usable], random_state=seed
    )
    return np.sort(chosen)


def _encode_held_out(held_out: Any, classes: Any, factors: Floats | None) -> tuple[Any, ...]:
    table, labels, weight = held_out
    if table.n_rows != len(labels):
        raise ValueError(f"X_val has {table.n_rows} rows and y_val {len(labels)}")
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(f"y_val holds labels that are not in y: {np.unique(labels[unknown]).tolist()}")
    y = np.searchsorted(classes, labels).astype(np.intp)
    if weight is not None:
        weight = _check_sample_weight(weight, labels, dtype=np.float64, ensure_non_negative=True)
    return table, y, _times(weight, factors, y)


def _check_same(estimator: Any, schema: Schema, classes: Any) -> None:
    if schema.n_categories != estimator._schema.n_categories or not np.array_equal(
        classes, estimator.classes_
    ):
        raise ValueError("warm_start needs the columns, categories and classes of the first fit")
