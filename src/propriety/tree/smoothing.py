"""Shares of small nodes, drawn to those of their parents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.trees.jit import kernel

Floats = NDArray[np.float64]


@kernel
def smooth(left: NDArray[np.int32], sums: Floats, smoothing: float, P: Floats) -> None:
    """Make P of each node but the root (n_k + m·p_k)/(n + m), with p the parent's P and m the smoothing.

    `left` is the left child of each node, −1 at a leaf; parents come before their children.
    """
    for node in range(left.size):
        for child in range(left[node], left[node] + (2 if left[node] >= 0 else 0)):
            weight = 0.0
            for k in range(sums.shape[1]):
                weight += sums[child, k]
            for k in range(sums.shape[1]):
                P[child, k] = (sums[child, k] + smoothing * P[node, k]) / (weight + smoothing)
