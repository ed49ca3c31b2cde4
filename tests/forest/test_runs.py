"""Random cuts of a node whose lines lie side by side, against the same by NumPy."""

import numpy as np
import pytest
from tests.forest.oracle import CLOSE, Draws, make_node, make_rules, make_scratch

from propriety.engine.compiling import kernel
from propriety.engine.lines import LINE
from propriety.forest.runs import find_random_cut, pass_on


@kernel
def _find(
    near,
    n_near,
    start,
    stop,
    bounds,
    place,
    known,
    columns,
    rules,
    lines,
    few,
    A,
    B,
    features,
    scratch,
    state,
):
    return find_random_cut(
        near, n_near, start, stop, bounds, place, known, columns, rules[0], lines, few, A, B, features,
        scratch[0], state,
    )  # fmt: skip


@kernel
def _pass_on(bounds, place, other, n_bytes, feature, cut, missing, side, left_waits, right_waits):
    pass_on(bounds, place, other, n_bytes, feature, cut, missing, side, left_waits, right_waits)


def find(node, batch, seed, bounds=None):
    """What the kernel finds, and what NumPy does."""
    n, d = node.codes.shape
    lines = node.lines(5 + np.arange(n), n + 9)
    blocks = lines.size // (n + 9) // LINE
    room = np.zeros(3 * blocks * 2 * LINE, dtype=np.uint8)
    if bounds is not None:
        wide = np.zeros((blocks * LINE, 2), dtype=np.uint8)
        wide[:d] = bounds
        room.reshape(3, blocks, 2, LINE)[1] = wide.reshape(blocks, LINE, 2).transpose(0, 2, 1)
    features, state, expected = np.arange(d), Draws(seed), list(range(d))
    where = [np.uint64(x) for x in (n + 9, 5, n + 5)]
    *found, next_state = _find(
        lines, *where, room, np.uint64(blocks * 2 * LINE), bounds is not None, node.columns,
        make_rules(node, batch), node.table.lines, node.table.few, *node.sums, features, make_scratch(),
        np.uint64(seed),
    )  # fmt: skip
    best = node.best_random_cut(expected, batch, state, bounds)
    assert next_state == state.state
    assert features.tolist() == expected
    return found, best


def check(node, found, best):
    gain, feature, cut, side, *left = found
    assert (feature, cut, side) == best[1:]
    assert gain * node.table.unit == pytest.approx(best[0], abs=CLOSE * node.loss)
    np.testing.assert_array_equal(left, node.sums_of(node.goes_left(feature, cut, side)))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("d", [9, 70])
@pytest.mark.parametrize("n", [30, 120, 700])
def test_the_best_of_cuts_in_the_nodes_own_ranges(n, d, missing):
    for seed in range(4):
        node = make_node(seed, n, d, 2, missing, least=3)
        check(node, *find(node, d // 2, seed))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("d", [9, 70])
@pytest.mark.parametrize("n", [70, 700])
def test_the_best_of_cuts_in_the_bounds_of_a_node_above(n, d, missing):
    """Those outside of the node's own range are drawn again."""
    for seed in range(4):
        node = make_node(seed, n, d, least=3)
        absent = np.arange(d) % 25 == 7 if missing else np.zeros(d, dtype=bool)
        node.codes[3::7, absent] = 250
        ranges = np.array([node.range_of(f)[:2] for f in range(d)])
        wider = np.random.default_rng(seed).integers(0, 60, (d, 2))
        bounds = np.column_stack(
            [np.maximum(ranges[:, 0] - wider[:, 0], 0), np.minimum(ranges[:, 1] + wider[:, 1], 249)]
        )
        bounds[absent, 1] = 250
        check(node, *find(node, d // 2, seed, bounds.tolist()))


def test_columns_are_drawn_until_one_can_be_cut():
    """Of nine columns, seven have one value."""
    found = []
    for seed in range(10):
        node = make_node(seed, 40, 9)
        node.codes[:, [0, 1, 2, 4, 5, 6, 8]] = 4
        split, best = find(node, 2, seed)
        check(node, split, best)
        found.append(best[1])
    assert set(found) == {3, 7}
    node.codes[:] = 4
    split, best = find(node, 2, 0)
    assert best is None
    assert split[1] == -1


@pytest.mark.parametrize(
    ("waits", "side", "seen"),
    [((True, True), 0, 40), ((True, False), 0, 40), ((False, True), 1, 90), ((True, True), 1, 90)],
)
def test_bounds_of_a_cut_column_end_at_the_cut(waits, side, seen):
    """But where missing values, bin 90, go left, they are among the bins there."""
    n_bytes, feature, cut, missing = 2 * 2 * LINE, LINE + 3, 17, 90
    bounds = np.random.default_rng(0).integers(0, 60, 3 * n_bytes).astype(np.uint8)
    least, most = 2 * LINE + 3, 3 * LINE + 3  # of the column, in the second block
    bounds[n_bytes + most] = seen
    above, expected = bounds[n_bytes : 2 * n_bytes].copy(), bounds.copy()
    left, right = above.copy(), above.copy()
    left[most], right[least] = (cut if side == 0 or seen != missing else seen), cut + 1
    if waits[0]:
        expected[n_bytes : 2 * n_bytes] = left
    if waits[1]:
        place = 2 * n_bytes if waits[0] else n_bytes
        expected[place : place + n_bytes] = right
    words = [np.uint64(x) for x in (n_bytes, 2 * n_bytes, n_bytes)]
    _pass_on(bounds, *words, feature, cut, missing, side, *waits)
    np.testing.assert_array_equal(bounds, expected)
