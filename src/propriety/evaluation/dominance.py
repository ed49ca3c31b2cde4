"""Is one model at least as good as another for every cost in a range?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from propriety.aliases import Label, RandomState
from propriety.evaluation.murphy import murphy_difference
from propriety.losses.value import number


@dataclass(frozen=True)
class Dominance:
    """Is the first model at least as good as the second for every cost from low to high? What the rows say.

    Attributes
    ----------
    low, high, level : float
        The range of costs c, and the level of confidence.
    worst, worst_at : float
        Largest difference of the cost-weighted losses, first less second, and the cost where it occurs.
    best, best_at : float
        Smallest difference: what the first model gains at most, and where.
    holds : bool
        Whether the difference is nowhere above 0 in these rows.
    shown : bool
        Whether "somewhere the first model is worse" is rejected at the level: every one-sided upper limit is
        at most 0. No correction for many thresholds is needed, because all of them must pass.
    refuted : bool
        Whether the first model is worse somewhere beyond chance: a simultaneous lower limit lies above 0.
    """

    low: float
    high: float
    level: float
    worst: float
    worst_at: float
    best: float
    best_at: float
    holds: bool
    shown: bool
    refuted: bool

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        where = f"every cost between {self.low:g} and {self.high:g}"
        claim = f"the first model is at least as good as the second for {where}"
        if self.shown:
            gain = f"it gains up to {-self.best:.3g}, at c = {self.best_at:.3g}"
            return f"{claim}, beyond chance at the {self.level:.0%} level: {gain}"
        if self.holds:
            return f"{claim} in these rows, but not beyond chance at the {self.level:.0%} level"
        fact = f"it is worse by {self.worst:.3g} at c = {self.worst_at:.3g}"
        if self.refuted:
            return f"it is not so that {claim}: {fact}, beyond chance at the {self.level:.0%} level"
        return f"these rows do not decide whether {claim}: {fact}, which may be chance"


def dominance(
    y: ArrayLike,
    p: ArrayLike,
    other: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_resamples: int = 1000,
    random_state: RandomState = 0,
) -> Dominance:
    """Whether the model with probabilities p is at least as good as `other` for every cost in [low, high].

    The difference of the two Murphy curves is linear between probabilities and its standard error is convex
    there, so what holds at the ends of the pieces holds between them: nothing is missed between points of a
    grid. A model that is at least as good for every cost is so by every proper loss whose weight lies in
    the range.

    Parameters
    ----------
    y : array of labels
    p, other : arrays of shape (n,) or (n, 2)
        Probabilities of class 1 of the two models, for the same rows.
    low, high : float
        The range of costs: c = fp_cost/(fp_cost + fn_cost).
    level : float
        Confidence.
    sample_weight : array of shape (n,), optional
    pos_label : label, optional
    n_resamples, random_state
        For the simultaneous limits.

    Examples
    --------
    >>> y, p = [0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9]
    >>> answer = dominance(y, p, [0.5, 0.5, 0.5, 0.5], low=0.3, high=0.6)
    >>> answer.holds, answer.best
    (True, -0.25)
    """
    low, high = number("low", low, 0, 1, "both"), number("high", high, 0, 1, "both")
    level = number("level", level, 0, 1)
    if low >= high:
        raise ValueError(f"low must be below high, got {low} and {high}")
    difference = murphy_difference(y, p, other, sample_weight, pos_label=pos_label)
    c, d, error = difference.corners(low, high)
    d = np.where(np.abs(d) < 1e-15, 0.0, d)
    worst, best = int(np.argmax(d)), int(np.argmin(d))
    holds = bool(d[worst] <= 0)
    # Where both models decide alike, the difference is 0 without error.
    shown = holds and bool(d[best] < 0) and bool(np.all(d + stats.norm.ppf(level) * error <= 1e-15))
    refuted = False
    if not holds:
        factor = np.quantile(difference.deviations(n_resamples, random_state, low, high), level)
        refuted = bool(np.any(d - factor * error > 1e-15))
    return Dominance(
        low,
        high,
        level,
        float(d[worst]),
        float(c[worst]),
        float(d[best]),
        float(c[best]),
        holds,
        shown,
        refuted,
    )
