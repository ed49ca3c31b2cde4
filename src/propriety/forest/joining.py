"""Trees joined to a forest as they are grown, in the order of their numbers.

The nodes of a forest may take more memory than all else, and the system clears each page that it hands out.
So a tree is copied once, to its place among the nodes, and the arrays that it was grown in serve another.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.forest.trees import GrownTrees
from propriety.trees.binned import SET_WORDS
from propriety.trees.jit import kernel
from propriety.trees.layout import GROWN, GrownTree

Floats = NDArray[np.float64]
_MORE = 1.05  # times the nodes that there will be if the other trees are like those so far


class Translation(NamedTuple):
    """From columns of the sample, bins and units to those of the table."""

    columns: NDArray[np.intp]
    edges: Floats
    unit: float
    base_rates: Floats
    counts: bool  # whether sums of classes are numbers of rows, which 32 bits hold


class _Block(NamedTuple):
    """Room for the nodes of some trees, and the number of the first of these nodes."""

    nodes: NDArray[np.void]
    sums: NDArray[np.integer[Any]]  # (nodes, K)
    first: int


class Joined:
    """The trees so far, each behind the one before it; those that come too soon wait."""

    def __init__(self, n_trees: int, translation: Translation) -> None:
        self._n_trees, self._translation = n_trees, translation
        self._lock = Lock()
        self._waiting: dict[int, tuple[GrownTree, Callable[[], object]]] = {}
        self._roots, self._sets, self._n_sets = [0], [np.empty((0, SET_WORDS), dtype=np.uint32)], [0]
        self._blocks: list[_Block] = []

    def add(self, t: int, tree: GrownTree, release: Callable[[], object]) -> None:
        """Join tree number t; its arrays are needed until `release` is called. By any thread."""
        ready = []
        with self._lock:
            self._waiting[t] = tree, release
            while len(self._roots) - 1 in self._waiting:
                following, done = self._waiting.pop(len(self._roots) - 1)
                ready.append((following, self._roots[-1], self._n_sets[-1], self._block(following), done))
                self._roots.append(self._roots[-1] + len(following.nodes))
                self._n_sets.append(self._n_sets[-1] + len(following.sets))
                self._sets.append(following.sets.copy())
        for following, root, first_set, block, done in ready:
            place = slice(root - block.first, root - block.first + len(following.nodes))
            _join(
                following.nodes, following.sums, self._translation.columns, root, first_set,
                block.nodes[place], block.sums[place],
            )  # fmt: skip
            done()

    def _block(self, tree: GrownTree) -> _Block:
        """Where the nodes of the next tree find room."""
        used, n_classes, size = self._roots[-1], tree.sums.shape[1], len(tree.nodes)
        last = self._blocks[-1] if self._blocks else None
        if last is None or used + size > last.first + len(last.nodes):
            trees = len(self._roots)  # with this one
            most = size + int(_MORE * (used + size) / trees * (self._n_trees - trees))
            sums = np.empty((most, n_classes), dtype=np.uint32 if self._translation.counts else np.int64)
            last = _Block(np.empty(most, dtype=GROWN), sums, used)
            self._blocks.append(last)
        return last

    def trees(self) -> GrownTrees:
        """All trees."""
        ends = [block.first for block in self._blocks[1:]] + [self._roots[-1]]
        sizes = [end - block.first for block, end in zip(self._blocks, ends, strict=True)]
        nodes = [block.nodes[:size] for block, size in zip(self._blocks, sizes, strict=True)]
        sums = [block.sums[:size] for block, size in zip(self._blocks, sizes, strict=True)]
        given = self._translation
        return GrownTrees(
            _one(nodes), _one(sums), np.array(self._roots), np.concatenate(self._sets), given.edges,
            given.unit, given.base_rates,
        )  # fmt: skip


def _one(parts: list[Any]) -> Any:
    """Several arrays as one, without a copy of a single one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@kernel
def _join(grown, sums, columns, root, first_set, nodes, joined):
    """Copy a grown tree to its place among the nodes of the forest, with features of the table.

    Its root is node ``root`` of the forest.
    """
    for i in range(grown.size):
        old, new = grown[i], nodes[i]
        new.gain, new.bin, new.missing_left, new.left = old.gain, old.bin, old.missing_left, root + old.left
        new.feature = columns[old.feature] if old.left >= 0 else -1
        new.set = first_set + old.set if old.set >= 0 else -1
        for k in range(sums.shape[1]):
            joined[i, k] = sums[i, k]
