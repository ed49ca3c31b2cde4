"""The parameters of ForestClassifier, checked, and what depends on the data resolved."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from propriety import parallel
from propriety.data.parameters import Parameters, number, seed_of
from propriety.data.training import Training
from propriety.model.measure import Measure, measure_of

if TYPE_CHECKING:
    from propriety.forest.classifier import ForestClassifier

MOST_FEATURES = 2**22  # a step down a tree is one word
_CLASSES = 256  # labels are bytes


@dataclass(frozen=True)
class ForestSettings:
    """How a forest is grown.

    Attributes
    ----------
    measure : Measure
        What is read of the loss.
    smoothing : float
        Trees that say the base rates, added to the others.
    """

    measure: Measure
    n_estimators: int
    random_cuts: bool
    bootstrap: bool
    max_features: Any
    max_depth: int | None
    max_leaves: int | None
    min_weight: float
    smoothing: float
    max_bins: int
    out_of_bag: bool
    seed: int
    n_jobs: int

    def split_features(self, d: int) -> int:
        """How many of d columns each split looks at."""
        share = self.max_features
        if share is None:
            return d
        if isinstance(share, str):
            return max(1, int(math.sqrt(d) if share == "sqrt" else math.log2(d)))
        return max(1, min(d, share if isinstance(share, int) else round(share * d)))


def settings_of(model: ForestClassifier, training: Training) -> ForestSettings:
    """Check the parameters of a ForestClassifier against its training data."""
    given = Parameters(model)
    if training.n_classes > _CLASSES:
        raise ValueError(f"y holds {training.n_classes} classes; a forest takes at most {_CLASSES}")
    if training.table.n_features > MOST_FEATURES:
        raise ValueError(f"X has {training.table.n_features} columns; a forest takes at most {MOST_FEATURES}")
    bootstrap, out_of_bag = given.flag("bootstrap"), given.flag("oob_score")
    if out_of_bag and not bootstrap:
        raise ValueError("oob_score=True needs rows out of the bag: give bootstrap=True, or oob_score=False")
    return ForestSettings(
        measure=measure_of(
            model.loss, model.link, training.n_classes, given.choice("multiclass", ("auto", "ovr"))
        ),
        n_estimators=given.number("n_estimators", 1, whole=True),
        random_cuts=given.choice("splitter", ("best", "random")) == "random",
        bootstrap=bootstrap,
        max_features=_max_features(model.max_features),
        max_depth=given.number_or_none("max_depth", 1, whole=True),
        max_leaves=given.number_or_none("max_leaf_nodes", 2, whole=True),
        min_weight=float(given.number("min_samples_leaf", 0)),
        smoothing=given.number("smoothing", 0, above=True),
        max_bins=given.number("max_bins", 2, 255, whole=True),
        out_of_bag=out_of_bag,
        seed=seed_of(model.random_state),
        n_jobs=parallel.n_threads(model.n_jobs),
    )


def _max_features(value: Any) -> Any:
    """A name, a number of columns (int) or a share of them (float); None is all."""
    if value is None or (isinstance(value, str) and value in ("sqrt", "log2")):
        return value
    if isinstance(value, str):
        raise ValueError(f"max_features must be 'sqrt', 'log2', None or a number, got {value!r}")
    if isinstance(value, numbers.Integral):
        return number("max_features", value, 1, whole=True)
    return number("max_features", value, 0, 1, above=True)
