"""Rows whose decision was close, and what would have turned it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.evaluation.flips import Flip, Predict, nearest_flip

FEW = 6  # rows that are shown
_POOL = 2000  # rows whose values are tried


@dataclass(frozen=True)
class Flipped:
    """What would change the decision on the test row ``row``; None if nothing was found that would."""

    row: int
    flip: Flip | None


def close_flips(
    predictor: Callable[[int], Predict],
    columns: Mapping[str, NDArray[Any]],
    p: NDArray[Any],
    thresholds: NDArray[Any],
    allowed: Collection[str] | None = None,
    n: int = FEW,
) -> list[Flipped]:
    """The least changes of allowed columns that turn the decisions on rows nearest to their thresholds.

    ``predictor(row)`` is the model that judged the row: another one may decide it otherwise as it is.
    """
    chosen = close_rows(p, thresholds, n)
    some = np.linspace(0, len(p) - 1, min(len(p), _POOL)).astype(np.intp)
    pool = np.unique(np.append(some, np.asarray(chosen, dtype=np.intp)))
    values = {name: np.asarray(column)[pool] for name, column in columns.items()}
    return [
        Flipped(
            row,
            nearest_flip(
                predictor(row), values, int(np.searchsorted(pool, row)), thresholds[row], allowed=allowed
            ),
        )
        for row in chosen
    ]


def close_rows(p: NDArray[Any], thresholds: NDArray[Any], n: int = FEW) -> list[int]:
    """Rows nearest to their thresholds, as many decided one way as the other.

    >>> close_rows(np.array([0.1, 0.4, 0.6, 0.9]), np.full(4, 0.5))
    [2, 3, 1, 0]
    """
    gap = p - thresholds
    above, below = np.flatnonzero(gap >= 0), np.flatnonzero(gap < 0)
    nearest = [side[np.argsort(np.abs(gap[side]), kind="stable")[: n // 2]] for side in (above, below)]
    return [int(row) for row in np.concatenate(nearest)]


def in_words_of(flip: Flip) -> str:
    """The changes in words.

    >>> in_words_of(Flip({"amount": (900.0, 500.0), "kind": ("a", "b")}, 0.1, 1.2))
    'amount 500 instead of 900 and kind b instead of a'
    """
    return " and ".join(
        f"{name} {_value(new)} instead of {_value(old)}" for name, (old, new) in flip.changes.items()
    )


def _value(value: Any) -> str:
    if isinstance(value, float):
        return "missing" if math.isnan(value) else f"{value:.6g}"
    return str(value)
