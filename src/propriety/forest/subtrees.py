"""Subtrees of random cuts of two classes, whose rows lie side by side.

The lines of a node's rows are copied once, as often as the rows count, those of class 0 first. From then on
a split moves the lines themselves, from one half of the copies to the other and back, so that those of every
node below are one run in memory: passes over them need neither numbers of rows nor classes nor counts.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner, small
from propriety.engine.lines import LINE, copy_line, range_of_run
from propriety.forest.cuts import bins_on_right, column_start
from propriety.forest.layout import DEEP, ROW, TO_COUNT
from propriety.forest.runs import find_random_cut, pass_on

_U = np.uint64
_LINE = np.uint64(LINE)


@small
def may_split(rules, sums, depth):
    """Whether a node holds more than one class, and weight enough for two leaves."""
    total, classes = np.int64(0), 0
    for k in range(sums.size):
        total += sums[k]
        classes += 1 if sums[k] > 0 else 0
    return classes > 1 and depth < rules.max_depth and total >= 2 * rules.least


@small
def leaf(node):
    """Write a node that has no split yet."""
    node.gain, node.left, node.feature, node.set, node.cut, node.missing_left = 0.0, -1, -1, -1, 0, 0


@small
def weight_of(sums, node):
    """Sum of all classes."""
    total = np.int64(0)
    for k in range(sums.shape[1]):
        total += sums[node, k]
    return total


@small
def write_split(nodes, node, feature, cut, missing_left, gain, n_nodes):
    """Write the cut of a node, and its two children."""
    node = nodes[node]
    node.feature, node.left, node.cut, node.missing_left, node.gain = feature, n_nodes, cut, missing_left, gain
    leaf(nodes[n_nodes])
    leaf(nodes[n_nodes + 1])


@small
def queue_children(rules, sums, waiting, order, n_waiting, n_nodes, start, middle, stop, depth):
    """Let the two newest nodes wait that may be split; returns how many wait."""
    for child in range(2):
        if may_split(rules, sums[n_nodes + child], depth):
            new = waiting[order[n_waiting]]
            new.node, new.depth = n_nodes + child, depth
            new.start, new.stop = (start, middle) if child == 0 else (middle, stop)
            n_waiting += 1
    return n_waiting


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
def _move_lines(near, n_near, n_blocks, first, start, stop, left, right, right_from, right_bins):
    """Copy the lines of a node, those that go left to `left` and so on, the others to `right`."""
    for block in range(n_blocks):
        at, to_left, to_right = block * n_near * _LINE, left, right
        for i in range(start, stop):
            goes = _U(near[first + i * _LINE]) - right_from >= right_bins
            copy_line(near, at + i * _LINE, near, at + (to_left if goes else to_right) * _LINE)
            to_left += _U(goes)
            to_right += _U(1) - _U(goes)


@inner
def grow_subtree(
    rows, n_rows, bag, columns, rules, lines, few, features, near, bounds, waiting, order, n_waiting, nodes,
    sums, n_nodes, unit, scratch,
):  # fmt: skip
    """Grow the subtree of the node that waits last; returns the number of nodes of the tree."""
    n_blocks = _U(rows.size // n_rows) // _LINE
    n_near, n_bytes = _U(near.size) // (n_blocks * _LINE), n_blocks * _U(2) * _LINE
    half, top, state = n_near // _U(2), n_waiting - 1, scratch.state
    root = waiting[order[top]]
    root.start, root.stop = 0, _lay_out(rows, n_rows, n_blocks, bag, root.start, root.stop, near, n_near)
    for block in range(n_blocks):
        range_of_run(near, bounds, block * n_near * _LINE, _U(0), _U(root.stop), block * _U(2) * _LINE)
    while n_waiting > top:
        n_waiting -= 1
        this = waiting[order[n_waiting]]
        start, stop, node, depth = _U(this.start), _U(this.stop), this.node, this.depth + 1
        level = min(n_waiting - top, DEEP)
        place, known = _U(level) * n_bytes, this.stop - this.start > rules.ranged and level < DEEP
        A, B = sums[node, 0], sums[node, 1]
        gain, feature, cut, side, a, b, state = find_random_cut(
            near, n_near, start, stop, bounds, place, known, columns, rules, lines, few, A, B, features,
            scratch, state,
        )  # fmt: skip
        if feature < 0:
            continue
        if side < 0:  # missing values, which the node has not seen, go where most rows do
            side = np.int64(2 * (a + b) >= A + B)
        write_split(nodes, node, feature, cut, side, max(gain, 0.0) * unit, n_nodes)
        sums[n_nodes, 0], sums[n_nodes, 1] = a, b
        sums[n_nodes + 1, 0], sums[n_nodes + 1, 1] = A - a, B - b
        left_waits = may_split(rules, sums[n_nodes], depth)
        right_waits = may_split(rules, sums[n_nodes + 1], depth)
        if left_waits or right_waits:
            missing = columns[feature].missing
            if known:
                other = place + n_bytes
                pass_on(bounds, place, other, n_bytes, feature, cut, missing, side, left_waits, right_waits)
            left = start + half if start < half else start - half
            middle, end = left + _U(a + b), left + (stop - start)
            right_from, right_bins = bins_on_right(cut, missing, side)
            first = column_start(feature, n_near)
            _move_lines(near, n_near, n_blocks, first, start, stop, left, middle, right_from, right_bins)
            n_waiting = queue_children(
                rules, sums, waiting, order, n_waiting, n_nodes, left, middle, end, depth
            )
        n_nodes += 2
    scratch.state = state
    return n_nodes
