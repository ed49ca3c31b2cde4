"""The parameters of TreeClassifier, checked, and what depends on the data resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.data.parameters import Parameters, choice, monotone_signs, number
from propriety.data.training import Training
from propriety.model.measure import Measure, measure_of

if TYPE_CHECKING:
    from propriety.tree.classifier import TreeClassifier

#: Total weight, in rows, up to which splits are exact by default.
_EXACT = 20_000
_CLASSES = 256  # labels are bytes
_WORTH = 40_000  # values of a table from which a second thread pays


@dataclass(frozen=True)
class TreeSettings:
    """How a tree is grown and pruned.

    Attributes
    ----------
    measure : Measure
        What is read of the loss.
    exact : bool
        Whether values are sorted rather than binned.
    ccp_alpha : float or str
        Price of a leaf, or the rule that chooses it by `cv`.
    smoothing : float or "laplace"
    monotone : ndarray of shape (d,)
    criterion : {"entropy", "highest", "lowest"}
        What a split is chosen by.
    best_first, max_leaves, max_depth, min_weight, min_gain : when to stop
    """

    measure: Measure
    exact: bool
    max_bins: int
    ccp_alpha: Any
    cv: Any
    smoothing: Any
    monotone: NDArray[np.int64]
    criterion: str
    best_first: bool
    max_leaves: int | None
    max_depth: int | None
    min_weight: float
    min_gain: float
    n_jobs: int


def settings_of(model: TreeClassifier, training: Training) -> TreeSettings:
    """Check the parameters of a TreeClassifier against its training data."""
    given, total = Parameters(model), training.weights.total
    if training.n_classes > _CLASSES:
        raise ValueError(f"y holds {training.n_classes} classes; a tree takes at most {_CLASSES}")
    splits = given.choice("splits", ("auto", "exact", "histogram"))
    monotone = monotone_signs(model.monotonic_cst, training.schema).astype(np.int64)
    if training.n_classes > 2 and np.any(monotone):
        raise ValueError(f"monotonic_cst is for two classes, got {training.n_classes} classes")
    criterion = given.choice("criterion", ("entropy", "highest", "lowest"))
    if training.n_classes > 2 and criterion != "entropy":
        raise ValueError(f"criterion={criterion!r} is for two classes, got {training.n_classes} classes")
    many, threads = training.n_rows * training.n_features >= _WORTH, parallel.n_threads(model.n_jobs)
    return TreeSettings(
        measure=measure_of(
            model.loss, model.link, training.n_classes, given.choice("multiclass", ("auto", "ovr"))
        ),
        exact=splits == "exact" or (splits == "auto" and total <= _EXACT),
        max_bins=given.number("max_bins", 2, 255, whole=True),
        ccp_alpha=_price(model.ccp_alpha),
        cv=given.number("cv", 2, whole=True) if isinstance(model.cv, int | np.integer) else model.cv,
        smoothing=_smoothing(model.smoothing),
        monotone=monotone,
        criterion=criterion,
        best_first=given.choice("growth", ("best", "depth")) == "best",
        max_leaves=given.number_or_none("max_leaf_nodes", 2, whole=True),
        max_depth=given.number_or_none("max_depth", 1, whole=True),
        min_weight=given.least_weight("min_samples_leaf", total),
        min_gain=given.number("min_split_gain", 0),
        n_jobs=threads if many else 1,
    )


def _price(ccp_alpha: Any) -> Any:
    if isinstance(ccp_alpha, str):
        return choice("ccp_alpha", ccp_alpha, ("one_se", "min"))
    return number("ccp_alpha", ccp_alpha, 0)


def _smoothing(smoothing: Any) -> Any:
    """A number of rows, or "laplace"; None is 0."""
    if smoothing is None or (isinstance(smoothing, str) and smoothing == "laplace"):
        return 0.0 if smoothing is None else smoothing
    if isinstance(smoothing, str):
        raise ValueError(f"smoothing must be 'laplace', None or a number of rows, got {smoothing!r}")
    return number("smoothing", smoothing, 0)
