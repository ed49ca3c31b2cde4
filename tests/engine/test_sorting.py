"""Sorting by digits, against NumPy's."""

import numpy as np
import pytest

from propriety.engine.sorting import _MANY, sort_numbers


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_numpy_sorts(dtype):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=_MANY) * 10.0 ** rng.integers(-40, 38, _MANY)).astype(dtype)
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
    X = np.random.default_rng(1).normal(size=(_MANY, 3))
    np.testing.assert_array_equal(sort_numbers(X[:, 1]), np.sort(X[:, 1]))
