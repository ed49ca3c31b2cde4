"""A proper loss from a margin loss φ(v), with the link that the margin loss implies.

Where ηφ(f) + (1 − η)φ(−f) is least at one f for each η, that f is the link, and the least risk the entropy of
a proper loss. The link ends at R, the margin from which φ falls no more: scores beyond ±R have probability 0
or 1, and the proper loss says nothing of them. There the composite is φ itself, as it is everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple, final

import numpy as np

from propriety.cached_properties import cached_property
from propriety.losses.base import Loss
from propriety.losses.from_functions.calculus import (
    PiecewiseSmooth,
    UserFunction,
    breaks_of,
    count_rough,
    derivative,
    second_derivative,
)
from propriety.losses.from_functions.numeric import NumericLoss
from propriety.losses.links import Link, LogOdds
from propriety.losses.point import LARGEST_LOG_ODDS, Array, Point, probability_at, product
from propriety.losses.score_forms import ScoreForm
from propriety.losses.special import invert_increasing
from propriety.losses.value import positive

_FAR = 15.0  # log-odds that a link must reach: beyond, φ′ may have used up its digits
_DIGITS = 12  # of log-odds, so that those of p and 1 − p are the same
_SATURATED = 0.02  # rise of the log-odds over the second half of a link that does not end
_FLAT = 1e-9  # least rise of the log-odds, relative to what is usual


class _Derivatives(NamedTuple):
    value: Array
    slope: Array
    bend: Array
    third: Array


class MarginCurve:
    """A margin loss φ with three derivatives on the whole line, and the link that it implies.

    Attributes
    ----------
    length : float
        The loss's own length: the least (|φ′(v)| + |φ′(−v)|)/(|φ″(v)| + |φ″(−v)|) for v up to 4, or less
        where the curvature changes faster.
    high : float
        R, from where on φ falls no more; may be infinite.
    reach : float
        The largest score at which φ′ has digits on both sides; R if that is finite.
    """

    def __init__(self, function: Callable[..., Any], derivative: Callable[..., Any] | None = None) -> None:
        self.phi = UserFunction("phi", function)
        self._given = None if derivative is None else UserFunction("derivative", derivative)
        rough = self.phi if self._given is None else self._given

        def size(v: Array) -> Array:
            return np.abs(rough(v)) + np.abs(rough(-v))

        self.length = self._length()
        # A curvature may change faster than φ′ does. Shorter panels are as rough as long ones only where
        # there are breaks, or where φ is rough everywhere, as a table is.
        far, rough_panels = 8 * self.length, partial(count_rough, rough, size)
        counts = [rough_panels(-far, far, self.length / 4)]
        while len(counts) < 6:
            counts.append(rough_panels(-far, far, self.length / 8))
            if counts[-1] >= counts[-2]:
                break
            self.length /= 2
        far = max(16.0, 32 * self.length)
        breaks = breaks_of(rough, size, -far, far, max(self.length / 4, far / 1024))
        self._smooth = PiecewiseSmooth(rough, self.length / 32, breaks)
        self.high, self.reach = np.inf, np.inf
        self._find_ends()

    def _length(self) -> float:
        v, step = np.linspace(-4, 4, 81), 1e-3
        if self._given is None:
            slope, bend = derivative(self.phi, v, step), second_derivative(self.phi, v, step)
        else:
            slope, bend = self._given(v), derivative(self._given, v, step)
        with np.errstate(all="ignore"):
            slope, bend = (np.abs(d) + np.abs(d[::-1]) for d in (slope, bend))
            lengths = slope / bend
        length = np.min(lengths[np.isfinite(lengths) & (slope > 1e-6)], initial=1e3)
        return float(np.clip(length, 0.05, 1e3))

    def at(self, v: Array, from_left: bool = False) -> _Derivatives:
        """φ, φ′, φ″ and φ‴; at a kink those of its right side, or of its left one."""
        derivatives = self._smooth.at(v, from_left)
        return (
            _Derivatives(*derivatives) if self._given is None else _Derivatives(self.phi(v), *derivatives[:3])
        )

    def both(self, F: Array) -> tuple[_Derivatives, _Derivatives]:
        """The same at F and at −F; at a kink those that hold for the scores above F."""
        return self.at(F), self.at(-F, from_left=True)

    def slope(self, v: Array) -> Array:
        """φ′."""
        return self._given(v) if self._given else self._smooth.at(v)[1]

    def score(self, t: Array) -> Array:
        """The score of log-odds that are not negative."""
        slopes = np.empty(0)

        def odds(F: Array) -> Array:
            nonlocal slopes
            (_, s1, b1, _), (_, s0, b0, _) = self.both(F)
            slopes = -(b1 / s1 + b0 / s0)
            return np.log(-s0) - np.log(-s1)

        start = np.interp(t, *self.rough_scores)
        inside = invert_increasing(odds, lambda F: slopes, t, limit=self.reach, start=start)
        inside = np.minimum(inside, self.reach)
        if self.high == np.inf:
            # Beyond reach the log-odds go on along their last tangent.
            inside = np.where(inside == self.reach, inside + (t - odds(inside)) / slopes, inside)
        return inside

    def odds(self, F: Array) -> Array:
        """The log-odds log φ′(−F)/φ′(F) of a score within the range."""
        with np.errstate(all="ignore"):
            return np.log(-self.slope(-F)) - np.log(-self.slope(F))

    def odds_slope(self, F: Array) -> Array:
        """Its derivative."""
        with np.errstate(all="ignore"):
            (_, s1, b1, _), (_, s0, b0, _) = self.both(F)
            return -(b1 / s1 + b0 / s0)

    @cached_property
    def rough_scores(self) -> tuple[Array, Array]:
        """Log-odds and their scores, from which an inversion needs few steps."""
        end = self.reach if self.high < np.inf else self.reach * (1 - 1e-9)
        near = np.geomspace(1e-9, 0.5, 200)
        scores = end * np.unique(np.concatenate([[0.0], near, 1 - near]))
        if self.high == np.inf:
            scores = np.unique(np.concatenate([scores, np.linspace(0, min(40 * self.length, end), 400)]))
        t = np.maximum.accumulate(np.nan_to_num(self.odds(scores), nan=0.0))
        return t, scores

    def _find_ends(self) -> None:
        scores = self.length * np.linspace(0.5, 600, 1200)
        scores = np.sort(np.concatenate([scores, scores[0] * np.linspace(0.02, 0.98, 49)]))
        with np.errstate(all="ignore"):
            falls, falls_left = self.slope(scores) < 0, self.slope(-scores) < 0
        first = int(np.argmin(np.append(falls, False)))
        # Where φ′ has no digits at −F either, it is they that end.
        if first < len(scores) and np.all(falls_left[:first]):
            low, high = (0.0 if first == 0 else float(scores[first - 1])), float(scores[first])
            while high - low > 1e-15 * high:
                middle = 0.5 * (low + high)
                if middle in (low, high):
                    break
                low, high = (middle, high) if self.slope(np.array([middle]))[0] < 0 else (low, middle)
            near = self._smooth.breaks[np.abs(self._smooth.breaks - high) < 1e-9 * (1 + high)]
            end = float(near[0]) if len(near) else high
            if self.odds(np.array([0.999 * end]))[0] < _FAR:
                self.high = self.reach = end
                return
        with np.errstate(all="ignore"):
            t = self.odds(scores)
            rises = np.diff(t, append=np.inf)
            increases = np.isfinite(t) & (rises > 0) & (self.odds_slope(scores) > _FLAT / self.length)
        # Log-odds that fall this far out are rounding; nearer, they say that phi has no link.
        ok = np.where(np.fmax.accumulate(t) > _FAR, increases, np.isfinite(t) & (rises != 0))
        good = int(np.argmin(ok)) if not np.all(ok) else len(ok)
        self.reach = float(scores[max(good - 8, 0)])

    # -- what φ must be ------------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse a φ that is not classification-calibrated, or has no link, with the reason."""
        self._check_calibrated()
        self._check_derivative()
        self._check_link()

    def _check_calibrated(self) -> None:
        at_zero = float(self.slope(np.zeros(1))[0])
        if not at_zero < 0:
            raise ValueError(
                f"phi is not classification-calibrated: the margin loss must fall at 0 (it has slope "
                f"{at_zero:.3g} there), so that the likelier class costs less"
            )
        sides = [float(self.slope(np.array([side * 1e-7 * self.length]))[0]) for side in (-1, 1)]
        if abs(sides[1] - sides[0]) > 1e-3 * abs(sides[0]):
            raise ValueError(
                f"phi is not classification-calibrated: it has a kink at 0, where its slope jumps from "
                f"{sides[0]:.3g} to {sides[1]:.3g}, so that the score 0 is best for many probabilities"
            )
        v = -np.linspace(0, 1, 401) * min(20 * self.length, 4 * self.reach)
        with np.errstate(all="ignore"):
            slopes = self.slope(v)
            rises = slopes > 1e-9 * np.abs(self.slope(-v)) + 1e-9 * abs(at_zero)
        if np.any(rises):
            raise ValueError(
                "phi is not classification-calibrated: it rises at the margin "
                f"v = {v[np.argmax(rises)]:.3g}, where a worse score costs less (checked at 401 margins "
                "below 0)"
            )
        if self.high < np.inf:
            v = self.high + np.linspace(0, 1, 401) * 64 * self.length
            with np.errstate(all="ignore"):
                falls = self.slope(v) < -1e-6 * abs(at_zero)
            if np.any(falls):
                raise ValueError(
                    f"phi has no link: it falls again at v = {v[np.argmax(falls)]:.3g}, after it has risen "
                    f"or been flat from v = {self.high:.3g} on (checked at 401 margins)"
                )

    def _check_derivative(self) -> None:
        if self._given is None:
            return
        v = np.linspace(-0.97, 0.97, 41) * min(4 * self.length, self.reach)
        by_differences = derivative(self.phi, v, 1e-3 * self.length)
        wrong = np.abs(by_differences - self._given(v)) > 1e-3 * np.max(np.abs(by_differences))
        if np.count_nonzero(wrong) > 5:  # a kink or two may lie within a step
            at = v[np.argmax(wrong)]
            raise ValueError(
                f"derivative is not that of phi: at v = {at:.3g} it is {self._given(np.array([at]))[0]:.6g}, "
                f"and differences of phi give {by_differences[np.argmax(wrong)]:.6g}"
            )

    def _check_link(self) -> None:
        top, middle = self.odds(np.array([1.0, 0.5]) * self.reach)
        if self.high == np.inf and top - middle < _SATURATED:
            raise ValueError(
                f"phi has no link for probabilities above {probability_at(top):.3g}: it falls without end, "
                "and no score is best for them"
            )
        v = np.linspace(-1, 1, 401) * min(20 * self.length, 0.999 * self.reach)
        flat = v[~(self.odds_slope(v) > _FLAT / self.length)]
        if len(flat):
            raise ValueError(
                f"phi has no link: the scores around v = {flat[np.argmin(np.abs(flat))]:.3g} do not "
                "tell probabilities apart, because p(v) = phi'(-v)/(phi'(v) + phi'(-v)) does not increase "
                "there; the minimizer gives the likelier class only, as the hinge loss does "
                "(checked at 401 margins)"
            )


