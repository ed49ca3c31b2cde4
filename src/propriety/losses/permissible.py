"""Permissible losses: symmetric, strictly concave entropies for boosting by universal separators.

References
----------
.. [N8] Nock, Nielsen (2008), On the efficient minimization of classification calibrated surrogates.
.. [N9] Nock, Nielsen (2009), Bregman divergences and surrogates for learning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from propriety.losses.base import DerivedLoss, SmoothLoss, SymmetricLoss
from propriety.losses.families import Boosting, multiple
from propriety.losses.links import Algebraic, Link
from propriety.losses.point import Array, Point
from propriety.losses.registry import register
from propriety.losses.special import gauss_legendre, log_cosh
from propriety.losses.value import number, positive


@register
@final
@dataclass(frozen=True, repr=False)
class Matsushita(DerivedLoss):
    """H = √(pq): half of `Boosting`; the entropy of Kearns and Mansour's trees. [N9 Table 1]

    Canonical link (2p − 1)/(2√(pq)); normalized margin loss √(1 + v²) − v.

    >>> Matsushita().entropy(0.5)
    0.5
    """

    @property
    def core(self) -> SmoothLoss:
        """`Boosting`, halved."""
        return multiple(0.5 * Boosting())

    def _canonical_link(self) -> Link:
        return Algebraic(0.5)

    def _default_link(self) -> Link:
        return self.canonical_link


@register("Mu(0.5)")
@final
@dataclass(frozen=True, repr=False)
class Mu(SymmetricLoss):
    """H = μ + (1 − μ)√(pq), 0 < μ < 1: Matsushita's entropy over a floor. [N8 §6]

    The floor is a constant in both partial losses, so H(0) = H(1) = μ, not 0.

    >>> Mu(0.5).entropy([0.0, 0.5])
    array([0.5 , 0.75])
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", number("mu", self.mu, 0, 1))

    def _partial1(self, x: Point) -> Array:
        return self.mu + (1 - self.mu) / 2 * np.exp(-x.t / 2)

    def _slope(self, x: Point) -> Array:
        return (1 - self.mu) * np.sinh(x.t / 2)

    def _log_relative(self, x: Point) -> Array:
        return math.log((1 - self.mu) / 4) - 0.5 * (x.lp + x.lq)

    def _dlog_relative(self, x: Point) -> Array:
        return 0.5 * (x.p - x.q)

    def _canonical_link(self) -> Link:
        return Algebraic((1 - self.mu) / 2)


@register("Power(0.3)")
@final
@dataclass(frozen=True, repr=False)
class Power(SymmetricLoss):
    """H = (pq)^υ, 0 < υ < 1; υ = ½ is Matsushita's entropy. [N8 §6]

    ω = υ (pq)^(υ−2) ((1 − υ)(1 − 2p)² + 2pq).

    >>> Power(0.5).entropy(0.5) == Matsushita().entropy(0.5)
    True
    """

    upsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "upsilon", number("upsilon", self.upsilon, 0, 1))

    def _partial1(self, x: Point) -> Array:
        u = self.upsilon
        return np.exp((u - 1) * x.lp + u * x.lq) * ((1 - u) * x.p + u * x.q)

    def _slope(self, x: Point) -> Array:
        u = self.upsilon
        return u * np.exp((u - 1) * (x.lp + x.lq)) * (x.p - x.q)

    def _log_relative(self, x: Point) -> Array:
        u = self.upsilon
        return math.log(u) + (u - 1) * (x.lp + x.lq) + np.log(self._factor(x))

    def _dlog_relative(self, x: Point) -> Array:
        u, d = self.upsilon, x.q - x.p
        return (u - 1) * d + 2 * x.p * x.q * d * (2 * u - 1) / self._factor(x)

    def _factor(self, x: Point) -> Array:
        return (1 - self.upsilon) * (x.q - x.p) ** 2 + 2 * x.p * x.q


@register("LogCosh(8)")
@final
@dataclass(frozen=True, repr=False)
class LogCosh(SymmetricLoss):
    """H = (2/ζ)(log cosh(ζ/4) − log cosh(ζ/2 (p − ½))), ζ > 0. [N9 (24)]

    ω = (ζ/2) sech²(ζ/2 (p − ½)): weight around ½, the more so the larger ζ. Canonical link
    tanh(ζ/2 (p − ½)), bounded.

    >>> round(LogCosh(8.0).weight(0.5), 12)
    4.0
    """

    zeta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "zeta", positive("zeta", self.zeta))

    def _partial1(self, x: Point) -> Array:
        a, h = self.zeta / 4 * (x.p - x.q), self.zeta / 2 * x.q
        direct = 2 / self.zeta * (log_cosh(a + h) - log_cosh(a) - h * np.tanh(a))
        return np.where(h < 2, _tail_integral(self, x), direct)

    def _slope(self, x: Point) -> Array:
        return np.tanh(self.zeta / 4 * (x.p - x.q))

    def _log_weight(self, x: Point) -> Array:
        return math.log(self.zeta / 2) - 2 * log_cosh(self.zeta / 4 * (x.p - x.q))

    def _dlog_weight(self, x: Point) -> Array:
        return -self.zeta * np.tanh(self.zeta / 4 * (x.p - x.q))


def _tail_integral(loss: SmoothLoss, x: Point) -> Array:
    """ℓ(1, p) = q² ∫_0^1 u ω(1 − q u) du, by quadrature: exact where closed forms cancel."""
    total = np.zeros_like(x.q)
    for u, a in zip(*gauss_legendre(32), strict=True):
        q = x.q * u
        p = 1 - q
        with np.errstate(divide="ignore"):
            point = Point(p, q, np.log(p), np.log(q), np.zeros_like(q))
        total = total + a * u * np.exp(loss._log_weight(point))
    return x.q**2 * total
