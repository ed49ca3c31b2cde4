"""The histogram weak learner: a function of one feature, constant on its bins. [M §7.1]

Of the functions of each feature, the one of largest Σ y*·w·g over the rows is taken: for values ±1 per bin
that is Σ_b |G_b|, for real values −G_b/H_b it is Σ_b G_b²/H_b, with G and H the sums over the rows of a bin.
Sums are in fixed point, so that they depend neither on the order of the rows nor on the number of threads.
With ``max_intervals`` neighbouring bins are joined first, as the leaves of a tree on the one feature would.
Of what a feature of categories reaches, and of its values, only the real share counts
(:mod:`propriety.trees.categories`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.boosting.curves import BinCurve
from propriety.boosting.draws import Draws
from propriety.boosting.learners import Units
from propriety.boosting.leaves import Cells
from propriety.communicator import SINGLE, Communicator
from propriety.trees.binned import BINS, Binned
from propriety.trees.categories import real_share, spread
from propriety.trees.fixed_point import RowWeights, Scale, fix_rows, sum_cells, wide_scale
from propriety.trees.gradients import dispersion
from propriety.trees.jit import allocating, inner, kernel

if TYPE_CHECKING:
    from propriety.boosting.settings import BoostingSettings
    from propriety.trees.binning import Binner

_ROWS = 32768
_FEW = 4  # a quarter of the features is counted column by column, not row by row
Floats = NDArray[np.float64]


@kernel
def count_rows(rows, index, ints, start, stop, cells):
    """Add the integers of the rows index[start:stop] (all rows if it is empty) to the cells of their bins."""
    d = np.uint64(rows.shape[1])
    for i in range(start, stop):
        row = np.uint64(index[i]) if index.size else np.uint64(i)
        G, H = ints[i, 0], ints[i, 1]
        for f in range(d):
            at = (f << np.uint64(8)) + np.uint64(rows[row, f])
            cells[at, 0] += G
            cells[at, 1] += H


@kernel
def count_column(column, index, ints, used, cells):
    """The same for one feature, whose cells these are."""
    for i in range(np.uint64(used)):
        k = np.uint64(column[index[i]]) if index.size else np.uint64(column[i])
        cells[k, 0] += ints[i, 0]
        cells[k, 1] += ints[i, 1]


@kernel
def choose_feature(cells, n_bins, allowed, sign, l2, scale, shares):
    """The feature of largest Σ y*·w·g times its share, the first among equals, and that number."""
    best, top = -1, -1.0
    for f in range(n_bins.size):
        if allowed[f]:
            total = 0.0
            for k in range(256 * f, 256 * f + n_bins[f] + 1):
                G = cells[k, 0] / scale.gradient
                H = cells[k, 1] / scale.curvature + l2
                if sign:
                    total += abs(G)
                elif H > 0.0:
                    total += G * G / H
            if shares[f] * total > top:
                best, top = f, shares[f] * total
    return best, top


@inner
def _best_cut(G, H, first, last, l2):
    """Where to cut the cells first … last−1, and what it gains; 0: nowhere."""
    total_G, total_H = G[last] - G[first], H[last] - H[first] + l2
    base = total_G * total_G / total_H if total_H > 0.0 else 0.0
    best, where = 0.0, np.int64(-1)
    for k in range(first + 1, last):
        left_G, left_H = G[k] - G[first], H[k] - H[first] + l2
        right_G, right_H = G[last] - G[k], H[last] - H[k] + l2
        if left_H > l2 and right_H > l2:
            gain = left_G * left_G / left_H + right_G * right_G / right_H - base
            if gain > best:
                best, where = gain, k
    return best, where


@inner
def _cut_up(G, H, l2, gains, cuts, ends):
    """Cut the cells, best cut first, into at most gains.size intervals; returns their number."""
    count = 1
    gains[0], cuts[0] = _best_cut(G, H, 0, ends[1], l2)
    while count < gains.size:
        at = 0
        for j in range(1, count):
            at = j if gains[j] > gains[at] else at
        if gains[at] <= 0.0:
            break
        cut = cuts[at]
        for j in range(count, at, -1):
            ends[j + 1] = ends[j]
            gains[j], cuts[j] = gains[j - 1], cuts[j - 1]
        ends[at + 1] = cut
        count += 1
        for j in (at, at + 1):
            gains[j], cuts[j] = _best_cut(G, H, ends[j], ends[j + 1], l2)
    return count


@allocating
def join_bins(cells, n_bins, categorical, max_intervals, l2, scale, labels):
    """Join bins to at most ``max_intervals``, best cut first, and return Σ G²/H of them; missing stay apart.

    Categories are put in the order of G/H before.
    """
    ratio = np.zeros(n_bins)
    for k in range(n_bins):
        H = cells[k, 1] / scale.curvature + l2
        ratio[k] = cells[k, 0] / scale.gradient / H if H > 0.0 else 0.0
    order = np.argsort(ratio, kind="mergesort") if categorical else np.arange(n_bins)
    G, H = np.zeros(n_bins + 1), np.zeros(n_bins + 1)
    for k in range(n_bins):
        G[k + 1] = G[k] + cells[order[k], 0] / scale.gradient
        H[k + 1] = H[k] + cells[order[k], 1] / scale.curvature
    ends = np.zeros(max_intervals + 1, dtype=np.int64)
    ends[1] = n_bins
    count = _cut_up(G, H, l2, np.zeros(max_intervals), np.zeros(max_intervals, dtype=np.int64), ends)
    total = 0.0
    for j in range(count):
        bend = H[ends[j + 1]] - H[ends[j]] + l2
        if bend > 0.0:
            total += (G[ends[j + 1]] - G[ends[j]]) ** 2 / bend
        for k in range(ends[j], ends[j + 1]):
            labels[order[k]] = j
    for k in range(n_bins, labels.size):
        labels[k] = k
    bend = cells[n_bins, 1] / scale.curvature + l2
    return total + ((cells[n_bins, 0] / scale.gradient) ** 2 / bend if bend > 0.0 else 0.0)


class Bins(Cells):
    """The bins of the chosen feature, with all rows: those drawn only chose it."""

    def __init__(
        self,
        learner: HistogramLearner,
        feature: int,
        gain: float,
        labels: NDArray[np.int64] | None,
        share: float,
    ) -> None:
        super().__init__(learner.weights, learner.settings.n_jobs, learner.communicator)
        self.share = share
        self.feature, self.gain, self._labels = feature, gain, labels
        self.lower, self.upper = np.full(BINS, -np.inf), np.full(BINS, np.inf)
        self._column = learner.binned.columns[feature]

    def _sums(self, g: Floats, h: Floats, scale: Scale) -> NDArray[np.int64]:
        parts: list[NDArray[np.int64]] = []

        def add(start: int, stop: int) -> None:
            part = np.zeros((BINS, 2), dtype=np.int64)
            sum_cells(self._column, g, h, self._weights, scale, start, stop, part)
            parts.append(part)

        parallel.for_blocks(add, len(g), n_jobs=self._n_jobs, block=_ROWS)
        sums = parts[0] if len(parts) == 1 else np.sum(parts, axis=0)
        if self._labels is None:
            return sums
        joined = np.zeros_like(sums)
        np.add.at(joined, self._labels, sums)
        return joined[self._labels]

    def ranges(self, scores: Floats, rows: NDArray[np.uint32] | None) -> tuple[Floats, Floats]:
        """The least and the largest score of these rows in each bin, or in the bins that are joined."""
        low, high = self._ranges(self._column, rows, scores, BINS)
        if self._labels is None:
            return low, high
        joined = np.full(BINS, np.inf), np.full(BINS, -np.inf)
        np.minimum.at(joined[0], self._labels, low)
        np.maximum.at(joined[1], self._labels, high)
        return joined[0][self._labels], joined[1][self._labels]

    def adding(self, values: Floats, scores: Floats) -> Callable[[int, int], None]:
        """A function that adds each bin's value to the scores of its rows from … to."""

        def block(start: int, stop: int) -> None:
            scores[start:stop] += values[self._column[start:stop]]

        return block


