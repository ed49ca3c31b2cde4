"""Symmetric matrices that may be singular: how the solvers take a Newton step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from propriety.data.table import is_sparse

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Solve = Callable[[Floats], Floats]


def with_ones(X: Any) -> Any:
    """X with a last column of ones.

    >>> with_ones(np.array([[2.0], [3.0]]))
    array([[2., 1.],
           [3., 1.]])
    """
    ones: Any = np.ones((X.shape[0], 1))
    return sparse.hstack([X, ones]).tocsr() if is_sparse(X) else np.hstack([X, ones])


def times_rows(factors: Floats, X: Any) -> Any:
    """diag(factors) X.

    >>> times_rows(np.array([1.0, -1.0]), np.array([[2.0], [3.0]]))
    array([[ 2.],
           [-3.]])
    """
    return (sparse.diags_array(factors) @ X).tocsr() if is_sparse(X) else X * factors[:, None]


def inverse_of(matrix: Floats) -> Solve:
    """x ↦ A⁻¹x for a symmetric A: by Cholesky's factor, or by eigenvalues where A is not well positive.

    A is scaled to a unit diagonal first. Eigenvalues that are zero to rounding are left out (the shortest
    solution: collinear columns share their effect), negative ones taken by their absolute value.

    >>> inverse_of(np.array([[2.0, 2.0], [2.0, 2.0]]))(np.array([4.0, 4.0]))
    array([1., 1.])
    """
    diagonal = np.abs(np.diag(matrix))
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    A = matrix / root[:, None] / root
    size = len(A)
    A[np.diag_indices(size)] = np.where(diagonal > 0, np.diag(A), 1.0)
    try:
        factor = linalg.cho_factor(A, lower=True, check_finite=False)
        if np.min(np.diag(factor[0])) ** 2 > 100 * size * np.finfo(float).eps:
            return lambda x: linalg.cho_solve(factor, x / root, check_finite=False) / root
    except linalg.LinAlgError:
        pass
    A = np.where(np.isfinite(A), A, 0.0)
    values, vectors = linalg.eigh(A, check_finite=False)
    keep = ~negligible(values)
    V, e = vectors[:, keep], np.abs(values[keep])
    return lambda x: (V @ ((V.T @ (x / root)) / e)) / root


def negligible(values: Floats) -> NDArray[np.bool_]:
    """Which eigenvalues of a matrix of unit diagonal are zero to rounding.

    >>> negligible(np.array([1e-15, 0.5, 1.5]))
    array([ True, False, False])
    """
    sizes = np.abs(values)
    return sizes <= 100 * len(values) * np.finfo(float).eps * max(1.0, float(np.max(sizes, initial=0.0)))
