"""One random cut of each drawn column: no class sums of bins, only the sums on the left of the cut.

Two passes over the rows of a node do for 32 columns at once: one for their ranges, in which the cuts are
drawn, one for the sums of two classes. Other sums are taken column by column.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import small
from propriety.engine.lines import (
    CUT,
    LEAST,
    LEFT,
    LEFT_ONES,
    LINE,
    MOST,
    MOST_IN_LANE,
    counts_on_left,
    range_of_bins,
    sums_on_left,
)
from propriety.forest.cuts import EQUAL, bin_of, keep, pair_after, split_gain
from propriety.forest.draws import draw_cut
from propriety.forest.entropy import FEW
from propriety.forest.layout import CLASS, ROW, TO_CLASS, TO_COUNT

_U = np.uint64


@small
def _largest_value(rows, first, bag, start, stop, missing):
    """The largest bin of a node's rows that is not that of missing values; −1 if there is none."""
    largest = np.int64(-1)
    for i in range(start, stop):
        code = np.int64(bin_of(rows, first, bag[i]))
        largest = max(largest, code if code != missing else np.int64(-1))
    return largest


@small
def _sum_pairs(rows, first, bag, start, stop, sums, most, scratch):
    """Sums of two classes on the left of the cuts of 32 columns, by as many rows at a time as fit a lane.

    In a bag of rows that count once, those of class 0 come before the others in every node.
    """
    lanes, pairs, total, ones_from = scratch.lanes, scratch.pairs, sums[0] + sums[1], start + _U(sums[0])
    for lane in range(LINE if total > MOST_IN_LANE else 0):
        pairs[lane, 0] = pairs[lane, 1] = 0
    begin, many = start, _U(MOST_IN_LANE) // _U(most)
    while begin < stop:
        end = stop if total <= MOST_IN_LANE else min(begin + many, stop)
        if most == 1:
            middle = min(max(ones_from, begin), end)
            counts_on_left(rows, bag, lanes, first, begin, middle, end)
        else:
            sums_on_left(rows, bag, lanes, first, begin, end)
        for lane in range(LINE if total > MOST_IN_LANE else 0):
            pairs[lane, 0] += np.int64(lanes[LEFT + lane])
            pairs[lane, 1] += np.int64(lanes[LEFT_ONES + lane])
        begin = end


@small
def _pair_on_left(rows, first, bag, start, stop, total, lane, side, missing, scratch):
    """Sums of a column on the left of its cut, in all and of class 1."""
    if total <= MOST_IN_LANE:
        both, ones = np.int64(scratch.lanes[LEFT + lane]), np.int64(scratch.lanes[LEFT_ONES + lane])
    else:
        both, ones = scratch.pairs[lane, 0], scratch.pairs[lane, 1]
    if side == 1:
        for i in range(start, stop):
            entry = bag[i]
            amount = np.int64(entry >> TO_COUNT) * np.int64(bin_of(rows, first, entry) == missing)
            both += amount
            ones += amount * np.int64((entry >> TO_CLASS) & _U(1))
    return both, ones


@small
def _sum_left(rows, first, bag, start, stop, weights, cut, missing, side, left):
    """Class sums on the left of a cut, for any number of classes and any weights."""
    for k in range(left.size):
        left[k] = 0
    for i in range(start, stop):
        entry = bag[i]
        code = np.int64(bin_of(rows, first, entry))
        goes = np.int64(code <= cut) if side < 0 or code != missing else side
        amount = np.int64(entry >> TO_COUNT) * goes
        if weights.size > 0:
            amount *= weights[entry & ROW]
        left[(entry >> TO_CLASS) & CLASS] += amount


@small
def _judge(
    rows, first, bag, weights, lane, missing, lines, few, least, sums, total, loss, most, feature, found,
    left, kept, scratch,
):  # fmt: skip
    """Compare the random cut of a column to the best split so far."""
    start, stop, cut, side = _U(found.start), _U(found.stop), scratch.cuts[lane], scratch.sides[lane]
    gain = -2.0 * loss
    if most > 0:
        both, ones = _pair_on_left(rows, first, bag, start, stop, total, lane, side, missing, scratch)
        left[0], left[1] = both - ones, ones
        if both >= least and total - both >= least:
            gain = loss - pair_after(lines, few, total < FEW, both - ones, ones, sums[0], sums[1])
    else:
        _sum_left(rows, first, bag, start, stop, weights, cut, missing, side, left)
        gain = split_gain(left, sums, lines, least, loss)
    if gain > found.gain + EQUAL * loss:
        found.gain, found.feature, found.by_set = gain, feature, 0
        found.cut, found.missing_left = cut, side
        keep(left, kept)


@small
def _draw_cuts(rows, begin, bag, columns, drawn, first_column, found, scratch):
    """Cut the drawn columns of numbers in a block of lines; returns how many there are."""
    start, stop, lanes, n_drawn = _U(found.start), _U(found.stop), scratch.lanes, 0
    for j in range(drawn.size - 1, -1, -1):
        lane, column = drawn[j] - first_column, columns[drawn[j]]
        if not (0 <= lane < LINE) or column.categorical != 0:
            continue
        if n_drawn == 0:
            range_of_bins(rows, bag, lanes, begin, start, stop)
        n_drawn += 1
        low, high = np.int64(lanes[LEAST + lane]), np.int64(lanes[MOST + lane])
        any_missing = high == column.missing
        if any_missing:
            high = _largest_value(rows, begin + _U(lane), bag, start, stop, column.missing)
        cut, side, scratch.state = draw_cut(low, high, any_missing, scratch.state)
        scratch.cuts[lane], scratch.sides[lane], lanes[CUT + lane] = cut, side, max(cut, 0)
    return n_drawn


@small
def search_random_cuts(
    rows, n_rows, bag, weights, columns, drawn, lines, few, least, sums, total, loss, most, found, left,
    kept, scratch,
):  # fmt: skip
    """Compare a random cut of each drawn column of numbers to the best split so far."""
    for first_column in range(0, columns.size, LINE):
        begin = _U(first_column) * _U(n_rows)
        if _draw_cuts(rows, begin, bag, columns, drawn, first_column, found, scratch) == 0:
            continue
        if most > 0:
            _sum_pairs(rows, begin, bag, _U(found.start), _U(found.stop), sums, most, scratch)
        for j in range(drawn.size - 1, -1, -1):
            lane, column = drawn[j] - first_column, columns[drawn[j]]
            if 0 <= lane < LINE and column.categorical == 0 and scratch.cuts[lane] >= 0:
                _judge(
                    rows, begin + _U(lane), bag, weights, lane, column.missing, lines, few, least, sums,
                    total, loss, most, drawn[j], found, left, kept, scratch,
                )  # fmt: skip
