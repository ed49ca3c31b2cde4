"""One random cut of each drawn column: no class sums of bins, only the sums on the left of the cut.

Two passes over the rows of a node for each column: one for its range, in which the cut is drawn, one for the
sums.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner, small
from propriety.forest.cuts import EQUAL, bin_of, bins_on_right, column_start, keep, pair_after, split_gain
from propriety.forest.draws import draw_cut
from propriety.forest.layout import CLASS, ROW, TO_CLASS, TO_COUNT

_U = np.uint64


@inner
def _range_of_bins(rows, first, bag, start, stop, missing):
    """The least and the largest bin of a node's values, the latter −1 of none; whether some are missing."""
    low, high, n_missing = np.int64(missing), np.int64(-1), np.int64(0)
    for i in range(start, stop):
        code = np.int64(bin_of(rows, first, bag[i]))
        absent = np.int64(code == missing)
        low, n_missing = min(low, code), n_missing + absent
        high = max(high, code - absent * (missing + 1))
    return low, high, n_missing > 0


@inner
def _sum_pair(rows, first, bag, start, stop, weights, right_from, right_bins):
    """Sums on the left of a cut, in all and of class 1."""
    both = ones = np.int64(0)
    for i in range(start, stop):
        entry = bag[i]
        amount = np.int64(entry >> TO_COUNT)
        if weights.size > 0:
            amount *= weights[entry & ROW]
        amount = amount if _U(bin_of(rows, first, entry)) - right_from >= right_bins else np.int64(0)
        both += amount
        ones += amount * np.int64((entry >> TO_CLASS) & _U(1))
    return both, ones


@inner
def _sum_left(rows, first, bag, start, stop, weights, right_from, right_bins, left):
    """Class sums on the left of a cut, for any number of classes."""
    for k in range(left.size):
        left[k] = 0
    for i in range(start, stop):
        entry = bag[i]
        amount = np.int64(entry >> TO_COUNT)
        if weights.size > 0:
            amount *= weights[entry & ROW]
        goes = np.int64(_U(bin_of(rows, first, entry)) - right_from >= right_bins)
        left[(entry >> TO_CLASS) & CLASS] += amount * goes


@small
def _gain_of_cut(
    rows, first, bag, weights, missing, cut, side, lines, few, least, sums, whole, loss, found, left
):  # fmt: skip
    """Gain of a cut, whose class sums are left in `left`; −2·loss if it leaves too little on a side."""
    start, stop, (right_from, right_bins) = _U(found.start), _U(found.stop), bins_on_right(cut, missing, side)
    if sums.size > 2:
        _sum_left(rows, first, bag, start, stop, weights, right_from, right_bins, left)
        return split_gain(left, sums, lines, least, loss)
    both, ones = _sum_pair(rows, first, bag, start, stop, weights, right_from, right_bins)
    left[0], left[1] = both - ones, ones
    if both < least or sums[0] + sums[1] - both < least:
        return -2.0 * loss
    return loss - pair_after(lines, few, whole, both - ones, ones, sums[0], sums[1])


@inner
def search_random_cuts(
    rows, n_rows, bag, weights, columns, drawn, lines, few, least, sums, whole, loss, found, left, kept,
    scratch,
):  # fmt: skip
    """Compare a random cut of each drawn column of numbers to the best split so far."""
    for j in range(drawn.size - 1, -1, -1):
        column = columns[drawn[j]]
        if column.categorical != 0:
            continue
        first = column_start(drawn[j], n_rows)
        low, high, any_missing = _range_of_bins(
            rows, first, bag, _U(found.start), _U(found.stop), column.missing
        )
        cut, side, scratch.state = draw_cut(low, high, any_missing, scratch.state)
        if cut < 0:
            continue
        gain = _gain_of_cut(
            rows, first, bag, weights, column.missing, cut, max(side, 0), lines, few, least, sums, whole,
            loss, found, left,
        )  # fmt: skip
        if gain > found.gain + EQUAL * loss:
            found.gain, found.feature, found.by_set = gain, drawn[j], 0
            found.cut, found.missing_left = cut, side
            keep(left, kept)
