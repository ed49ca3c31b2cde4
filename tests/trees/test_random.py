"""Random numbers of kernels, against the same by Python's whole numbers."""

import numpy as np
import pytest
from tests.trees.oracle import Draws

from propriety.trees import random
from propriety.trees.jit import kernel


@kernel
def _numbers(state, n, found):
    for i in range(found.size):
        found[i] = random.draw_below(state[0], n)


@kernel
def _cut(low, high, any_missing, state):
    return random.draw_cut(low, high, any_missing, state)


@kernel
def _columns(features, undrawn, batch, state):
    return random.draw_columns(features, undrawn, batch, state)


@pytest.mark.parametrize("n", [2, 7, 2**30])
def test_numbers_are_those_of_splitmix64(n):
    state, found = np.zeros(1, dtype=[("random", "u8")]), np.empty(200, dtype=np.int64)
    state["random"] = 2**63 + 12345
    _numbers(state, n, found)
    same = Draws(2**63 + 12345)
    assert found.tolist() == [same.below(n) for _ in range(200)]
    assert state["random"][0] == same.state
    assert np.mean(found) == pytest.approx((n - 1) / 2, rel=0.2)


@pytest.mark.parametrize("any_missing", [False, True])
@pytest.mark.parametrize(("low", "high"), [(3, 9), (0, 1), (4, 4), (0, 0), (7, -1), (0, -1)])
def test_cuts(low, high, any_missing):
    """Every cut leaves a value on both sides, and is drawn as often; the same of the side of missing ones."""
    drawn, state = [], 0
    for _ in range(300 if high > low else 3):
        same = Draws(state)
        cut, side, state = _cut(low, high, any_missing, np.uint64(state))
        assert (cut, side) == (same.cut(low, high, any_missing) or (-1, -1))
        assert state == same.state
        drawn.append((cut, side))
    if high < low:
        assert drawn == [(-1, -1)] * 3
    elif high == low:
        assert drawn == [(low, 0) if any_missing else (-1, -1)] * 3
    else:
        sides = (0, 1) if any_missing else (-1,)
        assert {cut for cut, _ in drawn} == set(range(low, high))
        assert {side for _, side in drawn} == set(sides)
        assert len(set(drawn)) == len(sides) * (high - low)


def test_columns_are_drawn_without_repetition():
    features, same, expected = np.arange(9), Draws(5), list(range(9))
    state = _columns(features, 9, 4, np.uint64(5))
    same.columns(expected, 9, 4)
    state = _columns(features, 5, 2, np.uint64(state))
    same.columns(expected, 5, 2)
    assert features.tolist() == expected
    assert sorted(expected) == list(range(9))
    assert state == same.state
