"""A grown tree: its nodes, what they hold, and the part of it that pruning leaves."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.cached_properties import cached_property

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tree:
    """The nodes of a tree, children side by side: node i splits into ``left[i]`` and ``left[i] + 1``.

    Attributes
    ----------
    nodes : structured array
        As the predictor reads them.
    sets : ndarray
        Bins that categorical splits send left.
    sums : ndarray of shape (nodes, K)
        Weight of each class among the training rows of the node.
    gap : ndarray of shape (nodes, 2)
        The training values on both sides of a numeric split's threshold.
    missing_seen : ndarray
        Whether the split sent training rows with a missing value its way.
    losses : ndarray
        W·H(p): the loss of the node's rows at their class shares.
    collapse : ndarray
        The complexity price from which the node is a leaf; infinite for leaves.
    """

    nodes: NDArray[np.void]
    sets: NDArray[np.uint32]
    sums: Floats
    gap: Floats
    missing_seen: NDArray[np.bool_]
    losses: Floats
    collapse: Floats

    @property
    def feature(self) -> NDArray[np.int32]:
        """Column that each node splits; −1 at a leaf."""
        return self.nodes["feature"]

    @property
    def left(self) -> NDArray[np.int32]:
        """Left child of each node; the right one is next to it."""
        return self.nodes["left"]

    @property
    def weight(self) -> Floats:
        """Weight of the training rows in each node."""
        return self.nodes["weight"]

    @cached_property
    def leaves(self) -> NDArray[np.intp]:
        """Numbers of the leaves, from left to right."""
        order, stack = [], [0]
        while stack:
            node = stack.pop()
            if self.feature[node] < 0:
                order.append(node)
            else:
                stack += [int(self.left[node]) + 1, int(self.left[node])]
        return np.array(order, dtype=np.intp)

    @cached_property
    def parent(self) -> NDArray[np.intp]:
        """Parent of each node; −1 for the root."""
        parent = np.full(len(self.nodes), -1, dtype=np.intp)
        split = np.flatnonzero(self.feature >= 0)
        parent[self.left[split]] = split
        parent[self.left[split] + 1] = split
        return parent

    @cached_property
    def levels(self) -> list[NDArray[np.intp]]:
        """The nodes of each depth."""
        depth = self.nodes["depth"]
        order = np.argsort(depth, kind="stable")
        ends = np.cumsum(np.bincount(depth)).tolist()
        return [order[first:last] for first, last in pairwise([0, *ends])]

    @property
    def shares(self) -> Floats:
        """Class shares of each node."""
        return self.sums / self.sums.sum(axis=1, keepdims=True)

    def path(self, node: int) -> list[int]:
        """The nodes from the root to `node`."""
        found = [int(node)]
        while self.parent[found[-1]] >= 0:
            found.append(int(self.parent[found[-1]]))
        return found[::-1]

    def left_bins(self, node: int) -> NDArray[np.intp]:
        """Bins that a categorical split sends left."""
        words = self.sets[self.nodes["set"][node]]
        bits = (words[:, None] >> np.arange(32, dtype=np.uint32)) & 1
        return np.flatnonzero(bits.ravel())

    def find(self, values: NDArray[np.floating], n_jobs: int | None) -> NDArray[np.intp]:
        """The leaf of each row of an array; one of no known category goes with the larger child."""
        leaf = np.zeros((len(values), 1))
        if len(self.nodes) > 1:
            self._forest.add_scores(values, leaf, parallel.n_threads(n_jobs))
        return leaf[:, 0].astype(np.intp)

    @cached_property
    def _forest(self) -> Any:
        from propriety.trees import predictor

        nodes = self.nodes.copy()
        nodes["value"] = np.arange(len(nodes))
        return predictor.Forest.join([predictor.TreeNodes(nodes, self.sets)], 1)

    def representatives(self, alpha: float) -> NDArray[np.intp]:
        """The node that stands for each node in the tree pruned at `alpha`: itself, or a leaf above it."""
        ends = self.collapse <= alpha
        stands = np.arange(len(self.nodes))
        for level in self.levels[1:]:
            above = stands[self.parent[level]]
            stands[level] = np.where(ends[above], above, level)
        return stands

    def pruned(self, alpha: float) -> Tree:
        """The tree that is left at the complexity price `alpha`, its nodes numbered anew."""
        stands = self.representatives(alpha)
        kept = np.flatnonzero(stands == np.arange(len(stands)))
        number = np.full(len(stands), -1)
        number[kept] = np.arange(len(kept))
        nodes = self.nodes[kept].copy()
        ended = (nodes["feature"] >= 0) & (self.collapse[kept] <= alpha)
        nodes["feature"][ended], nodes["gain"][ended], nodes["set"][ended] = -1, 0.0, -1
        split = nodes["feature"] >= 0
        nodes["left"] = np.where(split, number[np.maximum(nodes["left"], 0)], -1)
        by_set = nodes["set"] >= 0
        sets = self.sets[nodes["set"][by_set]]
        nodes["set"][by_set] = np.arange(len(sets))
        collapse = np.where(ended, np.inf, self.collapse[kept])
        return Tree(
            nodes,
            sets,
            self.sums[kept],
            self.gap[kept],
            self.missing_seen[kept],
            self.losses[kept],
            collapse,
        )
