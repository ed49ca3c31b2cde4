"""Edges of bins of many numbers, of which few are put in order.

Numbers fall into groups of equal width, in their order, and are counted. That tells in which group the end of
each bin lies, and these groups alone, a twentieth of the numbers, are looked up and sorted: a fifth of the
time that sorting all of them takes. Where it would take longer, because numbers crowd together or are often
the same, all are sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.trees.jit import inner, kernel, small
from propriety.trees.quantiles import TIE, middles, sorted_edges
from propriety.trees.sorting import MANY, Sorter

_GROUPS = 1 << 14
_LOOKED_AT = 1024  # numbers that tell how wide the groups should be
_NEIGHBOURS = 16  # of these, by which it is seen whether numbers crowd together
_CROWD = 128  # numbers in a group at their closest, above which nothing is tried
_EQUAL = 1  # pairs of equal ones, above which bins end in places that nobody can foresee
_LATER = 32  # places by which the end of a bin may come later than if all numbers were different
_MOVES = 4  # for each number, in sorting the groups that are looked up
_NONE = np.int32(0)  # a place for whatever is not chosen
_U = np.uint64
Floats = NDArray[np.float64]


class EdgeFinder:
    """Finds the edges of one column after the other in memory that it uses again; by any number of threads.

    >>> EdgeFinder().edges(np.array([1.0, 2.0, np.nan, 2.0, 4.0]), 255)
    array([1.5, 3. ])
    """

    def __init__(self) -> None:
        self._sorter = Sorter()
        self._free: list[_Room] = []

    def edges(self, values: NDArray[np.floating], max_bins: int) -> Floats:
        """Edges of at most ``max_bins`` bins, as `sorted_edges` finds them."""
        found = self._selected(values, max_bins) if MANY <= len(values) < 2**31 else None
        if found is None:
            with self._sorter.sorted(values) as ordered:
                found = sorted_edges(ordered, max_bins)
        return found

    def _selected(self, values: NDArray[np.floating], max_bins: int) -> Floats | None:
        """The same, without sorting; None if that would take longer."""
        line = _groups(values)
        if line is None:
            return None
        try:
            room = self._free.pop()
        except IndexError:
            room = _Room(0)
        room = room if len(room.keys) >= len(values) else _Room(len(values))
        below, above = np.empty((2, max_bins - 1))
        values = np.ascontiguousarray(values)
        chosen = room.chosen.view(values.dtype)[: len(values) // 2]
        count = _select(values, *line, room.keys, room.ends, room.places, chosen, below, above)
        self._free.append(room)
        return None if count < 0 else middles(below[:count], above[:count])


class _Room:
    """What one column needs."""

    def __init__(self, n: int) -> None:
        self.keys = np.empty(n, np.uint16)  # the group of each number
        self.ends = np.empty(_GROUPS + 1, np.int32)  # where each group ends in the order of all numbers
        self.places = np.empty(_GROUPS + 1, np.int32)  # of the next number of a group among the chosen
        self.chosen: NDArray[Any] = np.empty((n + 1) // 2)  # the numbers that are looked up


def _groups(values: NDArray[np.floating]) -> tuple[float, float] | None:
    """Where the groups begin and how many there are in a unit; None if too many numbers crowd in some."""
    some = np.sort(values[:: len(values) // _LOOKED_AT]).astype(np.float64)
    some = some[np.isfinite(some)]
    if len(some) < _LOOKED_AT // 2:
        return None
    with np.errstate(over="ignore", divide="ignore"):
        wide = 1.125 * (some[-1] - some[0])  # a little is left for larger ones on either side
        scale = (_GROUPS - 1) / wide
    low = some[0] - wide / 18
    if not (np.isfinite(low) and 0 < scale < np.inf):
        return None
    closest = np.min(some[_NEIGHBOURS:] - some[:-_NEIGHBOURS]) * scale
    crowded = len(values) / len(some) * _NEIGHBOURS > _CROWD * closest
    many_equal = np.count_nonzero(some[1:] == some[:-1]) > _EQUAL
    return None if crowded or many_equal else (float(low), float(scale))


@kernel
def _select(values, low, scale, keys, ends, places, chosen, below, above):
    """Write the values around each edge; returns how many there are, −1 if it is better to sort.

    Wherever it returns others, there are more distinct values than bins, and none has an equal share.
    """
    ends[:], places[:] = 0, _NONE
    _group(values, low, scale, keys, ends)
    most, occupied, n = np.int32(0), 0, np.int32(0)
    for g in range(_GROUPS):
        most, occupied = max(most, ends[g]), occupied + (ends[g] > 0)
        n += ends[g]
        ends[g] = n
    bins = below.size + 1
    if occupied <= bins or most >= n / bins * (1.0 - TIE) or not _choose(n, bins, ends, places, chosen.size):
        return -1
    for i in range(_U(values.size)):  # without a branch, which would often be mistaken
        key = _U(keys[i])
        place = places[key]
        chosen[_U(place)] = values[i]
        places[key] = place + np.int32(place != _NONE)
    return _find(n, ends, places, chosen, below, above)


@inner
def _group(values, low, scale, keys, counts):
    """Find the group of each number, the last one for missing ones, and count them."""
    top = np.float64(_GROUPS - 1)
    for i in range(_U(values.size)):
        x = np.float64(values[i])
        place = np.int32(min(max((x - low) * scale, 0.0), top))
        keys[i] = np.uint16(_GROUPS if np.isnan(x) else place)
    for i in range(_U(values.size)):
        counts[_U(keys[i])] += np.int32(1)


@small
def _last(at, left, bins):
    """The place of the number that fills the bin that begins at a place."""
    return at + np.int64(np.ceil(left / max(bins, 1) * (1.0 - TIE))) - 1


@inner
def _choose(n, bins, ends, places, room):
    """Give places to the groups where bins end, a little later ones too; whether it is worth it."""
    at, left, g, total, moves = np.int64(0), np.int64(n), 0, np.int64(_NONE + 1), np.int64(0)
    for bin in range(bins - 1):
        last = _last(at, left, bins - bin)
        at, left = last + 1, left - (last + 1 - at)
        while g < _GROUPS and ends[g] <= last:
            g += 1
        h = g
        while h < _GROUPS and (h == g or ends[h - 1] <= last + _LATER):
            size = np.int64(ends[h] - (ends[h - 1] if h > 0 else np.int32(0)))
            if places[h] == _NONE:
                places[h] = total
                total, moves = total + size, moves + size * size // 4
            h += 1
    return total <= room and moves <= _MOVES * np.int64(n)


@inner
def _sort(chosen, start, stop):
    """Put few numbers in order."""
    for i in range(start + 1, stop):
        x, j = chosen[_U(i)], i
        while j > start and chosen[_U(j - 1)] > x:
            chosen[_U(j)] = chosen[_U(j - 1)]
            j -= 1
        chosen[_U(j)] = x


@inner
def _least(at, g, ends, places, chosen):
    """The least number of the group that begins at a place, g or a later one; NaN if it was not looked up."""
    while ends[g] <= at:
        g += 1
    if places[g] == _NONE:
        return np.nan
    stop = np.int64(places[g])
    first = stop - (ends[g] - at)
    least = np.float64(chosen[first])
    for i in range(first + 1, stop):
        least = min(least, np.float64(chosen[i]))
    return least


@inner
def _find(n, ends, places, chosen, below, above):
    """Walk from edge to edge; −1 if one is in a group that was not looked up.

    The steps are those of `quantiles.sorted_edges` where no value has a bin of its own.
    """
    at, left, g, ordered, bins, count = np.int64(0), np.int64(n), 0, -1, below.size + 1, 0
    while count < below.size:
        last = _last(at, left, bins - count)
        if last >= n:
            break
        while ends[g] <= last:
            g += 1
        if places[g] == _NONE:
            return -1
        stop, ahead = np.int64(places[g]), np.int64(ends[g] - places[g])  # of its numbers among the chosen
        if g != ordered:
            _sort(chosen, np.int64(ends[g - 1] if g > 0 else 0) - ahead, stop)
            ordered = g
        end = last - ahead + 1
        while end < stop and chosen[end] == chosen[end - 1]:
            end += 1
        at, left = end + ahead, left - (end + ahead - at)
        if at == n:
            break
        below[count] = chosen[end - 1]
        above[count] = chosen[end] if end < stop else _least(at, g, ends, places, chosen)
        if np.isnan(above[count]):
            return -1
        count += 1
    return count
