"""From training data and settings to a tree: growing, the pruning path, and the choice on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import memory
from propriety.aliases import RandomState
from propriety.communicator import refuse_if_spread
from propriety.data.folds import splits_of
from propriety.data.parameters import seed_of
from propriety.data.streamed import StreamedTable
from propriety.data.table import encoders
from propriety.data.training import Training
from propriety.tree.columns import prepare
from propriety.tree.leaves import node_probabilities
from propriety.tree.nodes import Tree
from propriety.tree.pruning import PruningPath, cross_validate, pruning_path
from propriety.tree.settings import TreeSettings
from propriety.tree.unseen import reach
from propriety.weights import Weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GrownTree:
    """A tree with its probabilities, and what new rows need to find their way in it."""

    tree: Tree
    P: Floats
    category_bins: tuple[Floats | None, ...]
    missing_seen: NDArray[np.bool_]

    def pruned(self, alpha: float) -> GrownTree:
        """What is left at a price of a leaf."""
        stands = self.tree.representatives(alpha)
        return replace(self, tree=self.tree.pruned(alpha), P=self.P[stands == np.arange(len(stands))])


def learn(
    training: Training, settings: TreeSettings, random_state: RandomState
) -> tuple[GrownTree, PruningPath, float]:
    """Grow a tree and prune it; returns it with its path and the price of a leaf."""
    parts = isinstance(training.table, StreamedTable)
    exact = {"splits='exact', as 'auto' is up to 20,000 rows,": settings.exact}
    by_folds = {
        f"ccp_alpha={settings.ccp_alpha!r}, a price chosen by folds,": isinstance(settings.ccp_alpha, str)
    }
    refuse_if_spread(training.communicator, exact, "give splits='histogram'", parts=parts)
    refuse_if_spread(training.communicator, by_folds, "give a number", parts=parts)
    grown = grow(training, settings)
    path, alpha = pruning_path(grown.tree), settings.ccp_alpha
    if isinstance(alpha, str):
        rows, folds = _folds(training, settings, random_state)
        if len(folds) < 2:  # a class whose rows are all alike cannot be held out, and has a leaf of its own
            return grown, path, 0.0
        path = _cross_validated(path, rows, settings, folds)
        price = float(path.alphas[path.choose(alpha)])
        return grown.pruned(price), path, price
    return (grown if alpha == 0 else grown.pruned(alpha)), path, float(alpha)


def grow(training: Training, settings: TreeSettings, rows: NDArray[np.intp] | None = None) -> GrownTree:
    """A tree on some of the rows, or on all."""
    from propriety.tree.growing import Growth

    weights = training.weights if rows is None else _only(training.weights, rows)
    kept = None if weights.kept is None else np.flatnonzero(weights.kept)
    labels = training.codes.astype(np.uint8)
    prepared = prepare(
        training.table,
        training.schema,
        kept,
        weights,
        training.target,
        exact=settings.exact,
        max_bins=settings.max_bins,
        monotone=settings.monotone,
        n_jobs=settings.n_jobs,
    )
    labels = memory.kept(labels if kept is None else labels[kept])
    units, unit = np.empty(0, dtype=np.int64), 1.0
    if weights.values is not None:
        in_use = weights.values if kept is None else weights.values[kept]
        (differ,) = weights.communicator.max((float(np.any(in_use != 1.0)),))
        if differ:
            units, unit = memory.kept(np.rint(in_use / weights.unit).astype(np.int64)), weights.unit
    where = training.table, kept, training.communicator
    sample = labels, units, unit, weights.overdispersion
    tree = Growth(prepared, *sample, settings, training.n_classes, *where).grow()
    P = node_probabilities(tree, settings.smoothing, settings.monotone)
    return GrownTree(tree, P, prepared.category_bins, prepared.missing_seen)


def _only(weights: Weights, rows: NDArray[np.intp]) -> Weights:
    others = np.ones(len(weights), dtype=bool)
    others[rows] = False
    return weights.without(others)


def _folds(
    training: Training, settings: TreeSettings, random_state: Any
) -> tuple[Training, list[tuple[Any, Any]]]:
    training, folds = splits_of(settings.cv, training, seed_of(random_state))
    if len(folds) < 2 and training.groups is not None:
        raise ValueError(
            f"ccp_alpha={settings.ccp_alpha!r} needs folds with rows of each class, and groups leave none; "
            "give ccp_alpha a number"
        )
    return training, folds


def _cross_validated(
    path: PruningPath, training: Training, settings: TreeSettings, folds: list[tuple[Any, Any]]
) -> PruningPath:
    """Held-out losses along a path."""

    def fit(rows: NDArray[np.intp]) -> Callable[[Any, float], Floats]:
        grown = grow(training, settings, rows)
        chunks = training.table.chunks(encoders(grown.category_bins))
        reached = reach(grown.tree, chunks, training.n_rows, settings.n_jobs)
        return lambda test, alpha: reached.probabilities(grown.P[grown.tree.representatives(alpha)])[test]

    def loss(rows: Any, P: Floats) -> Floats:
        return settings.measure.loss(training.codes[rows], P)

    return cross_validate(path, folds, fit, loss, training.weights, training.groups)
