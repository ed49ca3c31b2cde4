"""Trees as they are kept, and the scores they give.

A forest is one array of nodes, tree after tree, children side by side, so that a step down is
``left + (x > threshold)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.cached_properties import cached_property
from propriety.export.formula import Trees
from propriety.trees.binned import SET_WORDS, Binned
from propriety.trees.binning import Binner
from propriety.trees.jit import inner, kernel, records
from propriety.trees.quickscorer import LeafMasks, contains

#: A node of a finished tree. ``set`` is −1 for a numeric split.
TREE_NODE = records(
    [
        ("threshold", "f8"),  # x ≤ threshold goes left; at a leaf, unused
        ("value", "f8"),  # what a leaf adds to the score
        ("weight", "f8"),  # of the training rows that passed here
        ("gain", "f8"),  # what the split gained, in units of the loss; 0 at a leaf
        ("feature", "i4"),  # −1: a leaf
        ("left", "i4"),  # the right child is next to it
        ("bin", "i4"),
        ("set", "i4"),
        ("missing_left", "i4"),
        ("depth", "i4"),
    ],
)
#: What a step down the tree needs, and no more; a leaf leads to itself.
_STEP = records(
    [("threshold", "f8"), ("left", "u4"), ("feature", "u4"), ("set", "i4"), ("missing_right", "u4")],
)
_ROWS = 256
_TOGETHER = 8
_MANY_ROWS, _MANY_TREES = 2048, 8  # for which masks of leaves are worth making
_LEVELS = 12  # steps between two looks at whether all rows of a deep tree have arrived
_U = np.uint64


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """A finished tree: its nodes, and the sets of bins that its categorical splits send left."""

    nodes: NDArray[np.void]
    sets: NDArray[np.uint32]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.nodes["feature"] < 0))


@kernel
def _keep_nodes(grown, edges, unit, nodes):
    """Copy what a prediction needs of each node, but values; returns the number of splits by a set."""
    n_sets = np.int64(0)
    for i in range(nodes.size):
        old, new = grown[i], nodes[i]
        new.left, new.depth, new.weight, new.set = old.left, old.depth, old.weight * unit, -1
        new.threshold, new.value, new.gain, new.bin, new.missing_left = 0.0, 0.0, 0.0, 0, 0
        if old.left < 0:
            new.feature = -1
            continue
        new.feature, new.gain, new.bin, new.missing_left = old.feature, old.gain, old.bin, old.missing_left
        if old.by_set:
            new.set = n_sets
            n_sets += 1
        else:
            # A cut after the last bin sends every value left: only missing values go right.
            new.threshold = edges[old.feature, min(old.bin, edges.shape[1] - 1)]
    return n_sets


NO_SETS = np.zeros((0, SET_WORDS), dtype=np.uint32)


def copy_of(nodes: NDArray[np.void]) -> NDArray[np.void]:
    """A copy, byte by byte; NumPy copies records field by field, which takes ten times as long."""
    return np.frombuffer(bytearray(nodes.tobytes()), dtype=nodes.dtype)


def finish_tree(
    grown: NDArray[np.void],
    sets: NDArray[np.uint32],
    binner: Binner,
    leaves: NDArray[np.int64],
    values: NDArray[np.float64],
    weight_unit: float,
) -> TreeNodes:
    """Keep what a prediction needs of the nodes that the grower left in its workspace.

    ``values`` are those of the ``leaves``, numbers of nodes.
    """
    nodes = np.empty(len(grown), dtype=TREE_NODE)
    n_sets = _keep_nodes(grown, binner.edges, weight_unit, nodes)
    nodes["value"][leaves] = values
    return TreeNodes(nodes, sets[np.flatnonzero(nodes["set"] >= 0)] if n_sets else NO_SETS)


def unseen_drift(tree: TreeNodes, n_features: int) -> NDArray[np.float64]:
    """By how much a category that was not seen is moved, summed over the training rows, for each feature.

    At a split by a set, such a category goes where a missing value goes; what moves it is the mean value of
    the rows there beyond that of all rows of the node.
    """
    drift = np.zeros(n_features)
    if len(tree.sets):
        _add_drift(tree.nodes, np.empty(len(tree.nodes)), drift)
    return drift


@kernel
def _add_drift(nodes, totals, drift):
    for i in range(nodes.size - 1, -1, -1):  # children come after their parent
        node = nodes[i]
        if node.feature < 0:
            totals[i] = node.weight * node.value
        else:
            totals[i] = totals[node.left] + totals[node.left + 1]
    for i in range(nodes.size):
        node = nodes[i]
        if node.set >= 0:
            side = node.left + 1 - node.missing_left
            there, here = nodes[side].weight, node.weight
            away = totals[side] / (there if there > 0 else 1.0) - totals[i] / (here if here > 0 else 1.0)
            drift[node.feature] += here * away


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees joined into one array; tree t adds to the score number t mod ``n_scores``."""

    nodes: NDArray[np.void]
    roots: NDArray[np.int64]
    sets: NDArray[np.uint32]
    n_scores: int

    @cached_property
    def _steps(self) -> tuple[NDArray[np.void], NDArray[np.int64]]:
        """The nodes as steps, and the depth of each tree."""
        nodes, steps = self.nodes, np.zeros(len(self.nodes), dtype=_STEP)
        leaf = nodes["feature"] < 0
        steps["threshold"] = np.where(leaf, np.inf, nodes["threshold"])
        steps["left"] = np.where(leaf, np.arange(len(nodes)), nodes["left"])
        steps["feature"] = np.where(leaf, 0, nodes["feature"])
        steps["set"] = np.where(leaf, -1, nodes["set"])
        steps["missing_right"] = np.where(leaf, 0, 1 - nodes["missing_left"])
        depths = np.maximum.reduceat(nodes["depth"], self.roots[:-1]) if len(nodes) else np.zeros(0)
        return steps, depths.astype(np.int64)

    @cached_property
    def _masks(self) -> LeafMasks | None:
        return LeafMasks.of(self.nodes, self.roots)

    @classmethod
    def join(cls, trees: Sequence[TreeNodes], n_scores: int) -> Forest:
        """Concatenate trees."""
        if len(trees) == 1:  # as after each round of a small fit, which would notice the rest
            (tree,) = trees
            return cls(tree.nodes, np.array([0, len(tree.nodes)]), tree.sets, n_scores)
        sizes = [len(t.nodes) for t in trees]
        roots = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        nodes = np.frombuffer(bytearray().join(t.nodes.data for t in trees), dtype=TREE_NODE)
        nodes["left"] += np.repeat(roots[:-1], sizes).astype(np.int32)
        sets = np.concatenate([NO_SETS, *(t.sets for t in trees if len(t.sets))])
        if len(sets):
            first_set = np.concatenate(([0], np.cumsum([len(t.sets) for t in trees[:-1]])))
            nodes["set"] += np.where(nodes["set"] >= 0, np.repeat(first_set, sizes), 0).astype(np.int32)
        return cls(nodes, roots, sets, n_scores)

    def split(self) -> list[TreeNodes]:
        """The trees again, as before :meth:`join`."""
        trees, n_sets = [], 0
        for root, end in zip(self.roots[:-1], self.roots[1:], strict=True):
            nodes = copy_of(self.nodes[root:end])
            nodes["left"] -= np.int32(root)
            by_set = nodes["set"] >= 0
            nodes["set"][by_set] -= np.int32(n_sets)
            trees.append(TreeNodes(nodes, self.sets[n_sets : n_sets + by_set.sum()]))
            n_sets += int(by_set.sum())
        return trees

    def add_scores(
        self,
        X: NDArray[np.floating],
        scores: NDArray[np.float64],
        n_jobs: int,
        first: int = 0,
        last: int | None = None,
    ) -> None:
        """Add the values of the trees first … last−1 to ``scores``, (n, n_scores), in place.

        ``X`` is C-contiguous float32 or float64, categories as the numbers of their bins.
        """
        last = len(self.roots) - 1 if last is None else last
        many = len(X) >= _MANY_ROWS and last - first >= _MANY_TREES
        masks = self._masks if many else None
        if masks is not None:

            def add(start: int, stop: int) -> None:
                masks.add_scores(X, self.sets, (first, last), (start, stop), scores)

        else:
            steps, depths = self._steps

            def add(start: int, stop: int) -> None:
                at = np.empty(_TOGETHER, dtype=np.uint64)
                trees = self.nodes, steps, depths, self.roots, self.sets
                _score(X, *trees, first, last, start, stop, at, scores)

        block = -(-len(X) // (8 * n_jobs * _ROWS)) * _ROWS
        parallel.for_blocks(add, len(X), n_jobs=n_jobs, block=block)

    def formula(self, start: NDArray[np.float64], binner: Binner) -> Trees:
        """What the forest adds to the scores `start`, for a writer in another language."""
        targets = np.arange(len(self.roots) - 1) % self.n_scores
        values = np.ascontiguousarray(self.nodes["value"])[:, None]
        return Trees(self.nodes, self.roots, self.sets, values, targets, start, binner.category_bins)

    def add_binned_scores(self, binned: Binned, scores: NDArray[np.float64], n_jobs: int) -> None:
        """As :meth:`add_scores`, for rows that are binned already."""
        parallel.for_blocks(
            lambda s, e: _score_binned(
                binned.rows, binned.n_bins, self.nodes, self.roots, self.sets, s, e, scores
            ),
            len(binned.rows),
            n_jobs=n_jobs,
            block=65536,
        )


@inner
def step(node, x, sets):
    """The child that a value goes to."""
    if np.isnan(x):
        return node.left + (1 - node.missing_left)
    if node.set >= 0:
        return node.left + (0 if contains(sets, node.set, np.int64(x)) else 1)
    return node.left + (1 if x > node.threshold else 0)


@inner
def _descend(X, row, at, steps, depth, sets, any_set):
    """Take eight rows from the root to their leaves, step by step together.

    A leaf leads to itself, so all take as many steps as the tree is deep, and none waits for another row.
    """
    for _ in range(depth):
        for j in range(_U(_TOGETHER)):
            node = steps[at[j]]
            x = np.float64(X[row + j, _U(node.feature)])
            right = np.uint64(x > node.threshold) | (np.uint64(np.isnan(x)) & np.uint64(node.missing_right))
            if any_set and node.set >= 0 and not np.isnan(x):
                right = _U(0) if contains(sets, node.set, np.int64(x)) else _U(1)
            at[j] = _U(node.left) + right


@inner
def _at_leaves(at, steps):
    """Whether all eight rows have arrived; few rows go as deep as a deep tree does."""
    moving = 0
    for j in range(_U(_TOGETHER)):
        moving += _U(steps[at[j]].left) != at[j]
    return moving == 0


@kernel
def _score(X, nodes, steps, depths, roots, sets, first, last, start, stop, at, scores):
    n_scores, any_set = scores.shape[1], sets.shape[0] > 0
    for block in range(start, stop, _ROWS):
        end = min(block + _ROWS, stop)
        for t in range(first, last):
            k = t % n_scores
            even = block + (end - block) // _TOGETHER * _TOGETHER
            for i in range(block, even, _TOGETHER):
                for j in range(_TOGETHER):
                    at[j] = _U(roots[t])
                left = depths[t]
                while left > 0:
                    _descend(X, _U(i), at, steps, min(left, _LEVELS), sets, any_set)
                    left -= _LEVELS
                    if left > 0 and _at_leaves(at, steps):
                        break
                for j in range(_TOGETHER):
                    scores[i + j, k] += nodes[at[j]].value
            for i in range(even, end):
                node = roots[t]
                while nodes[node].feature >= 0:
                    node = np.int64(step(nodes[node], np.float64(X[i, nodes[node].feature]), sets))
                scores[i, k] += nodes[node].value


@kernel
def _score_binned(rows, n_bins, nodes, roots, sets, start, stop, scores):
    for t in range(roots.size - 1):
        k = t % scores.shape[1]
        for i in range(start, stop):
            at = roots[t]
            while nodes[at].feature >= 0:
                node = nodes[at]
                bin_ = np.int64(rows[i, node.feature])
                if bin_ == n_bins[node.feature]:
                    left = node.missing_left != 0
                elif node.set >= 0:
                    left = contains(sets, node.set, bin_)
                else:
                    left = bin_ <= node.bin
                at = np.int64(node.left + (0 if left else 1))
            scores[i, k] += nodes[at].value
