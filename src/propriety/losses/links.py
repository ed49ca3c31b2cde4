"""Links: increasing maps between probabilities and scores.

A link is stated once, as the log-odds t of the probability that belongs to a score F, with two
derivatives. Everything else, the probability, its derivatives and the way back, follows in `Link`.

>>> from propriety import links
>>> links.Probit().inverse(1.0)
0.8413447460685429
>>> links.Logit(scale=0.5).link(0.9)
1.0986122886681098
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from propriety.cached_properties import cached_property
from propriety.losses.point import Array, Point, as_float, at_log_odds, at_probability, plain, probability_at
from propriety.losses.registry import LINKS
from propriety.losses.special import (
    SQRT_2,
    inverse_mills,
    inverse_mills_excess,
    invert_increasing,
    one_minus_x_over_expm1,
)
from propriety.losses.value import Value, number, positive

if TYPE_CHECKING:
    from propriety.losses.base import SmoothLoss

__all__ = [
    "Algebraic",
    "CLogLog",
    "Canonical",
    "Cauchit",
    "FromDistribution",
    "Identity",
    "Interpolated",
    "Laplace",
    "Link",
    "LogLog",
    "Logit",
    "Probit",
    "Recalibrated",
    "Shifted",
    "examples",
    "names",
    "register",
]

register, names, examples = LINKS.register, LINKS.names, LINKS.examples


class LogOdds(NamedTuple):
    """t(F), t′(F), t″(F)."""

    t: Array
    slope: Array
    bend: Array


class InverseCurve(NamedTuple):
    """An inverse link and its derivatives: p, 1 − p, dp/dF, d²p/dF²."""

    p: Array
    q: Array
    dp: Array
    d2p: Array


class Link(Value, ABC):
    """An increasing map from probabilities to scores; ``link(p)`` forth and ``inverse(F)`` back.

    Subclasses state `_log_odds` and `_score`; they are final.
    """

    #: the scores of p = 0 and p = 1
    low: float = -np.inf
    high: float = np.inf
    #: dp/dF with which p goes on beyond the range in the loss that the link is canonical for
    _rate_beyond: float = 0.0
    #: log-odds up to which the formulas keep their digits
    _known_log_odds: float = 35.0

    @abstractmethod
    def _log_odds(self, F: Array) -> LogOdds:
        """t, t′, t″ at the score F."""

    @abstractmethod
    def _score(self, x: Point) -> Array:
        """The score of a point."""

    @abstractmethod
    def scaled(self, factor: float) -> Link:
        """The link ``factor * link``: scores stretched by `factor`, probabilities at F/factor."""

    @property
    def symmetric(self) -> bool:
        """Whether p(−F) = 1 − p(F), decided at 201 scores."""
        t = at_log_odds(np.linspace(-20, 20, 201))
        with np.errstate(all="ignore"):
            forth, back = self._score(t), self._score(t.mirror)
        return bool(np.allclose(forth, -back, rtol=1e-9, atol=1e-9))

    @property
    def has_real_range(self) -> bool:
        """Whether every real score belongs to a probability."""
        return self.low == -np.inf and self.high == np.inf

    def link(self, p: ArrayLike, q: ArrayLike | None = None) -> Any:
        """Score of the probability p (give q = 1 − p for exact tails)."""
        with np.errstate(all="ignore"):
            return plain(self._score(at_probability(p, q)))

    __call__ = link

    def inverse(self, F: ArrayLike) -> Any:
        """Probability of the score F."""
        with np.errstate(all="ignore"):
            return plain(probability_at(self._log_odds(as_float("F", F)).t))

    def curve(self, F: ArrayLike) -> InverseCurve:
        """p, 1 − p, dp/dF and d²p/dF² at the scores F, in one pass."""
        F = as_float("F", F)
        with np.errstate(all="ignore"):
            t, slope, bend = self._log_odds(F)
            x = at_log_odds(t)
            pq = x.p * x.q
            return InverseCurve(x.p, x.q, pq * slope, pq * ((x.q - x.p) * slope**2 + bend))


@dataclass(frozen=True, repr=False)
class _ScaledLink(Link):
    """A link with a scale: F = scale · unit(p). Subclasses state the unit link."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        # The second derivative of a link is divided by the square of its scale.
        object.__setattr__(self, "scale", number("scale", self.scale, 1e-100, 1e100, "both"))

    @abstractmethod
    def _unit_log_odds(self, z: Array) -> LogOdds: ...

    @abstractmethod
    def _unit_score(self, x: Point) -> Array: ...

    def _log_odds(self, F: Array) -> LogOdds:
        t, slope, bend = self._unit_log_odds(F / self.scale)
        return LogOdds(t, slope / self.scale, bend / self.scale**2)

    def _score(self, x: Point) -> Array:
        return self.scale * self._unit_score(x)

    def scaled(self, factor: float) -> Link:
        """The link with its scale multiplied."""
        return dataclasses.replace(self, scale=self.scale * positive("factor", factor))


