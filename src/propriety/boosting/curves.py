"""Functions of one feature as they are kept, and the scores they give: an additive model.

An ensemble of curves has the methods of ``Forest`` that the booster uses. Its score is the sum
of one table per feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.cached_properties import cached_property
from propriety.export.formula import Trees
from propriety.trees.apply_bins import place
from propriety.trees.binned import BINS, SET_WORDS, Binned
from propriety.trees.binning import Binner
from propriety.trees.predictor import TREE_NODE, Forest, TreeNodes, copy_of

_ROWS = 8192
Floats = NDArray[np.float64]


class BinCurve(NamedTuple):
    """A function of one feature: what each of its bins adds to the score; missing values are the last bin."""

    feature: int
    values: Floats  # (256,)
    gain: float


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves in the order of their rounds; curve t adds to the score number t mod ``n_scores``."""

    features: NDArray[np.int64]
    values: Floats  # (curves, 256)
    gains: Floats
    binner: Binner
    n_scores: int

    @classmethod
    def join(cls, curves: Sequence[BinCurve], n_scores: int, binner: Binner) -> Curves:
        """Put curves into arrays."""
        return cls(
            np.array([c.feature for c in curves], dtype=np.int64),
            np.array([c.values for c in curves]).reshape(-1, BINS),
            np.array([c.gain for c in curves], dtype=np.float64),
            binner,
            n_scores,
        )

    def __len__(self) -> int:
        return len(self.features)

    def split(self) -> list[BinCurve]:
        """The curves again, as before :meth:`join`."""
        return [
            BinCurve(int(f), v, float(g))
            for f, v, g in zip(self.features, self.values, self.gains, strict=True)
        ]

    @cached_property
    def tables(self) -> Floats:
        """Per score and feature the sum of its curves, (n_scores, d, 256)."""
        tables = np.zeros((self.n_scores, len(self.binner.n_bins), BINS))
        for t, (f, values) in enumerate(zip(self.features, self.values, strict=True)):
            tables[t % self.n_scores, f] += values
        return tables

    def columns(self, X: NDArray[np.floating], n_jobs: int) -> NDArray[np.uint8]:
        """Bins of values, (d, n); categories come as the numbers of their bins."""
        columns = np.empty(X.shape[::-1], dtype=np.uint8)
        place(X, np.arange(X.shape[1]), self.binner.edges, self.binner.n_bins, columns, 0, n_jobs)
        return columns

    def add_columns(self, columns: NDArray[np.uint8], scores: Floats, first: int, last: int) -> None:
        """Add the curves first … last−1 to ``scores``, (n, n_scores), round by round."""
        for t in range(first, last):
            scores[:, t % self.n_scores] += self.values[t][columns[self.features[t]]]

    def add_scores(self, X: NDArray[np.floating], scores: Floats, n_jobs: int) -> None:
        """Add the sum of all curves, feature by feature."""
        columns = self.columns(X, n_jobs)

        def add(start: int, stop: int) -> None:
            for k, tables in enumerate(self.tables):
                for f, table in enumerate(tables):
                    scores[start:stop, k] += table[columns[f, start:stop]]

        parallel.for_blocks(add, len(X), n_jobs=n_jobs, block=_ROWS)

    def add_binned_scores(self, binned: Binned, scores: Floats, n_jobs: int) -> None:
        """As :meth:`add_scores`, for rows that are binned already, round by round."""
        columns = binned.columns if binned.columns.shape[1] == len(binned.rows) else binned.rows.T
        self.add_columns(columns, scores, 0, len(self))

    def formula(self, start: Floats, binner: Binner) -> Trees:
        """The curves as trees, one for each score and feature that a curve looks at."""
        used = np.unique(self.features)
        trees = [step_tree(binner, int(f), self.tables[k, f]) for k in range(self.n_scores) for f in used]
        forest = Forest.join(trees, 1)
        targets = np.repeat(np.arange(self.n_scores), len(used))
        return replace(forest.formula(start, binner), targets=targets)

    def importances(self, kind: str) -> Floats:
        """Total gain, or number, of the curves of each feature."""
        amounts = self.gains if kind == "split_gain" else np.ones(len(self))
        totals = np.bincount(self.features, weights=amounts, minlength=len(self.binner.n_bins))
        return totals.astype(np.float64)


def step_tree(binner: Binner, feature: int, values: Floats) -> TreeNodes:
    """A function of a feature's bins as a tree; missing values leave at the root."""
    n_bins = int(binner.n_bins[feature])
    nodes = np.zeros(2 * n_bins + 1, dtype=TREE_NODE)
    nodes["feature"], nodes["set"], nodes["left"] = -1, -1, -1
    nodes["value"][2] = values[n_bins]
    nodes["feature"][0], nodes["threshold"][0], nodes["left"][0] = feature, np.inf, 1
    free, waiting = 3, [(1, 0, n_bins)]
    while waiting:
        at, low, high = waiting.pop()  # the node of the bins low … high − 1
        if high - low == 1:
            nodes["value"][at] = values[low]
            continue
        middle = (low + high) // 2
        nodes["feature"][at], nodes["left"][at] = feature, free
        nodes["threshold"][at] = binner.edges[feature, middle - 1]
        waiting += [(free, low, middle), (free + 1, middle, high)]
        free += 2
    return TreeNodes(nodes, np.zeros((0, SET_WORDS), dtype=np.uint32))


Ensemble = Forest | Curves


def join(items: Sequence[Any], n_scores: int, binner: Binner) -> Ensemble:
    """Trees or curves as one ensemble."""
    if items and isinstance(items[0], BinCurve):
        return Curves.join(items, n_scores, binner)
    return Forest.join(items, n_scores)


def scaled(item: Any, factor: float) -> Any:
    """A tree or curve times a number."""
    if isinstance(item, BinCurve):
        return item._replace(values=item.values * factor)
    nodes = copy_of(item.nodes)
    nodes["value"] *= factor
    return TreeNodes(nodes, item.sets)


def nothing(item: Any) -> Any:
    """A tree or curve of the same kind that adds nothing."""
    if isinstance(item, BinCurve):
        return BinCurve(item.feature, np.zeros(BINS), 0.0)
    nodes = np.zeros(1, dtype=item.nodes.dtype)
    nodes["feature"], nodes["left"], nodes["set"], nodes["weight"] = -1, -1, -1, item.nodes["weight"][0]
    return TreeNodes(nodes, item.sets[:0])
