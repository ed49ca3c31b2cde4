"""A random cut of a column of numbers: no class sums of bins, only the sums on the left of the cut.

Two passes over the rows of a node: one for the range of the column, in which the cut is drawn, one for the
sums.
"""

from __future__ import annotations

import numpy as np

from propriety.trees.histogram import amount_of, bin_of
from propriety.trees.jit import inner, small
from propriety.trees.layout import CLASS, TO_CLASS
from propriety.trees.random import draw_cut
from propriety.trees.splitter import bins_on_right, judge

_U = np.uint64


@small
def _range_of_bins(rows, first, line, entries, start, stop, missing):
    """The least and the largest bin of a node's values, the latter −1 of none; whether some are missing."""
    low, high, n_missing = np.int64(missing), np.int64(-1), np.int64(0)
    for i in range(start, stop):
        code = np.int64(bin_of(rows, first, line, entries[i]))
        absent = np.int64(code == missing)
        low, n_missing = min(low, code), n_missing + absent
        high = max(high, code - absent * (missing + 1))
    return low, high, n_missing > 0


@small
def _sum_pair(rows, first, line, entries, start, stop, weights, right_from, right_bins):
    """Sums on the left of a cut, in all and of class 1."""
    both = ones = np.int64(0)
    for i in range(start, stop):
        entry = entries[i]
        amount = amount_of(entry, weights)
        amount = amount if bin_of(rows, first, line, entry) - right_from >= right_bins else np.int64(0)
        both += amount
        ones += amount * np.int64((entry >> TO_CLASS) & _U(1))
    return both, ones


@inner
def _sum_left(rows, first, line, entries, start, stop, weights, right_from, right_bins, left):
    """Class sums on the left of a cut, for any number of classes."""
    for k in range(left.size):
        left[k] = 0
    for i in range(start, stop):
        entry = entries[i]
        goes = np.int64(bin_of(rows, first, line, entry) - right_from >= right_bins)
        left[(entry >> TO_CLASS) & CLASS] += amount_of(entry, weights) * goes


@small
def random_cut(
    rows, first, line, entries, weights, missing, panels, few, way, least, sums, loss, found, left, kept,
    state,
):  # fmt: skip
    """Compare a random cut of a column to the best split so far; returns whether it is better."""
    start, stop = _U(found.start), _U(found.stop)
    low, high, any_missing = _range_of_bins(rows, first, line, entries, start, stop, missing)
    cut, side, state.random = draw_cut(low, high, any_missing, state.random)
    if cut < 0:
        return False
    right_from, right_bins = bins_on_right(cut, missing, side)
    if sums.size > 2:
        _sum_left(rows, first, line, entries, start, stop, weights, right_from, right_bins, left)
    else:
        both, ones = _sum_pair(rows, first, line, entries, start, stop, weights, right_from, right_bins)
        left[0], left[1] = both - ones, ones
    if not judge(left, sums, panels, few, way, least, loss, 1.0, 0.0, 1.0, found, kept):
        return False
    found.cut, found.above, found.missing_left, found.by_set = cut, -1, side, 0
    return True
