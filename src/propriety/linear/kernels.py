"""Compiled loops: sparse rows times coefficients and back, and coordinate descent on a quadratic."""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety.caching import njit

_OPTIONS = {
    "error_model": "numpy",
    "nogil": True,
    "fastmath": {"contract"},
    "no_cfunc_wrapper": True,
}
# Sums over a column may be taken in the order that vectorizes.
_SUMS = {**_OPTIONS, "fastmath": {"contract", "reassoc", "nsz"}}


@njit(**_OPTIONS)
def rows_times(data: Any, indices: Any, indptr: Any, start: Any, stop: Any, theta: Any, out: Any) -> None:
    """out[i] += x_i θ for the rows from `start` to `stop` of a CSR matrix."""
    n_scores = theta.shape[1]
    if n_scores == 1:
        column = theta.reshape(-1)
        for i in range(start, stop):
            total = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                total += data[at] * column[indices[at]]
            out[i - start, 0] += total
        return
    for i in range(start, stop):
        for at in range(indptr[i], indptr[i + 1]):
            value = data[at]
            j = indices[at]
            for k in range(n_scores):
                out[i - start, k] += value * theta[j, k]


@njit(**_OPTIONS)
def rows_back(data: Any, indices: Any, indptr: Any, start: Any, stop: Any, g: Any, out: Any) -> None:
    """out += Σ x_iᵀ g_i over the rows from `start` to `stop` of a CSR matrix."""
    n_scores = g.shape[1]
    if n_scores == 1:
        column = out.reshape(-1)
        for i in range(start, stop):
            slope = g[i - start, 0]
            for at in range(indptr[i], indptr[i + 1]):
                column[indices[at]] += data[at] * slope
        return
    for i in range(start, stop):
        for at in range(indptr[i], indptr[i + 1]):
            value = data[at]
            j = indices[at]
            for k in range(n_scores):
                out[j, k] += value * g[i - start, k]


@njit(**_OPTIONS)
def column_moments(
    data: Any, indices: Any, indptr: Any, weight: Any, mean: Any, square: Any, largest: Any
) -> None:
    """Add Σ w x and Σ w x² of each column of a CSR matrix, in units of `largest`, to the arrays given."""
    for i in range(len(indptr) - 1):
        for at in range(indptr[i], indptr[i + 1]):
            j = indices[at]
            value = np.float64(data[at])
            if largest[j] > 0:
                value /= largest[j]
            mean[j] += weight[i] * value
            square[j] += weight[i] * value * value


@njit(**_OPTIONS)
def column_sizes(data: Any, indices: Any, largest: Any) -> None:
    """max |x| of each column of a CSR matrix."""
    for at in range(len(data)):
        size = abs(np.float64(data[at]))
        largest[indices[at]] = max(largest[indices[at]], size)


@njit(**_OPTIONS)
def _shrunk(u: Any, by: Any) -> Any:
    """u nearer to 0 by so much, or 0."""
    return u - by if u > by else (u + by if u < -by else 0.0)


@njit(**_OPTIONS)
def lasso_descent(Q: Any, g: Any, theta: Any, l1: Any, tol: Any, max_sweeps: Any) -> Any:
    """Step d that minimizes gᵀd + ½ dᵀQd + Σ l1 |θ + d|, by coordinate descent.

    Sweeps over all coordinates alternate with sweeps over those that are not zero. It ends when no
    coordinate's gain in a full sweep exceeds `tol`, as a change of the gradient.
    """
    p = len(g)
    d = np.zeros(p)
    slope = g.copy()  # g + Q d
    only_active = False
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(p):
            curvature = Q[j, j]
            old = theta[j] + d[j]
            if curvature <= 0.0 or (only_active and old == 0.0):
                continue
            new = _shrunk(old - slope[j] / curvature, l1[j] / curvature)
            change = new - old
            if change != 0.0:
                d[j] = new - theta[j]
                for i in range(p):
                    slope[i] += Q[j, i] * change
                largest = max(largest, abs(change) * curvature)
        if largest <= tol:
            if not only_active:
                break
            only_active = False
        else:
            only_active = True
    return d


@njit(**_SUMS)
def _column_square(X: Any, indices: Any, indptr: Any, j: Any, c: Any, h: Any) -> Any:
    """Σ_i h_i (x_ij − c)².

    Columns are those of an array X in Fortran's order, with None for the other two, or of a CSC matrix,
    whose c is 0; the one after the last is 1 in all rows. The number of dimensions is a constant to Numba,
    which compiles the branch that it decides for and that one alone.
    """
    total = 0.0
    if X.ndim == 2:
        if j == X.shape[1]:
            return h.sum()
        for i in range(X.shape[0]):
            x = X[i, j] - c
            total += h[i] * x * x
    else:
        if j == len(indptr) - 1:
            return h.sum()
        for at in range(indptr[j], indptr[j + 1]):
            total += h[indices[at]] * X[at] * X[at]
    return total


@njit(**_SUMS)
def _column_times(X: Any, indices: Any, indptr: Any, j: Any, c: Any, v: Any) -> Any:
    """Σ_i (x_ij − c) v_i."""
    total = 0.0
    if X.ndim == 2:
        if j == X.shape[1]:
            return v.sum()
        for i in range(X.shape[0]):
            total += (X[i, j] - c) * v[i]
    else:
        if j == len(indptr) - 1:
            return v.sum()
        for at in range(indptr[j], indptr[j + 1]):
            total += X[at] * v[indices[at]]
    return total


@njit(**_SUMS)
def _add_column(X: Any, indices: Any, indptr: Any, j: Any, c: Any, a: Any, h: Any, v: Any) -> None:
    """v_i += a h_i (x_ij − c)."""
    if X.ndim == 2:
        if j == X.shape[1]:
            v += a * h
            return
        for i in range(X.shape[0]):
            v[i] += a * h[i] * (X[i, j] - c)
    else:
        if j == len(indptr) - 1:
            v += a * h
            return
        for at in range(indptr[j], indptr[j + 1]):
            v[indices[at]] += a * h[indices[at]] * X[at]


@njit(**_SUMS)
def lasso_columns(
    X: Any,
    indices: Any,
    indptr: Any,
    centre: Any,
    inverse: Any,
    h: Any,
    g: Any,
    theta: Any,
    l1: Any,
    l2: Any,
    tol: Any,
    max_sweeps: Any,
) -> Any:
    """As `lasso_descent` for Q = ZᵀHZ + diag(l2), from the columns Z = (X − centre)·inverse themselves.

    Columns are given as `_column_square` says, the intercept last if there is one. Keeps v = H Z d, so that
    a coordinate costs one product with its column, and another if it moves.
    """
    p = len(g)
    step, v, curvature = np.zeros(p), np.zeros(len(h)), np.empty(p)
    for j in range(p):
        square = _column_square(X, indices, indptr, j, centre[j], h)
        curvature[j] = square * inverse[j] ** 2 + l2[j]
    only_active = False
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(p):
            old = theta[j] + step[j]
            if curvature[j] <= 0.0 or (only_active and old == 0.0 and l1[j] > 0):
                continue
            slope = _column_times(X, indices, indptr, j, centre[j], v) * inverse[j]
            u = old - (g[j] + slope + l2[j] * step[j]) / curvature[j]
            new = _shrunk(u, l1[j] / curvature[j])
            change = new - old
            if change != 0.0:
                step[j] = new - theta[j]
                _add_column(X, indices, indptr, j, centre[j], change * inverse[j], h, v)
                largest = max(largest, abs(change) * curvature[j])
        if largest <= tol:
            if not only_active:
                break
            only_active = False
        else:
            only_active = True
    return step
