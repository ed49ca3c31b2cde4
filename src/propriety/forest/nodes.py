"""Nodes of a tree as they are written, and wait to be split."""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import small


@small
def may_split(rules, sums, depth):
    """Whether a node holds more than one class, and weight enough for two leaves."""
    total, classes = np.int64(0), 0
    for k in range(sums.size):
        total += sums[k]
        classes += 1 if sums[k] > 0 else 0
    return (classes > 1) & (depth < rules.max_depth) & (total >= 2 * rules.least)


@small
def leaf(node):
    """Write a node that has no split yet."""
    node.gain, node.left, node.feature, node.set, node.bin, node.missing_left = 0.0, -1, -1, -1, 0, 0


@small
def write_split(nodes, node, feature, cut, missing_left, gain, n_nodes):
    """Write the cut of a node, and its two children."""
    node = nodes[node]
    node.feature, node.left, node.bin, node.missing_left, node.gain = (
        feature,
        n_nodes,
        cut,
        missing_left,
        gain,
    )
    leaf(nodes[n_nodes])
    leaf(nodes[n_nodes + 1])


@small
def write_pair(nodes, sums, node, feature, cut, side, gain, a, b, A, B, n_nodes):
    """Write the cut of a node of two classes, A and B, that leaves a and b on its left; returns `side`.

    That is where missing values go; if the node has not seen any, −1, where most rows do.
    """
    if side < 0:
        side = np.int64(2 * (a + b) >= A + B)
    write_split(nodes, node, feature, cut, side, max(gain, 0.0), n_nodes)
    sums[n_nodes, 0], sums[n_nodes, 1] = a, b
    sums[n_nodes + 1, 0], sums[n_nodes + 1, 1] = A - a, B - b
    return side


@small
def queue(waiting, order, n_waiting, node, depth, start, stop, waits):
    """Let a node wait if it may be split; returns how many wait."""
    new = waiting[np.uint64(order[np.uint64(n_waiting)])]
    new.node, new.depth, new.start, new.stop = node, depth, start, stop
    return n_waiting + np.int64(waits)
