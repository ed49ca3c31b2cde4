"""How much of what categories show is real, and how much is chance.

With G and H the sums of gradient and curvature over the rows of a category, Σ G²/H is what the categories of
a node would gain if each had a value of its own, and the spread Q = Σ G²/H − (Σ G)²/Σ H what they would gain
beyond the node's one value. If they tell nothing, Q is still φ(k − 1) on average for k categories, where
φ = Σ g²/Σ h over the rows; a set of them, chosen in the order of G/H, takes two thirds of that. So a column
of many categories would always be split, and its rows memorized.

The share of Q that is real is estimated as James and Stein do, s = 1 − φ e/Q with e = k − 2 the freedom
beyond that of a cut between two values: two categories are as free as numbers are. A column of no effect has
s > 0 half of the time, so one standard deviation of chance, φ√(2e), is taken off too. A small step along what
the categories show gains s times what it seems to gain; a whole step gains 2s − 1 times that, because it goes
too far by 1 − s.

Reference: W. James and C. Stein, Estimation with quadratic loss, Proc. 4th Berkeley Symposium I (1961).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from propriety.trees.jit import shared

#: Standard deviations of chance that the spread at the start must exceed to be taken for an effect.
_MARGIN = 2.0
Floats = NDArray[np.float64]


@shared
def real_share(spread: float, excess: float, dispersion: float) -> float:
    """The share of the spread Q that is real, if `excess` freedoms and the `dispersion` φ make the rest.

    >>> real_share(10.0, 0.0, 1.0), real_share(40.0, 8.0, 1.0), real_share(9.0, 8.0, 1.0)
    (1.0, 0.7, 0.0)
    """
    excess = max(excess, 0.0)
    chance = dispersion * (excess + math.sqrt(2.0 * excess))
    if chance <= 0.0:
        return 1.0
    return 1.0 - chance / spread if spread > chance else 0.0


@shared
def whole_step(share: float) -> float:
    """What a whole step gains of what it seems to gain, if `share` of that is real; 0 if it would lose.

    >>> whole_step(0.75), whole_step(0.4)
    (0.5, 0.0)
    """
    return max(2.0 * share - 1.0, 0.0)


def spread(G: Floats, H: Floats) -> float:
    """Q = Σ G²/H − (Σ G)²/Σ H over categories.

    >>> spread(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    4.0
    """
    held = H > 0
    if not held.any():
        return 0.0
    return float(np.sum(G[held] ** 2 / H[held]) - G[held].sum() ** 2 / H[held].sum())


def noise_share(mass: Floats, ones: Floats, factor: float = 1.0) -> float:
    """The part ν = (k − 1)/Q of the spread of the categories' shares of class 1 that is noise, at most 1.

    Of an effect that is drawn toward 0 by the best factor, 1 − ν, the spread ν²Q = ν(k − 1) is left. So
    whoever learns the effect in small steps is done when so much is left, and not when k − 1 is, what noise
    alone would be. Two standard deviations of chance are taken for noise too. `factor` is by how much more a
    weighted row varies than copies do.

    >>> noise_share(np.array([10.0, 10.0, 10.0]), np.array([9.0, 5.0, 1.0]))
    0.46875
    >>> noise_share(np.array([10.0, 10.0]), np.array([5.0, 5.0]))
    1.0
    """
    held = mass > 0
    mass, ones = mass[held], ones[held]
    if len(mass) < 2:
        return 1.0
    p = ones.sum() / mass.sum()
    freedom = len(mass) - 1
    expected = factor * p * (1.0 - p) * (freedom + _MARGIN * math.sqrt(2.0 * freedom))
    found = float(np.sum((ones - p * mass) ** 2 / mass))
    return min(1.0, float(expected) / found) if found > 0.0 else 1.0
