"""The histogram weak learner: a function of one feature, constant on its bins. [M §7.1]

Of the functions of each feature, the one of largest Σ y*·w·g over the rows is taken: for values ±1 per bin
that is Σ_b |G_b|, for real values −G_b/H_b it is Σ_b G_b²/H_b, with G and H the sums over the rows of a bin.
Sums are in fixed point, so that they depend neither on the order of the rows nor on the number of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.boosting.curves import Curve
from propriety.boosting.learners import Units, draw_features
from propriety.boosting.leaves import Cells, fixed_point
from propriety.engine.compiling import kernel
from propriety.engine.layout import BINS, Binned
from propriety.engine.quantize import MAX_COPIES

if TYPE_CHECKING:
    from propriety.boosting.rounds import Settings

_ROWS = 16384
Floats = NDArray[np.float64]


@kernel
def fix_rows(g, h, w, copies, a, b, start, stop, ints):
    """Gradient · a and curvature · b as integers, times the weight: whole weights count as copies."""
    for i in range(start, stop):
        if w.size == 0:
            ints[i, 0] = np.int64(np.rint(g[i] * a))
            ints[i, 1] = np.int64(np.rint(h[i] * b))
        elif copies:
            ints[i, 0] = np.int64(np.rint(g[i] * a)) * np.int64(w[i])
            ints[i, 1] = np.int64(np.rint(h[i] * b)) * np.int64(w[i])
        else:
            ints[i, 0] = np.int64(np.rint(g[i] * w[i] * a))
            ints[i, 1] = np.int64(np.rint(h[i] * w[i] * b))


@kernel
def count_rows(rows, index, ints, start, stop, cells):
    """Add the integers of index[start:stop] (all rows if it is empty) to the cells of their bins."""
    d = np.uint64(rows.shape[1])
    for i in range(start, stop):
        row = np.uint64(index[i]) if index.size else np.uint64(i)
        G, H = ints[row, 0], ints[row, 1]
        for f in range(d):
            at = (f << np.uint64(8)) + np.uint64(rows[row, f])
            cells[at, 0] += G
            cells[at, 1] += H


@kernel
def choose_feature(cells, n_bins, allowed, sign, l2, a, b):
    """The feature of largest Σ y*·w·g, the first among equals, and that sum."""
    best, top = -1, -1.0
    for f in range(n_bins.size):
        if allowed[f]:
            total = 0.0
            for k in range(256 * f, 256 * f + n_bins[f] + 1):
                G = cells[k, 0] / a
                H = cells[k, 1] / b + l2
                if sign:
                    total += abs(G)
                elif H > 0.0:
                    total += G * G / H
            if total > top:
                best, top = f, total
    return best, top


@kernel
def _sum_bins(column, index, g, h, w, copies, a, b, start, stop, sums):
    for i in range(start, stop):
        row = index[i] if index.size else i
        k = column[row]
        if w.size == 0:
            sums[k, 0] += np.int64(np.rint(g[row] * a))
            sums[k, 1] += np.int64(np.rint(h[row] * b))
        elif copies:
            sums[k, 0] += np.int64(np.rint(g[row] * a)) * np.int64(w[row])
            sums[k, 1] += np.int64(np.rint(h[row] * b)) * np.int64(w[row])
        else:
            sums[k, 0] += np.int64(np.rint(g[row] * w[row] * a))
            sums[k, 1] += np.int64(np.rint(h[row] * w[row] * b))


class Bins(Cells):
    """The bins of the chosen feature."""

    def __init__(
        self, learner: HistogramLearner, feature: int, gain: float, index: NDArray[np.uint32]
    ) -> None:
        self.feature, self.gain = feature, gain
        self.lower, self.upper = np.full(BINS, -np.inf), np.full(BINS, np.inf)
        self._learner, self._index, self._total = learner, index, learner.total
        self._column = learner.binned.columns[feature]

    def _sums(self, g: Floats, h: Floats, a: float, b: float) -> NDArray[np.int64]:
        learner, index = self._learner, self._index
        sums = np.zeros((BINS, 2), dtype=np.int64)
        n = len(index) if len(index) else len(g)
        _sum_bins(self._column, index, g, h, learner.weight, learner.copies, a, b, 0, n, sums)
        return sums

    def add(self, values: Floats, scores: Floats) -> None:
        """Add each bin's value to the scores of its rows."""
        scores += values[self._column]


class HistogramLearner:
    """Functions of one feature, constant on its bins."""

    def __init__(self, binned: Binned, weight: Floats | None, total: float, settings: Settings) -> None:
        n, d = binned.rows.shape
        self.binned, self.total, self.settings = binned, total, settings
        self.weight = np.empty(0) if weight is None else weight
        self.copies = weight is not None and bool(
            np.all(weight == np.rint(weight)) and weight.max() <= MAX_COPIES
        )
        self._ints = np.empty((n, 2), dtype=np.int64)
        self._cells = np.empty((d * BINS, 2), dtype=np.int64)
        self._none = np.empty(0, dtype=np.uint32)
        self.tops = (0.0, 0.0)

    def fit(
        self, k: int, g: Floats, h: Floats, rng: np.random.Generator | None, rows: Any, units: Units
    ) -> Bins:
        """Choose the feature whose best function goes farthest down the gradient."""
        settings, d = self.settings, self.binned.rows.shape[1]
        index = self._none if rows is None else rows
        self.tops = (max(float(g.max()), -float(g.min())), float(h.max()))
        a, b = (fixed_point(top, self.total) for top in self.tops)
        self._count(g, h, a, b, index)
        allowed = draw_features(rng, d, min(settings.tree_features, settings.split_features))
        l2 = settings.l2_regularization * float(units.curvature[k])
        sign = settings.step == "sign"
        best, edge = choose_feature(self._cells, self.binned.n_bins, allowed, sign, l2, a, b)
        return Bins(self, best, edge if sign else 0.5 * edge, index)

    def _count(self, g: Floats, h: Floats, a: float, b: float, index: NDArray[np.uint32]) -> None:
        """Histograms of all features; each thread has its own, and integers may be added in any order."""
        n, n_jobs = len(g), self.settings.n_jobs
        parallel.for_blocks(
            lambda s, e: fix_rows(g, h, self.weight, self.copies, a, b, s, e, self._ints),
            n,
            n_jobs=n_jobs,
            block=_ROWS,
        )
        used = len(index) if len(index) else n
        block = max(_ROWS, -(-used // n_jobs))
        parts: list[NDArray[np.int64]] = []

        def count(start: int, stop: int) -> None:
            cells = self._cells if start == 0 else np.empty_like(self._cells)
            cells[:] = 0
            count_rows(self.binned.rows, index, self._ints, start, stop, cells)
            if start:
                parts.append(cells)

        parallel.for_blocks(count, used, n_jobs=n_jobs, block=block)
        for part in parts:
            self._cells += part

    def finish(self, cells: Bins, values: Floats) -> Curve:
        """The function, as it is kept."""
        return Curve(cells.feature, values, cells.gain)
