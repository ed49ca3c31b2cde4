"""Fixed point: sums of whole numbers do not depend on their order, so neither does the model.

A value becomes a whole number by a factor and a rounding, and there is one rule for its weight (:func:`fix`).
A number of copies multiplies the rounded value, so that weight k and k copies have the same sum in every bit.
Any other weight is *folded* in before rounding; so are copies beyond ``MAX_COPIES``, which would leave the
values too few bits.

There are two scales. The *narrow* one is for histograms of trees: 18 bits a row, so that ``BLOCK`` rows of
unit weight fit in half a cell. The *wide* one is for sums that become values: the total of all rows fits in
61 bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.communicator import SINGLE, Communicator
from propriety.trees.intrinsics import bits_of, number_of
from propriety.trees.jit import inner, kernel
from propriety.weights import Weights

BLOCK = 8192
#: Largest packed value. Not a round number: gradients in simple ratios (p and 1−p of the first
#: round) must not fall on a rounding boundary, where the last bit of a loss would decide.
LEVELS = 261_733.71
#: Whole weights up to this keep a row of weight k equal to k copies in every bit.
MAX_COPIES = 4096
_FOLDED_LEVELS = 1_072_693_247.3  # of a value times its weight; LEVELS · MAX_COPIES is as large
_WIDE = 2.0**61
_NO_SIGN = np.int64(2**63 - 1)
_INFINITE = np.float64(np.inf).view(np.int64)
_ROWS = 65536
Floats = NDArray[np.float64]


class RowWeights(NamedTuple):
    """Weights as kernels read them; `row_weights` makes them."""

    values: Floats  # empty: every row that takes part counts once
    folded: bool
    total: float
    top: float
    copies: bool  # whether a row of weight k stands for k rows


class Scale(NamedTuple):
    """Factors that turn gradient, curvature and weight of a row into whole numbers."""

    gradient: float
    curvature: float
    weight: float


def row_weights(weights: Weights) -> RowWeights:
    """The weights of some rows in the form of kernels.

    Rows of weight 0 take no part: whoever sums leaves them out, or sees to it that their values are 0. So
    weights of 0 and 1 are no weights.

    >>> row_weights(Weights.read([0.5, 1.5], 2)).folded, row_weights(Weights.read([1, 0], 2)).values.size
    (True, 0)
    """
    values = weights.values
    plain = values is None or bool(np.all((values == 0.0) | (values == 1.0)))
    top = 1.0 if values is None else float(values.max(initial=0.0))
    weighted, top = weights.communicator.max((float(not plain), top))
    folded = bool(weighted) and (not weights.copies or top > MAX_COPIES)
    values = memory.kept(weights.array) if weighted else np.empty(0)
    return RowWeights(values, folded, weights.total, top, weights.copies)


@inner
def fix(value, weight, factor, folded):
    """value · factor · weight as a whole number; the one place that knows what a weight does."""
    if folded:
        return np.int64(np.rint(value * weight * factor))
    return np.int64(np.rint(value * factor)) * np.int64(weight)


@inner
def weight_of(weights, row):
    """The weight of a row."""
    return weights.values[row] if weights.values.size else 1.0


def fixed_point(top: float, total: float) -> float:
    """A factor that keeps ``total`` times the largest value below 2⁶¹."""
    room = top * max(total, 1.0)
    return _WIDE / room if room > 0.0 else 1.0


def wide_scale(top_gradient: float, top_curvature: float, total: float) -> Scale:
    """The scale of sums that become values; ``total`` is that of the weights."""
    return Scale(fixed_point(top_gradient, total), fixed_point(top_curvature, total), 1.0)


def narrow_scale(top_gradient: float, top_curvature: float, weights: RowWeights) -> Scale:
    """The scale of histograms of trees; values that are 0 everywhere have the factor 0."""
    levels, top = (_FOLDED_LEVELS, weights.top) if weights.folded else (LEVELS, 1.0)
    return Scale(
        levels / (top_gradient * top) if top_gradient > 0 else 0.0,
        levels / (top_curvature * top) if top_curvature > 0 else 0.0,
        levels / top if weights.folded else 1.0,
    )


@kernel
def pack_rows(g, h, scale, start, stop, packed):
    """Gradient · 2³² + curvature of rows that count once."""
    for i in range(np.uint64(start), np.uint64(stop)):
        gradient = fix(g[i], 1.0, scale.gradient, False)
        packed[i] = (gradient << 32) + fix(h[i], 1.0, scale.curvature, False)


@kernel
def part_rows(g, h, weights, scale, start, stop, parts):
    """Gradient, curvature and weight of weighted rows."""
    for i in range(start, stop):
        w = weight_of(weights, i)
        parts[i, 0] = fix(g[i], w, scale.gradient, weights.folded)
        parts[i, 1] = fix(h[i], w, scale.curvature, weights.folded)
        parts[i, 2] = fix(1.0, w, scale.weight, weights.folded)


@kernel
def fix_rows(g, h, weights, scale, index, start, stop, ints):
    """ints[i] is gradient and curvature of row index[i] (of row i, if ``index`` is empty)."""
    for i in range(start, stop):
        row = np.uint64(index[i]) if index.size else np.uint64(i)
        w = weight_of(weights, row)
        ints[i, 0] = fix(g[row], w, scale.gradient, weights.folded)
        ints[i, 1] = fix(h[row], w, scale.curvature, weights.folded)


@kernel
def sum_cells(cell_of, g, h, weights, scale, start, stop, sums):
    """Add gradient and curvature of the rows start … stop−1 to their cells' sums."""
    for row in range(np.uint64(start), np.uint64(stop)):
        cell, w = cell_of[row], weight_of(weights, row)
        sums[cell, 0] += fix(g[row], w, scale.gradient, weights.folded)
        sums[cell, 1] += fix(h[row], w, scale.curvature, weights.folded)


