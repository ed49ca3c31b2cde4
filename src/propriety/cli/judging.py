"""Judging models on rows that they have not seen: by their costs, and by their probabilities."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split

from propriety import losses
from propriety.cli.loading import TrainingTable
from propriety.cli.output import UsageError
from propriety.cli.recipes import Fitted, Order, Recipe, fit
from propriety.weights import Weights

Floats = NDArray[np.float64]
#: Called after each fit, with what was done.
Step = Callable[[str], None]
_MANY = 5000  # rows from which one held-out part is enough
FOLDS, _SHARE = 5, 0.25


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

    def within(self, rows: NDArray[np.intp]) -> Split:
        """The same split, of rows of a table that has others too."""
        return Split([(rows[train], rows[test]) for train, test in self.pairs], self.text)


def split_rows(
    y: NDArray[np.bool_], folds: int | None, holdout: float | None, seed: int, *, one: bool = False
) -> Split:
    """Split the rows: by folds, by a held-out share, or whichever suits their number."""
    if folds is not None and holdout is not None:
        raise UsageError("give --folds or --holdout, not both")
    if folds is None and holdout is None:
        folds, holdout = (None, _SHARE) if one or len(y) >= _MANY else (FOLDS, None)
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
    try:
        train, test = train_test_split(np.arange(len(y)), test_size=holdout, stratify=y, random_state=seed)
    except ValueError:
        raise UsageError(
            f"--holdout {holdout:g} of {len(y)} rows leaves no row of each class in both parts"
        ) from None
    return Split(
        [(np.sort(train), np.sort(test))], f"{holdout:.0%} of the rows, which the model has not seen"
    )


@dataclass(frozen=True)
class Judgement:
    """Probabilities of rows that the model had not seen, and what they are worth."""

    name: str
    y: NDArray[np.bool_]
    p: Floats
    weights: Weights
    order: Order
    seconds: float = 0.0

    @property
    def decided(self) -> NDArray[np.intp]:
        """The class that is decided for each row."""
        return self.order.costs.decide(self.p)

    @property
    def row_costs(self) -> Floats:
        """What the decision on each row cost."""
        return self.order.costs.of_rows(self.y, self.decided)

    def numbers(self) -> dict[str, Any]:
        """Cost of 1,000 decisions with a 95% interval, mistakes in 1,000, quality of probabilities."""
        cost, mean, decided = (
            self.weights.estimate(self.row_costs, scale=1000),
            self.weights.mean,
            self.decided,
        )
        p = np.clip(self.p, 1e-15, 1 - 1e-15)
        return {
            "model": self.name,
            "cost_per_1000": cost.value,
            "cost_low": max(0.0, cost.low),
            "cost_high": cost.high,
            "false_alarms_per_1000": 1000 * mean(decided > self.y),
            "misses_per_1000": 1000 * mean(decided < self.y),
            "log_loss": mean(losses.Log().loss(self.y.astype(float), p)),
            "area_under_roc": float(roc_auc_score(self.y, self.p, sample_weight=self.weights.values)),
            "seconds": self.seconds,
        }


def baselines(label: str, like: Judgement) -> tuple[Judgement, Judgement]:
    """Deciding the positive class never, and always, on the same rows."""
    never, always = (
        Judgement(f"{word} {label!r}", like.y, np.full(len(like.y), p), like.weights, like.order)
        for word, p in (("never", 0.0), ("always", 1.0))
    )
    return never, always


def judge(
    recipes: list[Recipe], order: Order, table: TrainingTable, split: Split, step: Step
) -> tuple[Judgement, Fitted]:
    """Train on each training part and predict its judging part; also returns the last fitted model.

    What judges has no part in the choice: of several recipes each training part chooses its own.
    """
    parts, began = [], time.perf_counter()
    for number, (train_rows, test_rows) in enumerate(split.pairs, 1):
        fitted = train(recipes, order, table, train_rows, step)
        parts.append(fitted.probabilities(table.take(test_rows)[0]))
        step(f"{fitted.recipe.title}, part {number} of {len(split.pairs)}")
    rows, seconds = split.rows, time.perf_counter() - began
    title = recipes[0].title if len(recipes) == 1 else "the best of several"
    weights = table.weights.take(rows)
    return Judgement(title, table.y[rows], np.concatenate(parts), weights, order, seconds), fitted


def train(
    recipes: list[Recipe], order: Order, table: TrainingTable, rows: NDArray[np.intp], step: Step
) -> Fitted:
    """Fit a model to some rows; of several recipes the one that is best within them."""
    recipe = recipes[0] if len(recipes) == 1 else choose(recipes, order, table, rows, step)
    return fit(recipe, order, *table.take(rows))


def choose(
    recipes: list[Recipe], order: Order, table: TrainingTable, rows: NDArray[np.intp], step: Step
) -> Recipe:
    """The recipe of least cross-validated loss on some rows: log loss or, if costs differ, Tailored(c)."""
    c = order.costs.threshold
    loss = losses.Log() if c == 0.5 else losses.Tailored(c)
    split = split_rows(table.y[rows], FOLDS, None, order.seed).within(rows)
    means = []
    for recipe in recipes:
        judged, _ = judge([recipe], order, table, split, step)
        p = np.clip(judged.p, 1e-12, 1 - 1e-12)
        means.append(judged.weights.mean(loss.loss(judged.y.astype(float), p)))
    return recipes[int(np.argmin(means))]
