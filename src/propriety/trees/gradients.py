"""The gradients of a round in fixed point, in the form that histograms of trees read.

A histogram cell is one 64-bit integer, gradient in the high half and curvature in the low half; longer sums
than ``BLOCK`` rows are carried over to 64 bits per block. Rows with weights have three numbers instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.communicator import SINGLE, Communicator
from propriety.trees.fixed_point import (
    RowWeights,
    largest,
    narrow_scale,
    pack_rows,
    part_rows,
    weighted_sum,
)

_ROWS = 65536


class QuantizedGradients(NamedTuple):
    """Gradient and curvature of each row in fixed point: ``real = integer * unit``.

    With unit weights ``packed`` holds gradient · 2³² + curvature and ``parts`` is empty; otherwise ``parts``
    holds (gradient, curvature, weight), each already multiplied by the row's weight.
    """

    packed: NDArray[np.int64]
    parts: NDArray[np.int32]
    gradient_unit: float
    curvature_unit: float
    weight_unit: float
    dispersion: float  # Σ g²/Σ h: what a category adds to the spread by chance; 0 if none is split
    weighted: bool  # a process without rows has neither array


class Quantizer:
    """Turns the gradients of a round into a :class:`QuantizedGradients`, reusing its buffers.

    Gradient and curvature of rows that take no part must be 0. Only splits of categories need the dispersion
    of the gradients; without ``disperse`` it is 0.
    """

    def __init__(
        self, n: int, weights: RowWeights, communicator: Communicator = SINGLE, *, disperse: bool = True
    ) -> None:
        self._weights, self._communicator, self._disperse = weights, communicator, disperse
        # Of all processes: one without rows has no weights either.
        self._weighted = weighted = weights.folded or weights.top > 1.0
        self._packed = memory.empty(0 if weighted else n, np.int64)
        self._parts = memory.empty((n if weighted else 0, 3), np.int32)

    def __call__(
        self,
        g: NDArray[np.float64],
        h: NDArray[np.float64],
        n_jobs: int,
        tops: tuple[float, float] | None = None,
    ) -> QuantizedGradients:
        """Quantize the gradients ``g`` and curvatures ``h`` ≥ 0, whose largest are ``tops``, if known."""
        weights = self._weights
        tops = largest(g, h, n_jobs, self._communicator) if tops is None else tops
        scale = narrow_scale(*tops, weights)

        def quantize(start: int, stop: int) -> None:
            if self._weighted:
                part_rows(g, h, weights, scale, start, stop, self._parts)
            else:
                pack_rows(g, h, scale, start, stop, self._packed)

        parallel.for_blocks(quantize, len(g), n_jobs=n_jobs, block=_ROWS)
        gradient, curvature, weight = (1.0 / factor if factor else 0.0 for factor in scale)
        dispersed = dispersion(g, h, weights, n_jobs, self._communicator, tops) if self._disperse else 0.0
        return QuantizedGradients(
            self._packed, self._parts, gradient, curvature, weight, dispersed, self._weighted
        )


def dispersion(
    g: NDArray[np.float64],
    h: NDArray[np.float64],
    weights: RowWeights,
    n_jobs: int,
    communicator: Communicator = SINGLE,
    tops: tuple[float | None, float | None] = (None, None),
) -> float:
    """Σ g²/Σ h over all rows: what G²/H of a few of them is by chance; 0 if there is no curvature.

    A relative weight varies as the rows do, so that it is squared too. ``tops`` are the largest |g| and h, if
    known.

    >>> weights = RowWeights(np.empty(0), folded=False, total=2.0, top=1.0, copies=True)
    >>> dispersion(np.array([0.5, -0.5]), np.array([0.25, 0.25]), weights, n_jobs=1)
    1.0
    """
    curvature = weighted_sum(h, weights, n_jobs, communicator, top=tops[1])
    if weights.copies or not weights.folded:  # the same in a process without rows
        squares = weighted_sum(g, weights, n_jobs, communicator, squared=True, top=tops[0])
    else:
        squares = weighted_sum(g * g * weights.values, weights, n_jobs, communicator)
    return squares / curvature if curvature > 0.0 else 0.0
