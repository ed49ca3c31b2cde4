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


def diagonal_of(matrix: Floats) -> Floats:
    """The diagonal of a square matrix without gaps in memory, to be written to.

    >>> matrix = np.zeros((2, 2))
    >>> diagonal_of(matrix)[:] = 3.0, 4.0
    >>> matrix
    array([[3., 0.],
           [0., 4.]])
    """
    return matrix.reshape(-1)[:: len(matrix) + 1]


def inverse_of(matrix: Floats) -> Solve:
    """x ↦ A⁻¹x for a symmetric A: by Cholesky's factor, or by eigenvalues where A is not well positive.

    A is scaled to a unit diagonal first. Eigenvalues that are zero to rounding are left out (the shortest
    solution: collinear columns share their effect), negative ones taken by their absolute value.

    >>> inverse_of(np.array([[2.0, 2.0], [2.0, 2.0]]))(np.array([4.0, 4.0]))
    array([1., 1.])
    """
    A, root = _of_unit_diagonal(matrix)
    solve = _by_factor(A, root)
    if solve is not None:
        return solve
    A = np.where(np.isfinite(A), A, 0.0)
    values, vectors = linalg.eigh(A, check_finite=False)
    keep = ~negligible(values)
    V, e = vectors[:, keep], np.abs(values[keep])
    return lambda x: (V @ ((V.T @ (x / root)) / e)) / root


def inverse_of_positive(matrix: Floats) -> Solve | None:
    """x ↦ A⁻¹x by Cholesky's factor; None if A is not well positive definite.

    >>> inverse_of_positive(np.array([[1.0, 0.0], [0.0, -1.0]])) is None
    True
    """
    if not (matrix.diagonal() > 0).all():
        return None
    return _by_factor(*_of_unit_diagonal(matrix))


def _of_unit_diagonal(matrix: Floats) -> tuple[Floats, Floats]:
    """A scaled so that its diagonal is 1 or −1, and the roots that it was divided by."""
    diagonal = np.abs(matrix.diagonal())
    positive = diagonal > 0
    root = np.sqrt(np.where(positive, diagonal, 1.0))
    A = matrix / root[:, None]
    A /= root
    if not positive.all():
        A[np.diag_indices(len(A))] = np.where(positive, A.diagonal(), 1.0)
    return A, root


def _by_factor(A: Floats, root: Floats) -> Solve | None:
    if len(A) == 0:
        return np.copy
    factor, failed = linalg.lapack.dpotrf(A, lower=1)
    if failed or not factor.diagonal().min() ** 2 > 100 * len(A) * np.finfo(float).eps:
        return None
    return lambda x: linalg.lapack.dpotrs(factor, x / root, lower=1)[0] / root


def negligible(values: Floats) -> NDArray[np.bool_]:
    """Which eigenvalues of a matrix of unit diagonal are zero to rounding.

    >>> negligible(np.array([1e-15, 0.5, 1.5]))
    array([ True, False, False])
    """
    sizes = np.abs(values)
    return sizes <= 100 * len(values) * np.finfo(float).eps * max(1.0, float(np.max(sizes, initial=0.0)))
