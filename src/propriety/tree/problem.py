"""The learning problem that the parameters and the data pose, and the tree grown for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import frames, parallel
from propriety.tree import parameters
from propriety.tree.columns import codes_to_bins, prepare
from propriety.tree.leaves import node_probabilities
from propriety.tree.measure import Measure, measure_of
from propriety.tree.nodes import Tree
from propriety.tree.pruning import PruningPath, cross_validate

Floats = NDArray[np.float64]
_WORTH = 40_000  # values of a table from which a second thread pays


def encoders(category_bins: tuple[Floats | None, ...]) -> list[Any]:
    """What turns the codes of each categorical column into bins; None for a numeric one."""
    return [None if bins is None else partial(codes_to_bins, bins) for bins in category_bins]


@dataclass(frozen=True)
class Grown:
    """A tree with its probabilities, and what new rows need to find their way in it."""

    tree: Tree
    P: Floats
    category_bins: tuple[Floats | None, ...]
    missing_seen: NDArray[np.bool_]

    def pruned(self, alpha: float) -> Grown:
        """What is left at a price of a leaf."""
        stands = self.tree.representatives(alpha)
        return replace(self, tree=self.tree.pruned(alpha), P=self.P[stands == np.arange(len(stands))])


@dataclass(frozen=True)
class Problem:
    """Everything that growing needs, checked."""

    schema: frames.Schema
    table: frames.Table
    classes: Any
    labels: NDArray[np.uint8]
    weight: Floats | None
    measure: Measure
    exact: bool
    max_bins: int
    smoothing: Any
    monotone: NDArray[np.int64]
    limits: Any

    @classmethod
    def make(cls, model: Any, schema, table, classes, labels, weight) -> Problem:
        """Check the parameters and resolve what depends on the data."""
        from propriety.tree.growing import Limits

        model._threshold()  # the costs must be right before anything is fitted
        if len(classes) > 2 and (model.fp_cost, model.fn_cost) != (1, 1):
            raise ValueError(f"fp_cost and fn_cost are for two classes, got {len(classes)} classes")
        parameters.choice("multiclass", model.multiclass, ("auto", "ovr"))
        if isinstance(model.ccp_alpha, str):
            parameters.choice("ccp_alpha", model.ccp_alpha, ("one_se", "min"))
        else:
            parameters.number("ccp_alpha", model.ccp_alpha, 0)
        if isinstance(model.cv, int):
            parameters.number("cv", model.cv, 2, whole=True)
        total = float(len(labels) if weight is None else weight.sum())
        threads = parallel.n_threads(model.n_jobs)
        limits = Limits(
            best_first=parameters.choice("growth", model.growth, ("best", "depth")) == "best",
            max_leaves=None
            if model.max_leaf_nodes is None
            else parameters.number("max_leaf_nodes", model.max_leaf_nodes, 2, whole=True),
            max_depth=None
            if model.max_depth is None
            else parameters.number("max_depth", model.max_depth, 1, whole=True),
            min_weight=parameters.least_weight(model.min_samples_leaf, total),
            min_gain=parameters.number("min_gain", model.min_gain, 0),
            n_jobs=threads if table.n_rows * table.n_features >= _WORTH else 1,
        )
        return cls(
            schema,
            table,
            classes,
            labels,
            weight,
            measure_of(model.loss, model.link, len(classes), model.multiclass),
            parameters.is_exact(model.splits, total),
            parameters.number("max_bins", model.max_bins, 2, 255, whole=True),
            parameters.smoothing_of(model.smoothing),
            parameters.monotone_signs(model.monotonic_cst, schema, len(classes)),
            limits,
        )

    def grow(self, rows: NDArray[np.intp] | None = None) -> Grown:
        """A tree on some of the rows, or on all."""
        from propriety.tree.growing import grow
        from propriety.tree.search import Sample

        weight, kept = self.weight, rows
        if rows is not None:
            weight = np.zeros(len(self.labels))
            weight[rows] = 1.0 if self.weight is None else self.weight[rows]
        if weight is not None:
            kept = None if np.all(weight > 0) else np.flatnonzero(weight > 0)
        prepared = prepare(
            self.table,
            self.schema,
            kept,
            weight,
            self._target(weight),
            exact=self.exact,
            max_bins=self.max_bins,
            monotone=self.monotone,
            n_jobs=self.limits.n_jobs,
        )
        labels = self.labels if kept is None else self.labels[kept]
        weights, unit = np.empty(0), 1.0
        if weight is not None:
            own = weight if kept is None else weight[kept]
            if np.any(own != 1.0):
                weights, unit = parameters.in_units(own)
        rows = (labels.astype(np.int64) << 32) + np.arange(len(labels))
        sample = Sample(rows, labels, weights)
        limits = replace(self.limits, unit=unit)
        tree = grow(prepared, sample, self.measure, len(self.classes), limits)
        P = node_probabilities(tree, self.smoothing, self.monotone)
        return Grown(tree, P, prepared.category_bins, prepared.missing_seen)

    def cross_validate(self, path: PruningPath, folds) -> PruningPath:
        """Held-out losses along a path."""
        used = np.ones(len(self.labels)) if self.weight is None else self.weight

        def fit(rows):
            grown = self.grow(rows[used[rows] > 0])
            chunks = self.table.chunks(encoders(grown.category_bins))
            leaf = grown.tree.find(chunks, self.table.n_rows, self.limits.n_jobs)
            return lambda test, alpha: grown.P[grown.tree.representatives(alpha)[leaf[test]]]

        labels = self.labels.astype(np.intp)
        return cross_validate(path, folds, fit, lambda rows, P: self.measure.loss(labels[rows], P), used)

    def _target(self, weight: Floats | None) -> Floats:
        """1 for rows of class 1 or, of several classes, of the largest one."""
        largest = 1 if len(self.classes) == 2 else int(np.argmax(np.bincount(self.labels, weights=weight)))
        return (self.labels == largest).astype(np.float64)
