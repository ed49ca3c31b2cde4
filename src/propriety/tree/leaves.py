"""Probabilities of the nodes: class shares, smoothed and kept monotone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.tree.nodes import Tree

Floats = NDArray[np.float64]


def node_probabilities(tree: Tree, smoothing: Any, monotone: NDArray[np.int64]) -> Floats:
    """Probabilities of every node, of shape (nodes, K).

    With n_k the weight of class k in the node and n their sum: n_k/n; with ``"laplace"`` (n_k + 1)/(n + K);
    with a number m, (n_k + m·p_k)/(n + m), p the parent's probability, so that the root keeps its shares.
    """
    sums = tree.sums
    n, K = sums.sum(axis=1, keepdims=True), sums.shape[1]
    if smoothing == "laplace":
        P = (sums + 1) / (n + K)
    else:
        P = sums / n
        if smoothing > 0:
            from propriety.tree.smoothing import smooth

            smooth(tree.left.copy(), sums, smoothing, P)
    if monotone.any() and np.any(monotone[tree.feature[tree.feature >= 0]]):
        P = _monotone(tree, P[:, 1].copy(), monotone)
    return P


def _monotone(tree: Tree, p: Floats, monotone: NDArray[np.int64]) -> Floats:
    """Keep the probabilities of class 1 monotone: smoothing moves small leaves more than large ones.

    Children in the wrong order get their common mean, and both subtrees stay on their sides of the middle.
    """
    lower, upper = np.zeros(len(p)), np.ones(len(p))
    for node in np.flatnonzero(tree.feature >= 0):
        left = int(tree.left[node])
        pair = [left, left + 1]
        lower[pair], upper[pair] = lower[node], upper[node]
        p[pair] = np.clip(p[pair], lower[pair], upper[pair])
        sign = monotone[tree.feature[node]]
        if sign:
            if sign * (p[left + 1] - p[left]) < 0:
                p[pair] = np.average(p[pair], weights=tree.weight[pair])
            low, high = (left, left + 1) if sign > 0 else (left + 1, left)
            upper[low] = lower[high] = p[pair].mean()
    return np.column_stack([1 - p, p])
