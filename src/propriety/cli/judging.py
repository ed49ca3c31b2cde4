"""Judging models on rows that they have not seen: by their costs, and by their probabilities."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from propriety import losses
from propriety.cli.recipes import Arguments, Fitted, Order, Recipe, fit
from propriety.cli.splitting import FOLDS, Split, split_rows
from propriety.cli.training import TrainingTable
from propriety.costs import ResolvedCosts
from propriety.evaluation.savings import savings_estimate
from propriety.tables.costs import ABSTAIN
from propriety.weights import Estimate, Weights

Floats = NDArray[np.float64]
#: Called after each fit, with what was done.
Step = Callable[[str], None]
#: Shown each fitted model with the rows that judge it.
Look = Callable[[Fitted, TrainingTable], None]
_CONSTANTS = 3  # decisions for everyone that are shown of several classes


@dataclass(frozen=True)
class Judgement:
    """Decisions about rows that the model had not seen, and what they are worth.

    Attributes
    ----------
    y : array of shape (n,)
        The class of each row.
    p : array of shape (n,) or (n, K), or None
        Probabilities of the positive one of two classes, or of every class; None if there is no model.
    costs : ResolvedCosts
        Of these rows.
    budget : float or None
        How many rows may be acted on, or which share of them.
    groups : array of shape (n,), or None
        Rows of a group are one observation.
    constant : int or None
        What is decided for every row, where there is no model.
    """

    name: str
    y: NDArray[Any]
    p: Any
    weights: Weights
    costs: ResolvedCosts
    budget: float | None = None
    groups: NDArray[np.intp] | None = None
    seconds: float = 0.0
    constant: int | None = None

    @property
    def decided(self) -> NDArray[np.intp]:
        """What is decided for each row."""
        if self.constant is not None:
            return np.full(len(self.y), self.constant)
        return (
            self.costs.decide(self.p)
            if self.budget is None
            else self.costs.decide_within(self.p, self.budget)
        )

    @property
    def row_costs(self) -> Floats:
        """What the decision on each row cost."""
        return self.costs.of_rows(self.y, self.decided)

    def estimate(self, values: Any, scale: float = 1.0) -> Estimate:
        """A mean over the rows, with its 95% interval."""
        return self.weights.estimate(values, scale=scale, groups=self.groups)

    @property
    def savings(self) -> Estimate | None:
        """Share saved of what the cheapest decision for everyone costs; None if that costs nothing."""
        best = self.of_constants()[0][1]
        if self.weights.mean(best) <= 0:
            return None
        return savings_estimate(self.row_costs, best, self.weights, self.groups)

    def of_constants(self) -> list[tuple[int, Floats]]:
        """What one decision for everyone costs each row, the cheapest first."""
        # Acting on everyone is beyond any budget.
        n_decisions = self.costs.matrix.shape[-1] if self.budget is None else 1
        rows = [self.costs.of_rows(self.y, np.full(len(self.y), k)) for k in range(n_decisions)]
        order = np.argsort([self.weights.mean(row) for row in rows], kind="stable")
        return [(int(k), rows[k]) for k in order]

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """Cost of 1,000 decisions with a 95% interval, mistakes in 1,000, quality of probabilities."""
        cost, mean, decided = self.estimate(self.row_costs, scale=1000), self.weights.mean, self.decided
        least = 0.0 if self.costs.matrix.min() >= 0 else -np.inf
        result = {
            "model": self.name,
            "cost_per_1000": cost.value,
            "cost_low": max(least, cost.low),
            "cost_high": cost.high,
            "total_cost": cost.value / 1000 * self.weights.total,
        }
        if self.costs.n_classes == 2 and not self.costs.abstains:
            result |= {
                "false_alarms_per_1000": 1000 * mean(decided > self.y),
                "misses_per_1000": 1000 * mean(decided < self.y),
            }
        else:
            abstained = decided == self.costs.n_classes
            result["mistakes_per_1000"] = 1000 * mean((decided != self.y) & ~abstained)
            result |= {"abstained_per_1000": 1000 * mean(abstained)} if self.costs.abstains else {}
        if self.budget is not None:
            result["acted_on_per_1000"] = 1000 * mean(decided == self.costs.positive)
        saved = self.savings if self.constant is None else None
        if saved is not None:
            result |= {"savings": saved.value, "savings_low": saved.low, "savings_high": saved.high}
        return result | self._quality() | {"seconds": self.seconds}

    def _quality(self) -> dict[str, Any]:
        if self.p is None:
            return {"log_loss": None, "area_under_roc": None}
        area = None
        if np.ndim(self.p) == 1 and len(np.unique(self.y)) == 2:
            area = float(roc_auc_score(self.y, self.p, sample_weight=self.weights.values))
        return {"log_loss": float(self.weights.mean(log_losses(self.y, self.p))), "area_under_roc": area}


def log_losses(y: NDArray[Any], p: Floats, nearest: float = 1e-15) -> Floats:
    """Log loss of each row, probabilities being kept away from 0."""
    if p.ndim == 1:
        return np.asarray(losses.Log().loss(y.astype(float), np.clip(p, nearest, 1 - nearest)))
    return -np.log(np.clip(p[np.arange(len(y)), y], nearest, 1))


def baselines(classes: Sequence[str], like: Judgement) -> tuple[Judgement, ...]:
    """One decision for everyone, on the same rows: the positive class never and always, or the cheapest."""

    def constant(name: str, decision: int) -> Judgement:
        return Judgement(name, like.y, None, like.weights, like.costs, groups=like.groups, constant=decision)

    if len(classes) == 2 and not like.costs.abstains:
        never, always = constant(f"never {classes[1]!r}", 0), constant(f"always {classes[1]!r}", 1)
        return (never, always) if like.budget is None else (never,)
    labels = [*classes, ABSTAIN]
    return tuple(constant(f"always {labels[k]!r}", k) for k, _ in like.of_constants()[:_CONSTANTS])


def left_out(classes: Sequence[str], like: Judgement) -> str:
    """A sentence on decisions for everyone that `baselines` leaves out, or nothing."""
    n_decisions, shown = like.costs.matrix.shape[-1], len(baselines(classes, like))
    if n_decisions in (2, shown):
        return ""
    return f"Of {n_decisions} decisions that could be taken for everyone, the {shown} cheapest are shown."


def judge(
    recipe: Recipe, order: Order, table: TrainingTable, split: Split, step: Step, look: Look | None = None
) -> tuple[Judgement, Fitted]:
    """Train on each training part and predict its judging part; also returns the last fitted model."""
    parts, began = [], time.perf_counter()
    for number, (train_rows, test_rows) in enumerate(split.pairs, 1):
        fitted = train(recipe, order, table, train_rows)
        held_out = table.take(test_rows)
        parts.append(fitted.probabilities(held_out.frame, held_out.offset))
        if look is not None:
            look(fitted, held_out)
        step(f"{fitted.recipe.title}, part {number} of {len(split.pairs)}")
    rows, seconds = split.rows, time.perf_counter() - began
    groups = None if table.groups is None else table.groups.values[rows]
    judged = Judgement(
        recipe.title,
        table.y[rows],
        np.concatenate(parts),
        table.weights.take(rows),
        table.costs.take(rows),
        order.budget,
        groups,
        seconds,
    )
    return judged, fitted


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
