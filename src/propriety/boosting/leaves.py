"""Values of leaves and bins: sums over their rows, wide enough not to carry the histograms' rounding.

The sums are in the wide fixed point, so they depend neither on the order of the rows nor on the
number of threads, and k copies of a row count as one of weight k.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.communicator import SINGLE, Communicator
from propriety.trees.binned import Binned
from propriety.trees.fixed_point import RowWeights, Scale, largest, sum_cells, wide_scale
from propriety.trees.gradient_layout import Index
from propriety.trees.jit import kernel
from propriety.trees.quickscorer import contains
from propriety.trees.split_score import Penalty, leaf_value, penalized

_ROWS = 65536
_MAX_STEPS = 100
_TOLERANCE = 1e-12
_EVERY = np.empty(0, dtype=np.uint32)
#: Rows of a piece of a leaf at least, and how many pieces a table has, about.
_PIECE_ROWS, _PIECES = 128, 8192
#: Columns of the table of pieces: leaf, places in the index, least and largest row number.
_LEAF, _START, _STOP, _LEAST, _MOST = range(5)
Floats = NDArray[np.float64]


@kernel
def _list_leaves(nodes, ids, starts, lower, upper):
    """Write down the leaves from left to right, as their rows lie side by side."""
    at = np.int64(0)
    for k in range(ids.size):
        while nodes[at].left >= 0:
            at = nodes[at].left
        ids[k], starts[k], lower[k], upper[k] = at, nodes[at].start, nodes[at].lower, nodes[at].upper
        while nodes[at].parent >= 0 and nodes[nodes[at].parent].right == at:
            at = nodes[at].parent
        if nodes[at].parent >= 0:
            at = nodes[nodes[at].parent].right


@kernel
def best_values(sums, scale, penalty, lower, upper, values):
    """The best value per leaf, within its bounds."""
    for k in range(values.size):
        gradient, curvature = sums[k, 0] / scale.gradient, sums[k, 1] / scale.curvature
        values[k] = leaf_value(gradient, curvature, penalty, lower[k], upper[k])


@kernel
def _list_pieces(starts, stop, size, pieces):
    """Cut the places of each leaf's rows into pieces of at most ``size``; returns how many there are."""
    count = 0
    for leaf in range(starts.size):
        end = starts[leaf + 1] if leaf + 1 < starts.size else stop
        for start in range(starts[leaf], end, size):
            pieces[count, _LEAF], pieces[count, _START] = leaf, start
            pieces[count, _STOP] = min(start + size, end)
            count += 1
    return count


@kernel
def _find_ranges(index, pieces, first, last):
    """Find the least and the largest row number of the pieces first … last−1."""
    for piece in range(first, last):
        start, stop = np.uint64(pieces[piece, _START]), np.uint64(pieces[piece, _STOP])
        low, high = index[start], index[start]
        for i in range(start, stop):
            low, high = min(low, index[i]), max(high, index[i])
        pieces[piece, _LEAST], pieces[piece, _MOST] = low, high


@kernel
def _mark_rows(index, pieces, first, last, leaf_of):
    """Write the leaf of the rows first … last−1, so that threads write to parts of the memory that lie apart.

    The rows of a leaf may be in any order. The closer it is to their own, the fewer pieces are read in vain.
    """
    for k in range(pieces.shape[0]):
        low, high = pieces[k, _LEAST], pieces[k, _MOST]
        leaf, start, stop = pieces[k, _LEAF], np.uint64(pieces[k, _START]), np.uint64(pieces[k, _STOP])
        if first <= low and high < last:
            for i in range(start, stop):
                leaf_of[index[i]] = leaf
        elif low < last and first <= high:
            for i in range(start, stop):
                row = np.int64(index[i])
                if first <= row < last:
                    leaf_of[index[i]] = leaf


@kernel
def _mark_others(rows, n_bins, nodes, sets, numbers, first, last, leaf_of):
    """Send the rows first … last−1 that have no leaf yet down the splits, and write down where they end."""
    n_leaves = (nodes.size + 1) // 2
    for i in range(np.uint64(first), np.uint64(last)):
        if leaf_of[i] < n_leaves:
            continue
        at = np.int64(0)
        while nodes[at].left >= 0:
            node = nodes[at]
            bin_ = np.int64(rows[i, node.feature])
            if node.by_set:
                goes_left = contains(sets, at, bin_)
            elif bin_ == n_bins[node.feature]:
                goes_left = node.missing_left != 0
            else:
                goes_left = bin_ <= node.bin
            at = node.left if goes_left else node.right
        leaf_of[i] = numbers[at]


@kernel
def _add_values(leaf_of, first, last, values, scores):
    for i in range(first, last):
        scores[i] += values[leaf_of[i]]


