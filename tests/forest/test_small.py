"""Subtrees of few rows as sets of bits, against the same by NumPy."""

import numpy as np
import pytest
from tests.forest.oracle import CLOSE, Draws, make_node, make_rules, make_scratch

from propriety.engine.compiling import kernel
from propriety.engine.lines import LINE
from propriety.engine.words import ROWS
from propriety.forest.layout import GROWN, WAITING
from propriety.forest.small import SMALL, grow_small


@kernel
def _grow(
    near, n_near, n_blocks, start, stop, columns, rules, lines, few, features, words, waiting, order, nodes,
    sums, unit, scratch, state,
):  # fmt: skip
    return grow_small(
        near, n_near, n_blocks, start, stop, 0, 0, columns, rules[0], lines, few, features, words, waiting,
        order, 0, nodes, sums, 1, unit, scratch[0], state,
    )  # fmt: skip


def expected_tree(node, batch, max_depth, seed):
    """Splits by node: gain, feature, cut, missing left, left child; and sums of all nodes."""
    features, draws, splits, sums, stack = (
        list(range(node.codes.shape[1])),
        Draws(seed),
        {},
        [node.sums],
        [(0, node, 0)],
    )
    while stack:
        at, this, depth = stack.pop()
        best = this.best_random_cut(features, batch, draws)
        if best is None:
            continue
        gain, feature, cut, side = best
        left = this.goes_left(feature, cut, side)
        children = this.take(left), this.take(~left)
        heavier_left = int(2 * left.sum() >= len(left))
        splits[at] = max(gain, 0), feature, cut, heavier_left if side < 0 else side, len(sums)
        for child in children:
            enough = len(child.labels) >= 2 * node.least and depth + 1 < max_depth
            if enough and np.all(child.sums > 0):
                stack.append((len(sums), child, depth + 1))
            sums.append(child.sums)
    return splits, np.array(sums), draws.state


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("d", [9, 70])
@pytest.mark.parametrize(
    ("n", "least", "max_depth"), [(SMALL, 1, 100), (SMALL, 4, 100), (40, 1, 3), (7, 1, 100), (2, 1, 9)]
)
def test_subtrees(n, least, max_depth, d, missing):
    sizes = []
    for seed in range(4):
        node = make_node(seed, n, d, 2, missing, least=least)
        node.labels[0], node.labels[-1] = 0, 1
        near = node.lines(3 + np.arange(n), 80)
        blocks, batch = near.size // 80 // LINE, max(d // 4, 2)
        nodes, sums = np.zeros(2 * n, dtype=GROWN), np.zeros((2 * n, 2), dtype=np.int64)
        nodes["left"], sums[0] = -1, node.sums
        words, waiting = np.zeros(blocks * LINE * ROWS, dtype=np.uint8), np.zeros(n + 2, dtype=WAITING)
        table = node.table
        n_nodes, state = _grow(
            near, np.uint64(80), np.uint64(blocks), np.uint64(3), np.uint64(3 + n), node.columns,
            make_rules(node, batch, max_depth), table.lines, table.few, np.arange(d), words, waiting,
            np.arange(n + 2), nodes, sums, table.unit, make_scratch(), np.uint64(seed),
        )  # fmt: skip
        splits, expected, last = expected_tree(node, batch, max_depth, seed)
        assert state == last
        np.testing.assert_array_equal(sums[:n_nodes], expected)
        for at, this in enumerate(nodes[:n_nodes]):
            assert (this["left"] >= 0) == (at in splits)
            if at in splits:
                gain, *split = splits[at]
                assert [this[name] for name in ("feature", "bin", "missing_left", "left")] == split
                assert this["gain"] == pytest.approx(gain, abs=CLOSE * node.loss)
        sizes.append(n_nodes)
    assert max(sizes) > min(n, 8) // 2
