"""Class sums of the bins of large nodes, kept until their children are searched.

The larger child of a node has what the smaller one has not, so that only the smaller is counted. Sums of
weights are whole numbers of a unit, and differences of them exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.engine.compiling import inner, kernel
from propriety.tree.search import Sample, SearchColumns, count_bins, count_two

_MANY = 2048  # rows of a node, for each class, from which its sums are kept: they take less memory than bins


class NewNode(NamedTuple):
    """A node that has just been made, and whether it will be searched."""

    number: int
    start: int
    stop: int
    able: bool

    @property
    def n_rows(self) -> int:
        """Number of its rows."""
        return self.stop - self.start


class KeptCells:
    """The class sums of some nodes, each in a slot of one array.

    Attributes
    ----------
    array : ndarray of shape (slots, cells, K)
        Those of a feature are in the cells from ``places[feature]`` on.
    """

    def __init__(self, columns: SearchColumns, n_classes: int) -> None:
        ends = np.cumsum(columns.n_bins + 1)
        self.places, self._least = ends - columns.n_bins - 1, _MANY * n_classes
        self.array = np.empty((0, int(ends[-1]), n_classes))
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        self._counts: list[tuple[int, int, int, int]] = []  # start, stop, slot, and the one to take them from

    def plan(self, parent: int | None, children: list[NewNode]) -> None:
        """Decide where the sums of new nodes come from."""
        slot = None if parent is None else self._slots.pop(parent, None)
        smaller, larger = min(children, key=_size), max(children, key=_size)
        if slot is not None and larger.able and larger.n_rows >= self._least and smaller is not larger:
            self._slots[larger.number] = slot
            self._count(smaller, slot)
            return
        if slot is not None:
            self._free.append(slot)
        for child in children:
            if child.able and child.n_rows >= self._least:
                self._count(child, -1)

    def _count(self, node: NewNode, minuend: int) -> None:
        if not self._free:
            size = len(self.array)
            self.array = np.concatenate([self.array, np.empty((max(size, 4), *self.array.shape[1:]))])
            self._free = list(range(len(self.array) - 1, size - 1, -1))
        self._slots[node.number] = slot = self._free.pop()
        self._counts.append((node.start, node.stop, slot, minuend))

    def counts(self) -> NDArray[np.int64]:
        """What `count_slots` is to count for the nodes that were planned since it was last asked for."""
        counts, self._counts = np.array(self._counts, dtype=np.int64).reshape(-1, 4), []
        return counts

    def slots(self, numbers: list[int]) -> NDArray[np.int64]:
        """Slots of nodes; −1 for those that have none."""
        return np.array([self._slots.get(number, -1) for number in numbers])

    def forget(self, numbers: list[int]) -> None:
        """Let others have the slots of nodes."""
        self._free += [self._slots.pop(number) for number in numbers if number in self._slots]


def _size(node: NewNode) -> int:
    return node.n_rows


@inner
def _subtract(cells, whole):
    for b in range(cells.shape[0]):
        for k in range(cells.shape[1]):
            whole[b, k] -= cells[b, k]


@kernel
def count_slots(
    columns: SearchColumns,
    sample: Sample,
    counts: NDArray[np.int64],
    first: int,
    last: int,
    places: NDArray[np.int64],
    array: NDArray[np.float64],
) -> None:
    """Count the bins of the features first … last−1, and take them from the sums of a parent."""
    for f in range(first, last, 2):
        g = min(f + 1, last - 1)  # the feature counted with it; an odd one out, itself
        n_f, n_g = columns.n_bins[f], columns.n_bins[g]
        f_codes, g_codes = columns.codes[columns.places[f]], columns.codes[columns.places[g]]
        f_end, g_end = places[f] + n_f + 1, places[g] + n_g + 1
        for i in range(counts.shape[0]):
            start, stop, cells, whole = counts[i, 0], counts[i, 1], array[counts[i, 2]], counts[i, 3]
            f_cells, g_cells = cells[places[f] : f_end], cells[places[g] : g_end]
            if g > f:
                count_two(f_codes, g_codes, sample, start, stop, f_cells, g_cells, n_f, n_g)
            else:
                count_bins(f_codes, sample, start, stop, f_cells, n_f)
            if whole >= 0:
                _subtract(cells[places[f] : g_end], array[whole, places[f] : g_end])
