"""The trees of a forest: as they were grown, in half the memory, or as the rest of the house reads them.

The nodes of a forest may take more memory than all else. What a prediction needs of them, and what the others
follow from, is kept; thresholds, weights, values and depths are worked out when they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.cached_properties import cached_property
from propriety.trees.jit import kernel
from propriety.trees.layout import GROWN
from propriety.trees.predictor import TREE_NODE, Forest

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GrownTrees:
    """Trees as they were grown, with features of the table.

    Attributes
    ----------
    nodes : ndarray of GROWN
        Of all trees; the left child is a number among them.
    sums : ndarray of shape (nodes, K)
        Sums of the classes, in units of the weights.
    roots : ndarray of shape (trees + 1,)
        Where each tree begins, and the last one ends.
    sets : ndarray of shape (sets, SET_WORDS)
    edges : ndarray of shape (d, ...)
        Thresholds after the bins of each column.
    """

    nodes: NDArray[np.void]
    sums: NDArray[np.integer[Any]]
    roots: NDArray[np.int64]
    sets: NDArray[np.uint32]
    edges: Floats
    unit: float
    base_rates: Floats

    @cached_property
    def forest(self) -> Forest:
        """The trees in full; the value of a node is its share of class 1."""
        nodes = np.empty(len(self.nodes), dtype=TREE_NODE)
        _write_in_full(self.nodes, self.sums, self.shares, self.roots, self.edges, self.unit, nodes)
        return Forest(nodes, self.roots, self.sets, 1)

    @cached_property
    def shares(self) -> Floats:
        """Of class 1 in each node, of shape (nodes, 1), or of each of more classes, (nodes, K).

        A tree without a split says the base rates, not those of its bag.
        """
        n_classes = len(self.base_rates)
        shares = np.empty((len(self.nodes), 1 if n_classes == 2 else n_classes))
        _write_shares(self.sums, self.roots, self.base_rates, shares)
        return shares


@dataclass(frozen=True, eq=False)
class StoredTrees:
    """Trees that were read from a file, in full."""

    forest: Forest
    shares: Floats

    @property
    def roots(self) -> NDArray[np.int64]:
        """Where each tree begins, and the last one ends."""
        return self.forest.roots

    @property
    def sets(self) -> NDArray[np.uint32]:
        """What the splits by sets send left."""
        return self.forest.sets

    @cached_property
    def nodes(self) -> NDArray[np.void]:
        """What a prediction needs."""
        nodes = np.empty(len(self.forest.nodes), dtype=GROWN)
        for name in GROWN.names or ():
            nodes[name] = self.forest.nodes[name]
        return nodes


@kernel
def _write_in_full(grown, sums, shares, roots, edges, unit, nodes):
    for t in range(roots.size - 1):
        nodes[roots[t]].depth = 0
        for i in range(roots[t], roots[t + 1]):
            old, new, total = grown[i], nodes[i], 0.0
            for k in range(sums.shape[1]):
                total += np.float64(sums[i, k])
            new.weight, new.value = total * unit, shares[i, 0 if shares.shape[1] == 1 else 1]
            new.threshold, new.gain, new.bin, new.missing_left = 0.0, old.gain, old.bin, old.missing_left
            new.feature, new.left, new.set = old.feature, old.left, old.set
            if old.feature < 0:
                continue
            if old.set < 0:
                new.threshold = edges[old.feature, min(np.int64(old.bin), edges.shape[1] - 1)]
            for child in range(2):
                nodes[old.left + child].depth = new.depth + 1


@kernel
def _write_shares(sums, roots, base_rates, shares):
    K = sums.shape[1]
    first = K - shares.shape[1]  # class 1 alone, or all
    for t in range(roots.size - 1):
        alone = roots[t + 1] - roots[t] == 1
        for i in range(roots[t], roots[t + 1]):
            total = 0.0
            for k in range(K):
                total += np.float64(sums[i, k])
            for k in range(shares.shape[1]):
                share = base_rates[first + k] if alone else np.float64(sums[i, first + k]) / total
                shares[i, k] = share
