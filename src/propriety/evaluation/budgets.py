"""Acting on some rows only: what it costs and how many positives it finds, for every number of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.aliases import Label
from propriety.data.costs import read_terms
from propriety.data.labels import warn_of_side
from propriety.evaluation import inputs
from propriety.evaluation.inputs import Array

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike


@dataclass(frozen=True, eq=False)
class BudgetCurve:
    """Cost and lift of acting on the k rows of largest expected saving; see `budget_curve`.

    Attributes
    ----------
    order : array of shape (n,)
        The rows, that of largest expected saving first.
    costs : array of shape (n + 1,)
        Total cost of acting on the first k of them.
    hits : array of shape (n + 1,)
        Positives among the first k.
    worth : int
        How many rows the model itself would act on, if there were no budget.

    Examples
    --------
    >>> curve = budget_curve([1, 0, 1, 0], [0.9, 0.6, 0.3, 0.05], fp_cost=1, fn_cost=4)
    >>> curve.best, curve(curve.best), curve.order
    (3, 1.0, array([0, 1, 2, 3]))
    """

    order: NDArray[np.intp]
    costs: Array
    hits: Array
    worth: int

    def __call__(self, k: ArrayLike) -> Any:
        """Total cost of acting on k rows at most, and only where that saves by the model's own account."""
        value = self.costs[np.minimum(np.asarray(k, dtype=np.intp), self.worth)]
        return float(value) if value.ndim == 0 else value

    def lift(self, k: ArrayLike) -> Any:
        """Share of positives among the first k rows, in units of their share among all."""
        k = np.asarray(k, dtype=np.intp)
        n = len(self.order)
        if np.any((k < 1) | (k > n)):
            raise ValueError(f"k must be from 1 to {n} rows, got {k}")
        value = self.hits[k] / k / (self.hits[-1] / n)
        return float(value) if value.ndim == 0 else value

    @property
    def best(self) -> int:
        """The number of rows whose acting on has cost least, on these rows."""
        return int(np.argmin(self.costs))


def budget_curve(
    y: ArrayLike,
    p: ArrayLike,
    *,
    costs: CostsLike | None = None,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    pos_label: Label | None = None,
) -> BudgetCurve:
    """Total cost against the number of rows that are acted on, best first, and the lift.

    Rows are ordered by what acting on them is expected to save, p (fn_cost + tp_benefit) − (1 − p) (fp_cost +
    tn_benefit); ``predict(X, budget=k)`` acts on the same. Arguments as in `mean_cost`, p being probabilities
    of class 1 or ``predict_proba``.

    >>> curve = budget_curve([1, 0, 1, 0], [0.9, 0.6, 0.3, 0.05], fp_cost=1, fn_cost=4)
    >>> curve.costs, curve.worth, curve.lift(1)
    (array([8., 4., 5., 1., 2.]), 3, 2.0)
    >>> curve([1, 4])
    array([4., 1.])
    """
    stated = read_terms(costs, fp_cost, fn_cost, pos_label)
    pos_label = stated.pos_label
    p = inputs.probabilities(p, column=inputs.column_of(y, pos_label))
    labels = np.unique(np.asarray(y))
    outcomes = inputs.outcomes(y, pos_label)
    inputs.same_length(y=outcomes, p=p)
    resolved = stated.replace(pos_label=None).resolve(np.arange(2))
    if len(labels) == 2:
        warn_of_side(labels, resolved, pos_label)
    saving = resolved.savings_of_acting(p)
    order = np.argsort(-saving, kind="stable")
    passed, acted = (resolved.of_rows(outcomes, np.full(len(p), decided)) for decided in (0, 1))
    changes = np.cumsum((acted - passed)[order])
    totals = passed.sum() + np.concatenate([[0.0], changes])
    hits = np.concatenate([[0.0], np.cumsum(outcomes[order])])
    return BudgetCurve(order, totals, hits, int(np.count_nonzero(resolved.decide(p))))
