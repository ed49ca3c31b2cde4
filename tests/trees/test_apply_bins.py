"""Bins of values, against NumPy's search."""

import numpy as np
import pytest

from propriety.trees import apply_bins
from propriety.trees.apply_bins import place

SPECIAL = [np.inf, -np.inf, 0.0, -0.0, 1e-320, -1e-320, 1e300, -1e300, 3.5e38]


def placed(X, edges, n_jobs=1):
    """Bins of columns that have these edges; missing values come after the last."""
    table, n_bins = np.full((len(edges), 255), np.inf), np.array([len(e) + 1 for e in edges])
    for row, own in zip(table, edges, strict=True):
        row[: len(own)] = own
    columns = np.full(X.shape[::-1], 99, dtype=np.uint8)
    place(X, np.arange(X.shape[1]), table, n_bins, columns, 0, n_jobs)
    return columns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [500, apply_bins._MANY + 77])
def test_as_numpy_searches(dtype, n):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    x[: len(SPECIAL)] = SPECIAL
    with np.errstate(over="ignore"):
        X = np.column_stack(
            [x, x * 10.0 ** rng.integers(-30, 30, n), 1000 + x / 1000, np.round(x, 1), -np.abs(x)]
        ).astype(dtype)
    X[3::11, 0] = np.nan
    edges = [np.unique(column[~np.isnan(column)][50:300]).astype(float)[:254] for column in X.T]
    edges[1][np.abs(edges[1]).argmin()] = -0.0
    edges[1].sort()
    edges[4] = np.empty(0)
    for f, column in enumerate(placed(X, edges, 2)):
        missing = np.isnan(X[:, f])
        expected = np.where(missing, len(edges[f]) + 1, np.searchsorted(edges[f], X[:, f].astype(float)))
        np.testing.assert_array_equal(column, expected)


def test_more_columns_than_tables(monkeypatch):
    monkeypatch.setattr(apply_bins, "_TOGETHER", 2)
    monkeypatch.setattr(apply_bins, "_MANY", 100)
    X = np.random.default_rng(1).normal(size=(300, 5))
    edges = [np.sort(column[:k]) for k, column in zip((3, 254, 20, 1, 60), X.T, strict=True)]
    for own, x, column in zip(edges, X.T, placed(X, edges), strict=True):
        np.testing.assert_array_equal(column, np.searchsorted(own, x))


def test_a_single_column_of_another_number():
    x, columns = np.array([[0.5], [2.0], [np.nan]]), np.zeros((3, 5), dtype=np.uint8)
    edges = np.full((3, 255), np.inf)
    edges[2, 0] = 1.0
    place(x, np.array([2]), edges, np.array([1, 1, 2]), columns, 2, 1)
    assert columns.tolist() == [[0] * 5, [0] * 5, [0, 0, 0, 1, 2]]
