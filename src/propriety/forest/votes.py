"""What a grown forest says: the mean of its trees, and what each column adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.cached_properties import cached_property
from propriety.data.table import Table
from propriety.export.formula import Formula, Trees, Votes
from propriety.forest.settings import MOST_FEATURES
from propriety.forest.trees import GrownTrees, StoredTrees
from propriety.trees.binning import Binner
from propriety.trees.jit import inner, kernel
from propriety.trees.predictor import Forest, step
from propriety.trees.quickscorer import contains

Floats = NDArray[np.float64]
_U = np.uint64
_MISSING = 255  # the bin of missing values where trees are walked by bins: others are smaller
_TOGETHER = 8  # rows that walk down a tree side by side
_ROWS = 8192
#: A step down a tree is one word: its left child, feature and kind of split, and the last bin on the left.
_TO_LEFT, _TO_FEATURE, _TO_KIND = _U(32), _U(10), _U(8)
_FEATURE, _KIND, _BIN = _U(MOST_FEATURES - 1), _U(3), _U(255)
_MISSING_LEFT, _BY_SET = 1, 2


@dataclass(frozen=True, eq=False)
class GrownForest:
    """The trees, and the class shares of their nodes.

    Attributes
    ----------
    trees : GrownTrees or StoredTrees
    base_rates : ndarray of shape (K,)
    smoothing : float
        As many trees that say the base rates.
    """

    trees: GrownTrees | StoredTrees
    base_rates: Floats
    binner: Binner
    smoothing: float

    @property
    def forest(self) -> Forest:
        """The trees in full; the value of a node is its share of class 1."""
        return self.trees.forest

    @property
    def shares(self) -> Floats | None:
        """Of more than two classes, of shape (nodes, K)."""
        return None if len(self.base_rates) == 2 else self.trees.shares

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees.roots) - 1

    def smoothed(self, votes: Floats, voters: Any) -> Floats:
        """(Σ votes + s·π)/(t + s): the mean of t votes and of s trees that say the base rates."""
        return (votes + self.smoothing * self.base_rates) / (voters + self.smoothing)

    def probabilities(self, table: Table, n_jobs: int) -> Floats:
        """Probabilities of the classes, of shape (n, K)."""
        votes = np.zeros((table.n_rows, self.trees.shares.shape[1]))
        for start, stop, values in table.chunks(self.encoders()):
            self._vote(values, votes[start:stop], n_jobs)
        return self.smoothed(self._of_all_classes(votes), self.n_trees)

    def formula(self) -> Formula:
        """Votes of the trees, for a writer in another language."""
        forest, k = self.forest, len(self.base_rates)
        trees = Trees(
            forest.nodes,
            forest.roots,
            forest.sets,
            self.trees.shares,
            np.zeros(self.n_trees, dtype=np.int64),
            np.zeros(1 if self.shares is None else k),
            self.binner.category_bins,
        )
        # Of two classes the trees vote for the second; the first has the other votes.
        sign, base = np.ones(k), np.zeros(k)
        if self.shares is None:
            sign[0], base[0] = -1.0, self.n_trees
        smoothing = self.smoothing * self.base_rates
        return Formula(trees, Votes(sign, base, smoothing, self.n_trees + self.smoothing))

    def _vote(self, X: Any, votes: Floats, n_jobs: int) -> None:
        """Add what the trees say of the rows, which are binned first: that a tree fits a cache."""
        trees, shares, edges = self.trees, self.trees.shares, self.binner.edges
        steps, sets = self._steps

        def vote(start: int, stop: int) -> None:
            count = stop - start
            rows = np.zeros((-(-count // _TOGETHER) * _TOGETHER, X.shape[1]), dtype=np.uint8)
            _bin_block(X, edges, start, stop, rows)
            at = np.empty(_TOGETHER, dtype=np.uint64)
            _vote(rows, steps, trees.roots, trees.nodes, sets, shares, at, votes[start:stop])

        block = min(_ROWS, max(8 * _TOGETHER, -(-len(X) // n_jobs)))
        parallel.for_blocks(vote, len(X), n_jobs=n_jobs, block=block)

    @cached_property
    def _steps(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """The nodes as steps, and the sets with missing values among them.

        Each is the word of `_TO_LEFT`. A leaf leads to itself. Where missing values go left, bins are counted
        from them on: they are 0, others one more than they were.
        """
        nodes, sets = self.trees.nodes, self.trees.sets.copy()
        steps = np.empty(len(nodes), dtype=np.uint64)
        _write_steps(nodes, sets, steps)
        return steps, sets

    def parts(self, table: Table, n_jobs: int) -> Floats:
        """What the splits on each column change in the probability on the way down, of shape (n, 1 or K, d).

        With the mean of the roots they are the probability of class 1, or of each class.
        """
        shares = self.trees.shares
        parts = np.zeros((table.n_rows, shares.shape[1], table.n_features))
        for start, stop, values in table.chunks(self.encoders()):
            self._run(_add_parts, shares, values, parts[start:stop], n_jobs)
        return parts / (self.n_trees + self.smoothing)

    @property
    def start(self) -> Floats:
        """Probabilities before any split: the smoothed mean of the roots, of shape (1, K)."""
        votes = self.trees.shares[self.trees.roots[:-1]].sum(axis=0, keepdims=True)
        return self.smoothed(self._of_all_classes(votes), self.n_trees)

    def _of_all_classes(self, votes: Floats) -> Floats:
        return votes if self.shares is not None else np.hstack([self.n_trees - votes, votes])

    def _run(self, function: Any, shares: Floats, X: Any, result: Floats, n_jobs: int) -> None:
        nodes, roots, sets = self.forest.nodes, self.forest.roots, self.forest.sets
        parallel.for_blocks(
            lambda start, stop: function(X, nodes, roots, sets, shares, start, stop, result),
            len(X),
            n_jobs=n_jobs,
            block=max(64, -(-len(X) // (8 * n_jobs))),
        )

    def encoders(self) -> list[Any]:
        """For each column what makes bins of its categories, or None."""
        return self.binner.encoders()


@kernel
def _write_steps(nodes, sets, steps):
    """Write the steps, and the missing values into the sets."""
    for i in range(nodes.size):
        node = nodes[i]
        left, feature, kind, last = _U(i), _U(0), _U(0), _U(255)
        if node.feature >= 0:
            left, feature, kind, last = _U(node.left), _U(node.feature), _U(0), _U(node.bin)
            if node.set >= 0:
                kind = _U(_BY_SET)
                bit = np.uint32(1) << np.uint32(_MISSING & 31)
                if node.missing_left != 0:
                    sets[node.set, _MISSING >> 5] |= bit
                else:
                    sets[node.set, _MISSING >> 5] &= ~bit
            elif node.missing_left != 0:
                kind, last = _U(_MISSING_LEFT), last + _U(1)
        steps[i] = (left << _TO_LEFT) | (feature << _TO_FEATURE) | (kind << _TO_KIND) | last


@kernel
def _bin_block(X, edges, start, stop, rows):
    """Bins of a block of rows: the number of edges below x, by eight halvings without a branch."""
    for i in range(start, stop):
        for f in range(X.shape[1]):
            x = np.float64(X[i, f])
            at = _U(0)
            for width in (128, 64, 32, 16, 8, 4, 2, 1):
                at += _U(width) * _U(x > edges[f, at + _U(width - 1)])
            rows[i - start, f] = _MISSING if np.isnan(x) else at


@inner
def _walk(rows, row, steps, nodes, sets, at):
    """Take eight rows from a root to their leaves, step by step together, so that none waits for another."""
    any_set, moved = sets.shape[0] > 0, _U(1)
    while moved != 0:
        moved = _U(0)
        for j in range(_U(_TOGETHER)):
            word = steps[at[j]]
            code = _U(rows[row + j, (word >> _TO_FEATURE) & _FEATURE])
            kind = (word >> _TO_KIND) & _KIND
            right = _U(((code + (kind & _U(1))) & _BIN) > (word & _BIN))
            if any_set and kind == _U(_BY_SET):
                right = _U(0) if contains(sets, nodes[at[j]].set, np.int64(code)) else _U(1)
            below = (word >> _TO_LEFT) + right
            moved |= below ^ at[j]
            at[j] = below


@kernel
def _vote(rows, steps, roots, nodes, sets, shares, at, votes):
    """votes[i] += the class shares of each tree's leaf; trees outside, so that one stays in the cache."""
    for t in range(roots.size - 1):
        for row in range(_U(0), _U(rows.shape[0]), _U(_TOGETHER)):
            for j in range(_TOGETHER):
                at[j] = _U(roots[t])
            _walk(rows, row, steps, nodes, sets, at)
            for j in range(min(_U(_TOGETHER), _U(votes.shape[0]) - row)):
                for k in range(shares.shape[1]):
                    votes[row + j, k] += shares[at[j], k]


@kernel
def _add_parts(X, nodes, roots, sets, shares, start, stop, parts):
    """parts[i, k, f] += what each split on f changes on the way to the leaf."""
    for i in range(start, stop):
        for t in range(roots.size - 1):
            at = roots[t]
            while nodes[at].feature >= 0:
                feature = nodes[at].feature
                below = np.int64(step(nodes[at], np.float64(X[i, feature]), sets))
                for k in range(shares.shape[1]):
                    parts[i, k, feature] += shares[below, k] - shares[at, k]
                at = below
