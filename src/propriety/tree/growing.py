"""Growing: the shared grower over the rows of this process or of all, and what it leaves as a tree.

Over several processes each counts and parts its own rows. Class sums of bins are whole numbers of a unit, so
that their totals are exact, and everybody finds the same cuts. Where a threshold lies between the values of a
node is found at the end, for all splits at once and in one pass over their columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.communicator import Communicator
from propriety.data.table import Table
from propriety.model.measure import NodeLoss
from propriety.tree.columns import Prepared
from propriety.tree.nodes import Tree
from propriety.tree.pruning import collapse_prices
from propriety.tree.settings import TreeSettings
from propriety.trees.binned import SET_WORDS
from propriety.trees.criteria import BY_TABLE, HIGHEST, LOWEST, entropy_table
from propriety.trees.grower import grow, list_beside, start_tree
from propriety.trees.layout import (
    PARAMS,
    TO_CLASS,
    TO_COUNT,
    Sample,
    make_found,
    make_scratch,
    make_tree,
    make_work,
    most_waiting,
)
from propriety.trees.predictor import TREE_NODE
from propriety.trees.search import count_nodes, search_nodes, take_better

Floats = NDArray[np.float64]
_CRITERIA = {"entropy": BY_TABLE, "highest": HIGHEST, "lowest": LOWEST}
_AWAKE = 30_000  # values to look at from which a second thread pays
_BATCH = 64  # nodes that are searched together, at most
_TOTALS = 64 << 20  # bytes of their class sums, about


class Growth:
    """A tree that is growing.

    Parameters
    ----------
    prepared : Prepared
    labels : ndarray of uint8
    weights : ndarray of int64
        Whole numbers of the unit; empty if all are 1.
    unit, dispersion : float
        Of the weights, and by how much more their sums vary than numbers of rows.
    table : Table
        The rows of this process.
    kept : ndarray or None
        Those of the table that are in the sample.
    communicator : Communicator
    """

    def __init__(
        self,
        prepared: Prepared,
        labels: NDArray[np.uint8],
        weights: NDArray[np.int64],
        unit: float,
        dispersion: float,
        settings: TreeSettings,
        n_classes: int,
        table: Table,
        kept: NDArray[np.intp] | None,
        communicator: Communicator,
    ) -> None:
        self.prepared, self.settings, self.unit, self.n_classes = prepared, settings, unit, n_classes
        self.table, self.kept, self.communicator = table, kept, communicator
        no_copies = np.empty(0, dtype=np.int64)
        self.sample = Sample(prepared.rows, prepared.columns, prepared.levels, labels, no_copies, weights)
        n, d = len(labels), len(prepared.columns)
        self.entropies = entropy_table(settings.measure)
        root = np.bincount(labels, weights if len(weights) else None, n_classes).astype(np.int64)
        root = communicator.sum(root)
        n_rows = int(communicator.sum(np.array([n]))[0])
        least = max(1, math.ceil(settings.min_weight / unit))
        max_depth = min(settings.max_depth or n_rows, n_rows)
        most = min(n_rows, int(root.sum()) // least, settings.max_leaves or n_rows, 2 ** min(max_depth, 40))
        max_nodes = 2 * max(most, 1) - 1
        self.ranges = _ranges(d, min(settings.n_jobs, d))
        self.n_totals = n_classes * int(np.sum(prepared.columns["missing"] + 1))
        batch = 0
        if communicator.size > 1 or len(self.ranges) > 1:
            batch = _BATCH
        if communicator.size > 1:
            batch = max(1, min(_BATCH, _TOTALS // (8 * self.n_totals)))
        self.params = np.zeros(1, dtype=PARAMS)
        params = self.params[0]
        params["n_classes"], params["max_depth"], params["min_weight"] = n_classes, max_depth, least
        params["criterion"] = _CRITERIA[settings.criterion]
        params["max_leaves"] = settings.max_leaves or 0
        params["best_first"] = settings.best_first and settings.max_leaves is not None
        params["min_gain"], params["batch"], params["line"] = settings.min_gain, batch, 1
        params["dispersion"], params["unit"], params["loss_unit"] = dispersion, unit, self.entropies.unit
        self.tree = make_tree(self.sample, n_classes, max_nodes)
        self.tree.sums[0] = root
        self.work = make_work(self.sample, n_classes, max_nodes, batch, near=False, made=True, votes=False)
        self.found = make_found(n_classes, most_waiting(max_nodes, batch))
        self.scratch = [make_scratch(self.sample, n_classes) for _ in self.ranges]
        index = self.work.entries
        index[:] = labels
        index <<= TO_CLASS
        index += np.arange(n, dtype=np.uint64)
        index |= np.uint64(1) << TO_COUNT

    def grow(self) -> Tree:
        """Split until nothing more is allowed."""
        given = self.params, self.entropies, self.work, self.tree, self.found
        start_tree(*given, len(self.sample.labels), np.uint64(0))
        while many := grow(self.sample, *given, self.scratch[0]):
            self._search(many)
        return self._finish()

    def _search(self, many: int) -> None:
        """Find the best splits of the nodes that wait unsearched, by all threads and over all processes."""
        first = int(self.work.state["unsearched"][0])
        nodes = self.found.waiting[self.work.order[first : first + many]]
        rows = int(np.sum(nodes["stop"] - nodes["start"]))
        n_jobs = len(self.ranges) if rows * len(self.sample.columns) >= _AWAKE else 1
        totals = np.empty((many, 0), dtype=np.int64)
        if self.communicator.size > 1:
            totals = np.empty((many, self.n_totals), dtype=np.int64)
            counted = self.sample, self.params, self.work, self.found
            tasks = [
                partial(count_nodes, *counted, scratch, start, stop, totals)
                for scratch, (start, stop) in zip(self.scratch, self.ranges, strict=True)
            ]
            parallel.run(tasks, n_jobs)
            totals = self.communicator.sum(totals)
        best = [make_found(self.n_classes, many) for _ in self.ranges]
        given = self.sample, self.params, self.entropies, self.work, self.tree, self.found
        tasks = [
            partial(search_nodes, *given, own, scratch, start, stop, totals)
            for own, scratch, (start, stop) in zip(best, self.scratch, self.ranges, strict=True)
        ]
        parallel.run(tasks, n_jobs)
        for own in best:
            take_better(self.work, self.found, own)

    def _finish(self) -> Tree:
        """The tree, its nodes numbered level by level."""
        state = self.work.state[0]
        grown, made = self.tree.nodes[: state["n_nodes"]], self.work.made[: state["n_nodes"]]
        order, left, depth = _by_levels(grown["left"])
        grown, made = grown[order], made[order]
        nodes = np.zeros(len(order), dtype=TREE_NODE)
        counts = self.tree.sums[order].astype(np.float64)
        sums = counts * self.unit
        split, by_set = grown["feature"] >= 0, grown["set"] >= 0
        losses = NodeLoss(self.settings.measure, self.n_classes)(counts) * self.unit
        gain = losses[split] - losses[left[split]] - losses[left[split] + 1]
        gap = np.full((len(order), 2), np.nan)
        cuts = np.flatnonzero(split & ~by_set)
        gap[cuts] = self._gaps(grown["feature"][cuts], made[cuts]) + 0.0  # −0.0 and 0.0 may both be met
        nodes["feature"], nodes["left"], nodes["depth"] = grown["feature"], left, depth
        nodes["weight"], nodes["set"] = sums.sum(axis=1), -1
        nodes["set"][by_set] = np.arange(np.count_nonzero(by_set))
        nodes["missing_left"][split] = grown["missing_left"][split]
        nodes["gain"][split] = np.where(grown["gain"][split] > 0.0, np.maximum(gain, 0.0), 0.0)
        nodes["threshold"][cuts] = [_middle(*pair) for pair in gap[cuts].tolist()]
        return Tree(
            nodes,
            self.tree.sets[grown["set"][by_set]].reshape(-1, SET_WORDS),
            sums,
            gap,
            split & (made["missing_seen"] != 0),
            losses,
            collapse_prices(left, losses),
        )

    def _gaps(self, features: NDArray[np.int32], made: NDArray[np.void]) -> Floats:
        """The values on both sides of cuts, NaN where there is none, of shape (cuts, 2)."""
        gaps = np.full((len(features), 2), np.nan)
        values = self.prepared.values
        if values is not None:
            for f in np.unique(features):
                here = np.flatnonzero(features == f)
                for side, bins in enumerate((made["below"][here], made["above"][here])):
                    gaps[here, side] = np.where(bins < 0, np.nan, values[f][bins])
            return gaps
        beside = [self._beside(int(f), each) for f, each in zip(features, made, strict=True)]
        tops = np.full((len(features), 2), -np.inf)
        wanted = np.unique(features).tolist()
        for where, column in self.table.parts(wanted) if wanted else ():
            for f in wanted:
                x = column(f)
                for place in np.flatnonzero(features == f).tolist():
                    low, high = (_within(x, rows, where) for rows in beside[place])
                    tops[place, 0] = max(tops[place, 0], low.max(initial=-np.inf))
                    tops[place, 1] = max(tops[place, 1], -high.min(initial=np.inf))
        everywhere = np.array(self.communicator.max(tuple(tops.ravel().tolist()))).reshape(-1, 2)
        gaps[:, 0], gaps[:, 1] = everywhere[:, 0], np.where(made["above"] < 0, np.nan, -everywhere[:, 1])
        return gaps

    def _beside(self, feature: int, made: Any) -> Sequence[NDArray[np.intp]]:
        """The rows of the table, in order, in the last bin on the left of a cut and the first beyond it."""
        rows = np.empty(made["stop"] - made["start"], dtype=np.intp)
        many = list_beside(
            self.sample.rows, feature * len(self.sample.labels), self.work.entries, made["start"],
            made["stop"], made["below"], made["above"], rows,
        )  # fmt: skip
        sides = rows[: many[0]], rows[len(rows) - many[1] :]
        return [np.sort(side if self.kept is None else self.kept[side]) for side in sides]


def _within(x: NDArray[np.floating], rows: NDArray[np.intp], where: slice) -> NDArray[np.floating]:
    """The values of those rows that are in a batch."""
    first, last = np.searchsorted(rows, [where.start, where.stop])
    return x[rows[first:last] - where.start]


def _by_levels(
    left: NDArray[np.int32],
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.intp]]:
    """The nodes level by level, the left children in that numbering (−1: none), and the depths."""
    levels = [np.zeros(1, dtype=np.intp)]
    while len(levels[-1]):
        first = left[levels[-1]]
        first = first[first >= 0]
        levels.append((first[:, None] + np.arange(2)).ravel())
    order = np.concatenate(levels)
    depth = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
    has = left[order] >= 0
    numbered: NDArray[np.int32] = np.full(len(order), -1, dtype=np.int32)
    numbered[has] = 1 + 2 * np.arange(np.count_nonzero(has))
    return order, numbered, depth


def _ranges(total: int, parts: int) -> list[tuple[int, int]]:
    """Numbers from 0 on in as many parts of about equal size."""
    edges = [total * k // parts for k in range(parts + 1)]
    return list(pairwise(edges))


def _middle(low: float, high: float) -> float:
    """A threshold t with low ≤ t < high, half way if that is possible; no `high`: every value goes left."""
    if math.isnan(high):
        return math.inf
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low
