"""The gradients of a round in fixed point, in the form that histograms of trees read.

A histogram cell is one 64-bit integer, gradient in the high half and curvature in the low half; longer sums
than ``BLOCK`` rows are carried over to 64 bits per block. Rows with weights have three numbers instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.engine.fixed_point import RowWeights, largest, narrow_scale, pack_rows, part_rows
from propriety.engine.layout import Signal
from propriety.engine.reduce import ALONE, Reduce

_ROWS = 65536


class Quantizer:
    """Turns the gradients of a round into a :class:`Signal`, reusing its buffers.

    Gradient and curvature of rows that take no part must be 0. ``tops`` are the largest |gradient| and
    curvature of the last round.
    """

    tops: tuple[float, float]

    def __init__(self, n: int, weights: RowWeights, reduce: Reduce = ALONE) -> None:
        self._weights, self._reduce = weights, reduce
        weighted = weights.values.size > 0
        self._packed = np.empty(0 if weighted else n, dtype=np.int64)
        self._parts = np.empty((n if weighted else 0, 3), dtype=np.int32)

    def __call__(self, g: NDArray[np.float64], h: NDArray[np.float64], n_jobs: int) -> Signal:
        """Quantize the gradients ``g`` and curvatures ``h`` ≥ 0."""
        weights = self._weights
        self.tops = largest(g, h, n_jobs, self._reduce)
        scale = narrow_scale(*self.tops, weights)

        def quantize(start: int, stop: int) -> None:
            if weights.values.size:
                part_rows(g, h, weights, scale, start, stop, self._parts)
            else:
                pack_rows(g, h, weights, scale, start, stop, self._packed)

        parallel.for_blocks(quantize, len(g), n_jobs=n_jobs, block=_ROWS)
        units = (1.0 / factor if factor else 0.0 for factor in scale)
        return Signal(self._packed, self._parts, *units)
