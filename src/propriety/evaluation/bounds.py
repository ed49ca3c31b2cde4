"""What theory promises of a cost, beside what was observed. [B §22]

Excess cost-weighted risk is bounded by excess proper loss, row by row,

    B_c(η | q)² ≤ 2 B(η | q) / min ω between η and c,                                            [B (67)]
    ψ_c(B_c(η | q)) ≤ B(η | q),   ψ_c convex, ψ_c(|η − c|) ≤ B(η | c),                           [B §22,
    Lemma]

and both survive taking means, because a square and ψ_c are convex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety import losses
from propriety.aliases import Label
from propriety.evaluation import inputs
from propriety.evaluation.decomposition import recalibrate_rows
from propriety.evaluation.inputs import Array
from propriety.evaluation.scores import as_loss
from propriety.losses.value import number

if TYPE_CHECKING:
    from propriety.losses.registry import LossLike

_GRID = 4001


def excess_cost_bound(
    loss: LossLike, excess: float, c: float, *, low: float = 0.0, high: float = 1.0, tight: bool = True
) -> float:
    """Largest excess cost-weighted risk at c that a mean excess of a proper loss leaves possible. [B §22]

    Parameters
    ----------
    loss : smooth loss, composite or str
    excess : float
        Mean of B(η | q) over rows.
    c : float
        Cost of a false alarm, 1 − c being that of a miss.
    low, high : float
        Where the true probabilities are known to lie.
    tight : bool
        Use the convex function of the lemma, on a grid of 4001 points; else the least weight, [B (67)].

    Examples
    --------
    >>> round(excess_cost_bound("Squared", 0.01, 0.5, tight=False), 6)  # √(2 · 0.01/2)
    0.1
    >>> round(excess_cost_bound("Log", 0.01, 0.5, tight=False), 6)  # √(2 · 0.01/4)
    0.070711
    """
    loss = _smooth(loss)
    excess = number("excess", excess, 0, np.inf, "left")
    c = number("c", c, 0, 1)
    low, high = number("low", low, 0, 1, "both"), number("high", high, 0, 1, "both")
    most = max(high - c, c - low, 0.0)  # no row can lose more than |η − c|
    if tight:
        t, psi = _convex_minorant(loss, c, low, high)
        return float(min(np.interp(excess, psi, t), most)) if len(t) > 1 else 0.0
    least = _least_weight(loss, min(low, c), max(high, c))
    return float(min(np.sqrt(2 * excess / least), most)) if least > 0 else float(most)


@dataclass(frozen=True)
class CostBound:
    """Observed excesses of a model and the bound that links them; `cost_bound` makes it.

    Attributes
    ----------
    loss : str
    c : float
    excess_loss : float
        Mean of B(η | p).
    excess_cost : float
        Mean of B_c(η | p): what was lost at the cost c against knowing η.
    bound : float
        What the excess loss allows by the least weight [B (67)].
    tight : float
        What it allows by the convex function of the lemma; never above `bound`.
    """

    loss: str
    c: float
    excess_loss: float
    excess_cost: float
    bound: float
    tight: float

    def __str__(self) -> str:
        return (
            f"excess {self.loss} of {self.excess_loss:.3g} allows an excess cost of {self.tight:.3g} at "
            f"c = {self.c:g} (by the least weight {self.bound:.3g}); observed {self.excess_cost:.3g}"
        )


def cost_bound(
    y: ArrayLike,
    p: ArrayLike,
    loss: LossLike = "Log()",
    c: float = 0.5,
    *,
    eta: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> CostBound:
    """Excess cost-weighted risk of a model at c, beside what its excess of a proper loss allows. [B §22]

    Excesses are over the true probabilities `eta`, or, if they are not known, over the recalibrated ones:
    then they are what miscalibration alone loses.

    >>> print(cost_bound([0, 1, 0, 1], [0.6, 0.6, 0.3, 0.9], "Squared", 0.5, eta=[0.4, 0.6, 0.3, 0.9]))
    excess Squared() of 0.01 allows an excess cost of 0.1 at c = 0.5 (by the least weight 0.1); observed 0.025
    """
    loss, c = _smooth(loss), number("c", c, 0, 1)
    rows = inputs.read(y, p, sample_weight, pos_label)
    if eta is None:
        truth = recalibrate_rows(rows)(rows.p)
    else:
        truth = inputs.probabilities(eta, "eta")
        inputs.same_length(eta=truth, y=np.asarray(y))
        truth = truth[inputs.weights(sample_weight, len(truth)) > 0]
    excess = inputs.mean(np.asarray(loss.regret(truth, rows.p)), rows.weight)
    # (59), with a tie p = c decided for class 1.
    wrong = (truth >= c) != (rows.p >= c)
    cost = inputs.mean(np.where(wrong, np.abs(truth - c), 0.0), rows.weight)
    low, high = float(truth.min()), float(truth.max())
    bounds = [excess_cost_bound(loss, excess, c, low=low, high=high, tight=tight) for tight in (False, True)]
    return CostBound(repr(loss), c, excess, cost, bounds[0], bounds[1])


def _smooth(loss: Any) -> losses.SmoothLoss:
    loss = as_loss(loss)
    if not isinstance(loss, losses.SmoothLoss):
        raise TypeError(f"{loss!r} has no weight function, so its excess bounds nothing at other costs")
    return loss


def _least_weight(loss: losses.SmoothLoss, low: float, high: float) -> float:
    inside = np.linspace(low, high, _GRID)
    odds = 1 / (1 + np.exp(-np.linspace(-35, 35, _GRID)))
    at = np.concatenate([inside, odds[(odds > low) & (odds < high)]])
    return float(np.nanmin(loss.weight(np.clip(at, 1e-300, 1 - 1e-16))))


def _convex_minorant(loss: losses.SmoothLoss, c: float, low: float, high: float) -> tuple[Array, Array]:
    """Distances t and the largest convex function below B(c ± t | c), at the corners of its graph."""
    most = max(high - c, c - low, 0.0)
    t = np.linspace(0, most, _GRID)
    least = np.full(_GRID, np.inf)
    for side in (c + t, c - t):
        inside = (side >= low - 1e-15) & (side <= high + 1e-15)
        at = np.clip(side[inside], 0, 1)
        least[inside] = np.minimum(least[inside], loss.regret(at, np.full_like(at, c)))
    least[0] = 0.0
    known = np.flatnonzero(np.isfinite(least))
    hull: list[int] = []
    for i in known:
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (least[b] - least[a]) * (t[i] - t[a]) < (least[i] - least[a]) * (t[b] - t[a]):
                break
            hull.pop()
        hull.append(int(i))
    psi = least[hull]
    # A weight that vanishes leaves ψ flat at 0 up to some t: the last such t is the one that is possible.
    start = int(np.flatnonzero(psi <= psi[0])[-1])
    return t[hull][start:], psi[start:]
