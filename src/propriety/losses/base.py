"""What a proper loss is, and everything that follows from its formulas.

A family states its two partial losses and, if smooth, the logarithm of its weight; entropy, slope, risk,
regret, mixtures, canonical link, composites and properties are derived here, once.

The textbook order is the reverse, the loss as the tangent to its entropy: ℓ(y, p) = H(p) + H′(p)(y − p).
In floating point that difference loses every digit where it matters: for the squared loss at p = 1 − 1e-12
it subtracts two numbers of size 1e-12 to get 1e-24. The sum H = p ℓ(1, p) + q ℓ(0, p) of two non-negative
terms loses none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.cached_properties import cached_property
from propriety.losses.links import Canonical, Link, Logit
from propriety.losses.point import (
    Array,
    Point,
    at_log_odds,
    at_probability,
    check_probability,
    plain,
    point_of,
    product,
)
from propriety.losses.special import gauss_legendre
from propriety.losses.value import Value, positive

if TYPE_CHECKING:
    from propriety.losses.composite import Composite
    from propriety.losses.properties import Properties
    from propriety.losses.score_forms import ScoreForm


class Loss(Value, ABC):
    """A proper loss for a binary label: a value, equal and hashed by its parameters.

    The label y is 0 or 1, or itself a probability: the loss is linear in it. Losses form a convex cone:
    ``2 * a + b`` is a loss.

    >>> from propriety import losses
    >>> loss = losses.Squared()
    >>> loss.loss(1, 0.75), loss.entropy(0.5), loss.regret(0.5, 0.75)
    (0.0625, 0.25, 0.0625)
    """

    @abstractmethod
    def _partial1(self, x: Point) -> Array:
        """ℓ(1, p)."""

    @abstractmethod
    def _partial0(self, x: Point) -> Array:
        """ℓ(0, p)."""

    def _entropy(self, x: Point) -> Array:
        return product(x.p, self._partial1(x)) + product(x.q, self._partial0(x))

    def _slope(self, x: Point) -> Array:
        return self._partial0(x) - self._partial1(x)

    def entropy(self, p: ArrayLike, q: ArrayLike | None = None) -> Any:
        """H(p) = p ℓ(1, p) + (1 − p) ℓ(0, p), the least expected loss when the truth is p.

        A tree's information measure. Give q = 1 − p too where p is very near 1.
        """
        return _at(self._entropy, p, q)

    def entropy_of_shares(self, p: Array, q: Array) -> Array:
        """`entropy` of shares that were divided out of sums: nothing need be checked of them.

        A tree asks for those of a few cuts at a time, where the checks take as long as the formula.
        """
        with np.errstate(all="ignore"):
            return self._entropy(point_of(p, q))

    def slope(self, p: ArrayLike, q: ArrayLike | None = None) -> Any:
        """−H′(p) = ℓ(0, p) − ℓ(1, p), the canonical link where the loss is strict."""
        return _at(self._slope, p, q)

    def loss(self, y: ArrayLike, p: ArrayLike, q: ArrayLike | None = None) -> Any:
        """ℓ(y, p): the loss of stating p when the label is y; y may be a probability."""
        y = check_probability("y", y)
        return _at(lambda x: self._losses(y, x), p, q)

    def _losses(self, y: Array, x: Point) -> Array:
        return product(y, self._partial1(x)) + product(1 - y, self._partial0(x))

    def risk(self, eta: ArrayLike, p: ArrayLike, q: ArrayLike | None = None) -> Any:
        """R(η | p) = η ℓ(1, p) + (1 − η) ℓ(0, p): the expected loss of p when the truth is η."""
        eta = check_probability("eta", eta)
        return _at(lambda x: self._losses(eta, x), p, q)

    def regret(self, eta: ArrayLike, p: ArrayLike, q: ArrayLike | None = None) -> Any:
        """R(η | p) − H(η) ≥ 0: what p loses against the truth, a Bregman divergence."""
        truth = at_probability(check_probability("eta", eta))
        return _at(lambda x: self._regret(truth, x), p, q)

    def _regret(self, truth: Point, x: Point) -> Array:
        risk = product(truth.p, self._partial1(x)) + product(truth.q, self._partial0(x))
        difference = risk - self._entropy(truth)
        return np.where(truth.p == x.p, 0.0, np.maximum(difference, 0.0))

    def properties(self) -> Properties:
        """What holds of this loss, each with the fact that decides it.

        >>> from propriety import losses
        >>> bool(losses.Log().properties()["bounded"])
        False
        """
        from propriety.losses import properties

        return properties.of_loss(self)

    def tilted(self, positive: float = 1.0, negative: float = 1.0) -> Loss:
        """The proper loss that weights the classes and still asks for the true probability.

        Class weights w₁ on positives and w₀ on negatives move the minimizer of a loss from η to odds
        (w₁/w₀)·η/(1−η). The tilted loss charges w₁ ℓ(1, p̃) and w₀ ℓ(0, p̃) at the moved p̃, so its
        minimizer is η again: the weighting is undone where the probability is read. Its entropy is
        (w₁ p + w₀ q) H(p̃).

        >>> from propriety import losses
        >>> loss = losses.Log().tilted(positive=9)
        >>> round(float(loss.loss(1, 0.1)), 6) == round(float(9 * losses.Log().loss(1, 0.5)), 6)
        True
        """
        from propriety.losses.algebra import Tilted

        return Tilted.of(self, positive, negative)

    def __mul__(self, factor: float) -> Loss:
        from propriety.losses.algebra import Mixture

        if isinstance(factor, (Loss, str)) or not np.isscalar(factor):
            return NotImplemented
        return Mixture.of([(positive("the factor of a loss", factor), self)])

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Loss:
        return self * (1 / positive("the divisor of a loss", divisor))

    def __add__(self, other: Loss) -> Loss:
        from propriety.losses.algebra import Mixture

        if not isinstance(other, Loss):
            return NotImplemented
        return Mixture.of([(1.0, self), (1.0, other)])

    def __radd__(self, other: object) -> Loss:
        # sum(...) starts from 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @property
    def _terms(self) -> tuple[tuple[float, Loss], ...]:
        return ((1.0, self),)

    def composite(self, link: Link | str | None = None) -> Composite:
        """This loss as a function of a score, through `link` or the loss's default link."""
        raise TypeError(
            f"{self!r} has no weight function, so it cannot be fitted by gradient; use it in a tree or in "
            "evaluation, or fit a smooth loss that is concentrated on the same cost, such as "
            "Tailored(cost, focus)"
        )

    def with_link(self, link: Link | str) -> Composite:
        """``composite(link)``, with the link given."""
        return self.composite(link)


