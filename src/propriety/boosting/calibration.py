"""Calibration by held-out scores: a link bent a little, so that it reads the right probabilities.

What is stated by out-of-fold log-odds t is stated again by low · log p − high · log q + shift, fitted by log
loss with a normal prior about no change (1, 1, 0). Few rows hardly bend the link, many do as they say. Sums
depend on no order of the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.engine.fixed_point import RowWeights, row_weights, weighted_sum
from propriety.losses import Composite
from propriety.losses.links import Recalibrated
from propriety.losses.point import at_log_odds
from propriety.weights import Weights

#: Columns of the design of a kind, made of log p, −log q and 1, one row for each of its coefficients.
KINDS = {"platt": np.array([[1.0, 1, 0], [0, 0, 1]]), "beta": np.eye(3)}
_SPREAD = 0.5  # of the prior, a standard deviation
_LEAST = 0.1  # slope: the order of the scores must stay
_FAR = 35.0  # log-odds beyond which a probability is 0 or 1
_STEPS = 50
Floats = NDArray[np.float64]


def recalibrated(loss: Composite, y: Floats, scores: Floats, weights: Weights, kind: str) -> Composite:
    """The loss with a link that is bent to scores of rows that had no part in them.

    >>> from propriety import losses
    >>> y, scores = np.tile([0.0, 0, 0, 1], 50), np.tile([-3.0, -3, 3, 3], 50)
    >>> round(recalibrated(losses.Log().composite(), y, scores, Weights(200), "platt").inverse(3.0), 3)
    0.536
    """
    with np.errstate(all="ignore"):
        x = at_log_odds(np.clip(loss.link._log_odds(scores).t, -_FAR, _FAR))
    parts = np.array([x.lp, -x.lq, np.ones_like(x.t)])
    coefficients = _fit(KINDS[kind] @ parts, y, row_weights(weights))
    low, high, shift = coefficients @ KINDS[kind]
    return Composite(loss.loss, Recalibrated(loss.link, float(low), float(high), float(shift)))


def _fit(design: Floats, y: Floats, weights: RowWeights) -> Floats:
    """Coefficients of least log loss plus the prior's share, by Newton's steps; slopes stay positive."""
    unchanged = np.ones(len(design))
    unchanged[-1] = 0.0
    least = np.where(unchanged > 0, _LEAST, -np.inf)

    def total(values: Floats) -> float:
        return weighted_sum(values, weights, 1)

    def value(theta: Floats) -> float:
        x = at_log_odds(theta @ design)
        own = -np.where(y > 0, x.lp, x.lq)
        return total(own) + 0.5 * float(np.sum((theta - unchanged) ** 2)) / _SPREAD**2

    theta, now = unchanged, value(unchanged)
    for _ in range(_STEPS):
        x = at_log_odds(theta @ design)
        gradient = np.array([total((x.p - y) * z) for z in design]) + (theta - unchanged) / _SPREAD**2
        curvature = np.array([[total(x.p * x.q * a * b) for a in design] for b in design])
        step = np.linalg.solve(curvature + np.eye(len(theta)) / _SPREAD**2, gradient)
        while np.max(np.abs(step)) > 1e-10:
            following = np.maximum(theta - step, least)
            if (then := value(following)) <= now:
                break
            step = step / 2
        else:
            break
        theta, now = following, then
    return theta
