"""Edges between bins of about equal weight, from sorted numbers that count once each.

The bins are those that `quantile_edges` finds by a walk over all distinct values. Here each end is
looked for where it must be: so many places further on, at the end of a run of equal values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.trees.jit import inner, kernel
from propriety.trees.sorting import sort_numbers

#: Relative; weights w and c·w differ by less, and equal shares must not be told apart.
TIE = 1e-9
Floats = NDArray[np.float64]


def sorted_edges(values: NDArray[np.floating], max_bins: int) -> Floats:
    """Edges of at most ``max_bins`` bins of sorted values, the missing ones last.

    >>> sorted_edges(np.array([1.0, 2.0, 2.0, 4.0, np.nan]), 255)
    array([1.5, 3. ])
    """
    missing = len(values) > 0 and np.isnan(values[-1])
    values = values[: np.searchsorted(values, np.nan)] if missing else values
    ends = np.empty(max_bins, dtype=np.int64)
    count = _end_runs(values, ends)
    if count == max_bins:
        count = _end_bins(values, np.empty((max_bins, 2), dtype=np.int64), ends)
    last = ends[: max(count, 0)]
    return middles(values[last].astype(np.float64), values[last + 1].astype(np.float64))


def middles(below: Floats, above: Floats) -> Floats:
    """Edges half way between neighbouring values."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle = below + 0.5 * (above - below)
    # Between neighbouring floats, and beside an infinity, the value below is the only edge.
    return np.where((middle >= below) & (middle < above), middle, below + 0.0)  # −0.0 becomes 0.0


@inner
def _run_end(values, at):
    """Where the values that equal ``values[at]`` end, for values in order."""
    step = 1
    while at + step < values.size and values[at + step] == values[at]:
        step *= 2
    low, high = at + step // 2, min(at + step, values.size)  # the last that is equal, one that is not
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] == values[at]:
            low = middle
        else:
            high = middle
    return high


@inner
def _run_start(values, at):
    """Where they begin."""
    low, high = -1, at  # one that is not equal, one that is
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] == values[at]:
            high = middle
        else:
            low = middle
    return high


@kernel
def _end_runs(values, ends):
    """Ends of distinct values, all but the last or as many as there is room for; returns their number."""
    count, at = -1, 0
    while at < values.size and count < ends.size:
        at = _run_end(values, at)
        count += 1
        if count < ends.size:
            ends[count] = at - 1
    return count


@inner
def _find_frequent(values, equal, runs):
    """Runs of values that have an equal share, of two or more, each; returns their number."""
    count, step = 0, np.int64(np.ceil(equal))
    for at in range(0, values.size, step):
        after = values[at + 1] == values[at] if at + 1 < values.size else False
        before = values[at - 1] == values[at] if at > 0 else False
        if (before or after) and (count == 0 or at >= runs[count - 1, 1]):
            start, stop = _run_start(values, at), _run_end(values, at)
            if stop - start >= equal:
                runs[count, 0], runs[count, 1] = start, stop
                count += 1
    return count


@kernel
def _end_bins(values, runs, ends):
    """Ends of bins of more distinct values than there may be bins; returns their number.

    A value with more than an equal share has a bin of its own; what is left is shared out among the others.
    """
    n, bins, at, count, k = values.size, ends.size, 0, 0, 0
    n_frequent, left, waiting = _find_frequent(values, n / bins * (1.0 - TIE), runs), n, 0
    for frequent in range(n_frequent):
        left -= runs[frequent, 1] - runs[frequent, 0]
    bins -= n_frequent
    while count < ends.size - 1:
        barrier, share = runs[k, 0] if k < n_frequent else n, left / max(bins, 1)
        full = at + np.int64(np.ceil(share * (1.0 - TIE))) - 1
        if at == barrier and k < n_frequent:  # has a bin with what was too little for one before it
            at, left, waiting, k = runs[k, 1], left - waiting, 0, k + 1
        elif full < barrier or (barrier < n and barrier - at > 0.5 * share * (1.0 + TIE)):
            stop = _run_end(values, full) if full < barrier else barrier
            at, left, bins = stop, left - (stop - at), bins - 1
        elif barrier < n:
            at, waiting = barrier, barrier - at
            continue
        else:
            break
        if at == n:
            break
        ends[count] = at - 1
        count += 1
    return count


@kernel
def _close_bins(weights, ends):
    """Find the values that end a bin, for distinct values in order with their weights; returns their number.

    A value with more than an equal share has a bin of its own; what is left is shared out among the others,
    so that a frequent value does not eat their bins. Weights that lack a rounding error to a share have it.
    """
    max_bins, left = ends.size, 0.0
    for i in range(weights.size):
        left += weights[i]
    bins, equal, left = max_bins, left / max_bins * (1.0 - TIE), 0.0
    for i in range(weights.size):
        if weights[i] >= equal:
            bins -= 1
        else:
            left += weights[i]
    inside, count = 0.0, 0
    for i in range(weights.size - 1):
        alone = weights[i] >= equal
        inside += 0.0 if alone else weights[i]
        share = left / max(bins, 1)
        full, half_full = inside >= share * (1.0 - TIE), inside > 0.5 * share * (1.0 + TIE)
        if alone or full or (half_full and weights[i + 1] >= equal):
            ends[count] = i
            count += 1
            left -= inside
            bins -= 0 if alone else 1
            inside = 0.0
            if count == max_bins - 1:
                break
    return count


def bin_ends(weights: Floats, max_bins: int) -> NDArray[np.int64]:
    """Positions of the values that end a bin, of at most so many bins."""
    ends = np.empty(max_bins, dtype=np.int64)
    return ends[: _close_bins(weights, ends)]


class Distinct(NamedTuple):
    """Distinct values in order, with their weights."""

    values: Floats
    mass: Floats


def distinct_values(values: NDArray[np.floating], weights: Floats | None) -> Distinct:
    """The distinct values that are not missing and have a weight.

    >>> distinct_values(np.array([4.0, 2.0, np.nan, 2.0]), None)
    Distinct(values=array([2., 4.]), mass=array([2., 1.]))
    """
    if weights is None:
        values = sort_numbers(values)
        values = values[: np.searchsorted(values, np.nan)] if values.size and np.isnan(values[-1]) else values
    else:
        keep = ~np.isnan(values) & (weights > 0)
        values, weights = values[keep], weights[keep]
        order = np.argsort(values)  # of equal values in any order: sums of weights are exact
        values, weights = values[order], weights[order]
    if not values.size:
        return Distinct(np.empty(0), np.empty(0))
    first = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    if weights is None:
        mass = np.diff(np.append(first, len(values))).astype(np.float64)
    else:
        mass = np.add.reduceat(weights, first)
    return Distinct(values[first].astype(np.float64, copy=False), mass)


def quantile_edges(distinct: Distinct, max_bins: int) -> Floats:
    """Edges of at most ``max_bins`` bins of about equal weight; x belongs to the first bin with x ≤ edge.

    >>> quantile_edges(distinct_values(np.array([1.0, 2.0, 2.0, 4.0]), None), 255)
    array([1.5, 3. ])
    """
    values, mass = distinct
    ends = np.arange(max(len(values) - 1, 0)) if len(values) <= max_bins else bin_ends(mass, max_bins)
    return middles(values[ends], values[ends + 1])
