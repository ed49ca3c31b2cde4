"""The families of proper losses: two partial losses and a weight each.

Scales are exactly those of the formulas in the docstrings; they differ between the papers. Formulas see a
`Point` x: x.p, x.q = 1 − p, their logarithms x.lp and x.lq, and the log-odds x.t.

References
----------
.. [B] Buja, Stuetzle, Shen (2005), Loss functions for binary class probability estimation and
   classification: structure and applications.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import special

from propriety.cached_properties import cached_property
from propriety.losses.base import DerivedLoss, Loss, SmoothLoss, SymmetricLoss
from propriety.losses.links import Algebraic, Identity, Link, Logit
from propriety.losses.point import Array, Point
from propriety.losses.registry import register
from propriety.losses.special import (
    LOG_SQRT_2PI,
    gauss_legendre,
    incomplete_beta,
    normal_density,
)
from propriety.losses.value import number, positive


@register
@final
@dataclass(frozen=True, repr=False)
class Log(SymmetricLoss):
    """ℓ(1, p) = −log p: the logistic loss, cross-entropy, deviance.

    ω = 1/(pq), H = −p log p − q log q. Canonical link: logit. [B §3]

    >>> Log().entropy(0.5)
    0.6931471805599453
    """

    def _partial1(self, x: Point) -> Array:
        return -x.lp

    def _slope(self, x: Point) -> Array:
        return x.t

    def _log_relative(self, x: Point) -> Array:
        return np.zeros_like(x.t)

    def _dlog_relative(self, x: Point) -> Array:
        return np.zeros_like(x.t)

    def _canonical_link(self) -> Link:
        return Logit()


@register
@final
@dataclass(frozen=True, repr=False)
class Squared(SymmetricLoss):
    """ℓ(1, p) = (1 − p)²: Brier's score; its entropy pq is Gini's index.

    ω = 2. Canonical link: 2p − 1, bounded, so the default link is the logit. [B §3]

    >>> Squared().loss([0, 1], 0.25)
    array([0.0625, 0.5625])
    """

    def _partial1(self, x: Point) -> Array:
        return x.q * x.q

    def _slope(self, x: Point) -> Array:
        return x.p - x.q

    def _log_weight(self, x: Point) -> Array:
        return np.full_like(x.t, math.log(2))

    def _dlog_weight(self, x: Point) -> Array:
        return np.zeros_like(x.t)

    def _canonical_link(self) -> Link:
        return Identity(-1, 1)


@register
@final
@dataclass(frozen=True, repr=False)
class Savage(DerivedLoss):
    """The squared loss with the ½-logit link: φ(v) = 1/(1 + e^{2v})², bounded, robust to outliers.

    >>> round(Savage().composite().margin_loss(0.0), 6)
    0.25
    """

    @property
    def core(self) -> SmoothLoss:
        """`Squared`."""
        return Squared()

    def _default_link(self) -> Link:
        return Logit(0.5)


@register
@final
@dataclass(frozen=True, repr=False)
class Spherical(SymmetricLoss):
    """ℓ(1, p) = 1 − p/√(p² + q²): the spherical score, as a loss.

    ω = (p² + q²)^(−3/2), H = 1 − √(p² + q²).

    >>> round(Spherical().entropy(0.5), 6)
    0.292893
    """

    def _partial1(self, x: Point) -> Array:
        # 1 − p/n = q²/(n (n + p)), which does not cancel for p near 1.
        norm = np.hypot(x.p, x.q)
        return x.q * x.q / (norm * (norm + x.p))

    def _slope(self, x: Point) -> Array:
        return (x.p - x.q) / np.hypot(x.p, x.q)

    def _log_weight(self, x: Point) -> Array:
        return -3 * np.log(np.hypot(x.p, x.q))

    def _dlog_weight(self, x: Point) -> Array:
        return -3 * (x.p - x.q) / (x.p * x.p + x.q * x.q)


@register
@final
@dataclass(frozen=True, repr=False)
class Boosting(SymmetricLoss):
    """ℓ(1, p) = √(q/p): the proper loss beneath AdaBoost's exponential loss.

    ω = ½ (pq)^(−3/2), H = 2√(pq). Canonical link: (2p − 1)/√(pq). [B §4]

    >>> Boosting().loss(1, 0.2)
    2.0
    """

    def _partial1(self, x: Point) -> Array:
        return np.exp(-x.t / 2)

    def _slope(self, x: Point) -> Array:
        return 2 * np.sinh(x.t / 2)

    def _log_relative(self, x: Point) -> Array:
        return -math.log(2) - 0.5 * (x.lp + x.lq)

    def _dlog_relative(self, x: Point) -> Array:
        return 0.5 * (x.p - x.q)

    def _canonical_link(self) -> Link:
        return Algebraic()


@register
@final
@dataclass(frozen=True, repr=False)
class Exponential(DerivedLoss):
    """`Boosting` with the ½-logit link: φ(v) = e^{−v}, AdaBoost's loss. [B §4]

    >>> round(Exponential().composite().margin_loss(1.0), 6)
    0.367879
    """

    @property
    def core(self) -> SmoothLoss:
        """`Boosting`."""
        return Boosting()

    def _default_link(self) -> Link:
        return Logit(0.5)


@register("Beta(6, 14)", "Beta(-0.3, 0.4)", "Beta(0, 0.5)")
@final
@dataclass(frozen=True, repr=False)
class Beta(SmoothLoss):
    """ω = p^(α−1) (1 − p)^(β−1), α, β > −1: the Beta family. [B §11]

    ℓ(0, p) = B_p(α+1, β), ℓ(1, p) = B_{1−p}(β+1, α), incomplete beta functions, also for α, β ≤ 0.
    Beta(0, 0) is the log loss, Beta(−½, −½) twice the boosting loss, Beta(1, 1) half the squared loss.
    Default link: logit, with which it is convex iff α, β ∈ [−1, 0].

    >>> Beta(0, 0).loss(1, 0.25) == Log().loss(1, 0.25)
    True
    """

    alpha: float
    beta: float

    _slow = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", number("alpha", self.alpha, -1, math.inf))
        object.__setattr__(self, "beta", number("beta", self.beta, -1, math.inf))

    def _partial1(self, x: Point) -> Array:
        return incomplete_beta(x.q, x.p, self.beta + 1, self.alpha)

    def _partial0(self, x: Point) -> Array:
        return incomplete_beta(x.p, x.q, self.alpha + 1, self.beta)

    def _log_relative(self, x: Point) -> Array:
        return _power(self.alpha, x.lp) + _power(self.beta, x.lq)

    def _dlog_relative(self, x: Point) -> Array:
        return self.alpha * x.q - self.beta * x.p

    def _log_weight(self, x: Point) -> Array:
        return _power(self.alpha - 1, x.lp) + _power(self.beta - 1, x.lq)

    def _dlog_weight(self, x: Point) -> Array:
        return _ratio(self.alpha - 1, x.p) - _ratio(self.beta - 1, x.q)

    def _canonical_link(self) -> Link:
        closed = {(0, 0): Logit(), (-0.5, -0.5): Algebraic(2), (1, 1): Identity(-0.5, 0.5)}
        return closed.get((self.alpha, self.beta)) or super()._canonical_link()

    def _default_link(self) -> Link:
        return Logit()


@register("Tailored(0.1, 20)", "Tailored(0.3, 10, by='mode')")
@final
@dataclass(frozen=True, repr=False)
class Tailored(DerivedLoss):
    """The Beta weight with its mass around one cost: right where a decision at `cost` needs it. [B §12]

    Beta(k c, k(1 − c)) with c = `cost` and k = `focus`, whose weight has mean c and variance
    c(1 − c)/(k + 1); with ``by="mode"`` Beta(1 + k c, 1 + k(1 − c)), whose weight has its peak at c.
    As k grows it tends, up to a factor, to the cost-weighted loss at c; k = 0 by the mean is the log loss.

    Parameters
    ----------
    cost : float
        c = cost of a false alarm / (cost of a false alarm + cost of a miss); the decision threshold.
    focus : float, default=10
        k ≥ 0, how tightly the weight sits around the cost.
    by : {"mean", "mode"}

    Examples
    --------
    >>> Tailored(0.3, 20).core
    Beta(6, 14)
    """

    cost: float
    focus: float = 10.0
    by: str = "mean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost", number("cost", self.cost, 0, 1))
        object.__setattr__(self, "focus", number("focus", self.focus, 0, math.inf, closed="left"))
        if self.by not in ("mean", "mode"):
            raise ValueError(f"by must be 'mean' or 'mode', got {self.by!r}")

    @cached_property
    def core(self) -> SmoothLoss:
        """The Beta loss."""
        shift = 1.0 if self.by == "mode" else 0.0
        return Beta(shift + self.focus * self.cost, shift + self.focus * (1 - self.cost))


@register
@final
@dataclass(frozen=True, repr=False)
class Arcsine(DerivedLoss):
    """ℓ(1, p) = arcsin √q − √(pq): Beta(½, ½), between log and squared loss. [B §11]

    >>> round(Arcsine().loss(1, 0.0), 6)
    1.570796
    """

    @property
    def core(self) -> SmoothLoss:
        """The Beta loss."""
        return Beta(0.5, 0.5)


@register("CascadeUp(16)")
@final
@dataclass(frozen=True, repr=False)
class CascadeUp(DerivedLoss):
    """H = p (1 − p^a): trees grown by it peel off leaves of high probability first. [B §18]

    ω = a(a + 1) p^(a−1), a > 0; large a (the paper shows 16) gives cascading trees.

    >>> CascadeUp(2.0).entropy(0.5)
    0.375
    """

    a: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", positive("a", self.a))

    @cached_property
    def core(self) -> SmoothLoss:
        """A multiple of a Beta loss."""
        return multiple(self.a * (self.a + 1) * Beta(self.a, 1))

    def _entropy(self, x: Point) -> Array:
        return np.where(x.p == 0, 0.0, x.p * -np.expm1(_power(self.a, x.lp)))


@register("CascadeDown(31)")
@final
@dataclass(frozen=True, repr=False)
class CascadeDown(DerivedLoss):
    """H = (1 − p)(1 − (1 − p)^b): trees grown by it peel off leaves of low probability first. [B §18]

    ω = b(b + 1)(1 − p)^(b−1), b > 0; the mirror of `CascadeUp`.

    >>> CascadeDown(2.0).entropy(0.5)
    0.375
    """

    b: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "b", positive("b", self.b))

    @cached_property
    def core(self) -> SmoothLoss:
        """A multiple of a Beta loss."""
        return multiple(self.b * (self.b + 1) * Beta(1, self.b))

    def _entropy(self, x: Point) -> Array:
        return np.where(x.q == 0, 0.0, x.q * -np.expm1(_power(self.b, x.lq)))


@register("DensityPower(0.5)", "DensityPower(2)")
@final
@dataclass(frozen=True, repr=False)
class DensityPower(SymmetricLoss):
    """H = (1 − p^(γ+1) − q^(γ+1)) / (γ(γ + 1)), γ > −1: Tsallis's entropy, the density power divergence.

    ω = p^(γ−1) + q^(γ−1). γ → 0 is the log loss, γ = 1 the squared loss; larger γ trusts outliers less.
    Default link: logit.

    >>> DensityPower(1.0).loss(1, 0.25) == Squared().loss(1, 0.25)
    True
    """

    gamma: float

    _slow = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", number("gamma", self.gamma, -1, math.inf))

    def _partial1(self, x: Point) -> Array:
        g = self.gamma
        return incomplete_beta(x.q, x.p, 2.0, g) + np.exp((g + 1) * x.lq) / (g + 1)

    def _log_weight(self, x: Point) -> Array:
        return np.logaddexp(_power(self.gamma - 1, x.lp), _power(self.gamma - 1, x.lq))

    def _dlog_weight(self, x: Point) -> Array:
        return (self._dlog_relative(x) - (x.q - x.p)) / (x.p * x.q)

    def _log_relative(self, x: Point) -> Array:
        g = self.gamma
        return np.logaddexp(g * x.lp + x.lq, x.lp + g * x.lq)

    def _dlog_relative(self, x: Point) -> Array:
        g = self.gamma
        share = special.expit((g - 1) * x.t)
        return (x.q - x.p) + (g - 1) * (x.q * share - x.p * special.expit((1 - g) * x.t))

    def _canonical_link(self) -> Link:
        closed = {0.0: Logit(), 1.0: Identity(-1, 1)}
        return closed.get(self.gamma) or super()._canonical_link()

    def _default_link(self) -> Link:
        return Logit()


@register("HandVinciotti(0.3, 0.1)")
@final
@dataclass(frozen=True, repr=False)
class HandVinciotti(SmoothLoss):
    """ω = φ((p − c)/s), a Gaussian bump at the cost c with width s, φ the normal density. [B §13]

    >>> round(HandVinciotti(0.3, 0.1).weight(0.3), 6)
    0.398942
    """

    c: float
    width: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", number("c", self.c, 0, 1))
        object.__setattr__(self, "width", positive("width", self.width))

    def _partial1(self, x: Point) -> Array:
        # c' = 1 − c and z measured from the far end make this the mirror image of ℓ(0, p).
        return self._mass_beyond(
            x, self.c, (x.p - self.c) / self.width, (1 - self.c) / self.width, 1 - self.c
        )

    def _partial0(self, x: Point) -> Array:
        return self._mass_beyond(
            x.mirror, 1 - self.c, (self.c - x.p) / self.width, self.c / self.width, self.c
        )

    def _mass_beyond(self, x: Point, c: float, z: Array, end: float, reach: float) -> Array:
        """∫ (distance to the end) φ over [z, end] in units of the width, times its square's scale."""
        s = self.width
        tail = special.ndtr(-z) - special.ndtr(-end)
        direct = s * (reach * tail - s * (normal_density(z) - normal_density(np.asarray(end))))
        mass, q = np.array(direct), np.asarray(x.q)
        near = q < s
        mass[near] = _bump_tail(q[near], c, s)
        return mass

    def _log_weight(self, x: Point) -> Array:
        return -0.5 * ((x.p - self.c) / self.width) ** 2 - LOG_SQRT_2PI

    def _dlog_weight(self, x: Point) -> Array:
        return -(x.p - self.c) / self.width**2


