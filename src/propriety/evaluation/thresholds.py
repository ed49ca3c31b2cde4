"""Thresholds: cost at every one of them, the cheapest beside the theoretical, and net benefit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import Label
from propriety.data.costs import read_terms
from propriety.data.labels import warn_of_side
from propriety.evaluation import inputs
from propriety.evaluation.condensing import refuse_collections
from propriety.evaluation.inputs import Array
from propriety.evaluation.murphy import MurphyCurve, murphy_curve
from propriety.losses.point import as_float, check_probability
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike


@dataclass(frozen=True)
class Threshold:
    """A threshold found in data, beside the theoretical one; `best_threshold` returns it.

    Attributes
    ----------
    value : float, or array of shape (n,)
        The threshold of least cost in the data; where costs differ by row and no one threshold is as cheap as
        each row's own, those: ``p >= value`` is what to decide either way.
    cost : float
        What it cost; never more than `theory_cost`.
    theory, theory_cost : float
        The threshold that the costs say, of costs that differ by row that of their means; and what deciding
        by the costs, each row by its own, cost on the same data.
    """

    value: Any
    cost: float
    theory: float
    theory_cost: float

    def __str__(self) -> str:
        if np.ndim(self.value):
            return (
                f"each row's own threshold costs {self.cost:.4g} a decision, less than any one for all rows"
            )
        return (
            f"threshold {self.value:.4g} costs {self.cost:.4g} a decision; "
            f"the theoretical {self.theory:.4g} costs {self.theory_cost:.4g}"
        )


def best_threshold(
    y: ArrayLike,
    p: ArrayLike,
    *,
    costs: CostsLike | None = None,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Threshold:
    """The threshold whose decisions cost least on the rows given.

    Of equally cheap thresholds it is the one nearest to the theoretical one, so probabilities that are right
    are left alone. Thresholds are sought on rows not trained on: on the training rows they fit the noise.
    With costs that differ by row, one threshold is sought for all, and held against the thresholds that the
    theory has for each row: if those were cheaper, they are what is returned.

    >>> print(best_threshold([0, 0, 1, 1], [0.1, 0.2, 0.15, 0.9], fp_cost=1, fn_cost=1))
    threshold 0.5 costs 0.25 a decision; the theoretical 0.5 costs 0.25
    """
    curve = cost_curve(
        y,
        p,
        costs=costs,
        fp_cost=fp_cost,
        fn_cost=fn_cost,
        sample_weight=sample_weight,
        pos_label=pos_label,
    )
    best = curve.best
    if curve.own is not None and curve.theory_cost <= best.cost:
        return replace(best, value=curve.own, cost=curve.theory_cost)
    return best


@dataclass(frozen=True)
class CostCurve:
    """Mean cost as a function of the decision threshold, exactly: a step function. See `cost_curve`.

    Attributes
    ----------
    knots : array of shape (K,)
        The distinct probabilities; the cost changes just after each.
    costs : array of shape (K + 1,)
        Cost of thresholds in (knots[k−1], knots[k]].
    theory : float
        The theoretical threshold; of costs that differ by row, that of their means.
    theory_cost : float
        Cost of deciding every row by its own theoretical threshold.
    own : array of shape (n,), or None
        The theoretical threshold of each row, where costs differ by row.
    """

    knots: Array
    costs: Array
    theory: float
    theory_cost: float
    own: Array | None = None

    def __call__(self, t: ArrayLike) -> Any:
        """Mean cost of deciding class 1 iff p ≥ t."""
        t = as_float("t", t)
        value = self.costs[np.searchsorted(self.knots, t, side="left")]
        return float(value) if value.ndim == 0 else value

    @property
    def best(self) -> Threshold:
        """The cheapest one threshold for all rows, in [0, 1], beside the theoretical one."""
        low = np.concatenate([[0.0], self.knots])
        high = np.concatenate([self.knots, [1.0]])
        # A threshold above the largest probability exists unless that is 1.
        costs = self.costs if self.knots[-1] < 1 else self.costs[:-1]
        cheapest = np.flatnonzero(costs <= costs.min() + 1e-12 * abs(costs.min()))
        # A piece is open on its left: step inside it, to the middle, if the theory lies to its left.
        inside = np.where(self.theory > low[cheapest], self.theory, (low[cheapest] + high[cheapest]) / 2)
        nearest = np.minimum(inside, high[cheapest])
        value = float(nearest[np.argmin(np.abs(nearest - self.theory))])
        return Threshold(value, float(self(value)), self.theory, self.theory_cost)


def cost_curve(
    y: ArrayLike,
    p: ArrayLike,
    *,
    costs: Any = None,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    prevalence: float | None = None,
) -> CostCurve:
    """Mean cost for every decision threshold: exact, with the theoretical and the cheapest threshold.

    Costs are given as in `mean_cost`, a cost matrix being one of two classes in sorted order. With
    ``prevalence``, the share of class 1 in a population, rows that were drawn by class stand for it.

    >>> curve = cost_curve([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], fp_cost=1, fn_cost=3)
    >>> curve([0.2, 0.35, 0.5]), curve.best.value
    (array([0.25, 1.  , 0.75]), 0.25)
    """
    stated = read_terms(costs, fp_cost, fn_cost, pos_label)
    pos_label = stated.pos_label
    positive = inputs.column_of(y, pos_label)
    p = inputs.probabilities(p, column=positive)
    resolved = stated.replace(pos_label=None).resolve(np.arange(2))
    if resolved.abstains:
        raise ValueError("cost_matrix has a column for abstaining, and a threshold cannot abstain")
    if positive == 0 and stated.matrix is not None:  # its classes are in sorted order
        resolved = replace(resolved, matrix=resolved.matrix[..., ::-1, ::-1])
    labels = np.unique(np.asarray(y))
    y = inputs.outcomes(y, pos_label)
    inputs.same_length(y=y, p=p)
    resolved.check_rows(len(y))
    if len(labels) == 2:
        warn_of_side(labels, resolved, pos_label)
    weight = inputs.weights(inputs.population_weights(sample_weight, y, prevalence), len(y))
    knots, group = np.unique(p, return_inverse=True)
    missed, alarmed = (
        np.bincount(group, weight * resolved.of_rows(y, np.full(len(y), decided)), minlength=len(knots))
        for decided in (0, 1)
    )
    # A threshold misses the positives below it, and raises an alarm for the negatives from it on.
    totals = np.concatenate([[0.0], np.cumsum(missed)]) + np.concatenate(
        [np.cumsum(alarmed[::-1])[::-1], [0.0]]
    )
    theory_cost = inputs.mean(resolved.of_rows(y, resolved.decide(p)), weight)
    own = np.asarray(resolved.threshold) if resolved.by_row else None
    return CostCurve(knots, totals / weight.sum(), float(resolved.mean(weight).threshold), theory_cost, own)


@dataclass(frozen=True, eq=False)
class DecisionCurve:
    """Net benefit at every threshold: true alarms less what false alarms cost, in true alarms a row.

    At the threshold c a false alarm is worth c/(1 − c) true ones, so the net benefit is TP − FP c/(1 − c), in
    shares of all rows. It is the Murphy curve in other units: (share of class 1) − M(c)/(1 − c).

    Attributes
    ----------
    murphy : MurphyCurve
    rate : float
        Share of class 1.
    """

    murphy: MurphyCurve
    rate: float

    def __call__(self, c: ArrayLike) -> Any:
        """Net benefit of the model at thresholds c in [0, 1)."""
        c = _below_one(c)
        value = self.rate - self.murphy(c) / (1 - c)
        return float(value) if value.ndim == 0 else value

    def points(self, low: float = 0.0, high: float = 0.99) -> tuple[Array, Array]:
        """Thresholds and net benefits to draw: both ends of every piece, and points between."""
        _below_one(high)
        c, value, _ = self.murphy.corners(low, high)
        between = np.setdiff1d(np.linspace(low, high, 401), self.murphy.knots)
        c, value = np.concatenate([c, between]), np.concatenate([value, np.asarray(self.murphy(between))])
        order = np.argsort(c, kind="stable")
        return c[order], self.rate - value[order] / (1 - c[order])

    def all(self, c: ArrayLike) -> Any:
        """Net benefit of deciding class 1 for everyone; for no one it is 0."""
        c = _below_one(c)
        value = self.rate - (1 - self.rate) * c / (1 - c)
        return float(value) if value.ndim == 0 else value

    def standard_error(self, c: ArrayLike) -> Any:
        """Standard error of the net benefit over samples of rows."""
        c = _below_one(c)
        rows = self.murphy
        # As in the Murphy curve rows are sampled and weights given, whole numbers or not.
        weights = Weights(len(rows.y), rows.weight, copies=False)
        errors = [
            weights.standard_error(np.where(rows.p >= t, rows.y - (1 - rows.y) * t / (1 - t), 0.0))
            for t in c.flat
        ]
        error = np.reshape(errors, c.shape)
        return float(error) if error.ndim == 0 else error


def decision_curve(
    y: ArrayLike,
    p: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    pos_label: Label | None = None,
    prevalence: float | None = None,
) -> DecisionCurve:
    """Net benefit of a model at every threshold: the decision curve of clinical prediction.

    With ``prevalence``, the share of class 1 in a population, rows that were drawn by class, as in a
    case-control study, stand for that population; probabilities must be those for it, as of an adapted model.

    >>> curve = decision_curve([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9])
    >>> curve(0.2), curve.all(0.2)
    (0.4375, 0.375)
    >>> round(decision_curve([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], prevalence=0.02).rate, 9)
    0.02
    """
    refuse_collections(y=y, p=p)
    weight = inputs.population_weights(sample_weight, inputs.outcomes(y, pos_label), prevalence)
    murphy = murphy_curve(y, p, weight, pos_label=pos_label)
    return DecisionCurve(murphy, inputs.mean(murphy.y, murphy.weight))


def _below_one(c: ArrayLike) -> Array:
    c = check_probability("c", c)
    if np.any(c == 1):
        raise ValueError("c must be below 1: at the threshold 1 a false alarm is infinitely bad")
    return c
