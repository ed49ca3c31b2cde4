"""The best cut of each node, among those that the search has found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.engine.compiling import inner, kernel

Floats = NDArray[np.float64]
#: Cuts whose gains differ by less than this share of the node's loss are equal; the squared loss decides.
EQUAL = 1e-12


@inner
def _squared_gain(left, total):
    """What a cut with the class sums `left` on its left gains in squared loss."""
    weight_left = weight_right = apart = 0.0
    for k in range(total.size):
        weight_left += left[k]
        weight_right += total[k] - left[k]
    for k in range(total.size):
        apart += (left[k] / weight_left - (total[k] - left[k]) / weight_right) ** 2
    return weight_left * weight_right / (weight_left + weight_right) * apart


@kernel
def choose(
    cuts: NDArray[np.int64],
    left: Floats,
    worth: Floats,
    sums: Floats,
    before: Floats,
    after: Floats,
    gains: Floats,
    seconds: Floats,
    tops: Floats,
    best: NDArray[np.int64],
) -> None:
    """Find the best cut of each node: by the loss; among equals by the squared loss, then the first column.

    Losses of the nodes are `before`, those of both sides of the cuts `after`, all left sides first; `worth`
    is the part of what a cut gains that counts. Writes the gains, those in squared loss of the cuts that are
    equal to the best, and the place of each node's best cut, −1 if it has none; `tops` is room of (2, nodes).
    """
    m = cuts.shape[0]
    tops[:], best[:] = -np.inf, -1
    for i in range(m):
        node = cuts[i, 0]
        gains[i] = worth[i] * (before[node] - after[i] - after[m + i])
        if gains[i] > tops[0, node] or gains[i] != gains[i]:  # what is no number stays
            tops[0, node] = gains[i]
    for i in range(m):
        node = cuts[i, 0]
        if gains[i] >= tops[0, node] - (EQUAL * before[node] + 1e-300):
            seconds[i] = worth[i] * _squared_gain(left[i], sums[node])
            tops[1, node] = max(tops[1, node], seconds[i])
    for i in range(m - 1, -1, -1):
        node = cuts[i, 0]
        equal = gains[i] >= tops[0, node] - (EQUAL * before[node] + 1e-300)
        if equal and seconds[i] >= tops[1, node] * (1 - EQUAL):
            best[node] = i  # cuts come in the order of columns
