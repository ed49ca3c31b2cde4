"""Mean and spread of each column: what a column is measured by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from propriety.communicator import SINGLE, Communicator
from propriety.data.table import is_sparse
from propriety.separators.linalg import Floats

_SAMPLE = 20_000  # rows that suffice
_BLOCK_VALUES = 1 << 17


@dataclass(frozen=True)
class Moments:
    """Weighted mean, standard deviation and, of sparse columns, largest absolute value of each column."""

    mean: Floats
    spread: Floats
    largest: Floats | None = None


def moments(X: Any, weight: Floats, communicator: Communicator = SINGLE) -> Moments:
    """Moments of the columns of a float array or CSR matrix; of every k-th row if a dense one has very many.

    Sparse columns need all rows, since their values are rare.

    >>> moments(np.array([[1.0], [3.0], [9.0]]), np.array([1.0, 1.0, 0.0]))
    Moments(mean=array([2.]), spread=array([1.]), largest=None)
    """
    stride = 1 if is_sparse(X) else max(1, X.shape[0] // _SAMPLE)
    rows, w = X[::stride], weight[::stride]
    w = w / w.sum() if w.sum() > 0 else np.full(len(w), 1 / len(w))
    own = _sparse(rows, w) if is_sparse(X) else _dense(rows, w)
    return _joined(communicator.gather((float(weight.sum()), own)))


def _joined(parts: list[tuple[float, Moments]]) -> Moments:
    """Moments of rows from those of their parts and the weights of these."""
    if len(parts) == 1:
        return parts[0][1]
    share = np.array([weight for weight, _ in parts]) / sum(weight for weight, _ in parts)
    means, spreads = (np.array([getattr(m, name) for _, m in parts]) for name in ("mean", "spread"))
    mean = share @ means
    spread = np.sqrt(share @ (spreads**2 + (means - mean) ** 2))
    sizes = [m.largest for _, m in parts if m.largest is not None]
    return Moments(mean, spread, np.max(sizes, axis=0) if sizes else None)


def _dense(rows: Any, w: Floats) -> Moments:
    """Block by block, without a copy; columns that plain sums may not suit are looked at with more care."""
    n, d = rows.shape
    size = max(1, _BLOCK_VALUES // max(d, 1))
    mean, square = np.zeros((2, d))
    block = np.empty((min(size, n), d))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, n, size):
            mean += w[start : start + size] @ rows[start : start + size]
        for start in range(0, n, size):
            part = rows[start : start + size]
            B = np.subtract(part, mean, out=block[: len(part)])
            square += w[start : start + size] @ np.square(B, out=B)
        spread = np.sqrt(square)
        doubtful = np.flatnonzero(~((spread > 1e-10 * np.abs(mean)) & (spread > 1e-100) & (spread < 1e100)))
    if len(doubtful):
        careful = _careful(rows[:, doubtful], w)
        mean[doubtful], spread[doubtful] = careful.mean, careful.spread
    return Moments(mean, spread)


def _careful(rows: Any, w: Floats) -> Moments:
    """Safe for any scale and shift."""
    n, d = rows.shape
    first, size = rows[0].astype(np.float64), max(1, _BLOCK_VALUES // max(d, 1))
    unit, shift, square = np.zeros((3, d))
    block = np.empty((min(size, n), d))

    def blocks() -> Iterator[tuple[Floats, Floats]]:
        for start in range(0, n, size):
            part = rows[start : start + size]
            yield np.subtract(part, first, out=block[: len(part)]), w[start : start + size]

    with np.errstate(over="ignore", invalid="ignore"):
        for B, _ in blocks():
            np.maximum(unit, np.maximum(B.max(axis=0), -B.min(axis=0)), out=unit)
        unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)
        for B, part in blocks():
            shift += part @ np.divide(B, unit, out=B)
        for B, part in blocks():
            np.subtract(np.divide(B, unit, out=B), shift, out=B)
            square += part @ np.square(B, out=B)
        mean, spread = first + unit * shift, unit * np.sqrt(square)
    beyond = ~(np.isfinite(mean) & np.isfinite(spread))
    if np.any(beyond):  # the range of the column is no float
        mean[beyond], spread[beyond] = 0.0, np.abs(rows[:, beyond]).max(axis=0)
    return Moments(mean, spread)


def _sparse(X: Any, w: Floats) -> Moments:
    from propriety.linear import kernels

    mean, square, largest = np.zeros((3, X.shape[1]))
    kernels.column_sizes(X.data, X.indices, largest)
    kernels.column_moments(X.data, X.indices, X.indptr, w, mean, square, largest)
    spread = largest * np.sqrt(np.maximum(square - mean**2, 0.0))
    return Moments(mean * largest, spread, largest)
