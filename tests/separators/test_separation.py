import numpy as np
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
