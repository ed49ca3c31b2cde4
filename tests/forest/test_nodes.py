"""Nodes as they are written and wait."""

import numpy as np
import pytest

from propriety.engine.compiling import kernel
from propriety.forest import nodes
from propriety.forest.layout import GROWN, RULES, WAITING


@kernel
def _may_split(rules, sums, depth):
    return nodes.may_split(rules[0], sums, depth)


@kernel
def _write_split(grown, node, feature, cut, missing_left, gain, n_nodes):
    nodes.write_split(grown, node, feature, cut, missing_left, gain, n_nodes)


@kernel
def _queue(waiting, order, n_waiting, node, depth, start, stop, waits):
    return nodes.queue(waiting, order, n_waiting, node, depth, start, stop, waits)


@pytest.mark.parametrize(
    ("sums", "depth", "may"),
    [
        ([5, 5], 2, True),
        ([9, 1], 2, True),
        ([10, 0], 2, False),
        ([0, 0, 40], 0, False),
        ([5, 4], 2, False),
        ([3, 3, 4], 0, True),
        ([5, 5], 3, False),
    ],
)
def test_a_node_is_split_if_it_has_two_classes_weight_for_two_leaves_and_a_depth_below_the_most(
    sums, depth, may
):
    rules = np.zeros(1, dtype=RULES)
    rules["least"], rules["max_depth"] = 5, 3
    assert _may_split(rules, np.array(sums), depth) == may


def test_a_split_and_its_children():
    grown = np.zeros(5, dtype=GROWN)
    for name in GROWN.names:
        grown[name] = 77
    untouched = grown[:2].copy()
    _write_split(grown, 2, 8, 41, 1, 0.5, 3)
    np.testing.assert_array_equal(grown[:2], untouched)
    assert grown[["feature", "bin", "missing_left", "left", "gain"]][2].item() == (8, 41, 1, 3, 0.5)
    fields = ["gain", "left", "feature", "set", "bin", "missing_left"]
    assert [child[fields].item() for child in grown[3:]] == [(0, -1, -1, -1, 0, 0)] * 2


def test_nodes_wait_in_places_that_are_free():
    waiting, order = np.zeros(4, dtype=WAITING), np.array([2, 0, 3, 1])
    assert _queue(waiting, order, 1, 5, 6, 70, 80, True) == 2
    assert _queue(waiting, order, 2, 9, 9, 9, 9, False) == 2
    assert _queue(waiting, order, 2, 6, 6, 80, 95, True) == 3
    fields = ["node", "depth", "start", "stop"]
    assert [waiting[fields][order[k]].item() for k in (1, 2)] == [(5, 6, 70, 80), (6, 6, 80, 95)]
