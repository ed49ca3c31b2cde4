"""Sorting by digits, against NumPy's."""

import numpy as np
import pytest

from propriety.trees.sorting import MANY, Sorter, sort_numbers


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_numpy_sorts(dtype):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=MANY) * 10.0 ** rng.integers(-40, 38, MANY)).astype(dtype)
    info = np.finfo(dtype)
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, info.tiny, -info.tiny, info.smallest_subnormal]
    x[: len(special)] = special
    x[100:5000] = np.round(x[100:5000], 1)
    given = x.copy()
    result = sort_numbers(x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, np.sort(x))
    np.testing.assert_array_equal(x, given)


def test_columns_of_a_table():
    X = np.random.default_rng(1).normal(size=(MANY, 3))
    np.testing.assert_array_equal(sort_numbers(X[:, 1]), np.sort(X[:, 1]))


def test_memory_that_is_used_again():
    rng, sorter = np.random.default_rng(2), Sorter()
    for dtype in (np.float64, np.float32, np.float64):
        x, other = rng.normal(size=(2, MANY)).astype(dtype)
        with sorter.sorted(x) as ordered, sorter.sorted(other) as others:
            np.testing.assert_array_equal(ordered, np.sort(x))
            np.testing.assert_array_equal(others, np.sort(other))
