"""Subtrees of random cuts of two classes, whose rows lie side by side.

The lines of a node's rows are copied once, as often as the rows count, those of class 0 first. From then on
a split moves the lines themselves, from one half of the copies to the other and back, so that those of every
node below are one run in memory: passes over them need neither numbers of rows nor classes nor counts.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner
from propriety.engine.lines import LINE, copy_line, part_lines
from propriety.forest.cuts import bins_on_right, column_start
from propriety.forest.layout import DEEP, ROW, TO_COUNT
from propriety.forest.nodes import may_split, queue, write_pair
from propriety.forest.runs import find_random_cut, pass_on
from propriety.forest.small import SMALL, grow_small

_U = np.uint64
_LINE = np.uint64(LINE)


@inner
def _lay_out(rows, n_rows, n_blocks, bag, start, stop, near, n_near):
    """Copy the lines of a node's rows, each as often as it counts; returns how many there are."""
    at = _U(0)
    for block in range(n_blocks):
        at = block * _U(n_near)
        for i in range(_U(start), _U(stop)):
            entry = bag[i]
            line = (block * _U(n_rows) + (entry & ROW)) * _LINE
            for _ in range(entry >> TO_COUNT):
                copy_line(rows, line, near, at * _LINE)
                at += _U(1)
        at -= block * _U(n_near)
    return np.int64(at)


@inner
def _move_lines(
    rows, n_rows, near, n_near, n_blocks, first, start, stop, left, right, right_from, right_bins
):
    """Copy the lines of a node, those that go left to `left` and so on, the others to `right`."""
    for block in range(n_blocks):
        source, target, column = block * n_rows, block * n_near, first + start * _LINE
        part_lines(
            rows, (source + start) * _LINE, stop - start, column, near, (target + left) * _LINE,
            (target + right) * _LINE, right_from, right_bins,
        )  # fmt: skip


@inner
def grow_subtree(
    rows, n_rows, ranges, bag, columns, rules, lines, few, features, near, bounds, words, waiting, order,
    n_waiting, nodes, sums, n_nodes, unit, in_order, scratch,
):  # fmt: skip
    """Grow the subtree of the node that waits last; returns the number of nodes of the tree.

    If `in_order`, it is the root, and its rows are those of the sample, each of them once.
    """
    n_blocks = _U(rows.size // n_rows) // _LINE
    n_near, n_bytes = _U(near.size) // (n_blocks * _LINE), n_blocks * _U(2) * _LINE
    half, top, state = n_near // _U(2), n_waiting - 1, scratch.state
    root = waiting[order[top]]
    here, n_here = rows, _U(n_rows)
    if not in_order:
        root.start, root.stop = 0, _lay_out(rows, n_rows, n_blocks, bag, root.start, root.stop, near, n_near)
        here, n_here = near, n_near
    for at in range(_U(0), n_bytes, _LINE):
        copy_line(ranges, at, bounds, at)
    while n_waiting > top:
        n_waiting -= 1
        this = waiting[order[n_waiting]]
        start, stop, node, depth = _U(this.start), _U(this.stop), this.node, this.depth + 1
        if stop - start <= SMALL:
            n_nodes, state = grow_small(
                here, n_here, n_blocks, start, stop, node, this.depth, columns, rules, lines, few, features,
                words, waiting, order, n_waiting, nodes, sums, n_nodes, unit, scratch, state,
            )  # fmt: skip
            continue
        level = min(n_waiting - top, DEEP)
        place, known = _U(level) * n_bytes, this.stop - this.start > rules.ranged and level < DEEP
        A, B = sums[node, 0], sums[node, 1]
        gain, feature, cut, side, a, b, state = find_random_cut(
            here, n_here, start, stop, bounds, place, known, columns, rules, lines, few, A, B, features,
            scratch, state,
        )  # fmt: skip
        if feature < 0:
            continue
        side = write_pair(nodes, sums, node, feature, cut, side, gain * unit, a, b, A, B, n_nodes)
        left_waits = may_split(rules, sums[n_nodes], depth)
        right_waits = may_split(rules, sums[n_nodes + 1], depth)
        if left_waits or right_waits:
            missing, to = columns[feature].missing, start - half if start >= half else start + half
            if known:
                other = place + n_bytes
                pass_on(bounds, place, other, n_bytes, feature, cut, missing, side, left_waits, right_waits)
            middle, end = to + _U(a + b), to + (stop - start)
            first, (right_from, right_bins) = column_start(feature, n_here), bins_on_right(cut, missing, side)
            _move_lines(
                here, n_here, near, n_near, n_blocks, first, start, stop, to, middle, right_from, right_bins
            )
            n_waiting = queue(waiting, order, n_waiting, n_nodes, depth, to, middle, left_waits)
            n_waiting = queue(waiting, order, n_waiting, n_nodes + 1, depth, middle, end, right_waits)
        here, n_here = near, n_near
        n_nodes += 2
    scratch.state = state
    return n_nodes
