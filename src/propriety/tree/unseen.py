"""Rows with a category that was not in training: at a split of that column they go both ways.

Where a missing value goes is decided by the training rows that have one. Without any, a split by a set of
categories tells nothing about a category in neither set, so such a row is both of its children, in the shares
that the training rows have: it gets what the rows of the node get on average over that column.

Reference: J. R. Quinlan, C4.5: Programs for Machine Learning (1993), chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

if TYPE_CHECKING:
    from propriety.tree.nodes import Tree

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
_ROWS = 1024  # at a time, for the memory that their shares take


@dataclass(frozen=True, eq=False)
class Reached:
    """The leaves that rows reach.

    Attributes
    ----------
    tree : Tree
    leaf : ndarray of shape (n,)
        The leaf of each row; of a row that goes both ways, the one that it reaches with the larger children.
    rows : ndarray
        The rows that go both ways somewhere.
    passed : sparse array of shape (len(rows), nodes)
        The share of each of them that passes a node.
    """

    tree: Tree
    leaf: Integers
    rows: Integers
    passed: Any

    def probabilities(self, P: Floats) -> Floats:
        """Those of each row's leaf, or the mean over its leaves; `P` are the nodes'."""
        result = P[self.leaf]
        if len(self.rows):
            result[self.rows] = self._means(P)
        return result

    def scores(self, P: Floats, score: Callable[[Floats], Floats]) -> Floats:
        """The scores of these probabilities."""
        result = score(P)[self.leaf]
        if len(self.rows):
            result[self.rows] = score(self._means(P))
        return result

    def leaves(self) -> list[list[int]]:
        """All leaves of each row."""
        every = [[leaf] for leaf in self.leaf.tolist()]
        for i, row in enumerate(self.rows.tolist()):
            nodes = self.passed.indices[self.passed.indptr[i] : self.passed.indptr[i + 1]]
            every[row] = np.sort(nodes[self.tree.feature[nodes] < 0]).tolist()
        return every

    def contributions(self, P: Floats, score: Callable[[Floats], Floats], n_features: int) -> Floats:
        """What each split adds to the scores of `rows`, by feature; the root's score last.

        Splits are made one after the other, parents first: each moves the mean probability of the nodes
        that a row has reached so far, and what that does to the score is the split's.
        """
        mean = np.repeat(P[:1], len(self.rows), axis=0)
        before = score(mean)
        parts = np.zeros((len(self.rows), before.shape[1], n_features + 1))
        parts[:, :, -1] = before
        passed = self.passed.toarray()
        for node in np.flatnonzero(self.tree.feature >= 0):
            here = np.flatnonzero(passed[:, node])
            pair = self.tree.left[node] + np.arange(2)
            mean[here] += passed[np.ix_(here, pair)] @ P[pair] - passed[here, node, None] * P[node]
            after = score(np.clip(mean[here], 0.0, 1.0))
            with np.errstate(invalid="ignore"):
                parts[here, :, self.tree.feature[node]] += after - before[here]
            before[here] = after
        return parts

    def _means(self, P: Floats) -> Floats:
        leaves = self.tree.leaves
        return np.clip(self.passed[:, leaves] @ P[leaves], 0.0, 1.0)


def reach(tree: Tree, chunks: Iterable[Any], n_rows: int, n_jobs: int | None) -> Reached:
    """The leaves of the rows of a table given in chunks."""
    left_shares = unseen_left(tree)
    columns = np.unique(tree.feature[~np.isnan(left_shares)])
    leaf = np.zeros(n_rows, dtype=np.intp)
    rows, passed = [np.zeros(0, dtype=np.intp)], [sparse.csr_array((0, len(tree.nodes)))]
    for start, stop, values in chunks:
        leaf[start:stop] = tree.find(values, n_jobs)
        unknown = np.flatnonzero(np.isnan(values[:, columns]).any(axis=1))
        for block in np.split(unknown, range(_ROWS, len(unknown), _ROWS)):
            shares = _pass(tree, values[block], left_shares)
            several = np.count_nonzero(shares[:, tree.leaves], axis=1) > 1
            rows.append(start + block[several])
            passed.append(sparse.csr_array(shares[several]))
    return Reached(tree, leaf, np.concatenate(rows), sparse.vstack(passed, format="csr"))


def unseen_left(tree: Tree) -> Floats:
    """The share of such a row that goes left at each node; NaN where missing values have their side."""
    undecided = np.flatnonzero((tree.nodes["set"] >= 0) & ~tree.missing_seen)
    shares = np.full(len(tree.nodes), np.nan)
    shares[undecided] = tree.weight[tree.left[undecided]] / tree.weight[undecided]
    return shares


def _pass(tree: Tree, values: NDArray[np.floating], left_shares: Floats) -> Floats:
    """The share of each row that passes each node."""
    shares = np.zeros((len(values), len(tree.nodes)))
    shares[:, 0] = 1.0
    for node in np.flatnonzero(tree.feature >= 0):
        x, left = values[:, tree.feature[node]], int(tree.left[node])
        if tree.nodes["set"][node] >= 0:
            to_left = np.isin(x, tree.left_bins(int(node))).astype(np.float64)
        else:
            to_left = (x <= tree.nodes["threshold"][node]).astype(np.float64)
        both = left_shares[node]
        to_left[np.isnan(x)] = tree.nodes["missing_left"][node] if np.isnan(both) else both
        shares[:, left], shares[:, left + 1] = shares[:, node] * to_left, shares[:, node] * (1.0 - to_left)
    return shares
