"""Costs that are known only roughly: how many decisions hang on them, and what not knowing them costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.data import uncertain
from propriety.evaluation import inputs
from propriety.weights import Estimate, Weights


@dataclass(frozen=True)
class CostSensitivity:
    """What hangs on costs that are known only roughly; `cost_sensitivity` makes it.

    Attributes
    ----------
    threshold : float
        Of the expected costs: the one to decide at.
    low, high : float
        The thresholds that the range of the costs allows.
    changed : Estimate
        Share of rows whose decision changes within the range, with its 95% interval.
    regret : Estimate
        Expected cost a row of deciding for the mean costs, over deciding with the true ones known.

    Examples
    --------
    >>> cost_sensitivity([0.01, 0.08, 0.12, 0.6], 1, (5, 20)).changed.value
    0.5
    """

    threshold: float
    low: float
    high: float
    changed: Estimate
    regret: Estimate

    def __str__(self) -> str:
        return (
            f"thresholds from {self.low:.3g} to {self.high:.3g}: {100 * self.changed.value:.3g}% of the "
            f"decisions hang on the costs; deciding at {self.threshold:.3g} costs {self.regret.value:.3g} a "
            "decision more than knowing them"
        )


def cost_sensitivity(
    p: ArrayLike, fp_cost: Any = 1.0, fn_cost: Any = 1.0, *, sample_weight: ArrayLike | None = None
) -> CostSensitivity:
    """How much decisions hang on costs that are known only within a range.

    Parameters
    ----------
    p : array of shape (n,) or (n, 2)
        Probabilities of the class that can be missed, or ``predict_proba``, whose second column is taken.
    fp_cost, fn_cost : float, pair (low, high) or frozen SciPy distribution
        As in `recommend`: in a pair, every order of magnitude is as likely as another.
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
    fp, fn = uncertain.read("fp_cost", fp_cost), uncertain.read("fn_cost", fn_cost)
    (alarms, a), (misses, b) = uncertain.nodes(fp), uncertain.nodes(fn)
    threshold = uncertain.threshold(float(a @ alarms), float(b @ misses))
    (fp_low, fp_high), (fn_low, fn_high) = uncertain.ends(fp), uncertain.ends(fn)
    low, high = uncertain.threshold(fp_low, fn_high), uncertain.threshold(fp_high, fn_low)
    acts = p >= threshold
    regret = np.zeros(len(p))
    for alarm, share in zip(alarms, a, strict=True):
        for miss, other in zip(misses, b, strict=True):
            act, stay = (1 - p) * alarm, p * miss
            regret += share * other * (np.where(acts, act, stay) - np.minimum(act, stay))
    return CostSensitivity(
        threshold, low, high, weights.estimate((p >= low) & (p < high)), weights.estimate(regret)
    )