@lru_cache(maxsize=64)
def _curve_of(function: Callable[..., Any], derivative: Callable[..., Any] | None) -> MarginCurve:
    return MarginCurve(function, derivative)


@final
@dataclass(frozen=True, repr=False)
class MarginLink(Link):
    """The link of a margin loss φ: log-odds t(F) = log φ′(−F)/φ′(F), infinite beyond its range. [M (24)]"""

    function: Callable[..., Any]
    derivative: Callable[..., Any] | None = None
    scale: float = 1.0

    #: beyond it differences have used up the digits of φ′, or so they may
    _known_log_odds = 12.0

    @cached_property
    def curve_of_loss(self) -> MarginCurve:
        """φ."""
        return _curve_of(self.function, self.derivative)

    @property
    def high(self) -> float:  # type: ignore[override]
        """Score of p = 1."""
        return self.scale * self.curve_of_loss.high

    @property
    def low(self) -> float:  # type: ignore[override]
        """Score of p = 0."""
        return -self.high

    def _log_odds(self, F: Array) -> LogOdds:
        curve, z = self.curve_of_loss, np.asarray(F / self.scale)
        inner = np.clip(z, -curve.reach, curve.reach)
        (_, s1, b1, c1), (_, s0, b0, c0) = curve.both(inner)
        t, slope = np.log(-s0) - np.log(-s1), -(b1 / s1 + b0 / s0)
        bend = (c0 / s0 - (b0 / s0) ** 2) - (c1 / s1 - (b1 / s1) ** 2)
        if curve.high < np.inf:
            beyond = np.abs(z) >= curve.high
            t = np.where(beyond, np.sign(z) * LARGEST_LOG_ODDS, t)
            slope = np.where(beyond, 0.0, slope)
        else:
            # Beyond reach the log-odds go on along their last tangent.
            beyond = inner != z
            t = t + np.where(beyond, slope * (z - inner), 0.0)
        return LogOdds(t, slope / self.scale, np.where(beyond, 0.0, bend) / self.scale**2)

    def _score(self, x: Point) -> Array:
        # Odd by construction: the loss is symmetric, whatever rounding says of its tails.
        size = np.asarray(np.round(np.abs(x.t), _DIGITS), dtype=np.float64)
        t, places = np.unique(size, return_inverse=True)
        scores = self.curve_of_loss.score(t)[places].reshape(np.shape(x.t))
        return self.scale * np.sign(x.t) * scores

    def scaled(self, factor: float) -> Link:
        """The link with its scale multiplied."""
        return MarginLink(self.function, self.derivative, self.scale * positive("factor", factor))

    def __reduce__(self) -> Any:
        return MarginLink, (self.function, self.derivative, self.scale)  # caches are made again


