"""Growing a tree over rows that are spread over processes, bit for bit the tree of one process.

Every process holds some of the rows, splits and counts those, and the sums of all are the same everywhere; so
every process finds the same splits. A *trip* is one such sum. To make few of them, the best few of the known
nodes are split in one trip, the others *ahead* of their turn; the order that one process would have taken is
followed afterwards, and what it does not reach is dropped. What is done between two sums is in
:mod:`~propriety.engine.trips`.

What decides is a function of the sums over all rows and of their number, never of where they are: the
children of a node of rows that count once are weighed when they have been made, and a split that leaves too
few rows on a side is looked for once more, with rows counted per bin.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.communicator import Communicator
from propriety.engine.grower import NODES, SLOTS, Grower
from propriety.engine.layout import Binned, Rules, Signal
from propriety.engine.trips import GROWN, HELP, PLACED, advance, begin, new_trip

Ints = NDArray[np.int64]
_NONE = np.empty(0, dtype=np.int64)


def _note(sizes: list[int], worker: int, lead: Callable[[Ints, int], int]) -> None:
    sizes[worker] = lead(_NONE, worker)


class SpreadGrower(Grower):
    """Grows trees over a table whose rows are spread over processes.

    Parameters
    ----------
    binned : Binned
        The rows of this process.
    max_leaves, n_groups, n_jobs : as those of `Grower`
    communicator : Communicator
    drawn : bool
        Whether each tree grows over other rows; else their number is asked for once.
    """

    def __init__(
        self,
        binned: Binned,
        max_leaves: int,
        n_groups: int,
        n_jobs: int,
        communicator: Communicator,
        drawn: bool = True,
    ) -> None:
        # Splits ahead of their turn may be dropped, so that there is room for as many more.
        super().__init__(binned, 2 * max_leaves + 2, n_groups, n_jobs, few_rows=True)
        self._communicator, self._drawn, self._all_rows = communicator, drawn, -1
        self._trip = new_trip(binned, len(self.work.nodes), communicator.speculative_splits, self.n_workers)

    def grow(self, signal: Signal, rules: Rules, rows: NDArray[np.uint32] | None = None) -> NDArray[np.void]:
        """Grow one tree over these ``rows`` of this process, and those of the others.

        Returns its nodes; the rows of this process in a leaf are ``work.rows[node.start:node.stop]``, in no
        order: a split that was made ahead of its turn and then dropped has moved them.
        """
        n_rows = len(self.work.rows) if rows is None else len(rows)
        if rows is not None:
            self.work.rows[:n_rows] = rows
        if self._drawn or self._all_rows < 0:
            self._all_rows = int(self._communicator.sum(np.array([n_rows]))[0])
        self.work.counts[SLOTS] = 0
        self._make_room()
        begin(self.binned, signal, self.work, self._trip, n_rows, self._all_rows, rows is None)
        size = self._advance(signal, rules, _NONE)
        while size != GROWN:
            totals = self._communicator.sum(self._trip.numbers[:size].copy())
            self._make_room()
            size = self._advance(signal, rules, totals)
        return self._tree()

    def _advance(self, signal: Signal, rules: Rules, totals: Ints) -> int:
        """Grow until there are numbers to be added up; returns how many, or `GROWN`."""
        lead = partial(advance, self.binned, signal, rules, self.work, self._trip)
        size = lead(totals, 0) if len(totals) or self.n_workers == 1 else HELP
        while size == HELP:
            sizes = [0] * self.n_workers
            parallel.run([partial(_note, sizes, k, lead) for k in range(self.n_workers)], self.n_workers)
            size = sizes[0]
        return size

    def _make_room(self) -> None:
        """Have enough histograms for one more trip."""
        work = self.work
        n, wanted = len(work.histograms), int(work.counts[SLOTS]) + self._communicator.speculative_splits + 1
        if wanted > n:
            histograms = np.zeros((max(wanted, 2 * n), work.histograms.shape[1]), dtype=np.int64)
            histograms[:n] = work.histograms
            slots = np.concatenate([work.slots, np.arange(n, len(histograms))])
            self.work = work._replace(histograms=histograms, slots=slots)

    def _tree(self) -> NDArray[np.void]:
        """The nodes of the tree, numbered in the order of one process."""
        work, trip = self.work, self._trip
        n = int(trip.counts[PLACED])
        order, leaf = trip.order[:n], trip.open[:n] != 0
        place = np.full(int(work.counts[NODES]), -1)
        place[order] = np.arange(n)
        nodes = work.nodes[order]
        nodes["left"] = np.where(leaf, -1, place[nodes["left"]])
        nodes["right"] = np.where(leaf, -1, place[nodes["right"]])
        nodes["parent"] = np.where(nodes["parent"] < 0, -1, place[nodes["parent"]])
        work.sets[:n] = work.sets[order]
        return nodes
