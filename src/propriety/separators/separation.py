"""Perfect separation: when a linear model has no finite minimum, and how to know."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from propriety.data.table import is_sparse
from propriety.separators.linalg import Floats, times_rows, with_ones

_LARGEST = 2_000_000  # values of X that a linear program is asked to look at


class SeparationWarning(UserWarning):
    """Some combination of the features separates the classes, so the coefficients have no finite optimum."""


def separating_direction(X: Any, y: NDArray[Any], intercept: bool = True) -> Floats | None:
    """Direction b with y*_i x_i b ≥ 0 for all rows, and > 0 for some; None if there is none.

    The linear program of Konis (2007): maximize Σ y*_i x_i b subject to y*_i x_i b ≥ 0 and −1 ≤ b ≤ 1. Its
    maximum is 0 iff the classes overlap, and then the log loss has a finite minimum (Albert & Anderson,
    1984).

    >>> separating_direction(np.array([[0.0], [1.0], [2.0]]), np.array([0, 0, 1])) is None
    False
    >>> separating_direction(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])) is None
    True
    """
    if is_sparse(X):
        size = abs(X).max(axis=0).toarray().ravel()
        A: Any = sparse.csr_array(X) @ sparse.diags_array(1 / np.where(size > 0, size, 1.0))
    else:
        A = np.asarray(X, dtype=np.float64)
        # Divided before it is centred, or the sum of a huge column would be no float.
        A = A / _sizes(A)
        if intercept:
            A = A - A.mean(axis=0)
            A = A / _sizes(A)
    M = times_rows(np.where(y > 0, 1.0, -1.0), with_ones(A) if intercept else A)
    total = np.asarray(M.sum(axis=0)).ravel()
    result: Any = optimize.linprog(-total, A_ub=-M, b_ub=np.zeros(M.shape[0]), bounds=(-1, 1), method="highs")
    if result.status != 0 or -result.fun <= 1e-7 * max(1.0, float(np.abs(total).max(initial=0.0))):
        return None
    return np.asarray(result.x)


def _sizes(A: Floats) -> Floats:
    """The largest absolute value of each column, 1 if that is 0."""
    size = np.abs(A).max(axis=0, initial=0.0)
    return np.where(size > 0, size, 1.0)


def message(X: Any, y: NDArray[Any], margins: Floats, intercept: bool) -> str | None:
    """What to say when a fit without penalty ended with extreme probabilities; None if nothing is wrong."""
    advice = (
        "the coefficients grow without bound and the fit stopped on the way. Set alpha > 0 (for example "
        "alpha=1e-3) for a finite fit, or drop the features that separate"
    )
    if np.min(margins) > 0:
        return f"the classes are perfectly separated by a linear combination of the features: {advice}"
    if X.shape[0] * X.shape[1] > _LARGEST:
        return None
    if separating_direction(X, y, intercept) is not None:
        return f"the classes are separated in part (quasi-complete separation): {advice}"
    return None