@register("CostWeighted(0.1)")
@final
@dataclass(frozen=True, repr=False)
class CostWeighted(Loss):
    """ℓ = c per false alarm, 1 − c per miss, deciding class 1 iff p ≥ c. [B §3]

    H = min((1 − c) p, c q). Its weight is a point mass at c, so it is not strict and has no gradient: for
    trees and for judging. A tie p = c counts as the decision for class 1, as ``predict`` takes it.

    >>> CostWeighted(0.1).loss([1, 0], [0.05, 0.2])
    array([0.9, 0.1])
    """

    c: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", number("c", self.c, 0, 1))

    def _partial1(self, x: Point) -> Array:
        return np.where(x.p < self.c, 1 - self.c, 0.0)

    def _partial0(self, x: Point) -> Array:
        return np.where(x.p < self.c, 0.0, self.c)

    def _entropy(self, x: Point) -> Array:
        return np.minimum((1 - self.c) * x.p, self.c * x.q)


@register
@final
@dataclass(frozen=True, repr=False)
class Misclassification(Loss):
    """The 0/1 loss of deciding class 1 iff p ≥ ½: twice `CostWeighted(0.5)`.

    >>> Misclassification().entropy(0.3)
    0.3
    """

    def _partial1(self, x: Point) -> Array:
        return np.where(x.t < 0, 1.0, 0.0)

    def _partial0(self, x: Point) -> Array:
        return np.where(x.t < 0, 0.0, 1.0)

    def _entropy(self, x: Point) -> Array:
        return np.minimum(x.p, x.q)


def multiple(loss: Loss) -> SmoothLoss:
    """A multiple of a smooth loss, as smooth: the cone's operators promise only a loss."""
    assert isinstance(loss, SmoothLoss)
    return loss


def _power(exponent: float, log_base: Array) -> Array:
    """exponent · log base, with 0 · −∞ = 0."""
    return np.zeros_like(log_base) if exponent == 0 else exponent * log_base


def _ratio(numerator: float, denominator: Array) -> Array:
    """numerator / denominator, with 0/0 = 0."""
    return np.zeros_like(denominator) if numerator == 0 else numerator / denominator


def _bump_tail(q: Array, c: float, width: float) -> Array:
    """q² ∫_0^1 u φ((1 − q u − c)/width) du."""
    u, a = gauss_legendre(32)
    return q**2 * (normal_density((1 - np.multiply.outer(q, u) - c) / width) @ (a * u))
