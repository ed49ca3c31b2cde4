"""Judging models on rows that they have not seen: by their costs, and by their probabilities."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety.cached_properties import cached_property
from propriety.cli.recipes import Arguments, Fitted, Order, Recipe, fit
from propriety.cli.splitting import FOLDS, Split, split_rows
from propriety.cli.training import TrainingTable
from propriety.evaluation.judging import DecisionRule, JudgedRows, Judgement, judge

Floats = NDArray[np.float64]
#: Called after each fit, with what was done.
Step = Callable[[str], None]
#: Shown each fitted model with the rows that judge it.
Look = Callable[[Fitted, TrainingTable], None]


@dataclass(frozen=True, eq=False)
class Judged:
    """The rows that judged, and what was decided on them: by the model first, then without a model."""

    rows: JudgedRows
    rules: tuple[DecisionRule, ...]

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """Of each rule, the model's first."""
        return judge(self.rows, self.rules)

    @property
    def model(self) -> DecisionRule:
        """What the model decides."""
        return self.rules[0]


def judged_rows(table: TrainingTable, order: Order, rows: NDArray[np.intp] | None = None) -> JudgedRows:
    """Some rows of a table, or all, as rows that judge."""
    table = table if rows is None else table.take(rows)
    groups = None if table.groups is None else table.groups.values
    return JudgedRows(table.y, table.classes, table.costs, table.weights, groups, order.budget)


def out_of_sample(
    recipe: Recipe, order: Order, table: TrainingTable, split: Split, step: Step, look: Look | None = None
) -> tuple[DecisionRule, Fitted]:
    """Train on each training part and decide on its judging part; also returns the last fitted model."""
    parts, began = [], time.perf_counter()
    for number, (train_rows, test_rows) in enumerate(split.pairs, 1):
        fitted = train(recipe, order, table, train_rows)
        held_out = table.take(test_rows)
        parts.append(fitted.probabilities(held_out.frame, held_out.offset))
        if look is not None:
            look(fitted, held_out)
        step(f"{fitted.recipe.title}, part {number} of {len(split.pairs)}")
    seconds = time.perf_counter() - began
    rows = judged_rows(table, order, split.rows)
    return rows.rule(recipe.title, np.concatenate(parts), seconds=seconds), fitted


def train(recipe: Recipe, order: Order, table: TrainingTable, rows: NDArray[np.intp]) -> Fitted:
    """Fit a model to some rows."""
    part = table.take(rows)
    ordered = part.groups is not None or part.time is not None
    given = Arguments(
        part.weight,
        part.stated.parameters(part.classes),
        part.of_rows,
        None if part.groups is None else part.groups.values,
        _inner(part, order).pairs if ordered and order.search else FOLDS,
        part.offset,
    )
    return fit(recipe, order, part.frame, part.y, given)


def _inner(part: TrainingTable, order: Order) -> Split:
    """The split of training rows that chooses among losses."""
    return split_rows(part.y, FOLDS, None, order.seed, groups=part.groups, time=part.time)
