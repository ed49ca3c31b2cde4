"""Growing trees by gradient and curvature: the grower's memory, its threads, and sums over processes."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.communicator import SINGLE, Communicator
from propriety.trees import work_queue
from propriety.trees.binned import BINS, CELLS, SET_WORDS, Binned
from propriety.trees.fixed_point import BLOCK
from propriety.trees.gradient_grower import DIRECT_ROWS, TASK_CELLS, advance
from propriety.trees.gradient_layout import (
    CUT,
    FEATURE,
    MAX_BLOCKS,
    NODE,
    PARAMS,
    SCRATCH,
    STATE,
    Control,
    Gradients,
    Index,
    Search,
    Sums,
    Table,
    Tree,
)
from propriety.trees.gradient_tasks import BEGIN
from propriety.trees.gradients import QuantizedGradients
from propriety.trees.jit import COMPILED, kernel
from propriety.trees.split_score import SplitParameters

_CHUNK = 4  # features, at least
_NONE = np.empty(0, dtype=np.int64)
_LEAD = -1
Ints = NDArray[np.int64]


def n_threads(binned: Binned, n_jobs: int, n_trees: int = 1) -> int:
    """Threads that so many trees are worth: grown by all of them together, or side by side."""
    n, d = binned.rows.shape
    threads = parallel.n_threads(None) if COMPILED else 1
    return min(n_jobs, threads, max(1, n_trees * n * d // (2 * TASK_CELLS)))


def _n_histograms(n: int, max_leaves: int) -> int:
    """Leaves of more than a few rows keep a histogram, one more is being searched."""
    return min(max_leaves, n // (DIRECT_ROWS + 1) + 1)


def histogram_bytes(binned: Binned, max_leaves: int) -> int:
    """The size of the histograms of a tree that grows."""
    n, d = binned.rows.shape
    return _n_histograms(n, max_leaves) * d * CELLS * 8


@kernel
def _count_bins(column, counts):
    for i in range(np.uint64(column.size)):
        counts[column[i]] += 1


def _largest_bin(binned: Binned, n_jobs: int) -> int:
    """The largest number of rows in a bin of any feature."""
    tops: list[int] = []

    def count(f: int) -> None:
        counts = np.zeros(BINS, dtype=np.int64)
        _count_bins(binned.columns[f], counts)
        tops.append(int(counts.max()))

    parallel.run([partial(count, f) for f in range(len(binned.columns))], n_jobs)
    return max(tops)


class GradientGrower:
    """Grows trees over one binned table, reusing its memory.

    Parameters
    ----------
    binned : Binned
        The rows of this process.
    max_leaves : int
    n_groups : int
        Number of interaction groups.
    n_jobs : int
    communicator : Communicator
        With those that have the other rows.
    drawn : bool
        Whether each tree is grown over rows of its own.
    """

    def __init__(
        self,
        binned: Binned,
        max_leaves: int,
        n_groups: int,
        n_jobs: int,
        communicator: Communicator = SINGLE,
        *,
        drawn: bool = True,
    ) -> None:
        n, d = binned.rows.shape
        self.binned, self.n_workers = binned, n_threads(binned, n_jobs)
        self._communicator, self._drawn, self._all_rows = communicator, drawn, -1
        self._rows: NDArray[np.uint32] | None = None
        spread, workers, batch = communicator.size > 1, self.n_workers, communicator.speculative_splits
        if spread:  # histograms are made when they are needed; splits ahead of their turn need nodes
            n_histograms, n_nodes = 0, 4 * max_leaves + 3
        else:  # each leaf has a row
            max_leaves, batch = min(max_leaves, n), 1
            n_histograms, n_nodes = _n_histograms(n, max_leaves), 2 * max_leaves - 1
        chunks, cells = min(-(-d // _CHUNK), workers), d * CELLS
        ends = np.concatenate([[0], np.cumsum(binned.n_bins + 1)])
        self._n_bins = int(ends[-1])
        features = np.zeros(d, dtype=FEATURE)
        features["n_bins"], features["offset"], features["noise"] = binned.n_bins, ends[:-1], binned.noise
        features["categorical"], features["used"] = binned.categorical, 1
        levels = np.empty((0, BINS)) if binned.levels is None else binned.levels
        self._table = Table(binned.rows, binned.columns, features, levels, np.empty((0, d), np.uint8))
        self.control = Control(np.zeros(1, PARAMS), np.zeros(1, STATE), work_queue.new_board())
        self.index = Index(
            memory.empty(n, np.uint32),
            memory.empty(n, np.uint32),
            np.zeros((batch, MAX_BLOCKS), dtype=np.int64),
        )
        self.tree = Tree(
            np.zeros(n_nodes, dtype=NODE),
            np.zeros((n_nodes, SET_WORDS), dtype=np.uint32),
            np.ones((n_nodes, n_groups), dtype=np.uint8),
            np.zeros(n_nodes, dtype=np.int64),
            np.zeros(n_nodes, dtype=np.uint8),
        )
        self.sums = Sums(
            np.zeros((n_histograms, cells), dtype=np.int64),
            np.arange(n_histograms),
            np.zeros((workers, cells if workers > 1 and not spread else 0), dtype=np.int64),
            np.zeros((workers, cells if n > BLOCK or spread else 0), dtype=np.int64),
            np.empty(batch * (1 + 3 * self._n_bins) if spread else 0, dtype=np.int64),
        )
        self._search = Search(
            np.zeros(batch, dtype=CUT),
            np.zeros((2 * batch, chunks), dtype=NODE),
            np.zeros((2 * batch, chunks, SET_WORDS), dtype=np.uint32),
            np.zeros((2 * batch, d), dtype=np.uint8),
            np.zeros(d, dtype=np.uint64),
        )
        self._scratch = np.zeros(workers, dtype=SCRATCH)
        self._parameters: SplitParameters | None = None
        params = self.control.params
        params["block"] = n if n > BLOCK and _largest_bin(binned, n_jobs) <= BLOCK else BLOCK
        params["spread"], params["total_bins"] = spread, self._n_bins
        params["any_categorical"] = binned.categorical.any()

    def grow(
        self,
        gradients: QuantizedGradients,
        parameters: SplitParameters,
        rows: NDArray[np.uint32] | None = None,
    ) -> NDArray[np.void]:
        """Grow one tree over these ``rows`` of this process (default: all), and those of the others.

        Returns its nodes, the sets of whose splits are the first of ``tree.sets``. The rows of this process
        in a leaf are the set ``index.rows[node.start:node.stop]``; nobody may rely on their order.
        """
        n_rows = len(self.index.rows) if rows is None else len(rows)
        if rows is not None:
            self.index.rows[:n_rows] = rows
        if self._drawn or self._all_rows < 0 or rows is not self._rows:
            self._all_rows, self._rows = int(self._communicator.sum(np.array([n_rows]))[0]), rows
        self._set(gradients, parameters)
        params, state = self.control.params[0], self.control.state[0]
        params["n_rows"], params["all_rows"], params["every_row"] = n_rows, self._all_rows, rows is None
        state["phase"], state["n_slots"] = BEGIN, 0
        arrays = Gradients(gradients.packed, gradients.parts)
        size = self._advance(arrays, _NONE)
        while size:
            totals = self._communicator.sum(self.sums.message[:size].copy())
            size = self._advance(arrays, totals)
        return self._grown()

    def _set(self, gradients: QuantizedGradients, parameters: SplitParameters) -> None:
        """Write down the settings of a tree; those of the last one that are the same objects stay."""
        params, features, last = self.control.params, self._table.features, self._parameters
        params["weighted"], params["dispersion"] = gradients.weighted, gradients.dispersion
        params["gradient_unit"], params["curvature_unit"] = gradients.gradient_unit, gradients.curvature_unit
        params["weight_unit"] = gradients.weight_unit
        for name, value in zip(SplitParameters._fields, parameters, strict=True):
            if last is not None and value is getattr(last, name):
                continue
            if name in ("monotone", "drift"):
                features[name] = value
            elif name == "features":
                features["used"] = value
            elif name == "groups":
                self._table = self._table._replace(groups=parameters.groups)
            else:
                params[name] = value
        params["any_monotone"] = parameters.monotone.any()
        self._parameters = parameters

    def _advance(self, gradients: Gradients, totals: Ints) -> int:
        """Grow until there are numbers to be added up; returns how many, 0 when the tree is grown."""
        self._make_room()
        step = partial(
            advance,
            self._table,
            gradients,
            self.control,
            self.index,
            self.tree,
            self.sums,
            self._search,
            self._scratch,
            totals,
        )
        if self.n_workers == 1:
            return int(step(_LEAD))
        board = self.control.board
        number = work_queue.open_board(board)
        try:
            with parallel.helped_by(lambda: step(number), self.n_workers - 1):
                return int(step(_LEAD))
        finally:
            work_queue.close_board(board)  # or the helpers would wait for ever

    def _make_room(self) -> None:
        """Have enough histograms for one more step."""
        if self._communicator.size == 1:
            return
        sums, batch = self.sums, len(self._search.cuts)
        n, wanted = len(sums.histograms), int(self.control.state[0]["n_slots"]) + batch + 1
        if wanted > n:
            histograms = np.zeros((max(wanted, 2 * n), sums.histograms.shape[1]), dtype=np.int64)
            histograms[:n] = sums.histograms
            slots = np.concatenate([sums.slots, np.arange(n, len(histograms))])
            self.sums = sums._replace(histograms=histograms, slots=slots)

    def _grown(self) -> NDArray[np.void]:
        """The nodes of the tree, numbered in the order of one process."""
        tree, state = self.tree, self.control.state[0]
        n = int(state["n_placed"])
        if self._communicator.size == 1:
            return tree.nodes[:n]
        order, leaf = tree.order[:n], tree.open[:n] != 0
        place = np.full(int(state["n_nodes"]), -1)
        place[order] = np.arange(n)
        nodes = tree.nodes[order]
        nodes["left"] = np.where(leaf, -1, place[nodes["left"]])
        nodes["right"] = np.where(leaf, -1, place[nodes["right"]])
        nodes["parent"] = np.where(nodes["parent"] < 0, -1, place[nodes["parent"]])
        tree.sets[:n] = tree.sets[order]
        return nodes