@dataclass(frozen=True)
class MarginForm(ScoreForm):
    """φ(v/scale) with v = F for label 1 and −F for label 0."""

    curve: MarginCurve
    scale: float

    def value(self, y: Array, F: Array) -> Array:
        """φ."""
        return self._of_label(y, F, self.curve.phi)

    def gradient(self, y: Array, F: Array) -> Array:
        """φ′, minus that of −F for label 0."""
        return self._of_label(y, F, self.curve.slope, odd=True) / self.scale

    def hessian(self, y: Array, F: Array) -> Array:
        """φ″."""
        # At a kink, like `fisher`, those of the scores above F.
        y, F = np.broadcast_arrays(y, F)
        ones, zeros = self.curve.both(F / self.scale)
        return (product(y, ones.bend) + product(1 - y, zeros.bend)) / self.scale**2

    def fisher(self, F: Array) -> Array:
        """p φ″(F) + q φ″(−F) within the range; beyond it, where no score is right, (φ′(F) − φ′(−F))/2F.

        The latter is the curvature of the parabola that touches the even part of φ at ±F. At ±R the two agree
        for a φ whose even part is one between.
        """
        curve, z = self.curve, np.asarray(F / self.scale)
        (_, s1, b1, _), (_, s0, b0, _) = curve.both(z)
        beyond = np.abs(z) >= curve.high
        p = np.clip(s0 / (s0 + s1), 0.0, 1.0)
        mean = np.maximum(product(p, b1) + product(1 - p, b0), 0.0)
        chord = (s1 - s0) / (2 * np.where(z == 0, 1.0, z))
        return np.where(beyond, chord, mean) / self.scale**2

    def _of_label(self, y: Array, F: Array, function: Callable[[Array], Array], odd: bool = False) -> Array:
        """f(F) for label 1, ±f(−F) for label 0, their mean for a label between."""
        z, sign = np.asarray(F / self.scale), -1.0 if odd else 1.0
        ones, zeros = y == 1, y == 0
        if np.all(ones | zeros):
            return np.where(ones, 1.0, sign) * function(np.where(ones, z, -z))
        return product(y, function(z)) + sign * product(1 - y, function(-z))


