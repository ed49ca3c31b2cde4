"""Trees joined to a forest as they are grown, in the order of their numbers.

The nodes of a forest may take more memory than all else, and the system clears each page that it hands out.
So a tree is written once, into its place among the nodes, and the arrays that it was grown in serve another.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.engine.layout import SET_WORDS
from propriety.engine.predictor import TREE_NODE, Forest
from propriety.forest.growing import finish_tree
from propriety.forest.layout import GrownTree

Floats = NDArray[np.float64]
_MORE = 1.05  # times the nodes that there will be if the other trees are like those so far


class Translation(NamedTuple):
    """From columns of the sample, bins and units to those of the table."""

    columns: NDArray[np.intp]
    edges: Floats
    unit: float
    base_rates: Floats


class _Block(NamedTuple):
    """Room for the nodes of some trees, and the number of the first of these nodes."""

    nodes: NDArray[np.void]
    shares: Floats  # (nodes, K), or (0, 0) of two classes
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
            finish_tree(
                following.nodes, following.sums, *self._translation, root, first_set, block.nodes[place],
                block.shares[place],
            )  # fmt: skip
            done()

    def _block(self, tree: GrownTree) -> _Block:
        """Where the nodes of the next tree find room."""
        used, n_classes, size = self._roots[-1], tree.sums.shape[1], len(tree.nodes)
        last = self._blocks[-1] if self._blocks else None
        if last is None or used + size > last.first + len(last.nodes):
            trees = len(self._roots)  # with this one
            most = size + int(_MORE * (used + size) / trees * (self._n_trees - trees))
            shares = np.empty((most, n_classes) if n_classes > 2 else (0, 0))
            last = _Block(np.empty(most, dtype=TREE_NODE), shares, used)
            self._blocks.append(last)
        return last

    def forest(self) -> tuple[Forest, Floats]:
        """All trees, and the class shares of their nodes if there are more than two classes."""
        ends = [block.first for block in self._blocks[1:]] + [self._roots[-1]]
        sizes = [end - block.first for block, end in zip(self._blocks, ends, strict=True)]
        nodes = [block.nodes[:size] for block, size in zip(self._blocks, sizes, strict=True)]
        shares = [block.shares[:size] for block, size in zip(self._blocks, sizes, strict=True)]
        forest = Forest(_one(nodes), np.array(self._roots), np.concatenate(self._sets), 1)
        return forest, _one(shares)


def _one(parts: list[Any]) -> Any:
    """Several arrays as one, without a copy of a single one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
