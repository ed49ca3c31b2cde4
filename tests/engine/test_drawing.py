"""Rows and features drawn by hashes, against NumPy."""

import numpy as np
import pytest
from numba import njit

from propriety.data.hashing import SALT, mixed
from propriety.engine import drawing
from propriety.engine.harvest import NO_HARVEST

from .test_splitting import rules_of


@njit
def _allow(rules, path_groups, key, numbers, allowed):
    drawing.allow(rules, path_groups, key, numbers, allowed)


@njit
def _draw_rows(harvest, salt, rows):
    return drawing.draw_rows(harvest, salt, rows)


def numbers_of(seed, key, d):
    """The finalizer of `mixed`, which adds a salt before."""
    base = mixed(np.array([seed + key], dtype=np.uint64) - SALT)
    return mixed(base + np.arange(d, dtype=np.uint64) - SALT)


@pytest.mark.parametrize("count", [1, 3, 39, 40])
def test_a_split_may_use_the_features_of_the_smallest_numbers(count):
    d, rng = 40, np.random.default_rng(0)
    for key in range(20):
        features = (rng.random(d) < 0.7).astype(np.uint8)
        rules = rules_of(features=features, split_features=count, seed=np.uint64(5))
        allowed = np.zeros(d, dtype=np.uint8)
        _allow(rules, np.ones(0, dtype=np.uint8), np.uint64(key), np.zeros(d, dtype=np.uint64), allowed)
        usable = np.flatnonzero(features)
        best = usable[np.argsort(numbers_of(5, key, d)[usable])[:count]]
        np.testing.assert_array_equal(np.flatnonzero(allowed), np.sort(best))


@pytest.mark.parametrize("share", [0.5, 1e-9])
@pytest.mark.parametrize("some_out", [False, True])
def test_rows_are_drawn_below_the_limit_or_the_lowest_ones_are(share, some_out):
    n, rng = 300, np.random.default_rng(1)
    hashes = rng.integers(0, 2**63, n // 2).astype(np.uint64).repeat(2)  # copies are drawn together
    out, salt, limit = rng.random(n) < 0.3, np.uint64(7), np.uint64(share * 2.0**64)
    harvest = NO_HARVEST._replace(hashes=hashes, limit=limit, out=out if some_out else NO_HARVEST.out)
    rows = np.zeros(n, dtype=np.uint32)
    count = _draw_rows(harvest, salt, rows)
    there = ~out if some_out else np.ones(n, dtype=bool)
    numbers = mixed(hashes + salt - SALT)
    lowest = numbers[there].min()
    chosen = there & (numbers < limit if share == 0.5 else numbers == lowest)
    np.testing.assert_array_equal(rows[:count], np.flatnonzero(chosen))
    np.testing.assert_array_equal(rows[count:][::-1], np.flatnonzero(~chosen))