@kernel
def _widen(cell_of, index, scores, first, last, low, high):
    """Widen the cells' ranges by the scores of the rows index[first:last] (all, if it is empty)."""
    for i in range(first, last):
        row = np.uint64(index[i]) if index.size else np.uint64(i)
        cell = cell_of[row]
        low[cell] = min(low[cell], scores[row])
        high[cell] = max(high[cell], scores[row])


class Cells(ABC):
    """The parts of the data on each of which a weak learner is constant.

    What differs between the leaves of a tree and the bins of a feature is how rows are summed
    (``_sums``), how their scores lie (``ranges``) and how values are handed out (``add``). ``lower`` and
    ``upper`` bound the values.
    """

    lower: Floats
    upper: Floats
    share = 1.0  # of the values that counts: less than 1 if some of them are due to chance

    def __init__(self, weights: RowWeights, n_jobs: int, communicator: Communicator) -> None:
        self._weights, self._n_jobs, self._communicator = weights, n_jobs, communicator

    @abstractmethod
    def _sums(self, g: Floats, h: Floats, scale: Scale) -> NDArray[np.int64]:
        """Weighted sums of gradient and curvature per cell, over the rows of this process."""

    @abstractmethod
    def adding(self, values: Floats, scores: Floats) -> Callable[[int, int], None]:
        """A function that adds each cell's value to the scores of its rows from … to."""

    def add(self, values: Floats, scores: Floats) -> None:
        """Add each cell's value to the scores of its rows."""
        function = self.adding(values, scores)
        parallel.for_blocks(function, len(scores), n_jobs=self._n_jobs, block=_ROWS)

    @abstractmethod
    def ranges(self, scores: Floats, rows: NDArray[np.uint32] | None) -> tuple[Floats, Floats]:
        """The least and the largest score of these rows (None: all) in each cell, ∞ and −∞ if it has none."""

    def _ranges(
        self,
        cell_of: NDArray[np.unsignedinteger],
        rows: NDArray[np.uint32] | None,
        scores: Floats,
        n_cells: int,
    ) -> tuple[Floats, Floats]:
        """The ranges over the rows of all processes."""
        parts = [(np.full(n_cells, -np.inf), np.full(n_cells, -np.inf))]
        index, used = (_EVERY, len(scores)) if rows is None else (rows, len(rows))

        def widen(start: int, stop: int) -> None:
            part = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
            _widen(cell_of, index, scores, start, stop, *part)
            parts.append((-part[0], part[1]))

        parallel.for_blocks(widen, used, n_jobs=self._n_jobs, block=_ROWS)
        ends = self._communicator.max(tuple(np.max(parts, axis=0).ravel().tolist()))
        return -np.array(ends[:n_cells]), np.array(ends[n_cells:])

    def sums(self, g: Floats, h: Floats) -> tuple[Floats, Floats]:
        """Weighted sums of gradient and curvature per cell."""
        scale = wide_scale(*largest(g, h, self._n_jobs, self._communicator), self._weights.total)
        whole = self._communicator.sum(self._sums(g, h, scale))
        return whole[:, 0] / scale.gradient, whole[:, 1] / scale.curvature

    def step(self, g: Floats, h: Floats, tops: tuple[float, float], penalty: Penalty) -> Floats:
        """The best value per cell, within its bounds; ``tops`` are the largest |g| and h."""
        scale = wide_scale(*tops, self._weights.total)
        values = np.empty(len(self.lower))
        whole = self._communicator.sum(self._sums(g, h, scale))
        best_values(whole, scale, penalty, self.lower, self.upper, values)
        return values

    def line_search(
        self,
        derivatives: Callable[[Floats], tuple[Floats, Floats]],
        g: Floats,
        h: Floats,
        penalty: Penalty,
        span: float,
    ) -> Floats:
        """The value per cell, at most ``span`` in size, at which loss and penalty together are flat.

        ``derivatives(values)`` gives gradient and curvature of all rows after such a step. Newton's
        steps, or halving where they leave the bracket; a cell of one class ends at ±span.
        """
        return find_zeros(
            lambda values: self.sums(*derivatives(values)), self.sums(g, h), penalty, span
        ).clip(self.lower, self.upper)