class SmoothLoss(Loss):
    """A proper loss with a weight function ω = −H″ on (0, 1).

    A family states the logarithm of ω (`_log_weight`, `_dlog_weight`), or of ω relative to the log loss's,
    r = ω p q (`_log_relative`, `_dlog_relative`): whichever is exact in its tails. In log-odds t the weight
    measure is r dt, and logarithms carry it where ω itself is beyond the range of doubles.
    """

    #: Whether the partial losses are special functions, so that many rows had better be looked up in a table.
    _slow: bool = False

    def _losses(self, y: Array, x: Point) -> Array:
        from propriety.losses import fused

        if not fused.are_many(self, y, x.t):
            return super()._losses(y, x)
        y, *x = np.broadcast_arrays(y, *x)  # type: ignore[assignment]
        x = Point(*x)
        values = fused.many_values(self.with_link(Logit()), y, x.t)
        certain = np.isinf(x.t)  # p = 0 and p = 1, which no score has
        values[certain] = super()._losses(y[certain], Point(*(part[certain] for part in x)))
        return values

    def _log_relative(self, x: Point) -> Array:
        """log(ω p q)."""
        return self._log_weight(x) + x.lp + x.lq

    def _dlog_relative(self, x: Point) -> Array:
        """d log(ω p q)/dt."""
        return (x.q - x.p) + x.p * x.q * self._dlog_weight(x)

    def _log_weight(self, x: Point) -> Array:
        """log ω."""
        return self._log_relative(x) - x.lp - x.lq

    def _dlog_weight(self, x: Point) -> Array:
        """d log ω/dp."""
        return (self._dlog_relative(x) - (x.q - x.p)) / (x.p * x.q)

    def _accuracy(self, t: Array) -> Array:
        """Relative accuracy of the formulas at the log-odds t."""
        return np.full_like(t, 1e-12)

    def _rough_log_odds(self, slope: Array) -> Array | None:
        """About the log-odds where −H′ is given, if that saves steps of an inversion; else None."""
        return None

    def _log_rate(self, link: Link, F: Array) -> Array | None:
        """log(ω p′) at scores of a link for which the loss knows it directly; else None."""
        return None

    def _score_form(self, link: Link) -> ScoreForm | None:
        """The loss of scores of a link where it is known on the whole line, beyond the link's range too."""
        return None

    def weight(self, p: ArrayLike, q: ArrayLike | None = None) -> Any:
        """ω(p) = −H″(p): how much errors about the cost threshold p count."""
        return _at(lambda x: np.exp(self._log_weight(x)), p, q)

    def weight_slope(self, p: ArrayLike, q: ArrayLike | None = None) -> Any:
        """ω′(p)."""
        return _at(lambda x: product(np.exp(self._log_weight(x)), self._dlog_weight(x)), p, q)

    def _regret(self, truth: Point, x: Point) -> Array:
        # Close to the truth the difference of risk and entropy cancels; there the divergence is the
        # integral of |η − c| ω(c) dc between them, by Gauss and Legendre on either side of p = ½, where
        # symmetric weights may have a kink.
        near = np.abs(x.t - truth.t) < 1.0
        start, stop = np.where(near, truth.t, 0.0), np.where(near, x.t, 0.0)
        middle = np.clip(0.0, np.minimum(start, stop), np.maximum(start, stop))
        total = np.zeros_like(start)
        for low, high in ((start, middle), (middle, stop)):
            for u, a in zip(*gauss_legendre(16), strict=True):
                t = low + u * (high - low)
                c = at_log_odds(t)
                # c − η = p(t) − p(t_η), as a product that does not cancel: q_η p_c (1 − e^{t_η − t}).
                distance = truth.q * c.p * -np.expm1(start - t)
                total = total + a * (high - low) * distance * np.exp(self._log_relative(c))
        return np.where(near, total, super()._regret(truth, x))

    @cached_property
    def canonical_link(self) -> Link:
        """The link −H′, unique up to affine maps: with it the composite is convex, its gradient p − y."""
        return self._canonical_link()

    def _canonical_link(self) -> Link:
        return Canonical(self)

    @cached_property
    def default_link(self) -> Link:
        """The canonical link if its range is the real line, else ``Logit()``."""
        return self._default_link()

    def _default_link(self) -> Link:
        return self.canonical_link if self.canonical_link.has_real_range else Logit()

    def composite(self, link: Link | str | None = None) -> Composite:
        """This loss as a function of a score, through `link` or the loss's default link.

        >>> from propriety import losses
        >>> round(losses.Exponential().composite().value(1, 2.0), 6)
        0.135335
        """
        from propriety.losses.composite import Composite
        from propriety.losses.registry import as_link

        return Composite(self, self.default_link if link is None else as_link(link))


