"""Compiled loops over rows; the only module of the losses that imports Numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety.caching import njit

# Fused multiply-add is the only liberty the compiler may take; nan and inf keep their meaning.
_OPTIONS = {"error_model": "numpy", "fastmath": {"contract"}, "no_cfunc_wrapper": True}
_TILE = 256  # rows that stay in the first cache between two loops over them


@njit(forceinline=True, **_OPTIONS)
def exp(x: Any) -> Any:
    """eˣ to one unit in the last place, in arithmetic that the compiler can vectorize.

    x = n log 2 + r with |r| ≤ ½ log 2; a polynomial for eʳ; 2ⁿ by its bits, in two halves that cannot
    overflow alone.
    """
    x = min(max(x, -746.0), 709.78)
    n = np.rint(x * 1.4426950408889634)
    r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10
    s = 2.08767569878681e-09
    s = s * r + 2.505210838544172e-08
    s = s * r + 2.755731922398589e-07
    s = s * r + 2.7557319223985893e-06
    s = s * r + 2.48015873015873e-05
    s = s * r + 1.984126984126984e-04
    s = s * r + 1.388888888888889e-03
    s = s * r + 8.333333333333333e-03
    s = s * r + 4.1666666666666664e-02
    s = s * r + 1.6666666666666666e-01
    s = s * r + 0.5
    k = np.int64(n)
    half = k >> 1
    first = np.int64((half + 1023) << 52).view(np.float64)
    second = np.int64((k - half + 1023) << 52).view(np.float64)
    return (1.0 + (r + r * r * s)) * first * second


@njit(nogil=True, **_OPTIONS)
def logistic(y: Any, F: Any, gradient: Any, curvature: Any, inverse_scale: Any, rate: Any) -> Any:
    """Gradient (p − y)·rate and curvature p q·rate/scale of the log loss; counts scores beyond ±700."""
    beyond = 0
    for i in range(F.shape[0]):
        t = F[i] * inverse_scale
        e = exp(-abs(t))
        larger = 1.0 / (1.0 + e)
        smaller = e * larger
        p = larger if t >= 0 else smaller
        q = smaller if t >= 0 else larger
        gradient[i] = ((1.0 - y[i]) * p - y[i] * q) * rate
        curvature[i] = p * q * (rate * inverse_scale)
        beyond += not (abs(t) <= 700.0)
    return beyond


@njit(nogil=True, **_OPTIONS)
def softmax(y: Any, F: Any, gradient: Any, curvature: Any, start: Any, stop: Any) -> Any:
    """Gradient p − 1[k = y] and curvature p (1 − p) of the log loss on the simplex, rows start … stop−1.

    The scores are (n, K); what is written is (K, n), so that each class is one run of memory. Returns the sum
    of the differences to a row's largest score, which is not finite if any score is not.
    """
    classes = F.shape[1]
    tops, totals = np.empty(_TILE), np.empty(_TILE)
    check = 0.0
    for first in range(start, stop, _TILE):
        size = min(_TILE, stop - first)
        for i in range(size):
            tops[i] = F[first + i, 0]
            totals[i] = 0.0
        for k in range(1, classes):
            for i in range(size):
                tops[i] = max(tops[i], F[first + i, k])
        for k in range(classes):
            for i in range(size):
                d = F[first + i, k] - tops[i]
                check += d
                e = exp(d)
                gradient[k, first + i] = e
                totals[i] += e
        for k in range(classes):
            for i in range(size):
                p = gradient[k, first + i] / totals[i]
                gradient[k, first + i] = p
                curvature[k, first + i] = p * (1.0 - p)
        for i in range(first, first + size):
            gradient[y[i], i] -= 1.0
    return check


@njit(forceinline=True, **_OPTIONS)
def _polynomial(table: Any, base: Any, z: Any, size: Any) -> Any:
    """Σ table[base + k] zᵏ for k below `size`, 6 or 8; unsigned indices spare the test for negative ones."""
    s = table[base + np.uint64(5)]
    if size == 8:
        s = (table[base + np.uint64(7)] * z + table[base + np.uint64(6)]) * z + s
    s = s * z + table[base + np.uint64(4)]
    s = s * z + table[base + np.uint64(3)]
    s = s * z + table[base + np.uint64(2)]
    s = s * z + table[base + np.uint64(1)]
    return s * z + table[base]


@njit(forceinline=True, **_OPTIONS)
def _locate(score: Any, origin: Any, per_unit: Any, last: Any) -> Any:
    """Panel of a score, and its distance from the panel's centre in panel widths.

    A nan compares false, so it goes to panel 0 and never outside the table.
    """
    u = (score - origin) * per_unit
    c = u if u > 0.0 else 0.0
    c = c if c < last else last
    panel = np.int64(c)
    return panel, u - panel - 0.5


@njit(forceinline=True, **_OPTIONS)
def _rows(
    y: Any,
    F: Any,
    first: Any,
    second: Any,
    origin: Any,
    per_unit: Any,
    table: Any,
    size: Any,
    last: Any,
    low: Any,
    high: Any,
) -> Any:
    beyond = 0
    between = 0
    for i in range(F.shape[0]):
        panel, z = _locate(F[i], origin, per_unit, last)
        beyond += not (low <= F[i] <= high)
        between += (y[i] != 0) & (y[i] != 1)
        base = np.uint64(4 * size * panel + 2 * size * (y[i] >= 0.5))
        first[i] = _polynomial(table, base, z, size)
        second[i] = _polynomial(table, base + np.uint64(size), z, size)
    if between > 0:
        _mix_labels(y, F, first, second, origin, per_unit, table, size, last)
    return beyond


@njit(nogil=True, **_OPTIONS)
def look_up(
    y: Any,
    F: Any,
    first: Any,
    second: Any,
    origin: Any,
    per_unit: Any,
    coefficients: Any,
    low: Any,
    high: Any,
) -> Any:
    """Two tabulated functions of label and score; counts scores beyond the table, nan among them."""
    table = coefficients.reshape(-1)
    last = np.float64(coefficients.shape[0] - 1)
    # The number of coefficients as a constant, so that each loop is compiled for its own.
    if coefficients.shape[3] == 6:
        return _rows(y, F, first, second, origin, per_unit, table, 6, last, low, high)
    return _rows(y, F, first, second, origin, per_unit, table, 8, last, low, high)


@njit(nogil=True, **_OPTIONS)
def _mix_labels(
    y: Any, F: Any, first: Any, second: Any, origin: Any, per_unit: Any, table: Any, size: Any, last: Any
) -> Any:
    """A label between 0 and 1 mixes the two labels' values: every loss is linear in the label."""
    for i in range(F.shape[0]):
        panel, z = _locate(F[i], origin, per_unit, last)
        base = np.uint64(4 * size * panel)
        other = base + np.uint64(2 * size)
        zero = 1.0 - y[i]
        first[i] = zero * _polynomial(table, base, z, size) + y[i] * _polynomial(table, other, z, size)
        second[i] = zero * _polynomial(table, base + np.uint64(size), z, size) + y[i] * _polynomial(
            table, other + np.uint64(size), z, size
        )
