"""Soft labels: probabilities or counts of the classes as the weighted rows that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.data.lazy import is_dask
from propriety.data.table import as_array, is_frame, is_sparse, take_rows

Floats = NDArray[np.float64]


def soft_labels(y: ArrayLike) -> Floats | None:
    """How much each row counts for each class, of shape (n, K); None for labels.

    `y` is a tuple (successes, trials), an array of K columns that are probabilities, or one of probabilities
    of class 1, some of them neither 0 nor 1.

    >>> soft_labels(([1, 0], [3, 2])).tolist(), soft_labels([0.25, 1.0]).tolist(), soft_labels([0, 1])
    ([[2.0, 1.0], [2.0, 0.0]], [[0.75, 0.25], [0.0, 1.0]], None)
    """
    if isinstance(y, tuple) and len(y) == 2 and all(np.ndim(part) == 1 for part in y):
        successes, trials = (np.asarray(part, dtype=np.float64) for part in y)
        if successes.shape != trials.shape or not np.all((successes >= 0) & (successes <= trials)):
            raise ValueError("y=(successes, trials) must be two arrays of n numbers, 0 ≤ successes ≤ trials")
        return np.column_stack([trials - successes, successes])
    if y is None or is_dask(y):
        return None
    values = np.asarray(y)
    if values.dtype.kind not in "biuf" or values.size == 0:
        return None
    if values.ndim == 2 and values.shape[1] > 1:
        if not np.all(values >= 0) or not np.allclose(values.sum(axis=1), 1, atol=1e-6):
            raise ValueError(
                f"y of {values.shape[1]} columns must hold probabilities of the classes, rows that sum to 1"
            )
        return np.asarray(values, dtype=np.float64)
    between = values.ndim == 1 and values.dtype.kind == "f" and values.min() >= 0 and values.max() <= 1
    if not between or np.all((values == 0) | (values == 1)):
        return None
    return np.column_stack([1 - values, values]).astype(np.float64)


def as_weighted_rows(
    X: Any, y: Any, sample_weight: Any, **by_row: Any
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """X, y and weights with each soft label as one weighted row of each class; else as they are given.

    What else is given `by_row` is repeated. The classes are 0 … K − 1.

    >>> as_weighted_rows([[5.0], [6.0]], [0.25, 1.0], None)[:3]
    (array([[5.],
           [5.],
           [6.]]), array([0, 1, 1]), array([0.75, 0.25, 1.  ]))
    """
    if soft_labels(y) is None:
        return X, y, sample_weight, by_row
    if not (is_frame(X) or is_sparse(X)):
        X = as_array(X)
    rows, classes, weight = soft_rows(y, X.shape[0], sample_weight)
    others = {name: None if value is None else np.asarray(value)[rows] for name, value in by_row.items()}
    return take_rows(X, rows), classes, weight, others


def soft_rows(
    y: ArrayLike, n_rows: int, sample_weight: ArrayLike | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """The weighted rows of one class that soft labels stand for: which row, its class, and its weight.

    >>> soft_rows([0.25, 1.0], 2)
    (array([0, 0, 1]), array([0, 1, 1]), array([0.75, 0.25, 1.  ]))
    """
    shares = soft_labels(y)
    assert shares is not None, "labels of one class each"
    if n_rows != len(shares):
        raise ValueError(f"y has {len(shares)} soft labels, and X {n_rows} rows")
    if sample_weight is not None:
        weight = np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), len(shares))
        shares = shares * weight[:, None]
    rows, classes = np.nonzero(shares)
    return rows, classes, shares[rows, classes]