class Leaves(Cells):
    """The leaves of a grown tree, from left to right.

    Parameters
    ----------
    nodes : array of NODE
        As the grower returns them.
    index : Index
        The grower's: its rows lie leaf after leaf, those of a leaf in no order; its spare numbers, one a row,
        are for the leaves' use until the next tree grows.
    sets : ndarray of shape (nodes, SET_WORDS)
    weights : RowWeights
    others : Binned or None
        The table, if rows from which the tree was not grown are to be in its leaves too.
    """

    def __init__(
        self,
        nodes: NDArray[np.void],
        index: Index,
        sets: NDArray[np.uint32],
        weights: RowWeights,
        n_jobs: int,
        communicator: Communicator = SINGLE,
        others: Binned | None = None,
    ) -> None:
        super().__init__(weights, n_jobs, communicator)
        room = index.spare
        n_leaves, self.nodes = (len(nodes) + 1) // 2, nodes
        self.ids, self.starts = np.empty(n_leaves, dtype=np.int64), np.empty(n_leaves, dtype=np.int64)
        self.lower, self.upper = np.empty(n_leaves), np.empty(n_leaves)
        _list_leaves(nodes, self.ids, self.starts, self.lower, self.upper)
        # Small numbers, so that all of them stay in the cache while they are written in the leaves' order.
        self._leaf_of = room if n_leaves >= 2**16 else room.view(np.uint16)[: len(room)]
        n_rows = int(nodes["stop"][0])
        if n_rows < len(room):
            self._leaf_of[:] = n_leaves
        self._mark(index.rows, n_rows)
        if others is not None and n_rows < len(room):
            self._let_others_follow(others, sets)

    def _mark(self, index: NDArray[np.uint32], n_rows: int) -> None:
        """Write down the leaves of the rows from which the tree was grown."""
        size = max(_PIECE_ROWS, n_rows // _PIECES)
        pieces = np.empty((n_rows // size + len(self.starts), 5), dtype=np.int64)
        pieces = pieces[: _list_pieces(self.starts, n_rows, size, pieces)]
        parallel.for_blocks(
            lambda s, e: _find_ranges(index, pieces, s, e),
            len(pieces),
            n_jobs=self._n_jobs,
            block=max(1, 4 * _ROWS // size),
        )
        self._for_blocks(lambda s, e: _mark_rows(index, pieces, s, e, self._leaf_of), len(self._leaf_of))

    def _let_others_follow(self, binned: Binned, sets: NDArray[np.uint32]) -> None:
        """Find the leaves of the rows from which the tree was not grown."""
        numbers = np.zeros(len(self.nodes), dtype=np.int64)
        numbers[self.ids] = np.arange(len(self.ids))
        tree = binned.rows, binned.n_bins, self.nodes, sets, numbers
        self._for_blocks(lambda s, e: _mark_others(*tree, s, e, self._leaf_of), len(self._leaf_of))

    def _sums(self, g: Floats, h: Floats, scale: Scale) -> NDArray[np.int64]:
        parts = []

        def add(start: int, stop: int) -> None:
            part = np.zeros((len(self.ids) + 1, 2), dtype=np.int64)
            sum_cells(self._leaf_of, g, h, self._weights, scale, start, stop, part)
            parts.append(part)

        self._for_blocks(add, len(g))
        return (parts[0] if len(parts) == 1 else np.sum(parts, axis=0))[:-1]

    def ranges(self, scores: Floats, rows: NDArray[np.uint32] | None) -> tuple[Floats, Floats]:
        """The least and the largest score of these rows in each leaf."""
        low, high = self._ranges(self._leaf_of, rows, scores, len(self.ids) + 1)
        return low[:-1], high[:-1]

    def adding(self, values: Floats, scores: Floats) -> Callable[[int, int], None]:
        """A function that adds each leaf's value to the scores of its rows from … to."""
        values = np.append(values, 0.0)
        return lambda start, stop: _add_values(self._leaf_of, start, stop, values, scores)

    def _for_blocks(self, function: Callable[[int, int], object], n: int) -> None:
        parallel.for_blocks(function, n, n_jobs=self._n_jobs, block=_ROWS)


def find_zeros(
    sums: Callable[[Floats], tuple[Floats, Floats]],
    start: tuple[Floats, Floats],
    penalty: Penalty,
    span: float,
) -> Floats:
    """The values, at most ``span`` in size, at which the slopes of loss and penalty are zero.

    ``sums(values)`` gives slopes and curvatures there, ``start`` those at 0; each slope depends on its own
    value alone. Newton's steps, or halving where they leave the bracket.
    """
    G, H = start
    low, high = np.full(len(G), -span), np.full(len(G), span)
    value = np.zeros(len(G))
    for _ in range(_MAX_STEPS):
        slope, bend = penalized(G, H, value, penalty)
        high = np.where(slope > 0, value, high)
        low = np.where(slope < 0, value, low)
        proposal = value - _ratio(slope, bend)
        inside = (proposal > low) & (proposal < high)
        # Outside, halve: with a huge bracket the first Newton step of a pure leaf is always inside.
        following = np.where(slope == 0, value, np.where(inside, proposal, 0.5 * (low + high)))
        done = np.max(np.abs(following - value)) <= _TOLERANCE * max(1.0, float(np.max(np.abs(following))))
        value = following
        if done:
            break
        G, H = sums(value)
    return value


def _ratio(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
