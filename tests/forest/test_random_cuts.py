"""Random cuts of a node whose rows lie anywhere, against the same by NumPy."""

import numpy as np
import pytest
from tests.forest.oracle import CLOSE, Draws, make_node, make_scratch

from propriety.engine.compiling import kernel
from propriety.forest.draws import draw_columns
from propriety.forest.entropy import FEW, node_loss
from propriety.forest.layout import WAITING
from propriety.forest.random_cuts import search_random_cuts


@kernel
def _search(
    rows, n_rows, bag, weights, columns, features, batch, lines, few, least, sums, whole, waiting, left, kept,
    scratch,
):  # fmt: skip
    found, room, loss = waiting[0], scratch[0], node_loss(lines, sums)
    found.gain, found.feature = -loss, -1
    room.state = draw_columns(features, features.size, batch, room.state)
    drawn = features[features.size - batch :]
    search_random_cuts(
        rows, n_rows, bag, weights, columns, drawn, lines, few, least, sums, whole, loss, found, left, kept,
        room,
    )  # fmt: skip


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("d", [9, 70])
@pytest.mark.parametrize(
    ("n", "n_classes", "most", "weighted"),
    [
        pytest.param(30, 2, 1, False, id="few rows"),
        pytest.param(60, 2, 3, False, id="copies"),
        pytest.param(400, 2, 1, False, id="many rows"),
        pytest.param(400, 2, 6, False, id="many copies"),
        pytest.param(50, 2, 0, True, id="weights"),
        pytest.param(80, 3, 0, False, id="three classes"),
    ],
)
def test_the_best_of_random_cuts(n, n_classes, most, weighted, d, missing):
    for seed in range(4):
        node = make_node(seed, n, d, n_classes, missing, max(most, 1), least=3)
        rng = np.random.default_rng(seed)
        rows = rng.permutation(2 * n)[:n]
        lines, bag, weights = node.lines(rows, 2 * n), node.bag(rows), np.empty(0, dtype=np.int64)
        if weighted:
            weights = np.zeros(2 * n, dtype=np.int64)
            weights[rows] = node.counts = rng.integers(1, 1000, n)
            node.least = 1500
        waiting, scratch = np.zeros(1, dtype=WAITING), make_scratch(seed)
        waiting["start"], waiting["stop"] = 2, n + 2
        features, kept = np.arange(d), np.zeros(n_classes, dtype=np.int64)
        table, batch, state, expected = node.table, d // 2, Draws(seed), list(range(d))
        whole = n_classes == 2 and not weighted and node.sums.sum() < FEW
        _search(
            lines, 2 * n, np.concatenate([bag[:2], bag]), weights, node.columns, features, batch, table.lines,
            table.few, node.least, node.sums, whole, waiting, np.zeros_like(kept), kept, scratch,
        )  # fmt: skip
        gain, feature, cut, side = node.best_random_cut(expected, batch, state)
        found = waiting[0]
        assert (found["feature"], found["cut"], found["missing_left"], found["by_set"]) == (
            feature,
            cut,
            side,
            0,
        )
        assert found["gain"] * table.unit == pytest.approx(gain, abs=CLOSE * node.loss)
        np.testing.assert_array_equal(kept, node.sums_of(node.goes_left(feature, cut, side)))
        assert scratch["state"][0] == state.state