@final
@dataclass(frozen=True, repr=False)
class FromMarginLoss(NumericLoss):
    """The proper loss of a margin loss; made by `from_margin_loss`."""

    function: Callable[..., Any]
    derivative: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        self._curve.check()

    @cached_property
    def _curve(self) -> MarginCurve:
        return _curve_of(self.function, self.derivative)

    @cached_property
    def _link(self) -> MarginLink:
        return MarginLink(self.function, self.derivative)

    def _score_form(self, link: Link) -> ScoreForm | None:
        if isinstance(link, MarginLink) and (link.function, link.derivative) == (
            self.function,
            self.derivative,
        ):
            return MarginForm(self._curve, link.scale)
        return None

    def _log_rate(self, link: Link, F: Array) -> Array | None:
        if link != self._link:
            return None
        inner = np.clip(F, -self._curve.reach, self._curve.reach)
        # −φ′(F) = (1 − p) A and −φ′(−F) = p A, with A = ω p′ = r t′.
        return np.log(-self._curve.slope(inner) - self._curve.slope(-inner))

    def _log_relative(self, x: Point) -> Array:
        # Even by construction, like the score is odd.
        F = np.minimum(np.abs(self._link._score(x)), self._curve.reach)
        log_rate = self._log_rate(self._link, F)
        assert log_rate is not None
        slope = self._curve.odds_slope(F)
        return log_rate - np.log(slope)

    def _partial1(self, x: Point) -> Array:
        value = np.where(x.p == 0, self._worst, self._curve.phi(self._link._score(x)))
        return value if self._curve.high < np.inf else np.where(x.q == 0, self._best, value)

    def _partial0(self, x: Point) -> Array:
        return self._partial1(x.mirror)

    @cached_property
    def _worst(self) -> float:
        """φ(−R), or φ(−∞): the loss of certainty about the wrong label."""
        far = np.array([1e300, 1e150]) if self._curve.high == np.inf else np.full(2, self._curve.high)
        value, nearer = map(float, self._curve.phi(-far))
        return np.inf if math.isnan(value) or value > 2 * nearer + 1 else value

    @cached_property
    def _best(self) -> float:
        """φ(∞), where φ falls for ever: far out, but not where it is rounding or no number."""
        values = self._curve.phi(self._curve.length * np.geomspace(1e2, 1e8, 7))
        least = float(np.min(values[np.isfinite(values)], initial=np.inf))
        return 0.0 if abs(least) < 1e-7 * abs(float(self._curve.phi(np.zeros(1))[0])) else least

    def _default_link(self) -> Link:
        return self._link