@register("Logit()", "Logit(2.5)")
@final
@dataclass(frozen=True, repr=False)
class Logit(_ScaledLink):
    """F = scale · log(p / (1 − p)).

    Canonical for the log loss. ``Logit(0.5)`` is the link of AdaBoost's exponential loss.

    >>> Logit().inverse(0.0)
    0.5
    """

    def _unit_log_odds(self, z: Array) -> LogOdds:
        return LogOdds(z, np.ones_like(z), np.zeros_like(z))

    def _unit_score(self, x: Point) -> Array:
        return x.t


@register
@final
@dataclass(frozen=True, repr=False)
class Probit(_ScaledLink):
    """F = scale · Φ⁻¹(p), Φ the normal distribution function.

    >>> round(Probit().link(0.975), 6)
    1.959964
    """

    def _unit_log_odds(self, z: Array) -> LogOdds:
        x = np.abs(z)
        hazard, larger = inverse_mills(x), special.ndtr(x)
        t = np.where(
            x < 1,
            2 * np.arctanh(special.erf(np.clip(z, -1, 1) / SQRT_2)),
            np.sign(z) * (np.log1p(-special.ndtr(-x)) - special.log_ndtr(-x)),
        )
        slope = hazard / larger
        odds = special.ndtr(-x) / larger
        bend = np.sign(z) * slope * (inverse_mills_excess(x) - hazard * odds)
        return LogOdds(t, slope, bend)

    def _unit_score(self, x: Point) -> Array:
        return np.where(
            x.t < 0, special.ndtri_exp(np.minimum(x.lp, -0.5)), -special.ndtri_exp(np.minimum(x.lq, -0.5))
        )


@register("CLogLog()", "CLogLog(2)")
@final
@dataclass(frozen=True, repr=False)
class CLogLog(_ScaledLink):
    """F = scale · log(−log(1 − p)), the complementary log-log link: p = 1 − exp(−exp F).

    The link of grouped proportional hazards; asymmetric.

    >>> round(CLogLog().inverse(0.0), 6)
    0.632121
    """

    def _unit_log_odds(self, z: Array) -> LogOdds:
        w = np.exp(np.clip(z, -np.inf, 709.0))
        # log(e^w − 1), from the side that does not overflow.
        t = np.where(w < 1, np.log(np.expm1(np.minimum(w, 1))), w + np.log1p(-np.exp(-np.maximum(w, 1))))
        t = np.where(z < -700, z, t)
        slope = np.where(w < 1e-300, 1.0, w / -np.expm1(-w))
        bend = slope * one_minus_x_over_expm1(w)
        return LogOdds(t, slope, bend)

    def _unit_score(self, x: Point) -> Array:
        # log(−log q): for small p, −log q = p + p²/2 + ..., which log1p keeps.
        return np.log(-x.lq)


@register
@final
@dataclass(frozen=True, repr=False)
class LogLog(_ScaledLink):
    """F = −scale · log(−log p), the mirror of `CLogLog`: p = exp(−exp(−F)).

    >>> round(LogLog().inverse(0.0), 6)
    0.367879
    """

    def _unit_log_odds(self, z: Array) -> LogOdds:
        t, slope, bend = CLogLog()._unit_log_odds(-z)
        return LogOdds(-t, slope, -bend)

    def _unit_score(self, x: Point) -> Array:
        return -np.log(-x.lp)


@register
@final
@dataclass(frozen=True, repr=False)
class Cauchit(_ScaledLink):
    """F = scale · tan(π (p − ½)): heavy tails, so single wrong examples pull little.

    >>> round(Cauchit().inverse(1.0), 12)
    0.75
    """

    def _unit_log_odds(self, z: Array) -> LogOdds:
        p, q = np.arctan2(1.0, -z) / np.pi, np.arctan2(1.0, z) / np.pi
        t = at_probability(p, q).t
        difference = 2 * np.arctan(-z) / np.pi  # q − p
        slope = 1 / (np.pi * (1 + z * z) * p * q)
        return LogOdds(t, slope, slope * (-2 * z / (1 + z * z) - slope * difference))

    def _unit_score(self, x: Point) -> Array:
        smaller = np.minimum(x.p, x.q)
        return np.where(
            smaller > 0.25, np.tan(np.pi / 2 * (x.p - x.q)), np.sign(x.t) / np.tan(np.pi * smaller)
        )


