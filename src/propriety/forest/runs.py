"""Random cuts of a node of two classes whose lines lie side by side, those of class 0 first.

A cut is even between the least and the largest bin of the node. In a node of many rows these are not looked
for: the cut is drawn between bounds that hold for the node above. If it leaves rows on both sides it lies in
the node's own range, evenly; otherwise that range is found after all, and the cut drawn again.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner, small
from propriety.engine.lines import (
    CUT,
    LEFT,
    LEFT_ONES,
    LINE,
    MOST_IN_LANE,
    copy_line,
    counts_of_run,
    range_of_run,
)
from propriety.forest.cuts import EQUAL, pair_after
from propriety.forest.draws import draw_columns, draw_cut
from propriety.forest.entropy import FEW, pair_loss

_U = np.uint64
_LINE = np.uint64(LINE)
_REJECTED = np.int64(-2)


@small
def _largest_value(near, first, start, stop, missing):
    """The largest bin of a node's rows that is not that of missing values; −1 if there is none."""
    largest = np.int64(-1)
    for i in range(start, stop):
        code = np.int64(near[first + i * _LINE])
        largest = max(largest, code if code != missing else np.int64(-1))
    return largest


@small
def _draw_cuts(near, begin, start, stop, columns, drawn, first_column, bounds, at, redraw, scratch, state):
    """Cut the drawn columns of a block of lines, or those of rejected cuts; returns the next state."""
    for j in range(drawn.size - 1, -1, -1):
        lane = drawn[j] - first_column
        if not (0 <= lane < LINE) or (redraw and scratch.cuts[lane] != _REJECTED):
            continue
        low, high = np.int64(bounds[at + _U(lane)]), np.int64(bounds[at + _LINE + _U(lane)])
        missing = columns[drawn[j]].missing
        any_missing = high == missing
        if any_missing:
            high = _largest_value(near, begin + _U(lane), start, stop, missing)
        cut, side, state = draw_cut(low, high, any_missing, state)
        scratch.cuts[lane], scratch.sides[lane], scratch.lanes[CUT + lane] = cut, side, max(cut, 0)
    return state


@inner
def _count_many(near, begin, start, stop, ones_from, scratch):
    """Rows of two classes on the left of the cuts of 32 columns, by as many rows at a time as fit a lane."""
    lanes, pairs = scratch.lanes, scratch.pairs
    for lane in range(LINE):
        pairs[lane, 0] = pairs[lane, 1] = 0
    while start < stop:
        end = min(start + _U(MOST_IN_LANE), stop)
        counts_of_run(near, lanes, begin, start, min(max(ones_from, start), end), end)
        for lane in range(LINE):
            pairs[lane, 0] += np.int64(lanes[LEFT + lane])
            pairs[lane, 1] += np.int64(lanes[LEFT_ONES + lane])
        start = end


@small
def _count(near, begin, start, stop, ones_from, scratch):
    """Count the rows on the left of the cuts of 32 columns."""
    if stop - start > MOST_IN_LANE:
        _count_many(near, begin, start, stop, ones_from, scratch)
    else:
        counts_of_run(near, scratch.lanes, begin, start, ones_from, stop)


@small
def _counted(total, lane, scratch):
    """Rows on the left of a column's cut, in all and of class 1, without those of missing values."""
    if total > MOST_IN_LANE:
        return scratch.pairs[lane, 0], scratch.pairs[lane, 1]
    return np.int64(scratch.lanes[LEFT + lane]), np.int64(scratch.lanes[LEFT_ONES + lane])


@small
def _any_rejected(drawn, first_column, total, scratch):
    """Whether a cut leaves a side without rows; such cuts are marked."""
    rejected = False
    for j in range(drawn.size):
        lane = drawn[j] - first_column
        if 0 <= lane < LINE and scratch.cuts[lane] >= 0:
            both, _ = _counted(total, lane, scratch)
            if both * (total - both) == 0:
                scratch.cuts[lane], rejected = _REJECTED, True
    return rejected


@small
def _may_miss(columns, drawn, first_column, bounds, at):
    """Whether drawn columns of a block may have missing values."""
    may_miss = False
    for j in range(drawn.size):
        lane = drawn[j] - first_column
        if 0 <= lane < LINE:
            may_miss |= bounds[at + _LINE + _U(lane)] == columns[drawn[j]].missing
    return may_miss


@small
def _any_drawn(drawn, first_column):
    """Whether a block of lines has drawn columns."""
    any_drawn = False
    for j in range(drawn.size):
        any_drawn |= 0 <= drawn[j] - first_column < LINE
    return any_drawn


