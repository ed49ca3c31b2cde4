"""The ranks of a column's values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.engine.compiling import kernel
from propriety.tree.search import MISSING


@kernel
def rank_in_order(x: NDArray[np.floating], order: NDArray[np.int64]) -> tuple[int, int]:
    """Make of the rows in the order of their values rank · 2³² + row; returns how many have a value.

    And how many different values there are. Missing ones are last.
    """
    present, rank, last = 0, np.int64(0), x[order[0]]
    for i in range(order.size):
        row = order[i]
        value = x[row]
        if np.isnan(value):
            order[i] = (MISSING << 32) + row
        else:
            rank += value != last
            order[i] = (rank << 32) + row
            last = value
            present += 1
    return present, int(rank + 1)
