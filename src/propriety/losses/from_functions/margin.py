"""A proper loss from a margin loss φ(v), with the link that the margin loss implies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from propriety.cached_properties import cached_property
from propriety.losses.base import Loss
from propriety.losses.from_functions.calculus import UserFunction, derivative, second_derivative
from propriety.losses.from_functions.numeric import NumericLoss
from propriety.losses.links import Link, LogOdds
from propriety.losses.point import Array, Point
from propriety.losses.special import invert_increasing
from propriety.losses.value import positive


@final
@dataclass(frozen=True, repr=False)
class MarginLink(Link):
    """The link of a margin loss φ: log-odds t(F) = log φ′(−F)/φ′(F). [M (24)]"""

    function: Callable[..., Any]
    derivative: Callable[..., Any] | None = None
    scale: float = 1.0

    @cached_property
    def _phi(self) -> UserFunction:
        return UserFunction("phi", self.function)

    @cached_property
    def _given_slope(self) -> UserFunction | None:
        return None if self.derivative is None else UserFunction("derivative", self.derivative)

    @cached_property
    def _step(self) -> float:
        """1/32 of the loss's own length: the least |φ′/φ″| at margins from −4 to 4."""
        v, rough = np.linspace(-4, 4, 81), 1e-3
        slope, bend = derivative(self._phi, v, rough), second_derivative(self._phi, v, rough)
        with np.errstate(all="ignore"):
            lengths = np.abs(slope / bend)
        length = np.min(lengths[np.isfinite(lengths) & (np.abs(slope) > 1e-6)], initial=1e3)
        return float(np.clip(length, 0.05, 1e3)) / 32

    @cached_property
    def _reach(self) -> float:
        """The largest score at which φ′ still has digits on both sides."""
        scores = self._step * 32 * np.linspace(0.5, 600, 1200)
        with np.errstate(all="ignore"):
            t = self._odds(scores)
            ok = np.isfinite(t) & (np.abs(np.diff(t, append=np.inf)) > 0)
        good = int(np.argmin(ok)) if not np.all(ok) else len(ok)
        return float(scores[max(good - 8, 0)])

    def _slope_of_phi(self, v: Array) -> Array:
        return self._given_slope(v) if self._given_slope else derivative(self._phi, v, self._step)

    def _bend_of_phi(self, v: Array) -> Array:
        if self._given_slope:
            return derivative(self._given_slope, v, self._step)
        return second_derivative(self._phi, v, self._step)

    def _odds(self, F: Array) -> Array:
        return np.log(-self._slope_of_phi(-F)) - np.log(-self._slope_of_phi(F))

    def _odds_slope(self, F: Array) -> Array:
        ratio = [self._bend_of_phi(v) / self._slope_of_phi(v) for v in (F, -F)]
        return -(ratio[0] + ratio[1])

    def _log_odds(self, F: Array) -> LogOdds:
        z = F / self.scale
        inner = np.clip(z, -self._reach, self._reach)
        slope = self._odds_slope(inner)
        # Beyond reach the log-odds go on along their last tangent.
        t = self._odds(inner) + slope * (z - inner)
        bend = np.where(inner == z, derivative(self._odds_slope, inner, self._step), 0.0)
        return LogOdds(t, slope / self.scale, bend / self.scale**2)

    def _score(self, x: Point) -> Array:
        inside = invert_increasing(self._odds, self._odds_slope, x.t, limit=self._reach)
        end = np.clip(inside, -self._reach, self._reach)
        beyond = np.abs(end) == self._reach
        excess = np.where(beyond, (x.t - self._odds(end)) / self._odds_slope(end), 0.0)
        return self.scale * (inside + excess)

    def scaled(self, factor: float) -> Link:
        """The link with its scale multiplied."""
        return MarginLink(self.function, self.derivative, self.scale * positive("factor", factor))


@final
@dataclass(frozen=True, repr=False)
class FromMarginLoss(NumericLoss):
    """The proper loss of a margin loss; made by `from_margin_loss`."""

    function: Callable[..., Any]
    derivative: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        link = self._link
        slope = link._slope_of_phi(np.zeros(1))[0]
        if not slope < 0:
            raise ValueError(
                f"the margin loss must fall at 0 (it has slope {slope:.3g} there): only then is it "
                "classification-calibrated"
            )
        v = np.linspace(-1, 1, 401) * 20 * 32 * link._step
        rises = np.diff(link._phi(v))
        if np.any(rises > 1e-12):
            raise ValueError(
                f"the margin loss must be decreasing; it rises at v = {v[np.argmax(rises > 1e-12)]:.3g}, "
                "where a better score costs more (checked at 401 margins)"
            )
        v = np.linspace(-1, 1, 401) * min(20 * 32 * link._step, link._reach)
        with np.errstate(all="ignore"):
            flat = v[~(link._odds_slope(v) > 1e-9 / (32 * link._step))]
        if len(flat):
            raise ValueError(
                f"not a proper composite: the scores around v = {flat[np.argmin(np.abs(flat))]:.3g} do not "
                "tell probabilities apart, because p(v) = phi'(-v)/(phi'(v) + phi'(-v)) does not increase "
                "there; the minimizer gives the likelier class only, as the hinge loss does "
                "(checked at 401 margins)"
            )

    @cached_property
    def _link(self) -> MarginLink:
        return MarginLink(self.function, self.derivative)

    def _log_rate(self, link: Link, F: Array) -> Array | None:
        if link != self._link:
            return None
        inner = np.clip(F, -self._link._reach, self._link._reach)
        # −φ′(F) = (1 − p) A and −φ′(−F) = p A, with A = ω p′ = r t′.
        return np.log(-self._link._slope_of_phi(inner) - self._link._slope_of_phi(-inner))

    def _log_relative(self, x: Point) -> Array:
        F = self._link._score(x)
        inner = np.clip(F, -self._link._reach, self._link._reach)
        log_rate = self._log_rate(self._link, inner)
        assert log_rate is not None
        return log_rate - np.log(self._link._odds_slope(inner))

    def _partial1(self, x: Point) -> Array:
        return np.where(x.p == 0, self._worst, self._link._phi(self._link._score(x)))

    def _partial0(self, x: Point) -> Array:
        return np.where(x.q == 0, self._worst, self._link._phi(-self._link._score(x)))

    @cached_property
    def _worst(self) -> float:
        """φ(−∞), the loss of certainty about the wrong label."""
        value = float(self._link._phi(np.array([-1e300]))[0])
        return np.inf if math.isnan(value) else value

    def _default_link(self) -> Link:
        return self._link


def from_margin_loss(phi: Callable[..., Any], derivative: Callable[..., Any] | None = None) -> Loss:
    """The proper loss whose composite with its default link is the margin loss φ(v).

    p(v) = φ′(−v)/(φ′(v) + φ′(−v)); φ must decrease, fall at 0, and p(v) must increase. Give the derivative
    φ′ where φ is too flat for differences.

    >>> from propriety import losses
    >>> import numpy as np
    >>> mine = losses.from_margin_loss(lambda v: np.log1p(np.exp(-v)))
    >>> round(float(mine.loss(1, 0.25)), 8) == round(float(losses.Log().loss(1, 0.25)), 8)
    True
    >>> losses.from_margin_loss(lambda v: np.maximum(0, 1 - v))
    Traceback (most recent call last):
    ...
    ValueError: not a proper composite: the scores around v = ...
    """
    return FromMarginLoss(phi, derivative)
