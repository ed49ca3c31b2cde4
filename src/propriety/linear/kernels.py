"""Compiled loops: sparse rows times coefficients and back, and coordinate descent on a quadratic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_OPTIONS = {"error_model": "numpy", "cache": True, "nogil": True, "fastmath": {"contract"}}
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
            u = old - slope[j] / curvature
            shrink = l1[j] / curvature
            new = u - shrink if u > shrink else (u + shrink if u < -shrink else 0.0)
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
def lasso_dense(  # noqa: C901, PLR0912 (a compiled loop)
    X: Any, centre: Any, inverse: Any, h: Any, g: Any, theta: Any, l1: Any, l2: Any, tol: Any, max_sweeps: Any
) -> Any:
    """As `lasso_descent` for Q = ZᵀHZ + diag(l2), from the columns Z = (X − centre)·inverse themselves.

    The last coordinate is the intercept if there is one more than columns. Keeps v = H Z d, so that a
    coordinate costs one product with its column, and another if it moves.
    """
    n, d = X.shape
    p = len(g)
    step = np.zeros(p)
    v = np.zeros(n)
    curvature = np.empty(p)
    for j in range(d):
        s = 0.0
        for i in range(n):
            x = X[i, j] - centre[j]
            s += h[i] * x * x
        curvature[j] = s * inverse[j] ** 2 + l2[j]
    if p > d:
        curvature[d] = h.sum() + l2[d]
    only_active = False
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(p):
            old = theta[j] + step[j]
            if curvature[j] <= 0.0 or (only_active and old == 0.0 and l1[j] > 0):
                continue
            s = 0.0
            if j < d:
                c = centre[j]
                for i in range(n):
                    s += (X[i, j] - c) * v[i]
                s *= inverse[j]
            else:
                for i in range(n):
                    s += v[i]
            u = old - (g[j] + s + l2[j] * step[j]) / curvature[j]
            shrink = l1[j] / curvature[j]
            new = u - shrink if u > shrink else (u + shrink if u < -shrink else 0.0)
            change = new - old
            if change != 0.0:
                step[j] = new - theta[j]
                if j < d:
                    a, c = change * inverse[j], centre[j]
                    for i in range(n):
                        v[i] += a * h[i] * (X[i, j] - c)
                else:
                    for i in range(n):
                        v[i] += change * h[i]
                largest = max(largest, abs(change) * curvature[j])
        if largest <= tol:
            if not only_active:
                break
            only_active = False
        else:
            only_active = True
    return step


@njit(**_SUMS)
def lasso_sparse(  # noqa: C901, PLR0912 (a compiled loop)
    data: Any,
    indices: Any,
    indptr: Any,
    inverse: Any,
    h: Any,
    g: Any,
    theta: Any,
    l1: Any,
    l2: Any,
    tol: Any,
    max_sweeps: Any,
) -> Any:
    """`lasso_dense` for the columns of a CSC matrix."""
    d = len(indptr) - 1
    n = len(h)
    p = len(g)
    step = np.zeros(p)
    v = np.zeros(n)
    curvature = np.empty(p)
    for j in range(d):
        s = 0.0
        for at in range(indptr[j], indptr[j + 1]):
            s += h[indices[at]] * data[at] * data[at]
        curvature[j] = s * inverse[j] ** 2 + l2[j]
    if p > d:
        curvature[d] = h.sum() + l2[d]
    only_active = False
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(p):
            old = theta[j] + step[j]
            if curvature[j] <= 0.0 or (only_active and old == 0.0 and l1[j] > 0):
                continue
            s = 0.0
            if j < d:
                for at in range(indptr[j], indptr[j + 1]):
                    s += data[at] * v[indices[at]]
                s *= inverse[j]
            else:
                for i in range(n):
                    s += v[i]
            u = old - (g[j] + s + l2[j] * step[j]) / curvature[j]
            shrink = l1[j] / curvature[j]
            new = u - shrink if u > shrink else (u + shrink if u < -shrink else 0.0)
            change = new - old
            if change != 0.0:
                step[j] = new - theta[j]
                if j < d:
                    a = change * inverse[j]
                    for at in range(indptr[j], indptr[j + 1]):
                        v[indices[at]] += a * h[indices[at]] * data[at]
                else:
                    for i in range(n):
                        v[i] += change * h[i]
                largest = max(largest, abs(change) * curvature[j])
        if largest <= tol:
            if not only_active:
                break
            only_active = False
        else:
            only_active = True
    return step
