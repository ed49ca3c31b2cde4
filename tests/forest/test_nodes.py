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
def _write_pair(grown, sums, node, feature, cut, side, gain, a, b, n_nodes):
    return nodes.write_pair(
        grown, sums, node, feature, cut, side, gain, a, b, sums[node, 0], sums[node, 1], n_nodes
    )


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


@pytest.mark.parametrize(
    ("side", "left", "goes"), [(0, (4, 4), 0), (1, (1, 0), 1), (-1, (2, 3), 1), (-1, (2, 2), 0)]
)
def test_a_split_and_its_children(side, left, goes):
    """Missing values that the node has not seen go where most rows do."""
    grown, sums = np.zeros(5, dtype=GROWN), np.full((5, 2), -9)
    for name in GROWN.names:
        grown[name] = 77
    untouched, sums[2] = grown[:2].copy(), (6, 4)
    assert _write_pair(grown, sums, 2, 8, 41, side, -1e-12, *left, 3) == goes
    np.testing.assert_array_equal(grown[:2], untouched)
    assert grown[["feature", "bin", "missing_left", "left", "gain"]][2].item() == (8, 41, goes, 3, 0.0)
    for child in grown[3:]:
        assert child[["gain", "left", "feature", "set", "bin", "missing_left"]].item() == (
            0,
            -1,
            -1,
            -1,
            0,
            0,
        )
    assert sums[3:].tolist() == [list(left), [6 - left[0], 4 - left[1]]]


def test_nodes_wait_in_places_that_are_free():
    waiting, order = np.zeros(4, dtype=WAITING), np.array([2, 0, 3, 1])
    assert _queue(waiting, order, 1, 5, 6, 70, 80, True) == 2
    assert _queue(waiting, order, 2, 9, 9, 9, 9, False) == 2
    assert _queue(waiting, order, 2, 6, 6, 80, 95, True) == 3
    fields = ["node", "depth", "start", "stop"]
    assert [waiting[fields][order[k]].item() for k in (1, 2)] == [(5, 6, 70, 80), (6, 6, 80, 95)]
