"""Columns that tell the target alone: probably not known when the model is used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from propriety import parallel
from propriety.tables.columns import Columns
from propriety.tables.conversion import as_numpy

_LEAK = 0.995  # area under the ROC curve of one column from which it looks like a leak
_SAMPLE = 100_000  # rows that leaks are looked for in
_FEW = 10  # rows of a class below which nothing is said


def look_for_leaks(
    table: Any, columns: Columns, codes: NDArray[np.intp], n_jobs: int | None = None
) -> list[str]:
    """A warning for each column that tells the target alone: of several classes, each of them."""
    step = max(1, -(-len(codes) // _SAMPLE))
    codes = codes[::step]
    counts = np.bincount(codes)
    if len(counts) < 2 or counts.min() < _FEW:
        return []
    outcomes = [codes == k for k in range(1 if len(counts) == 2 else 0, len(counts))]
    frame, _ = columns.encode(table.take(pa.array(np.arange(0, table.num_rows, step))))

    def area_of(feature: str) -> float:
        return min(_area(frame.column(feature), y) for y in outcomes)

    found = parallel.in_order(area_of, columns.features, n_jobs)
    areas = dict(zip(columns.features, found, strict=True))
    warnings = []
    for column in columns.columns:
        area = max(areas[f] for f in column.features)
        if area >= _LEAK:
            warnings.append(
                f"column {column.name!r} alone nearly determines the target (AUC {area:.3f}): is "
                f"it known when the model is used? If not, --drop '{column.name}'"
            )
    return warnings


def _area(column: Any, y: NDArray[np.bool_]) -> float:
    """Area under the ROC curve of one column, of numbers the better way round."""
    if pa.types.is_dictionary(column.type):
        return _area_of(_shares(column, y), y)
    score = as_numpy(column)
    middle = np.nanmedian(score) if np.any(~np.isnan(score)) else 0.0
    area = _area_of(np.where(np.isnan(score), middle, score), y)
    return max(area, 1 - area)


def _shares(column: Any, y: NDArray[np.bool_]) -> Any:
    """The share of positives among the other rows of each row's category: one row alone tells nothing."""
    codes = as_numpy(pc.fill_null(column.combine_chunks().indices, -1)).astype(np.int64) + 1
    total, hits = np.bincount(codes).astype(float), np.bincount(codes, weights=y)
    others = (hits[codes] - y) / np.maximum(total[codes] - 1, 1)
    return np.where(total[codes] > 1, others, y.mean())


def _area_of(score: Any, y: NDArray[np.bool_]) -> float:
    _, where, counts = np.unique(score, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2
    n = y.sum()
    return float((rank[where][y].sum() - n * (n + 1) / 2) / (n * (len(y) - n)))
