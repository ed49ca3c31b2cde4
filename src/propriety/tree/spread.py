"""Growing a tree over rows that are spread over processes or read in parts, bit for bit that of one process.

Every process counts and parts its own rows. The class sums of bins are whole numbers of a unit, so that their
totals over all processes are exact, and everybody finds the same cuts. A *trip* is one sum: each split of a
tree with a limit on its leaves takes one, each level of a tree without. Where a threshold lies between the
values of a node is found at the end, for all splits at once and in one pass over their columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.communicator import Communicator, NotDistributable
from propriety.data.streamed import StreamedTable
from propriety.data.table import Table
from propriety.data.training import Training
from propriety.tree.columns import Prepared
from propriety.tree.growing import Floats, Growth, Made
from propriety.tree.nodes import Tree
from propriety.tree.search import CATEGORICAL, Nodes, Sample, Scratch, count_cells, search
from propriety.tree.settings import TreeSettings

_ROW = 0xFFFFFFFF
_NODES = 64  # whose sums are in memory at once
_UNKNOWN = (np.nan, np.nan)


def is_spread(training: Training) -> bool:
    """Whether the rows are spread over processes, or read in parts."""
    return training.communicator.size > 1 or isinstance(training.table, StreamedTable)


def check_spread(training: Training, settings: TreeSettings) -> None:
    """Refuse what needs all rows in one place, if they are not."""
    if not is_spread(training):
        return
    exact = "splits='exact', as 'auto' is up to 20,000 rows,"
    if settings.exact or isinstance(settings.ccp_alpha, str):
        what = exact if settings.exact else f"ccp_alpha={settings.ccp_alpha!r}, a price chosen by folds,"
        instead = "splits='histogram'" if settings.exact else "a number"
        size = training.communicator.size
        where = f"spread over {size} processes" if size > 1 else "read in parts"
        raise NotDistributable(
            f"{what} needs all rows in one place, and they are {where}; give {instead}, or a table that is "
            "in memory"
        )


class SpreadGrowth(Growth):
    """A tree that is growing over the rows of all processes.

    Parameters
    ----------
    prepared, sample, settings, n_classes : as those of `Growth`
    table : Table
        The rows of this process.
    kept : ndarray or None
        Those of the table that are in the sample.
    communicator : Communicator
    """

    keeps_cells = False  # those of all processes come together anew

    def __init__(
        self,
        prepared: Prepared,
        sample: Sample,
        settings: TreeSettings,
        n_classes: int,
        table: Table,
        kept: NDArray[np.intp] | None,
        communicator: Communicator,
    ) -> None:
        super().__init__(prepared, sample, settings, n_classes)
        self._table, self._kept, self._communicator = table, kept, communicator
        ends = np.cumsum(self.columns.n_bins + 1)
        self._places, self._n_cells = ends - self.columns.n_bins - 1, int(ends[-1])
        # Class sums of the bins of the column that a node is split by; by its cut, for nodes are renumbered.
        self._cells: dict[int, Floats] = {}

    def _total(self, sums: Floats) -> Floats:
        return self._communicator.sum(sums)

    # -- looking for splits --------------------------------------------------------------------------

    def _search(self, able: list[int]) -> None:
        for first in range(0, len(able), _NODES):
            super()._search(able[first : first + _NODES])

    def _finder(self, able: list[int], nodes: Nodes) -> Callable[[int, int, Scratch], int]:
        totals, columns, sample = (
            np.zeros((len(able), self._n_cells, self.n_classes)),
            self.columns,
            self.sample,
        )
        places = self._places

        def count(first: int, last: int) -> None:
            count_cells(columns, sample, nodes.starts, nodes.stops, first, last, places, totals)

        tasks = [partial(count, first, last) for first, last in self.ranges]
        self._run(tasks, nodes.stops - nodes.starts)
        totals = self._total(totals)
        self._totals = totals
        nodes = nodes._replace(slots=np.arange(len(able)))
        return lambda first, last, room: search(
            columns, sample, nodes, first, last, self.least, room, places, totals
        )

    def _choose(self, able: list[int], *found: Any) -> None:
        super()._choose(able, *found)
        for place, node in enumerate(able):
            split = self.splits[node]
            if split is not None:
                at, n_bins = self._places[split.feature], self.columns.n_bins[split.feature]
                self._cells[id(split)] = self._totals[place, at : at + n_bins + 1].copy()

    # -- making a split ------------------------------------------------------------------------------

    def _mark(self, node: int) -> None:
        leaf, split = self.leaves[node], self._cut(node)
        rows, cells = self.sample.rows[leaf.start : leaf.stop] & _ROW, self._cells[id(split)]
        codes, n_bins = self.columns.codes[split.feature, rows], len(cells) - 1
        heavier_left = bool(2 * split.left.sum() >= self.sums[node].sum())
        seen, missing_left, chosen = bool(np.any(cells[n_bins] > 0)), bool(split.how), None
        if self.columns.kinds[split.feature] == CATEGORICAL:
            counts = np.zeros((256, self.n_classes))
            counts[: len(cells)] = cells
            chosen = self._left_bins(counts, split, heavier_left)
            self.side[rows], missing_left = chosen[codes], bool(chosen[n_bins])
        else:
            left = codes < split.cut
            self.side[rows] = left | (codes == n_bins) if seen and missing_left else left
        self.made[node] = Made(_UNKNOWN, missing_left if seen else heavier_left, seen, chosen)

    def _finish(self) -> Tree:
        """Find the values on both sides of each cut, and finish the tree."""
        numeric = [node for node, made in self.made.items() if made.left_bins is None]
        beside = {node: self._beside(node) for node in numeric}
        tops = np.full((len(numeric), 2), -np.inf)
        features = sorted({self._cut(node).feature for node in numeric})
        for where, column in self._table.parts(features) if numeric else ():
            for feature in features:
                x = column(feature)
                for place, node in enumerate(numeric):
                    if self._cut(node).feature == feature:
                        below, above = (_within(x, rows, where) for rows in beside[node])
                        tops[place, 0] = max(tops[place, 0], below.max(initial=-np.inf))
                        tops[place, 1] = max(tops[place, 1], -above.min(initial=np.inf))
        everywhere = np.array(self._communicator.max(tuple(tops.ravel().tolist()))).reshape(-1, 2)
        for node, (low, high) in zip(numeric, everywhere.tolist(), strict=True):
            gap = low, (-high if self._above(node) is not None else np.nan)
            self.made[node] = self.made[node]._replace(gap=gap)
        return super()._finish()

    def _above(self, node: int) -> int | None:
        """The first bin on the right of a cut that holds rows; None if no value is there."""
        split = self._cut(node)
        held = np.flatnonzero(self._cells[id(split)][split.cut : -1].sum(axis=1))
        return split.cut + int(held[0]) if len(held) else None

    def _beside(self, node: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows of the table, in order, in the last bin on the left of a cut and the first beyond it."""
        leaf, split = self.leaves[node], self._cut(node)
        rows = np.sort(self.sample.rows[leaf.start : leaf.stop] & _ROW)
        codes, above = self.columns.codes[split.feature, rows], self._above(node)
        sides = codes == split.cut - 1, np.zeros(len(codes), bool) if above is None else codes == above
        low, high = (rows[side] if self._kept is None else self._kept[rows[side]] for side in sides)
        return low, high


def _within(x: NDArray[np.floating], rows: NDArray[np.intp], where: slice) -> NDArray[np.floating]:
    """The values of those rows that are in a batch."""
    first, last = np.searchsorted(rows, [where.start, where.stop])
    return x[rows[first:last] - where.start]