@register("Laplace(3)")
@final
@dataclass(frozen=True, repr=False)
class Laplace(_ScaledLink):
    """F = −scale · sign(2p − 1) log(1 − |2p − 1|): p is the Laplace distribution function.

    >>> Laplace().inverse(0.0)
    0.5
    """

    def _unit_log_odds(self, z: Array) -> LogOdds:
        x = np.abs(z)
        smaller = 0.5 * np.exp(-x)
        larger = 1 - smaller
        t = np.sign(z) * (x + np.log(2) + np.log1p(-smaller))
        return LogOdds(t, 1 / larger, -np.sign(z) * smaller / larger**2)

    def _unit_score(self, x: Point) -> Array:
        difference = np.where(
            np.abs(x.t) < 1, np.log1p(-np.abs(x.p - x.q)), np.log(2) + np.minimum(x.lp, x.lq)
        )
        return -np.sign(x.t) * difference


@register("Algebraic()", "Algebraic(3)")
@final
@dataclass(frozen=True, repr=False)
class Algebraic(_ScaledLink):
    """F = scale · (2p − 1)/√(p(1 − p)): p = ½(1 + z/√(4 + z²)), z = F/scale.

    Canonical for the Boosting and Matsushita losses.

    >>> round(Algebraic().link(0.8), 12)
    1.5
    """

    def _unit_log_odds(self, z: Array) -> LogOdds:
        root = np.hypot(1, z / 2)
        return LogOdds(2 * np.arcsinh(z / 2), 1 / root, -z / 4 / root**3)

    def _unit_score(self, x: Point) -> Array:
        return 2 * np.sinh(x.t / 2)


@register("Identity()", "Identity(-1)")
@final
@dataclass(frozen=True, repr=False)
class Identity(Link):
    """F = low + (high − low) p on [low, high]; by default the probability itself.

    ``Identity(-1, 1)`` is canonical for the squared loss, which goes on as the parabola that it is: with it
    linear models are least squares. Scores beyond the range belong to p = 0 and 1.

    >>> Identity(-1, 1).inverse([-3.0, 0.0, 1.0])
    array([0. , 0.5, 1. ])
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise ValueError(
                f"Identity needs low < high, both finite, got low={self.low!r}, high={self.high!r}"
            )
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    @property
    def _rate_beyond(self) -> float:  # type: ignore[override]
        return 1 / (self.high - self.low)

    def _log_odds(self, F: Array) -> LogOdds:
        width = self.high - self.low
        # 1e-150 stands for 0, so that the square of 1/(pq) in the second derivative stays finite.
        p = np.clip((F - self.low) / width, 1e-150, 1)
        q = np.clip((self.high - F) / width, 1e-150, 1)
        pq = p * q
        return LogOdds(np.log(p) - np.log(q), 1 / (pq * width), (p - q) / (pq * width) ** 2)

    def _score(self, x: Point) -> Array:
        return self.low * x.q + self.high * x.p

    def scaled(self, factor: float) -> Link:
        """The link with its range stretched."""
        factor = positive("factor", factor)
        return Identity(self.low * factor, self.high * factor)

    def inverse(self, F: ArrayLike) -> Any:
        """Probability of the score; exactly 0 and 1 beyond the range."""
        return plain(np.clip((as_float("F", F) - self.low) / (self.high - self.low), 0.0, 1.0))


@register("FromDistribution('t', (5,))", "FromDistribution('t', (5,), scale=2)")
@final
@dataclass(frozen=True, repr=False)
class FromDistribution(_ScaledLink):
    """F = scale · quantile of p: the inverse link is the distribution's cumulative function.

    Parameters
    ----------
    dist : str or frozen scipy distribution
        ``FromDistribution(scipy.stats.t(5))`` and ``FromDistribution("t", (5,))`` are the same link. Any
        object with ``logcdf, logsf, logpdf, ppf, isf`` will do.
    args : tuple of float
        Shape parameters, location and scale of a distribution given by name.

    Examples
    --------
    >>> round(FromDistribution("t", (5.0,)).link(0.975), 6)
    2.570582
    """

    scale: float = field(default=1.0, kw_only=True)
    dist: Any = "logistic"
    args: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        from scipy import stats

        dist, args = self.dist, tuple(float(a) for a in self.args)
        if isinstance(dist, stats.distributions.rv_frozen):
            shapes, loc, scale = dist.dist._parse_args(*dist.args, **dist.kwds)
            tail = (loc, scale) if (loc, scale) != (0, 1) else ()
            dist, args = dist.dist.name, tuple(float(a) for a in (*shapes, *tail))
        if isinstance(dist, str):
            family = getattr(stats, dist, None)
            if not isinstance(family, stats.rv_continuous):
                raise ValueError(f"dist must name a continuous distribution of scipy.stats, got {dist!r}")
            _check_arguments(family, args)
        else:
            missing = [m for m in ("logcdf", "logsf", "logpdf", "ppf", "isf") if not hasattr(dist, m)]
            if missing:
                raise TypeError(
                    f"dist must be a continuous distribution; {dist!r} lacks {', '.join(missing)}"
                )
        object.__setattr__(self, "dist", dist)
        object.__setattr__(self, "args", args)

    @cached_property
    def _frozen(self) -> Any:
        if not isinstance(self.dist, str):
            return self.dist
        from scipy import stats

        return getattr(stats, self.dist)(*self.args)

    def _unit_log_odds(self, z: Array) -> LogOdds:
        from propriety.losses.from_functions.calculus import derivative

        d = self._frozen
        lp, lq = d.logcdf(z), d.logsf(z)
        slope = np.exp(d.logpdf(z) - lp - lq)
        spread = float(d.ppf(0.75) - d.ppf(0.25))
        log_density_slope = np.nan_to_num(derivative(d.logpdf, z, step=spread / 32))
        p, q = np.exp(lp), np.exp(lq)
        return LogOdds(lp - lq, slope, slope * (log_density_slope - slope * (q - p)))

    def _unit_score(self, x: Point) -> Array:
        d = self._frozen
        return np.where(x.t < 0, d.ppf(x.p), d.isf(x.q))


def _check_arguments(family: Any, args: tuple[float, ...]) -> None:
    """Refuse arguments for which SciPy's distribution is NaN everywhere."""
    named = family.shapes or "no shape parameters"
    try:
        shapes, _, scale = family._parse_args(*args)
    except TypeError:
        raise ValueError(
            f"args of {family.name} are {named}, then location and scale, got {len(args)}: {args!r}"
        ) from None
    right = np.all(family._argcheck(*shapes)) and np.all(np.isfinite(args)) and scale > 0
    if not right:
        raise ValueError(f"args of {family.name}, {named}, are outside of what it is defined for: {args!r}")


