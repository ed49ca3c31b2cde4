"""Rows whose decision was close, and what would have turned it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.evaluation.flips import Predict, nearest_flip
from propriety.report.contents import Flipped

_ROWS = 6  # that are shown
_POOL = 2000  # rows whose values are tried


def close_flips(
    predict: Predict,
    columns: Mapping[str, NDArray[Any]],
    p: NDArray[Any],
    thresholds: NDArray[Any],
    allowed: Collection[str] | None = None,
) -> list[Flipped]:
    """The least changes of allowed columns that turn the decisions on rows nearest to their thresholds."""
    chosen = close_rows(p, thresholds)
    some = np.linspace(0, len(p) - 1, min(len(p), _POOL)).astype(np.intp)
    pool = np.unique(np.append(some, np.asarray(chosen, dtype=np.intp)))
    values = {name: np.asarray(column)[pool] for name, column in columns.items()}
    return [
        Flipped(
            row,
            nearest_flip(predict, values, int(np.searchsorted(pool, row)), thresholds[row], allowed=allowed),
        )
        for row in chosen
    ]


def close_rows(p: NDArray[Any], thresholds: NDArray[Any]) -> list[int]:
    """Rows nearest to their thresholds, as many decided one way as the other.

    >>> close_rows(np.array([0.1, 0.4, 0.6, 0.9]), np.full(4, 0.5))
    [2, 3, 1, 0]
    """
    gap = p - thresholds
    above, below = np.flatnonzero(gap >= 0), np.flatnonzero(gap < 0)
    nearest = [side[np.argsort(np.abs(gap[side]), kind="stable")[: _ROWS // 2]] for side in (above, below)]
    return [int(row) for row in np.concatenate(nearest)]