def from_margin_loss(phi: Callable[..., Any], derivative: Callable[..., Any] | None = None) -> Loss:
    """The proper loss whose composite with its default link is the margin loss φ(v).

    On the whole line the composite has φ's own value, gradient and curvature. The probability of a score is
    p(v) = φ′(−v)/(φ′(v) + φ′(−v)), clipped to 0 and 1 from the margin on where φ falls no more. φ must be
    classification-calibrated, that is, differentiable at 0 and falling there if it is convex; and p(v) must
    increase. Kinks of φ′ are found; give the derivative φ′ where φ is too flat for differences.

    >>> from propriety import losses
    >>> import numpy as np
    >>> mine = losses.from_margin_loss(lambda v: np.log1p(np.exp(-v)))
    >>> round(float(mine.loss(1, 0.25)), 8) == round(float(losses.Log().loss(1, 0.25)), 8)
    True
    >>> hinge2 = losses.from_margin_loss(lambda v: np.maximum(0, 1 - v) ** 2).composite()
    >>> hinge2.margin_loss([-3.0, 2.0]), hinge2.inverse([-3.0, 0.5, 2.0]).round(12)
    (array([16.,  0.]), array([0.  , 0.75, 1.  ]))
    >>> losses.from_margin_loss(lambda v: np.maximum(0, 1 - v))
    Traceback (most recent call last):
    ...
    ValueError: phi has no link: the scores around v = ...
    """
    return FromMarginLoss(phi, derivative)
