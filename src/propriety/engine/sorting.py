"""Sorting many numbers, by their digits.

A pass for each eleven bits, least first: a quarter of the time that comparing takes. The bits of a number are
turned so that they rise with it, and missing values come last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.engine.compiling import kernel

_MANY = 1 << 15  # numbers from which the passes pay, and a kernel that has to be compiled
_BITS = 11
_U = np.uint64


def sort_numbers(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """As ``np.sort``.

    >>> sort_numbers(np.array([2.0, np.nan, -1.0]))
    array([-1.,  2., nan])
    """
    width = values.dtype.itemsize
    if len(values) < _MANY or width not in (4, 8):
        return np.sort(values)
    kind: Any = np.uint32 if width == 4 else np.uint64
    bits, spare = np.ascontiguousarray(values).view(kind).copy(), np.empty(len(values), dtype=kind)
    passes, infinity = -(-8 * width // _BITS), _U(np.array(np.inf, values.dtype).view(kind))
    _sort_bits(bits, spare, _U(8 * width - 1), infinity, passes, np.empty(1 << _BITS, dtype=np.int64))
    return (bits if passes % 2 == 0 else spare).view(values.dtype)


@kernel
def _sort_bits(
    bits: NDArray[Any], spare: NDArray[Any], sign: Any, infinity: Any, passes: int, counts: NDArray[np.int64]
) -> None:
    """Sort numbers given by their bits; they end in `spare` after an odd number of passes."""
    for i in range(bits.size):
        x = _U(bits[i])
        magnitude = x & ((_U(1) << sign) - _U(1))
        rising = ~x if x >> sign else x | (_U(1) << sign)
        bits[i] = rising if magnitude <= infinity else ~_U(0)
    for turn in range(passes):
        source, target = (bits, spare) if turn % 2 == 0 else (spare, bits)
        shift, digit = _U(_BITS * turn), _U(counts.size - 1)
        for k in range(counts.size):
            counts[k] = 0
        for i in range(source.size):
            counts[(_U(source[i]) >> shift) & digit] += 1
        total = 0
        for k in range(counts.size):
            total, counts[k] = total + counts[k], total
        for i in range(source.size):
            at = (_U(source[i]) >> shift) & digit
            target[_U(counts[at])] = source[i]
            counts[at] += 1
    result = bits if passes % 2 == 0 else spare
    for i in range(result.size):
        x = _U(result[i])
        result[i] = x ^ (_U(1) << sign) if x >> sign else ~x