class SymmetricLoss(SmoothLoss):
    """A smooth loss with ℓ(0, p) = ℓ(1, 1 − p)."""

    def _partial0(self, x: Point) -> Array:
        return self._partial1(x.mirror)


class DerivedLoss(SmoothLoss):
    """A family that is another loss under its own name: `core` has the formulas."""

    @property
    @abstractmethod
    def core(self) -> SmoothLoss:
        """The loss that this one equals."""

    @property
    def _slow(self) -> bool:  # type: ignore[override]
        return self.core._slow

    def _partial1(self, x: Point) -> Array:
        return self.core._partial1(x)

    def _partial0(self, x: Point) -> Array:
        return self.core._partial0(x)

    def _entropy(self, x: Point) -> Array:
        return self.core._entropy(x)

    def _slope(self, x: Point) -> Array:
        return self.core._slope(x)

    def _log_relative(self, x: Point) -> Array:
        return self.core._log_relative(x)

    def _dlog_relative(self, x: Point) -> Array:
        return self.core._dlog_relative(x)

    def _log_weight(self, x: Point) -> Array:
        return self.core._log_weight(x)

    def _dlog_weight(self, x: Point) -> Array:
        return self.core._dlog_weight(x)

    def _canonical_link(self) -> Link:
        return self.core.canonical_link

    def _default_link(self) -> Link:
        return self.core.default_link


def _at(formula: Any, p: ArrayLike, q: ArrayLike | None) -> Any:
    """A formula at probabilities from outside: checked, without warnings, scalars back as floats."""
    x = at_probability(p, q)
    with np.errstate(all="ignore"):
        return plain(formula(x))


__all__ = ["DerivedLoss", "Loss", "SmoothLoss", "SymmetricLoss"]
