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
def queue(waiting, order, n_waiting, node, depth, start, stop, waits):
    """Let a node wait if it may be split; returns how many wait."""
    new = waiting[np.uint64(order[np.uint64(n_waiting)])]
    new.node, new.depth, new.start, new.stop = node, depth, start, stop
    return n_waiting + np.int64(waits)
