"""Losses with a gain: how much a loss regularizes, chosen apart from how it counts outliers.

References
----------
.. [M] Masnadi-Shirazi, Vasconcelos (2015), A view of margin losses as regularizers of probability
   estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import special

from propriety.cached_properties import cached_property
from propriety.losses.base import DerivedLoss, SmoothLoss, SymmetricLoss
from propriety.losses.families import Boosting, Log, multiple
from propriety.losses.links import Algebraic, Laplace, Link, Logit, Probit
from propriety.losses.point import Array, Point
from propriety.losses.registry import register
from propriety.losses.special import (
    LOG_SQRT_2PI,
    incomplete_beta,
    inverse_mills,
    inverse_mills_excess,
    log_cosh,
    normal_density,
)
from propriety.losses.value import number, positive


@register("AlphaTunable(2, 0.25)")
@final
@dataclass(frozen=True, repr=False)
class AlphaTunable(SymmetricLoss):
    """ω = σ g (Beta(−α, α) + Beta(α, −α)), g = (1 − α)/(2 − 3α), link σ·logit. [M (53)]

    φ′(v) = −(1 − p) g (e^{−αv/σ} + e^{αv/σ}) for 0 ≤ α ≤ ½: α = 0 is `GLog(gain)`, α = ½ the exponential
    loss with gain. In between, how much outliers weigh (α) and how much the loss regularizes (gain) are
    chosen apart.

    >>> AlphaTunable(1.0, 0.0).loss(1, 0.3) == Log().loss(1, 0.3)
    True
    """

    gain: float = 1.0
    alpha: float = 0.25

    _slow = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", positive("gain", self.gain))
        object.__setattr__(self, "alpha", number("alpha", self.alpha, 0, 0.5, closed="both"))

    @property
    def _scale(self) -> float:
        return self.gain * (1 - self.alpha) / (2 - 3 * self.alpha)

    def _partial1(self, x: Point) -> Array:
        a = self.alpha
        parts = incomplete_beta(x.q, x.p, 1 + a, -a) + incomplete_beta(x.q, x.p, 1 - a, a)
        return self._scale * parts

    def _log_relative(self, x: Point) -> Array:
        return math.log(2 * self._scale) + log_cosh(self.alpha * x.t)

    def _dlog_relative(self, x: Point) -> Array:
        return self.alpha * np.tanh(self.alpha * x.t)

    def _canonical_link(self) -> Link:
        return Logit(self.gain) if self.alpha == 0 else super()._canonical_link()

    def _default_link(self) -> Link:
        return Logit(self.gain)


class _GainLoss(DerivedLoss):
    """σ times a loss, read through its canonical link stretched by σ. [M Table 2]"""

    gain: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", positive("gain", self.gain))

    def _default_link(self) -> Link:
        return self.canonical_link


@register("GLog(2)")
@final
@dataclass(frozen=True, repr=False)
class GLog(_GainLoss):
    """φ(v) = σ log(1 + e^{−v/σ}): the logistic loss with gain σ. [M Table 2]

    >>> GLog(2.0).composite().loss_margin
    4.0
    """

    gain: float = 1.0

    @cached_property
    def core(self) -> SmoothLoss:
        """A multiple of the log loss."""
        return multiple(self.gain * Log())

    def _canonical_link(self) -> Link:
        return Logit(self.gain)


@register("GBoost(2)")
@final
@dataclass(frozen=True, repr=False)
class GBoost(_GainLoss):
    """φ(v) = (σ/2)(√(4 + (v/σ)²) − v/σ): the canonical boosting loss with gain σ. [M Table 2]

    >>> GBoost(2.0).composite().margin_loss(0.0)
    2.0
    """

    gain: float = 1.0

    @cached_property
    def core(self) -> SmoothLoss:
        """A multiple of the boosting loss."""
        return multiple(self.gain * Boosting())

    def _canonical_link(self) -> Link:
        return Algebraic(self.gain)


@register("GGauss(2)")
@final
@dataclass(frozen=True, repr=False)
class GGauss(SymmetricLoss):
    """H = (2σ/π) exp(−erf⁻¹(2p − 1)²), canonical for the probit link with gain σ. [M Table 2]

    Written with x = Φ⁻¹(p): ω = 4σ e^{x²/2}, ℓ(1, p) = 2σ√(2/π) (φ(x) − x(1 − p)).

    >>> GGauss(1.0).composite().gradient(1, 0.0)
    -0.5
    """

    gain: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", positive("gain", self.gain))

    def _partial1(self, x: Point) -> Array:
        z = Probit()._unit_score(x)
        up = np.maximum(z, 0)
        # φ − z(1 − Φ) = (1 − Φ)(φ/(1 − Φ) − z), whose bracket is known without cancellation.
        right = np.exp(special.log_ndtr(-up)) * inverse_mills_excess(up)
        left = normal_density(z) - z * x.q
        return 2 * self.gain * math.sqrt(2 / math.pi) * np.where(z > 0, right, left)

    def _slope(self, x: Point) -> Array:
        return self.canonical_link._score(x)

    def _log_relative(self, x: Point) -> Array:
        z = np.abs(Probit()._unit_score(x))
        # r = 4σ e^{z²/2} p q = (4σ/√2π) · larger tail / hazard.
        return math.log(4 * self.gain) - LOG_SQRT_2PI + special.log_ndtr(z) - np.log(inverse_mills(z))

    def _dlog_relative(self, x: Point) -> Array:
        _, slope, bend = Probit()._unit_log_odds(Probit()._unit_score(x))
        return -bend / slope**2

    def _canonical_link(self) -> Link:
        return Probit(self.gain * math.sqrt(8 / math.pi))


@register("GLaplace(2)")
@final
@dataclass(frozen=True, repr=False)
class GLaplace(SymmetricLoss):
    """H = σ u (1 − log u), u = 1 − |2p − 1|: canonical for the Laplace link with gain σ. [M Table 2]

    ω = 2σ/min(p, q), φ(v) = σ e^{−|v|/2σ} + (|v| − v)/2.

    >>> GLaplace(1.0).composite().margin_loss(0.0)
    1.0
    """

    gain: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", positive("gain", self.gain))

    def _partial1(self, x: Point) -> Array:
        return 2 * self.gain * np.where(x.t >= 0, x.q, x.p - (x.lp + math.log(2)))

    def _slope(self, x: Point) -> Array:
        return self.canonical_link._score(x)

    def _log_relative(self, x: Point) -> Array:
        return math.log(2 * self.gain) + np.maximum(x.lp, x.lq)

    def _dlog_relative(self, x: Point) -> Array:
        return np.sign(x.t) * np.minimum(x.p, x.q)

    def _canonical_link(self) -> Link:
        return Laplace(2 * self.gain)
