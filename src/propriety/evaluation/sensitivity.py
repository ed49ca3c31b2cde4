"""Costs that are known only roughly: how many decisions hang on them, and what not knowing them costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import CostTerm
from propriety.costs import ResolvedCosts
from propriety.data import uncertain
from propriety.data.costs import Costs, read_terms
from propriety.evaluation import inputs
from propriety.weights import Estimate, Weights

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike


@dataclass(frozen=True)
class CostSensitivity:
    """What hangs on costs that are known only roughly; `cost_sensitivity` makes it.

    Attributes
    ----------
    threshold : float, or array of shape (n,)
        Of the expected costs: the one to decide at; one for each row if costs differ by row.
    low, high : float, or array of shape (n,)
        The thresholds that the range of the costs allows.
    changed : Estimate
        Share of rows whose decision changes within the range, with its 95% CI.
    regret : Estimate
        Expected cost a row of deciding for the mean costs, over deciding with the true ones known.

    Examples
    --------
    >>> cost_sensitivity([0.01, 0.08, 0.12, 0.6], 1, (5, 20)).changed.value
    0.5
    """

    threshold: Any
    low: Any
    high: Any
    changed: Estimate
    regret: Estimate

    def __str__(self) -> str:
        low, threshold, high = (np.median(c) for c in (self.low, self.threshold, self.high))
        return (
            f"thresholds from {low:.3g} to {high:.3g}: {100 * self.changed.value:.3g}% of the "
            f"decisions hang on the costs; deciding at {threshold:.3g} costs {self.regret.value:.3g} a "
            "decision more than knowing them"
        )


def cost_sensitivity(
    p: ArrayLike,
    fp_cost: CostTerm = 1.0,
    fn_cost: CostTerm = 1.0,
    *,
    costs: CostsLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CostSensitivity:
    """How much decisions hang on costs that are known only within a range.

    Parameters
    ----------
    p : array of shape (n,) or (n, 2)
        Probabilities of the class that can be missed, or ``predict_proba``, whose second column is taken.
    fp_cost, fn_cost : float, array of shape (n,), pair (low, high) or frozen SciPy distribution
        As in `recommend`: in a pair, every order of magnitude is as likely as another.
    costs : Costs, optional
        The same with what right decisions bring; not together with `fp_cost` and `fn_cost`.
    sample_weight : array of shape (n,), optional

    Returns
    -------
    CostSensitivity
        Expectations are those of the probabilities themselves, so no labels are needed; they are as good as
        the probabilities are calibrated.

    Examples
    --------
    >>> print(cost_sensitivity([0.01, 0.08, 0.12, 0.6], 1, (5, 20)))
    thresholds from 0.0476 to 0.167: 50% of the decisions hang on the costs; deciding at 0.0846 costs ...
    """
    p = inputs.probabilities(p)
    weights = Weights.read(sample_weight, len(p))
    stated = Costs(fp_cost, fn_cost) if costs is None else read_terms(costs, fp_cost, fn_cost)
    # What counts is the excess of a wrong decision over the right one.
    alarm = _Excess.read("fp_cost", stated.fp, stated.tn_benefit)
    miss = _Excess.read("fn_cost", stated.fn, stated.tp_benefit)
    threshold = _threshold(alarm.mean, miss.mean)
    low, high = _threshold(alarm.ends[0], miss.ends[1]), _threshold(alarm.ends[1], miss.ends[0])
    acts = p >= threshold
    regret = np.zeros(len(p))
    for of_alarm, share in zip(alarm.nodes, alarm.shares, strict=True):
        for of_miss, other in zip(miss.nodes, miss.shares, strict=True):
            act, stay = (1 - p) * of_alarm, p * of_miss
            regret += share * other * (np.where(acts, act, stay) - np.minimum(act, stay))
    return CostSensitivity(
        threshold, low, high, weights.estimate((p >= low) & (p < high)), weights.estimate(regret)
    )


class _Excess(NamedTuple):
    """A cost and the benefit that it forgoes: values with their shares, the mean and the ends."""

    nodes: list[Any]
    shares: list[float]
    mean: Any
    ends: tuple[Any, Any]

    @classmethod
    def read(cls, name: str, cost: Any, benefit: ArrayLike) -> _Excess:
        benefit = np.asarray(benefit, dtype=np.float64)
        if not uncertain.is_uncertain(cost) and (np.ndim(cost) or benefit.any()):
            known = np.asarray(cost, dtype=np.float64) + benefit
            return cls([known], [1.0], known, (known, known))
        read = uncertain.read(name, cost)
        values, shares = uncertain.nodes(read)
        low, high = uncertain.ends(read)
        nodes = [value + benefit for value in values]
        return cls(nodes, shares.tolist(), float(shares @ values) + benefit, (low + benefit, high + benefit))


def _threshold(alarm: Any, miss: Any) -> Any:
    """fp/(fp + fn) of excess costs, numbers or one for each row; the end of a range may be 0."""
    if np.ndim(alarm) == 0 and np.ndim(miss) == 0:
        return uncertain.threshold(float(alarm), float(miss))
    alarm, miss = np.broadcast_arrays(alarm, miss)
    matrix = np.zeros((len(alarm), 2, 2))
    matrix[:, 0, 1], matrix[:, 1, 0] = alarm, miss
    return ResolvedCosts.of_matrix(matrix).threshold
