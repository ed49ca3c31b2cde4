import numpy as np
import pytest
from scipy import sparse

from propriety.separators.separation import separating_direction


def test_direction_separates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) + 5
    y = (X @ [1, -1, 0.5] > 2.5).astype(int)
    b = separating_direction(X, y)
    A = (X - X.mean(axis=0)) / np.abs(X - X.mean(axis=0)).max(axis=0)
    margin = (2 * y - 1) * (A @ b[:3] + b[3])
    assert margin.min() > -1e-9
    assert margin.max() > 0


def test_sparse_is_dense():
    X = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0], [3.0, 1.0]])
    for y in (np.array([0, 1, 0, 1]), np.array([0, 1, 1, 0])):
        for intercept in (True, False):
            dense, thin = (
                separating_direction(form(X), y, intercept) for form in (np.asarray, sparse.csr_array)
            )
            assert (dense is None) == (thin is None)


@pytest.mark.parametrize("intercept", [True, False])
def test_huge_columns_are_divided_first(intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.normal(size=60) > 0
    constant = np.column_stack([X, np.full(60, 1e308)])
    assert separating_direction(constant, y, intercept) is None
    apart = np.column_stack([X, np.where(y, 1e308, -1e308)])
    assert separating_direction(apart, y, intercept) is not None
