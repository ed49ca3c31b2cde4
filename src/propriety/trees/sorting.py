"""Sorting many numbers, by their digits.

A pass for each eleven bits, least first: a fifth of the time that comparing takes. The bits of a number are
turned so that they rise with it, and missing values come last.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.trees.jit import kernel, small

#: Numbers from which the passes pay, and a kernel that has to be compiled.
MANY = 1 << 15
_BITS = 11
_DIGITS = 3  # of four bytes
_KINDS: dict[int, Any] = {4: np.uint32, 8: np.uint64}  # of bits, by the width of a number
_U = np.uint64


def sort_numbers(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """As ``np.sort``.

    >>> sort_numbers(np.array([2.0, np.nan, -1.0]))
    array([-1.,  2., nan])
    """
    if not _by_digits(values):
        return np.sort(values)
    kind = _KINDS[values.dtype.itemsize]
    return _sort(values, np.empty(len(values), kind), np.empty(len(values), kind))


class Sorter:
    """Sorts one column after the other in memory that it uses again; by any number of threads.

    >>> with Sorter().sorted(np.array([2.0, np.nan, -1.0])) as ordered:
    ...     print(ordered)
    [-1.  2. nan]
    """

    def __init__(self) -> None:
        self._free: list[tuple[NDArray[Any], NDArray[Any]]] = []

    @contextmanager
    def sorted(self, values: NDArray[np.floating]) -> Iterator[NDArray[np.floating]]:
        """The values in order, as long as the context lasts."""
        if not _by_digits(values):
            yield np.sort(values)
            return
        kind = _KINDS[values.dtype.itemsize]
        try:
            room = self._free.pop()
        except IndexError:
            room = np.empty(0, np.uint64), np.empty(0, np.uint64)
        if len(room[0]) < len(values):
            room = np.empty(len(values), np.uint64), np.empty(len(values), np.uint64)
        bits, spare = (part.view(kind)[: len(values)] for part in room)
        yield _sort(values, bits, spare)
        self._free.append(room)


def _by_digits(values: NDArray[np.floating]) -> bool:
    return MANY <= len(values) < 2**32 and values.dtype.itemsize in _KINDS


def _sort(values: NDArray[np.floating], bits: NDArray[Any], spare: NDArray[Any]) -> NDArray[np.floating]:
    """Sort into one of two arrays."""
    width, kind = values.dtype.itemsize, bits.dtype
    infinity = _U(np.array(np.inf, values.dtype).view(kind))
    counts = np.zeros((_DIGITS * width // 4, 1 << _BITS), dtype=np.uint32)
    _sort_bits(values.view(kind), bits, spare, _U(8 * width - 1), infinity, counts)
    return (bits if len(counts) % 2 == 0 else spare).view(values.dtype)


@small
def _count_digits(bits, counts):
    """How often each value of a digit occurs, for three digits in a pass."""
    digit, one = _U(counts.shape[1] - 1), np.uint32(1)
    for turn in range(0, counts.shape[0], _DIGITS):
        low, middle, high = counts[turn], counts[turn + 1], counts[turn + 2]
        for i in range(bits.size):
            x = _U(bits[i]) >> _U(_BITS * turn)
            low[x & digit] += one
            middle[(x >> _U(_BITS)) & digit] += one
            high[(x >> _U(2 * _BITS)) & digit] += one


@kernel
def _sort_bits(given, bits, spare, sign, infinity, counts):
    """Sort numbers given by their bits; they end in `spare` if an odd number of digits is counted."""
    passes, digit, one = counts.shape[0], _U(counts.shape[1] - 1), np.uint32(1)
    for i in range(given.size):
        x = _U(given[i])
        magnitude = x & ((_U(1) << sign) - _U(1))
        rising = ~x if x >> sign else x | (_U(1) << sign)
        bits[i] = rising if magnitude <= infinity else ~_U(0)
    _count_digits(bits, counts)
    for turn in range(passes):
        source, target = (bits, spare) if turn % 2 == 0 else (spare, bits)
        shift, places, total = _U(_BITS * turn), counts[turn], np.uint32(0)
        for k in range(places.size):
            many = places[k]
            places[k] = total
            total += many
        for i in range(source.size):
            at = (_U(source[i]) >> shift) & digit
            target[_U(places[at])] = source[i]
            places[at] += one
    result = bits if passes % 2 == 0 else spare
    for i in range(result.size):
        x = _U(result[i])
        result[i] = x ^ (_U(1) << sign) if x >> sign else ~x
