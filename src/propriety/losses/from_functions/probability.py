"""A proper loss from functions of p: its weight, its variance, its entropy or its two partial losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from propriety.cached_properties import cached_property
from propriety.losses.algebra import Mixture
from propriety.losses.base import Loss
from propriety.losses.families import CostWeighted
from propriety.losses.from_functions.calculus import (
    PiecewiseSmooth,
    UserFunction,
    breaks_of,
    derivative,
    second_derivative,
)
from propriety.losses.from_functions.numeric import NumericLoss, log_positive
from propriety.losses.point import Array, Point, at_log_odds


def _extend(log_value: Callable[[Point], Array], x: Point, last: float) -> Array:
    """Continue a logarithm beyond log-odds `last` as a straight line: a power law of 1 − p.

    A function of p alone cannot tell 1 − 1e-17 from 1; where p has used up its digits its tail is
    continued by the power law it had.
    """
    inner = at_log_odds(np.minimum(x.t, last))
    end = log_value(at_log_odds(np.array([last - 1.0, last])))
    slope = end[1] - end[0] if np.all(np.isfinite(end)) else 0.0
    return log_value(inner) + slope * np.maximum(x.t - last, 0.0)


@final
@dataclass(frozen=True, repr=False)
class FromWeight(NumericLoss):
    """The loss with a given weight function; made by `from_weight`."""

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        self._check_weight("the weight")
        self._check_integrable()

    def _accuracy(self, t: Array) -> Array:
        # A function of p alone knows 1 − p to 1e-16, whatever 1 − p is.
        lost = 0.0 if self._weight.takes_q else 1e-14 * np.exp(np.minimum(t, 30.0))
        return np.full_like(t, 1e-12) + lost

    @cached_property
    def _weight(self) -> UserFunction:
        return UserFunction("weight", self.function, arguments=2)

    def _log_weight(self, x: Point) -> Array:
        if self._weight.takes_q:
            return log_positive(self._weight(x.p, x.q))
        return _extend(lambda x: log_positive(self._weight(x.p)), x, last=20.0)


def from_weight(weight: Callable[..., Any]) -> Loss:
    """The proper loss with weight ω(p) ≥ 0.

    Parameters
    ----------
    weight : function of p, or of p and q
        Takes and returns arrays, or scalars. With two arguments its tails are exact.

    Examples
    --------
    >>> from propriety import losses
    >>> mine = losses.from_weight(lambda p, q: 1 / (p * q))
    >>> round(float(mine.loss(1, 0.3)), 10) == round(float(losses.Log().loss(1, 0.3)), 10)
    True
    """
    return FromWeight(weight)


def from_variance(variance: Callable[..., Any]) -> Loss:
    """The quasi-likelihood with variance function V(p) = 1/ω(p).

    >>> from propriety import losses
    >>> round(losses.from_variance(lambda p, q: p * q).weight(0.5), 12)
    4.0
    """
    return FromWeight(_Reciprocal(UserFunction("variance", variance, arguments=2)))


@dataclass(frozen=True)
class _Reciprocal:
    function: UserFunction

    def __call__(self, p: Array, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            return 1 / self.function(p, q)


def curvature_of(h: UserFunction, x: Point) -> Array:
    """−H″ p q by differences with a step of min(p, q)/25, which keeps both tails relative."""
    step, zero = np.minimum(x.p, x.q) / 25, np.zeros_like(x.p)
    return -second_derivative(lambda d: h(x.p + d, x.q - d), zero, step) * x.p * x.q


@final
@dataclass(frozen=True, repr=False)
class FromEntropy(NumericLoss):
    """The loss with a given entropy; made by `from_entropy`."""

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            curvature = self._curvature(at_log_odds(np.linspace(-6, 6, 481)))
        if not np.all(np.isfinite(curvature)):
            raise ValueError("the entropy must be finite on (0, 1)")
        if np.any(curvature < -1e-6 * np.max(np.abs(curvature))):
            raise ValueError(
                self._reason(float(at_log_odds(np.linspace(-6, 6, 481)[np.argmin(curvature)]).p))
            )
        if not all(map(math.isfinite, self._ends)):
            raise ValueError("the entropy must be finite at p = 0 and p = 1")
        self._check_weight("minus the entropy's second derivative")
        self._check_integrable()

    def _reason(self, p: float) -> str:
        x = np.linspace(0.0025, 0.9975, 400)
        h = self._entropy_function(x, 1 - x)
        if np.all(h[1:-1] >= 0.5 * (h[:-2] + h[2:]) - 1e-12 * np.max(np.abs(h))):
            return (
                f"the entropy must be smooth; it is concave, but has a kink near p = {p:.3g}, "
                "that is, a point mass of weight: use CostWeighted and its mixtures for that"
            )
        return f"the entropy must be concave; its second derivative is positive at p = {p:.4g}"

    @cached_property
    def _entropy_function(self) -> UserFunction:
        return UserFunction("entropy", self.function, arguments=2)

    @cached_property
    def _symmetric(self) -> bool:
        x = at_log_odds(np.linspace(-6, 6, 97))
        h = self._entropy_function
        return bool(np.allclose(h(x.p, x.q), h(x.q, x.p), rtol=1e-9, atol=1e-12))

    @cached_property
    def _ends(self) -> tuple[float, float]:  # type: ignore[override]
        h = self._entropy_function
        ends = []
        for exact, near in (((0.0, 1.0), (1e-300, 1.0)), ((1.0, 0.0), (1 - 1e-16, 1e-300))):
            # p log p is nan at 0 as it is written, and 0 right beside it.
            values = [float(h(np.array([p]), np.array([q]))[0]) for p, q in (exact, near)]
            ends.append(values[0] if math.isfinite(values[0]) else values[1])
        return ends[0], ends[1]

    def _curvature(self, x: Point) -> Array:
        return curvature_of(self._entropy_function, x)

    def _log_relative(self, x: Point) -> Array:
        if self._entropy_function.takes_q:
            return log_positive(self._curvature(x))
        if self._symmetric:
            return log_positive(self._curvature(at_log_odds(-np.abs(x.t))))
        return _extend(lambda x: log_positive(self._curvature(x)), x, last=6.0)

    def _entropy(self, x: Point) -> Array:
        value = self._entropy_function(x.p, x.q)
        return np.where(x.p == 0, self._ends[0], np.where(x.q == 0, self._ends[1], value))


@dataclass(frozen=True)
class _WithoutAtoms:
    """An entropy of p and q less those of point masses at costs c, so that it has no kinks."""

    entropy: UserFunction
    atoms: tuple[tuple[float, float], ...]

    def __call__(self, p: Array, q: Array) -> Array:
        return self.entropy(p, q) - sum(a * np.minimum((1 - c) * p, c * q) for a, c in self.atoms)


@dataclass(frozen=True)
class _WithoutAtomsOfP(_WithoutAtoms):
    """The same of p alone."""

    def __call__(self, p: Array) -> Array:  # type: ignore[override]
        return super().__call__(p, 1 - p)


def _atoms(h: UserFunction) -> tuple[tuple[float, float], ...]:
    """Mass and cost of each kink of a concave entropy, for costs from 5e-5 to 1 − 5e-5.

    Found in log-odds, where entropies are smooth at both ends too. At a kink −H′ jumps by the mass.
    """

    def of_log_odds(t: Array) -> Array:
        x = at_log_odds(t)
        return h(x.p, x.q)

    far = 10.0
    size = float(np.max(np.abs(of_log_odds(np.linspace(-far, far, 81)))))
    # A function of p alone has lost digits where p is next to 1.
    breaks = breaks_of(of_log_odds, lambda t: np.abs(of_log_odds(t)) + 1e-3 * size, -far, far, 1 / 8)
    smooth = PiecewiseSmooth(of_log_odds, 1 / 32, breaks)
    jumps = smooth.at(breaks, from_left=True)[1] - smooth.at(breaks)[1]
    x = at_log_odds(breaks)
    atoms = zip(jumps / (x.p * x.q), x.p, strict=True)
    return tuple((float(f"{a:.11g}"), float(np.round(c, 12))) for a, c in atoms if a > 1e-6 * size)


def from_entropy(entropy: Callable[..., Any]) -> Loss:
    """The proper loss with entropy H(p), a concave function of p or of p and q.

    ω = −H″ by differences, good to about 1e-9. H(0) and H(1) may be any finite numbers; they enter the
    partial losses as constants. A kink is a point mass of weight, that is, a part `CostWeighted`; such a loss
    has no gradient, and serves trees and evaluation. If it is made of kinks alone, H(0) = H(1) = 0.

    >>> from propriety import losses
    >>> import numpy as np
    >>> mine = losses.from_entropy(lambda p, q: np.sqrt(p * q))
    >>> round(float(mine.loss(1, 0.2)), 8), round(float(losses.Matsushita().loss(1, 0.2)), 8)
    (1.0, 1.0)
    """
    h = UserFunction("entropy", entropy, arguments=2)
    atoms = _atoms(h)
    if not atoms:
        return FromEntropy(entropy)
    rest = (_WithoutAtoms if h.takes_q else _WithoutAtomsOfP)(h, atoms)
    parts: list[tuple[float, Loss]] = [(a, CostWeighted(c)) for a, c in atoms]
    x = at_log_odds(np.linspace(-6, 6, 481))
    mass = sum(a for a, _ in atoms)
    if np.max(np.abs(curvature_of(UserFunction("entropy", rest, arguments=2), x))) > 1e-6 * mass:
        parts.append((1.0, FromEntropy(rest)))
    return Mixture.of(parts)


@final
@dataclass(frozen=True, repr=False)
class FromPartialLosses(NumericLoss):
    """The loss with given partial losses; made by `from_partial_losses`."""

    loss1: Callable[..., Any]
    loss0: Callable[..., Any]

    def __post_init__(self) -> None:
        x = at_log_odds(np.linspace(-6, 6, 481))
        with np.errstate(all="ignore"):
            one, zero = self._relative(x)
        scale = np.maximum(np.abs(one), np.abs(zero))
        if not np.all(np.isfinite(scale)):
            raise ValueError("the partial losses must be finite and smooth on (0, 1)")
        if np.any(np.minimum(one, zero) < -1e-6 * np.max(scale)):
            raise ValueError("not proper: a partial loss is least away from its own label")
        if np.any(np.abs(one - zero) > 1e-6 * scale + 1e-12 * np.max(scale)):
            raise ValueError(self._reason())
        self._check_weight("the weight of these partial losses")

    @cached_property
    def _one(self) -> UserFunction:
        return UserFunction("loss1", self.loss1, arguments=2)

    @cached_property
    def _zero(self) -> UserFunction:
        return UserFunction("loss0", self.loss0, arguments=2)

    def _relative(self, x: Point) -> tuple[Array, Array]:
        """r from either partial loss: −ℓ₁′ p and ℓ₀′ q; the loss is proper iff they agree."""
        step, none = np.minimum(x.p, x.q) / 25, np.zeros_like(x.p)
        one = derivative(lambda d: self._one(x.p + d, x.q - d), none, step)
        zero = derivative(lambda d: self._zero(x.p + d, x.q - d), none, step)
        return -one * x.p, zero * x.q

    def _reason(self) -> str:
        p = np.linspace(0.0005, 0.9995, 1999)
        risk = 0.3 * self._one(p, 1 - p) + 0.7 * self._zero(p, 1 - p)
        return (
            "not proper: when the true probability is 0.3 the expected loss is least at "
            f"p = {p[np.argmin(risk)]:.3g}; proper losses satisfy -(loss1)'(p)/(1 - p) = (loss0)'(p)/p "
            "for every p (checked at 481 values from 0.0025 to 0.9975)"
        )

    def _log_relative(self, x: Point) -> Array:
        def log_r(x: Point) -> Array:
            one, zero = self._relative(x)
            # Each partial loss is small, and so exact, towards its own label.
            return log_positive(np.where(x.t < 0, zero, one))

        both_exact = self._one.takes_q and self._zero.takes_q
        return log_r(x) if both_exact else _extend(log_r, x, last=6.0)

    def _partial1(self, x: Point) -> Array:
        return self._one(x.p, x.q)

    def _partial0(self, x: Point) -> Array:
        return self._zero(x.p, x.q)


def from_partial_losses(loss1: Callable[..., Any], loss0: Callable[..., Any]) -> Loss:
    """The proper loss with ℓ(1, p) = loss1 and ℓ(0, p) = loss0, if it is proper.

    >>> from propriety import losses
    >>> losses.from_partial_losses(lambda p: 1 - p, lambda p: p)
    Traceback (most recent call last):
    ...
    ValueError: not proper: when the true probability is 0.3 the expected loss is least at p = 0.0005; ...
    """
    return FromPartialLosses(loss1, loss0)
