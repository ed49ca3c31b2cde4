"""Calibration by held-out scores: a link bent a little, so that it reads the right probabilities.

What is stated by out-of-fold probabilities is stated again by other ones, fitted by log loss with a prior
about no change: few rows hardly bend the link, many do as they say. Sums depend on no order of the rows.

- "platt": log-odds a·t + b; for K classes the softmax of a·log p_k + b_k.
- "beta": log-odds low · log p − high · log q + shift; for K classes the softmax of a_k·log p_k + b_k, which
  is that for K = 2.
- "isotonic": any increasing function of Platt's log-odds, for two classes; the prior is about Platt's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.optimize import isotonic_regression, minimize

from propriety.losses import Composite, simplex
from propriety.losses.links import Interpolated, Recalibrated
from propriety.losses.point import at_log_odds
from propriety.solve import damped_newton
from propriety.trees.fixed_point import RowWeights, row_weights, weighted_sum
from propriety.weights import Weights

#: Columns of the design of a kind, made of log p, −log q and 1, one row for each of its coefficients.
_DESIGNS = {"platt": np.array([[1.0, 1, 0], [0, 0, 1]]), "beta": np.eye(3)}
_SPREAD = 0.5  # of the prior, a standard deviation
_LEAST = 0.1  # slope: the order of the scores must stay
_FAR = 35.0  # log-odds beyond which a probability is 0 or 1
_STEPS = 50
#: Of isotonic calibration: groups of rows at most, and rows of a group that speak for no change.
_GROUPS, _UNCHANGED = 100, 50.0
Floats = NDArray[np.float64]


def recalibrated(loss: Any, codes: NDArray[np.intp], scores: Floats, weights: Weights, kind: str) -> Any:
    """The loss with a link that is bent to scores of rows that had no part in them.

    `scores` are of shape (n, 1) for two classes, else (n, K).

    >>> from propriety import losses
    >>> y, scores = np.tile([0, 0, 0, 1], 50), np.tile([-3.0, -3, 3, 3], 50)[:, None]
    >>> bent = recalibrated(losses.Log().composite(), y, scores, Weights(200), "platt")
    >>> round(bent.inverse(3.0), 3)
    0.536
    """
    if scores.shape[1] > 1:
        return _of_classes(loss, codes, scores, row_weights(weights), kind)
    y = (codes == 1).astype(np.float64)
    if kind == "isotonic":
        loss = recalibrated(loss, codes, scores, weights, "platt")
    with np.errstate(all="ignore"):
        t = np.clip(loss.link._log_odds(scores[:, 0]).t, -_FAR, _FAR)
    if kind == "isotonic":
        return Composite(loss.loss, Interpolated(loss.link, *_isotonic(t, y, weights.array)))
    x, design = at_log_odds(t), _DESIGNS[kind]
    parts = np.array([x.lp, -x.lq, np.ones_like(x.t)])
    low, high, shift = _fit(design @ parts, y, row_weights(weights)) @ design
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

    def step_of(theta: Floats) -> Floats:
        x = at_log_odds(theta @ design)
        gradient = np.array([total((x.p - y) * z) for z in design]) + (theta - unchanged) / _SPREAD**2
        curvature = np.array([[total(x.p * x.q * a * b) for a in design] for b in design])
        return np.asarray(np.linalg.solve(curvature + np.eye(len(theta)) / _SPREAD**2, gradient), float)

    return damped_newton(unchanged, value, step_of, within=partial(np.maximum, least), steps=_STEPS)[0]


def _isotonic(t: Floats, y: Floats, weight: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Log-odds t and what becomes of them: of groups of rows, pooled until the shares of class 1 rise.

    Each pool counts so many more rows of no change, which have the mean of its stated probabilities.
    """
    held = weight > 0
    distinct, place = np.unique(t[held], return_inverse=True)
    mass = np.bincount(place, weights=weight[held])
    ones = np.bincount(place, weights=(weight * y)[held])
    middle = np.cumsum(mass) - 0.5 * mass
    group = np.unique(np.floor(_GROUPS * middle / mass.sum()), return_inverse=True)[1]
    # Sums over groups of the rows, of class 1, of the log-odds and of the stated probabilities.
    columns = np.array([mass, ones, mass * distinct, mass * at_log_odds(distinct).p])
    sums = np.array([np.bincount(group, weights=column) for column in columns])
    sums = _pooled(sums, sums[1] / sums[0], sums[0])
    more = sums[0] + _UNCHANGED
    sums = _pooled(sums, (sums[1] + _UNCHANGED * sums[3] / sums[0]) / more, more)
    size, ones, knots, stated = sums
    values = special.logit((ones + _UNCHANGED * stated / size) / (size + _UNCHANGED))
    # Pools that only rounding tells apart are one.
    knots = knots / size
    apart = np.concatenate([[True], (np.diff(values) > 1e-9) & (np.diff(knots) > 1e-9)])
    return tuple(knots[apart].tolist()), tuple(values[apart].tolist())


def _pooled(sums: Floats, shares: Floats, weights: Floats) -> Floats:
    """Sums over neighbours, pooled until their shares rise."""
    blocks = isotonic_regression(shares, weights=weights).blocks
    return np.add.reduceat(sums, blocks[:-1], axis=1)


def _of_classes(
    loss: Any, codes: NDArray[np.intp], scores: Floats, weights: RowWeights, kind: str
) -> simplex.Recalibrated:
    """One slope for all classes ("platt") or one for each ("beta"), and a shift for each."""
    n_classes = scores.shape[1]
    with np.errstate(all="ignore"):
        stated = np.maximum(np.log(loss.inverse(scores)), -_FAR)
    n_slopes = 1 if kind == "platt" else n_classes
    unchanged = np.concatenate([np.ones(n_slopes), np.zeros(n_classes)])
    Y = np.eye(n_classes)[codes]

    def total(values: Floats) -> float:
        return weighted_sum(np.ascontiguousarray(values), weights, 1)

    def objective(theta: Floats) -> tuple[float, Floats]:
        log_p = special.log_softmax(theta[:n_slopes] * stated + theta[n_slopes:], axis=1)
        off, away = np.exp(log_p) - Y, (theta - unchanged) / _SPREAD**2
        by_slope = off * stated
        by_slope = by_slope.sum(axis=1, keepdims=True) if n_slopes == 1 else by_slope
        gradient = np.array([total(column) for column in (*by_slope.T, *off.T)]) + away
        value = total(-np.sum(Y * log_p, axis=1)) + 0.5 * float(np.sum((theta - unchanged) * away))
        return value, gradient

    bounds: Any = [(_LEAST, None)] * n_slopes + [(None, None)] * n_classes
    settings: Any = {"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-9}
    theta = minimize(objective, unchanged, jac=True, method="L-BFGS-B", bounds=bounds, options=settings).x
    return simplex.Recalibrated(loss, tuple(theta[:n_slopes].tolist()), tuple(theta[n_slopes:].tolist()))
