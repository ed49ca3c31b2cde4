"""Ranks of a column's values, against those of SciPy."""

import numpy as np
import pytest
from scipy import stats

from propriety.tree.ranking import rank_in_order
from propriety.tree.search import MISSING


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_ranks_are_dense(share, dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(size=500).round(1).astype(dtype)
    x[rng.random(500) < share] = np.nan
    order, present = np.argsort(x), ~np.isnan(x)
    assert rank_in_order(x, order) == (present.sum(), len(np.unique(x[present])))
    rank = np.empty(500, dtype=np.int64)
    rank[order & 0xFFFFFFFF] = order >> 32
    np.testing.assert_array_equal(rank[present], stats.rankdata(x[present], "dense") - 1)
    assert np.all(rank[~present] == MISSING)
    assert np.all(np.diff(order >> 32) >= 0)


def test_ranks_of_equal_and_missing_values():
    x = np.array([3.0, np.nan, -np.inf, 3.0, -0.0, 0.0, np.nan, np.inf], dtype=np.float32)
    order = np.argsort(x)
    assert rank_in_order(x, order) == (6, 4)
    rank = np.empty(len(x), dtype=np.int64)
    rank[order & 0xFFFFFFFF] = order >> 32
    assert rank.tolist() == [2, MISSING, 0, 2, 1, 1, MISSING, 3]
    assert rank_in_order(np.full(2, np.nan), np.arange(2)) == (0, 1)