class HistogramLearner:
    """Functions of one feature, constant on its bins."""

    def __init__(
        self,
        binned: Binned,
        _binner: Binner,
        weights: RowWeights,
        settings: BoostingSettings,
        communicator: Communicator = SINGLE,
        _rows: NDArray[np.uint32] | None = None,
        *,
        every_row: bool = False,
    ) -> None:
        n, d = binned.rows.shape
        self.binned, self.weights, self.settings, self.communicator = binned, weights, settings, communicator
        self._ints = memory.empty((n, 2), np.int64)
        self._cells = np.zeros((d * BINS, 2), dtype=np.int64)
        self._none = np.empty(0, dtype=np.uint32)

    def fit(
        self,
        k: int,
        g: Floats,
        h: Floats,
        tops: tuple[float, float],
        draws: Draws | None,
        rows: Any,
        units: Units,
    ) -> Bins:
        """Choose the feature whose best function goes farthest down the gradient."""
        settings, d = self.settings, self.binned.rows.shape[1]
        scale = wide_scale(*tops, self.weights.total)
        allowed = np.ones(d, dtype=np.uint8) if draws is None else draws.features[k]
        drawn = np.flatnonzero(allowed)
        self._count(drawn, g, h, scale, rows)
        l2 = settings.penalty(float(units.curvature[k])).l2
        shares = self._shares(drawn, g, h, scale)
        if settings.algorithm.max_intervals is not None:
            return self._joined(drawn, l2, scale, shares)
        sign = settings.algorithm.step == "sign"
        best, edge = choose_feature(self._cells, self.binned.n_bins, allowed, sign, l2, scale, shares)
        return Bins(self, best, edge if sign else 0.5 * edge, None, float(shares[best]))

    def _shares(self, drawn: NDArray[np.intp], g: Floats, h: Floats, scale: Scale) -> Floats:
        """The share of each feature's spread that is real; 1 for features of numbers."""
        binned, shares = self.binned, np.ones(len(self.binned.n_bins))
        categorical = drawn[binned.categorical[drawn] != 0]
        if len(categorical) and binned.levels is not None:
            chance = dispersion(g, h, self.weights, self.settings.n_jobs, self.communicator)
            for f in categorical:
                cells = self._cells[BINS * f : BINS * (f + 1)]
                G, H = cells[:, 0] / scale.gradient, cells[:, 1] / scale.curvature
                levels = float(binned.levels[f, H > 0].sum())
                shares[f] = real_share(spread(G, H), levels - 2.0, float(binned.noise[f]) * chance)
        return shares

    def _joined(self, drawn: NDArray[np.intp], l2: float, scale: Scale, shares: Floats) -> Bins:
        """The feature whose joined bins go farthest down the gradient."""
        best, edge, kept, binned = -1, -1.0, None, self.binned
        for f in drawn:
            labels = np.empty(BINS, dtype=np.int64)
            cells = self._cells[BINS * f : BINS * (f + 1)]
            categorical = bool(binned.categorical[f])
            total = join_bins(
                cells, binned.n_bins[f], categorical, self.settings.algorithm.max_intervals, l2, scale, labels
            )
            if shares[f] * total > edge:
                best, edge, kept = int(f), shares[f] * total, labels
        return Bins(self, best, 0.5 * edge, kept, float(shares[best]))

    def _count(
        self, drawn: NDArray[np.intp], g: Floats, h: Floats, scale: Scale, rows: NDArray[np.uint32] | None
    ) -> None:
        """Histograms of the drawn features, over these rows (None: all) of all processes."""
        if rows is not None and len(rows) == 0:  # this process has none of them
            self._cells[:] = 0
            self._cells = self.communicator.sum(self._cells)
            return
        index, used = (self._none, len(g)) if rows is None else (rows, len(rows))
        n_jobs = self.settings.n_jobs
        few = len(drawn) * _FEW <= self.binned.rows.shape[1]
        parallel.for_blocks(
            lambda s, e: fix_rows(g, h, self.weights, scale, index, s, e, self._ints),
            used,
            n_jobs=1 if few else n_jobs,
            block=_ROWS,
        )
        if few:
            self._count_columns(drawn, index, used)
        else:
            self._count_rows(index, used)
        self._cells = self.communicator.sum(self._cells)

    def _count_columns(self, drawn: NDArray[np.intp], index: NDArray[np.uint32], used: int) -> None:
        """Feature after feature: a column is too little to wake a thread for."""
        for f in drawn:
            cells = self._cells[BINS * f : BINS * (f + 1)]
            cells[:] = 0
            count_column(self.binned.columns[f], index, self._ints, used, cells)

    def _count_rows(self, index: NDArray[np.uint32], used: int) -> None:
        """All features at once; each thread has its own cells, and integers may be added in any order."""
        n_jobs = self.settings.n_jobs
        parts: list[NDArray[np.int64]] = []

        def count(start: int, stop: int) -> None:
            cells = self._cells if start == 0 else np.empty_like(self._cells)
            cells[:] = 0
            count_rows(self.binned.rows, index, self._ints, start, stop, cells)
            if start:
                parts.append(cells)

        parallel.for_blocks(count, used, n_jobs=n_jobs, block=max(_ROWS, -(-used // n_jobs)))
        for part in parts:
            self._cells += part

    def share_buffers(self, other: HistogramLearner) -> None:
        """Count in the cells of another learner over the same bins; the two must take turns."""
        self._cells, self._ints = other._cells, other._ints

    def finish(self, cells: Bins, values: Floats) -> BinCurve:
        """The function, as it is kept."""
        return BinCurve(cells.feature, values, cells.gain)

    def follow(self, k: int, item: BinCurve) -> None:
        """What a category that was not seen gets is a bin of its own, so there is nothing to note."""
