"""Fixed point: sums of integers do not depend on their order, so neither does the tree.

A histogram cell is one 64-bit integer, gradient in the high half and curvature in the low half. With
18 bits a row, ``BLOCK`` rows fit in a half; longer sums are carried over to 64 bits per block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.engine.compiling import kernel
from propriety.engine.layout import Signal

BLOCK = 8192
#: Largest packed value. Not a round number: gradients in simple ratios (p and 1−p of the first
#: round) must not fall on a rounding boundary, where the last bit of a loss would decide.
LEVELS = 261_733.71
#: Integer weights up to this keep a row of weight k equal to k copies in every bit.
MAX_COPIES = 4096
_PART_LEVELS = 1_072_693_247.3
_ROWS = 65536


@kernel
def _largest(g, h, w, start, stop):
    a, b, c = 0.0, 0.0, 0.0
    for i in range(start, stop):
        a = max(a, abs(g[i]))
        b = max(b, h[i])
        if w.size:
            c = max(c, w[i])
    return a, b, c


@kernel
def _pack(g, h, a, b, packed, start, stop):
    for i in range(start, stop):
        packed[i] = (np.int64(np.rint(g[i] * a)) << 32) + np.int64(np.rint(h[i] * b))


@kernel
def _multiply(g, h, w, a, b, parts, start, stop):
    for i in range(start, stop):
        k = np.int64(w[i])
        parts[i, 0] = np.int64(np.rint(g[i] * a)) * k
        parts[i, 1] = np.int64(np.rint(h[i] * b)) * k
        parts[i, 2] = k


@kernel
def _scale(g, h, w, a, b, c, parts, start, stop):
    for i in range(start, stop):
        parts[i, 0] = np.int64(np.rint(g[i] * w[i] * a))
        parts[i, 1] = np.int64(np.rint(h[i] * w[i] * b))
        parts[i, 2] = np.int64(np.rint(w[i] * c))


class Quantizer:
    """Turns the gradients of a round into a :class:`Signal`, reusing its buffers.

    Rows of zero weight take no part. Integer weights multiply the quantized values, so that k copies
    and weight k give the same sums; other weights are folded in before rounding. ``tops`` are the largest
    |gradient| and curvature of the last round.
    """

    tops: tuple[float, float]

    def __init__(self, n: int, weight: NDArray[np.float64] | None) -> None:
        self.weight = np.empty(0) if weight is None else weight
        self.copies = weight is None or bool(np.all(weight == np.rint(weight)) and weight.max() <= MAX_COPIES)
        self._packed = np.empty(n if weight is None else 0, dtype=np.int64)
        self._parts = np.empty((0 if weight is None else n, 3), dtype=np.int32)

    def __call__(self, g: NDArray[np.float64], h: NDArray[np.float64], n_jobs: int) -> Signal:
        """Quantize the gradients ``g`` and curvatures ``h`` ≥ 0."""
        w, n = self.weight, len(g)
        tops: list[tuple[float, float, float]] = []
        parallel.for_blocks(lambda s, e: tops.append(_largest(g, h, w, s, e)), n, n_jobs=n_jobs, block=_ROWS)
        top_g, top_h, top_w = tops[0] if len(tops) == 1 else map(float, np.max(np.array(tops), axis=0))
        self.tops = (top_g, top_h)
        fold = not self.copies
        levels = _PART_LEVELS if fold else LEVELS
        share = top_w if fold else 1.0
        # A gradient of zero everywhere is quantized to zero by any scale.
        a = levels / (top_g * share) if top_g > 0 else 0.0
        b = levels / (top_h * share) if top_h > 0 else 0.0
        c = levels / top_w if fold else 1.0

        def quantize(start: int, stop: int) -> None:
            if not w.size:
                _pack(g, h, a, b, self._packed, start, stop)
            elif fold:
                _scale(g, h, w, a, b, c, self._parts, start, stop)
            else:
                _multiply(g, h, w, a, b, self._parts, start, stop)

        parallel.for_blocks(quantize, n, n_jobs=n_jobs, block=_ROWS)
        return Signal(
            self._packed,
            self._parts,
            1.0 / a if a else 0.0,
            1.0 / b if b else 0.0,
            1.0 / c,
        )
