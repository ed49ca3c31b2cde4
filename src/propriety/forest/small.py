"""Subtrees of random cuts of at most 63 rows of two classes, in which a node is a set of rows, one word.

The lines of the rows are turned into columns of 64 bytes once. Then the range of a column over a node, the
rows on the left of a cut, and the nodes below it are a few instructions each, whatever the number of rows.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner, small
from propriety.engine.lines import LINE
from propriety.engine.words import (
    ROWS,
    TOGETHER,
    least_of,
    most_of,
    rows_at,
    rows_up_to,
    size_of,
    transpose_lines,
)
from propriety.forest.cuts import EQUAL, pair_after
from propriety.forest.draws import draw_columns, draw_cut
from propriety.forest.entropy import FEW
from propriety.forest.nodes import may_split, queue, write_pair

#: Rows of a node up to which its subtree is grown here: their losses are in the table of few rows.
SMALL = FEW - 1
_U = np.uint64


@small
def _cut_rows(words, at, rows, missing, state):
    """A random cut of a column in a set of rows: last bin and rows on its left, and side of missing values.

    A cut of −1 says that there is one value only; a side of −1, that none is missing. The next state is last.
    """
    low, high, absent = least_of(words, at, rows), most_of(words, at, rows), _U(0)
    if high == missing:
        absent = rows_at(words, at, missing) & rows
        high = most_of(words, at, rows & ~absent) if low < missing else np.int64(-1)
    cut, side, state = draw_cut(low, high, absent != 0, state)
    left = rows_up_to(words, at, max(cut, np.int64(0))) & rows
    return cut, left | absent if side == 1 else left & ~absent, side, state


@small
def _find_cut(words, rows, ones, A, B, columns, rules, lines, few, features, scratch, state):
    """The best of random cuts of a set of rows with A and B of two classes.

    Returns the gain, the feature (−1: there is none), the cut, the side of missing values, the rows on the
    left, and the next state.
    """
    total, least, loss = A + B, rules.least, few[_U(A) * _U(FEW) + _U(B)]
    gain, feature, cut, side, left = -loss, np.int64(-1), np.int64(0), np.int64(-1), _U(0)
    undrawn, batch = features.size, rules.split_features
    while undrawn > 0 and feature < 0:
        batch = min(batch, undrawn)
        state = draw_columns(features, undrawn, batch, state)
        undrawn -= batch
        for first_column in range(0, columns.size, LINE):
            best = np.int64(-1)
            for j in range(undrawn + batch - 1, undrawn - 1, -1):
                column = _U(features[_U(j)])
                lane = column - _U(first_column)
                if lane >= _U(LINE):
                    continue
                this_cut, goes, this_side, state = _cut_rows(
                    words, column * _U(ROWS), rows, columns[column].missing, state
                )
                scratch.cuts[lane], scratch.sides[lane], scratch.lefts[lane] = this_cut, this_side, goes
                if this_cut < 0:
                    continue
                both, left_ones = size_of(goes), size_of(goes & ones)
                this = loss - pair_after(lines, few, True, both - left_ones, left_ones, A, B)
                better = (this > gain + EQUAL * loss) & (both >= least) & (total - both >= least)
                # Two numbers are chosen without a branch, which nobody could predict.
                gain, best = this if better else gain, np.int64(lane) if better else best
            if best >= 0:
                feature, lane = first_column + best, _U(best)
                cut, side, left = scratch.cuts[lane], scratch.sides[lane], scratch.lefts[lane]
        batch = 1
    return gain, feature, cut, side, left, state


@inner
def grow_small(
    near, n_near, n_blocks, start, stop, node, depth, columns, rules, lines, few, features, words, waiting,
    order, n_waiting, nodes, sums, n_nodes, unit, scratch, state,
):  # fmt: skip
    """Grow the subtree of a node of lines start:stop; returns the number of nodes, and the next state."""
    top, line = n_waiting, _U(LINE)
    for block in range(n_blocks):
        for i in range(start, stop, _U(TOGETHER)):
            place = block * line * _U(ROWS) + (i - start)
            transpose_lines(near, (block * n_near + i) * line, words, place)
    all_rows = (_U(1) << (stop - start)) - _U(1)
    ones = all_rows & ~((_U(1) << _U(sums[node, 0])) - _U(1))
    n_waiting = queue(waiting, order, n_waiting, node, depth, np.int64(all_rows), 0, True)
    while n_waiting > top:
        n_waiting -= 1
        this = waiting[_U(order[_U(n_waiting)])]
        rows, node, depth = _U(this.start), this.node, this.depth + 1
        A, B = sums[node, 0], sums[node, 1]
        gain, feature, cut, side, left, state = _find_cut(
            words, rows, ones, A, B, columns, rules, lines, few, features, scratch, state
        )
        if feature < 0:
            continue
        b = size_of(left & ones)
        a = size_of(left) - b
        write_pair(nodes, sums, node, feature, cut, side, gain * unit, a, b, A, B, n_nodes)
        left_waits = may_split(rules, sums[n_nodes], depth)
        right_waits = may_split(rules, sums[n_nodes + 1], depth)
        right = rows & ~left
        n_waiting = queue(waiting, order, n_waiting, n_nodes, depth, np.int64(left), 0, left_waits)
        n_waiting = queue(waiting, order, n_waiting, n_nodes + 1, depth, np.int64(right), 0, right_waits)
        n_nodes += 2
    return n_nodes, state
