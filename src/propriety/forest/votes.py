"""What a grown forest says: the mean of its trees, and what each column adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.data.table import Table
from propriety.engine.binning import Binner
from propriety.engine.compiling import kernel
from propriety.engine.predictor import Forest, step
from propriety.export.formula import Formula, Trees, Votes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GrownForest:
    """The trees, and the class shares of their nodes.

    Attributes
    ----------
    forest : Forest
        The value of a node is its share of class 1.
    shares : ndarray of shape (nodes, K), or None
        Of more than two classes.
    base_rates : ndarray of shape (K,)
    smoothing : float
        As many trees that say the base rates.
    """

    forest: Forest
    shares: Floats | None
    base_rates: Floats
    binner: Binner
    smoothing: float

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.forest.roots) - 1

    def smoothed(self, votes: Floats, voters: Any) -> Floats:
        """(Σ votes + s·π)/(t + s): the mean of t votes and of s trees that say the base rates."""
        return (votes + self.smoothing * self.base_rates) / (voters + self.smoothing)

    def probabilities(self, table: Table, n_jobs: int) -> Floats:
        """Probabilities of the classes, of shape (n, K)."""
        votes = np.zeros((table.n_rows, 1 if self.shares is None else len(self.base_rates)))
        for start, stop, values in table.chunks(self._encoders()):
            if self.shares is None:
                self.forest.add_scores(values, votes[start:stop], n_jobs)
            else:
                self._run(_vote, self.shares, values, votes[start:stop], n_jobs)
        return self.smoothed(self._of_all_classes(votes), self.n_trees)

    def formula(self) -> Formula:
        """Votes of the trees, for a writer in another language."""
        forest, k = self.forest, len(self.base_rates)
        trees = Trees(
            forest.nodes,
            forest.roots,
            forest.sets,
            self._shares,
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

    def parts(self, table: Table, n_jobs: int) -> Floats:
        """What the splits on each column change in the probability on the way down, of shape (n, 1 or K, d).

        With the mean of the roots they are the probability of class 1, or of each class.
        """
        shares = self._shares
        parts = np.zeros((table.n_rows, shares.shape[1], table.n_features))
        for start, stop, values in table.chunks(self._encoders()):
            self._run(_add_parts, shares, values, parts[start:stop], n_jobs)
        return parts / (self.n_trees + self.smoothing)

    @property
    def start(self) -> Floats:
        """Probabilities before any split: the smoothed mean of the roots, of shape (1, K)."""
        votes = self._shares[self.forest.roots[:-1]].sum(axis=0, keepdims=True)
        return self.smoothed(self._of_all_classes(votes), self.n_trees)

    def _of_all_classes(self, votes: Floats) -> Floats:
        return votes if self.shares is not None else np.hstack([self.n_trees - votes, votes])

    @property
    def _shares(self) -> Floats:
        if self.shares is None:
            return np.ascontiguousarray(self.forest.nodes["value"])[:, None]
        return self.shares

    def _run(self, function: Any, shares: Floats, X: Any, result: Floats, n_jobs: int) -> None:
        nodes, roots, sets = self.forest.nodes, self.forest.roots, self.forest.sets
        parallel.for_blocks(
            lambda start, stop: function(X, nodes, roots, sets, shares, start, stop, result),
            len(X),
            n_jobs=n_jobs,
            block=max(64, -(-len(X) // (8 * n_jobs))),
        )

    def _encoders(self) -> list[Any]:
        return [
            None if bins is None else partial(self.binner.codes_to_bins, f)
            for f, bins in enumerate(self.binner.category_bins)
        ]


@kernel
def _vote(X, nodes, roots, sets, shares, start, stop, votes):
    """votes[i] += the class shares of each tree's leaf; trees outside, so that one stays in the cache."""
    for t in range(roots.size - 1):
        for i in range(start, stop):
            at = roots[t]
            while nodes[at].feature >= 0:
                at = np.int64(step(nodes[at], np.float64(X[i, nodes[at].feature]), sets))
            for k in range(shares.shape[1]):
                votes[i, k] += shares[at, k]


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
