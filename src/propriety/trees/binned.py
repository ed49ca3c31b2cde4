"""A table in bins, and how histograms lie in memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BINS = 256  # cells per feature: at most 255 bins of values and one for missing values
#: Where a feature's weights and curvatures begin, after its 256 gradients (or packed pairs), and how many
#: numbers it has. The padding keeps a bin's sums from lying 4096 bytes apart, where processors take a load of
#: one for a load of the other that was just stored.
WEIGHTS, CURVATURES, CELLS = 264, 528, 792
SET_WORDS = 8  # a set of bins is 8 words of 32 bits


class Binned(NamedTuple):
    """The table as bins, twice: rows for histograms, columns for partitions."""

    rows: NDArray[np.uint8]  # (n, d)
    columns: NDArray[np.uint8]  # (d, n)
    n_bins: NDArray[np.int64]  # per feature; the missing values' bin has this number
    categorical: NDArray[np.uint8]
    levels: NDArray[np.float64] | None  # (d, BINS): categories that share a bin; None if all are numbers
    noise: NDArray[np.float64]  # (d,): how much of what the categories show at the start is noise
