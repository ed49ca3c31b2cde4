"""Rows that are in order of time, and what judging by time says where rows were judged at random."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from propriety.cli.judging import Step, judged_rows, out_of_sample
from propriety.cli.output import UsageError
from propriety.cli.recipes import Order, Recipe
from propriety.cli.splitting import split_rows
from propriety.cli.training import Role, TrainingTable
from propriety.evaluation.judging import Judgement, judge
from propriety.report.numbers import between, number

_LATEST = 0.25  # of the rows judges by time
_DISTINCT = 20  # values that an order needs
_SHARE = 20  # a twentieth of the rows is looked at first
_SORTED = 0.995  # of the steps from row to row go one way


def sorted_by(table: TrainingTable) -> Role | None:
    """The first column by which the rows are sorted, up or down, if there is one."""
    columns = table.findings.columns
    for name, owner in zip(columns.features, columns.owners, strict=True):
        column = table.frame.column(name)
        if pa.types.is_dictionary(column.type) or _is_mixed(column):
            continue
        values = column.to_numpy().astype(float)
        direction = _direction(values)
        if direction:
            return Role(columns.names[owner], direction * values)
    return None


def _is_mixed(column: Any) -> bool:
    """Whether the first values alone go up and down too often for a column that is sorted."""
    steps = np.diff(column.slice(0, len(column) // _SHARE).to_numpy())
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


def judged_by_time(
    recipe: Recipe, order: Order, table: TrainingTable, time: Role, step: Step
) -> Judgement | None:
    """The judgement of the latest rows by a model of those before; None if they cannot be split so."""
    try:
        split = split_rows(table.y, None, _LATEST, order.seed, groups=table.groups, time=time)
    except UsageError:
        return None
    rule, _ = out_of_sample(recipe, replace(order, search=False), table, split, step)
    return judge(judged_rows(table, order, split.rows), [rule])[0]


def in_words(time: Role, at_random: Judgement, by_time: Judgement) -> str:
    """What a split by time says, in a sentence."""
    random, later = at_random.cost, by_time.cost
    verb = "more" if later.value > random.value else "less"
    apart = later.low > random.high or later.high < random.low
    chance = "" if apart else ", which may be chance"
    return (
        f"rows are in order of {time.name!r} and were judged at random. Judged on the latest {_LATEST:.0%} "
        f"by a model of those before, 1,000 decisions cost {number(later.value)} ({between(later)}), {verb} "
        f"than {number(random.value)} ({between(random)}){chance}; --time {time.name!r} judges that way"
    )