@kernel
def _sum(values, weights, factor, squared, start, stop):
    total = np.int64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        value = values[i] * values[i] if squared else values[i]
        total += fix(value, weight_of(weights, i), factor, weights.folded)
    return total


@kernel
def largest_of(g, h, start, stop):
    """The largest numbers without their sign, by their bits: these are in the same order, NaN beyond all."""
    a, b = np.int64(0), np.int64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        a = max(a, bits_of(g[i]) & _NO_SIGN)
        b = max(b, bits_of(h[i]) & _NO_SIGN)
    return number_of(min(a, _INFINITE)), number_of(min(b, _INFINITE))


def largest(g: Floats, h: Floats, n_jobs: int, communicator: Communicator = SINGLE) -> tuple[float, float]:
    """The largest |gradient| and curvature ≥ 0 of all rows; ∞ if one of them is not a number."""
    tops: list[tuple[float, float]] = []
    parallel.for_blocks(lambda s, e: tops.append(largest_of(g, h, s, e)), len(g), n_jobs=n_jobs, block=_ROWS)
    top_g, top_h = tops[0] if len(tops) == 1 else map(max, zip(*tops, strict=True))
    top_g, top_h = communicator.max((top_g, top_h))
    return top_g, top_h


def weighted_sum(
    values: Floats,
    weights: RowWeights,
    n_jobs: int,
    communicator: Communicator = SINGLE,
    *,
    squared: bool = False,
    top: float | None = None,
) -> float:
    """Σ weight · value over all rows, the same in any order; a value that is not finite makes it inf or NaN.

    ``squared`` sums the squares of the values; ``top`` is the largest |value| of all rows, if it is known.

    >>> weighted_sum(np.array([0.1, 0.2]), row_weights(Weights.read([1, 2], 2)), n_jobs=1)
    0.5
    """
    top = largest(values, values, n_jobs, communicator)[0] if top is None else top
    if not math.isfinite(top):
        (top,) = communicator.max((max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))),))
    top = top * top if squared else top
    if not math.isfinite(top):
        return top
    factor, totals = fixed_point(top, weights.total), []
    parallel.for_blocks(
        lambda s, e: totals.append(_sum(values, weights, factor, squared, s, e)),
        len(values),
        n_jobs=n_jobs,
        block=_ROWS,
    )
    return float(communicator.sum(np.array([sum(totals)], dtype=np.int64))[0]) / factor