@register("Canonical(Power(0.3))", "Canonical(Arcsine(), scale=2)")
@final
@dataclass(frozen=True, repr=False)
class Canonical(_ScaledLink):
    """F = scale · −H′(p): the canonical link of any smooth loss, inverted numerically to 1e-12.

    With it the composite loss is convex and its gradient is p − y. Use ``loss.canonical_link``, which gives
    the closed form where there is one.

    >>> from propriety import losses
    >>> link = losses.Power(0.3).canonical_link
    >>> round(float(link.inverse(link.link(0.01))), 12)
    0.01
    """

    scale: float = field(default=1.0, kw_only=True)
    loss: SmoothLoss

    def __post_init__(self) -> None:
        from propriety.losses.base import SmoothLoss

        super().__post_init__()
        if not isinstance(self.loss, SmoothLoss):
            raise TypeError(f"loss must be a smooth loss, such as losses.Power(0.3), got {self.loss!r}")

    @property
    def low(self) -> float:  # type: ignore[override]
        """Score of p = 0."""
        return self.scale * float(self.loss.slope(0.0))

    @property
    def high(self) -> float:  # type: ignore[override]
        """Score of p = 1."""
        return self.scale * float(self.loss.slope(1.0))

    def _unit_log_odds(self, z: Array) -> LogOdds:
        t = invert_increasing(
            lambda t: self.loss._slope(at_log_odds(t)),
            lambda t: np.exp(self.loss._log_relative(at_log_odds(t))),
            *(z, 1400.0, self.loss._rough_log_odds(z)),
        )
        x = at_log_odds(t)
        log_r, dlog_r = self.loss._log_relative(x), self.loss._dlog_relative(x)
        # dF/dt = r, so t′ = 1/r and t″ = −r′/r³.
        return LogOdds(t, np.exp(-log_r), -dlog_r * np.exp(-2 * log_r))

    def _unit_score(self, x: Point) -> Array:
        return self.loss._slope(x)


# Links made of others, which are built on what is above.
from propriety.losses.bent_links import Interpolated, Recalibrated, Shifted  # noqa: E402
