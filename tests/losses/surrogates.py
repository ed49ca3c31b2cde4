"""Classification-calibrated surrogates φ(v) from the papers and beyond, with their first two derivatives.

All are written as a user would write them: whole arrays in, whole arrays out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, expit


class Surrogate(NamedTuple):
    phi: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    bend: Callable[[Any], Any]
    high: float  # from where on φ falls no more


def bumps(seed):
    """Twice the integral of a random positive curvature: a constant and four normal densities."""
    rng = np.random.default_rng(seed)
    centre, size, width = rng.uniform(-3, 3, 4), rng.uniform(0.2, 1, 4), rng.uniform(0.4, 1.5, 4)

    def parts(v):
        z = (np.asarray(v, dtype=float)[..., None] - centre) / width
        return z, np.exp(-z * z / 2) / np.sqrt(2 * np.pi), 0.5 * (1 + erf(z / np.sqrt(2)))

    def bend(v):
        return (size / width * parts(v)[1]).sum(-1) + 0.05

    def rise(v):
        return (size * parts(v)[2]).sum(-1) + 0.05 * np.asarray(v)

    start = rise(0.0) + 1

    def phi(v):
        z, density, cumulative = parts(v)
        return (size * width * (z * cumulative + density)).sum(-1) + 0.025 * np.asarray(v) ** 2 - start * v

    high = float(np.linspace(0, 50, 500_001)[np.argmax(rise(np.linspace(0, 50, 500_001)) > start)])
    return Surrogate(phi, lambda v: rise(v) - start, bend, high)


SURROGATES = {
    "squared": Surrogate(lambda v: (1 - v) ** 2, lambda v: -2 * (1 - v), lambda v: 2 + 0 * v, 1.0),
    "squared hinge": Surrogate(
        lambda v: np.maximum(0, 1 - v) ** 2,
        lambda v: -2 * np.maximum(0, 1 - v),
        lambda v: np.where(v < 1, 2.0, 0.0),
        1.0,
    ),
    "modified Huber": Surrogate(
        lambda v: np.where(v < -1, -4 * v, np.maximum(0, 1 - v) ** 2),
        lambda v: np.where(v < -1, -4.0, -2 * np.maximum(0, 1 - v)),
        lambda v: np.where(np.abs(v) < 1, 2.0, 0.0),
        1.0,
    ),
    "smoothed hinge": Surrogate(
        lambda v: np.where(v < 0, 0.5 - v, 0.5 * np.maximum(0, 1 - v) ** 2),
        lambda v: -np.clip(1 - v, 0, 1),
        lambda v: np.where((v > 0) & (v < 1), 1.0, 0.0),
        1.0,
    ),
    "exponential": Surrogate(lambda v: np.exp(-v), lambda v: -np.exp(-v), lambda v: np.exp(-v), np.inf),
    "logistic": Surrogate(
        lambda v: np.logaddexp(0, -v),
        lambda v: -expit(-v),
        lambda v: expit(v) * expit(-v),
        np.inf,
    ),
    "Matsushita": Surrogate(
        lambda v: np.sqrt(1 + v * v) - v,
        lambda v: v / np.sqrt(1 + v * v) - 1,
        lambda v: (1 + v * v) ** -1.5,
        np.inf,
    ),
    "log-cosh": Surrogate(
        lambda v: np.logaddexp(1 - v, v - 1) - np.log(2),
        lambda v: -np.tanh(1 - v),
        lambda v: 1 / np.cosh(1 - v) ** 2,
        1.0,
    ),
    "logistic plus a ridge": Surrogate(
        lambda v: np.logaddexp(0, -v) + v * v / 10,
        lambda v: v / 5 - expit(-v),
        lambda v: expit(v) * expit(-v) + 0.2,
        1.17750529,
    ),
    "MadaBoost": Surrogate(
        lambda v: np.where(v > 0, np.exp(-np.abs(v)), 1 - v),
        lambda v: -np.exp(-np.maximum(v, 0)),
        lambda v: np.where(v > 0, np.exp(-np.abs(v)), 0.0),
        np.inf,
    ),
    "random 1": bumps(1),
    "random 2": bumps(2),
}