@small
def _cut_block(
    near, begin, start, stop, ones_from, columns, drawn, first_column, bounds, at, known, scratch, state
):  # fmt: skip
    """Draw and count the cuts of a block of lines; returns the next state."""
    known = known and not _may_miss(columns, drawn, first_column, bounds, at)
    if not known:
        range_of_run(near, bounds, begin, start, stop, at)
    state = _draw_cuts(
        near, begin, start, stop, columns, drawn, first_column, bounds, at, False, scratch, state
    )
    _count(near, begin, start, stop, ones_from, scratch)
    if known and _any_rejected(drawn, first_column, np.int64(stop - start), scratch):
        range_of_run(near, bounds, begin, start, stop, at)
        state = _draw_cuts(
            near, begin, start, stop, columns, drawn, first_column, bounds, at, True, scratch, state
        )
        _count(near, begin, start, stop, ones_from, scratch)
    return state


@small
def _rows_on_left(near, begin, start, stop, ones_from, total, lane, missing, scratch):
    """Rows on the left of a column's cut, in all and of class 1."""
    both, ones = _counted(total, lane, scratch)
    if scratch.sides[lane] == 1:
        first = begin + _U(lane)
        for i in range(start, stop):
            amount = np.int64(near[first + i * _LINE] == missing)
            both += amount
            ones += amount * np.int64(i >= ones_from)
    return both, ones


@small
def find_random_cut(
    near, n_near, start, stop, bounds, place, known, columns, rules, lines, few, A, B, features, scratch,
    state,
):  # fmt: skip
    """The best of random cuts of a node with A and B rows of two classes.

    The bounds of its columns are at `place`, if they are known, and have room there otherwise. Returns the
    gain, the feature (−1: there is none), the last bin on the left, the side of missing values (−1: there are
    none), the rows on the left by class, and the next state.
    """
    total, least, ones_from = A + B, rules.least, start + _U(A)
    whole = total < FEW
    loss = few[_U(A) * _U(FEW) + _U(B)] if whole else pair_loss(lines, np.float64(A), np.float64(B))
    gain, feature, cut, side, a, b = -loss, np.int64(-1), np.int64(0), np.int64(-1), A, B
    undrawn, batch = features.size, rules.split_features
    while undrawn > 0 and feature < 0:
        batch = min(batch, undrawn)
        state = draw_columns(features, undrawn, batch, state)
        undrawn -= batch
        drawn = features[undrawn : undrawn + batch]
        for first_column in range(0, columns.size, LINE):
            if columns.size > LINE and not _any_drawn(drawn, first_column):
                continue
            begin, best = _U(first_column) * n_near, np.int64(-1)
            state = _cut_block(
                near, begin, start, stop, ones_from, columns, drawn, first_column, bounds,
                place + _U(2 * first_column), known, scratch, state,
            )  # fmt: skip
            for j in range(batch - 1, -1, -1):
                lane = drawn[j] - first_column
                if not (0 <= lane < LINE) or scratch.cuts[lane] < 0:
                    continue
                both, ones = _rows_on_left(
                    near, begin, start, stop, ones_from, total, lane, columns[drawn[j]].missing, scratch
                )
                this = loss - pair_after(lines, few, whole, both - ones, ones, A, B)
                better = (this > gain + EQUAL * loss) & (both >= least) & (total - both >= least)
                # Two numbers are chosen without a branch, which nobody could predict.
                gain, best = this if better else gain, j if better else best
            if best >= 0:
                feature, lane = drawn[best], drawn[best] - first_column
                cut, side = scratch.cuts[lane], scratch.sides[lane]
                both, b = _rows_on_left(
                    near, begin, start, stop, ones_from, total, lane, columns[feature].missing, scratch
                )
                a = both - b
        batch = 1
    return gain, feature, cut, side, a, b, state


@small
def pass_on(bounds, place, other, n_bytes, feature, cut, missing, side, left_waits, right_waits):
    """Leave the bounds of a split node to the children that wait, at its own place, and at the other."""
    block, lane = _U(feature) // _LINE, _U(feature) % _LINE
    least = block * _U(2) * _LINE + lane
    most = least + _LINE
    if left_waits and right_waits:
        for at in range(_U(0), n_bytes, _LINE):
            copy_line(bounds, place + at, bounds, other + at)
    elif right_waits:
        other = place
    if right_waits:
        bounds[other + least] = cut + 1
    if left_waits and not (side != 0 and bounds[place + most] == missing):
        bounds[place + most] = cut
