"""Rows that are in order of time, and what judging by time says where rows were judged at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety.aliases import MatrixLike
from propriety.evaluation.judging import Judgement
from propriety.study.columns import number_columns
from propriety.study.numbers import between, number
from propriety.study.splitting import Role

LATEST = 0.25  # of the rows judges by time
_DISTINCT = 20  # values that an order needs
_SHARE = 20  # a twentieth of the rows is looked at first
_SORTED = 0.995  # of the steps from row to row go one way


def sorted_by(X: MatrixLike) -> Role | None:
    """The first column by which the rows are sorted, up or down, if there is one."""
    for name, column in number_columns(X):
        if _is_mixed(column):
            continue
        values = np.asarray(column).astype(float)
        direction = _direction(values)
        if direction:
            return Role(name, direction * values)
    return None


def _is_mixed(column: Any) -> bool:
    """Whether the first values alone go up and down too often for a column that is sorted."""
    steps = np.diff(np.asarray(column[: len(column) // _SHARE]).astype(float))
    against = (1 - _SORTED) * (len(column) - 1)
    return bool(np.sum(steps < 0) > against and np.sum(steps > 0) > against)


def _direction(values: Any) -> int:
    """1 if values go up, −1 if they go down, 0 if they do neither.

    >>> _direction(np.arange(50.0)), _direction(-np.arange(50.0)), _direction(np.tile([1.0, 2.0], 25))
    (1, -1, 0)
    """
    if len(values) < _DISTINCT or not np.all(np.isfinite(values)):
        return 0
    steps = np.diff(values)
    for direction, along in ((1, steps >= 0), (-1, steps <= 0)):
        if np.mean(along) >= _SORTED:
            return direction if len(np.unique(values)) >= _DISTINCT else 0
    return 0


def in_words(name: str, at_random: Judgement, by_time: Judgement) -> str:
    """What a split by time says, in a sentence."""
    random, later = at_random.cost, by_time.cost
    verb = "more" if later.value > random.value else "less"
    apart = later.low > random.high or later.high < random.low
    chance = "" if apart else "; the difference may be chance"
    return (
        f"the rows are in order of {name!r}, but were split at random. On the latest {LATEST:.0%}, by a "
        f"model of the rows before, 1,000 decisions cost {number(later.value)} (95% CI {between(later)}), "
        f"{verb} than {number(random.value)} ({between(random)}){chance}. To split this way, "
        f"give {name!r} as the time"
    )
