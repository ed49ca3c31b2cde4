"""Judging models on rows that they have not seen: by their costs, and by their probabilities."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split

from propriety import evaluation, losses
from propriety.cli.output import UsageError
from propriety.cli.recipes import Order, Recipe, fit

Floats = NDArray[np.float64]
_MANY = 5000  # rows from which one held-out part is enough
_FOLDS, _SHARE = 5, 0.25
_Z = 1.959964


@dataclass(frozen=True)
class Split:
    """Pairs of training and judging rows, and how they came about."""

    pairs: list[tuple[NDArray[np.intp], NDArray[np.intp]]]
    text: str

    @property
    def is_holdout(self) -> bool:
        """Whether one part was held out."""
        return len(self.pairs) == 1

    @property
    def rows(self) -> NDArray[np.intp]:
        """The judging rows, in the order of the probabilities."""
        return np.concatenate([test for _, test in self.pairs])


def split_rows(
    y: NDArray[np.bool_], folds: int | None, holdout: float | None, seed: int, *, one: bool = False
) -> Split:
    """Split the rows: by folds, by a held-out share, or whichever suits their number."""
    if folds is not None and holdout is not None:
        raise UsageError("give --folds or --holdout, not both")
    if folds is None and holdout is None:
        folds, holdout = (None, _SHARE) if one or len(y) >= _MANY else (_FOLDS, None)
    few = int(min(y.sum(), len(y) - y.sum()))
    if folds is not None:
        if folds < 2:
            raise UsageError(f"--folds must be 2 or more, got {folds}")
        folds = min(folds, few)
        if folds < 2:
            raise UsageError("one class has a single row, so that nothing can be judged: give more rows")
        pairs = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y))
        return Split(pairs, f"{folds}-fold cross-validation")
    assert holdout is not None
    if not 0 < holdout < 1:
        raise UsageError(f"--holdout must be between 0 and 1, got {holdout:g}")
    if few < 2:
        raise UsageError("one class has a single row, so that nothing can be held out: give more rows")
    train, test = train_test_split(np.arange(len(y)), test_size=holdout, stratify=y, random_state=seed)
    return Split(
        [(np.sort(train), np.sort(test))], f"{holdout:.0%} of the rows, which the model has not seen"
    )


@dataclass(frozen=True)
class Judgement:
    """Probabilities of rows that the model had not seen, and what they are worth."""

    name: str
    y: NDArray[np.bool_]
    p: Floats
    weight: Floats
    order: Order
    seconds: float = 0.0

    @property
    def row_costs(self) -> Floats:
        """What the decision on each row cost."""
        decided = evaluation.decide(self.p, fp_cost=self.order.fp_cost, fn_cost=self.order.fn_cost)
        return evaluation.costs_of(
            self.y.astype(int), decided, fp_cost=self.order.fp_cost, fn_cost=self.order.fn_cost, labels=[0, 1]
        )

    def mean(self, values: Any) -> float:
        """Weighted mean over the rows."""
        return float(np.average(values, weights=self.weight))

    def error(self, values: Floats) -> float:
        """Standard error of a weighted mean."""
        share = self.weight / self.weight.sum()
        return float(np.sqrt(np.sum((share * (values - self.mean(values))) ** 2)))

    def numbers(self) -> dict[str, Any]:
        """Cost of 1,000 decisions with a 95% interval, mistakes in 1,000, quality of probabilities."""
        costs, decided = self.row_costs, self.p >= self.order.threshold
        cost, error = self.mean(costs), self.error(costs)
        return {
            "model": self.name,
            "cost_per_1000": 1000 * cost,
            "cost_low": 1000 * max(0.0, cost - _Z * error),
            "cost_high": 1000 * (cost + _Z * error),
            "false_alarms_per_1000": 1000 * self.mean(decided & ~self.y),
            "misses_per_1000": 1000 * self.mean(~decided & self.y),
            "log_loss": self.mean(losses.Log().loss(self.y.astype(float), np.clip(self.p, 1e-15, 1 - 1e-15))),
            "area_under_roc": float(roc_auc_score(self.y, self.p, sample_weight=self.weight)),
            "seconds": self.seconds,
        }


def constant(name: str, like: Judgement, p: float) -> Judgement:
    """The same probability for every row: deciding always, or never."""
    return Judgement(name, like.y, np.full(len(like.y), p), like.weight, like.order)


def judge(
    recipe: Recipe,
    order: Order,
    frame: Any,
    y: NDArray[np.bool_],
    weight: Floats | None,
    split: Split,
    step: Callable[[str], None],
) -> tuple[Judgement, Any]:
    """Fit on each training part and predict its judging part; also returns the last fitted model."""
    parts, fitted, began = [], None, time.perf_counter()
    for number, (train, test) in enumerate(split.pairs, 1):
        own = None if weight is None else weight[train]
        fitted = fit(recipe, order, frame.take(pa.array(train)), y[train], own)
        parts.append(fitted.probabilities(frame.take(pa.array(test))))
        step(f"{recipe.title}, part {number} of {len(split.pairs)}")
    rows = split.rows
    w = np.ones(len(rows)) if weight is None else weight[rows]
    seconds = time.perf_counter() - began
    return Judgement(recipe.title, y[rows], np.concatenate(parts), w, order, seconds), fitted


def choose(
    recipes: list[Recipe],
    order: Order,
    frame: Any,
    y: NDArray[np.bool_],
    weight: Floats | None,
    step: Callable[[str], None],
) -> Recipe:
    """The model of least cross-validated loss: the log loss or, if costs differ, Tailored(c)."""
    loss = losses.Log() if order.fp_cost == order.fn_cost else losses.Tailored(order.threshold)
    split = split_rows(y, _FOLDS, None, order.seed)
    worth = []
    for recipe in recipes:
        judged, _ = judge(recipe, order, frame, y, weight, split, step)
        worth.append(judged.mean(loss.loss(judged.y.astype(float), np.clip(judged.p, 1e-12, 1 - 1e-12))))
    return recipes[int(np.argmin(worth))]
