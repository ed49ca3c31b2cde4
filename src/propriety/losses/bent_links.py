"""Links made of another one by a map of its log-odds: what calibration after a fit leaves."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np

from propriety.losses.links import Link, LogOdds, register
from propriety.losses.point import Array, Point, at_log_odds
from propriety.losses.value import number


@dataclass(frozen=True, repr=False)
class _BentLink(Link):
    """A link made of another by a map of its log-odds. Subclasses state the map."""

    base: Link

    def __post_init__(self) -> None:
        if not isinstance(self.base, Link):
            raise TypeError(f"base must be a link, got {self.base!r}")

    @property
    def low(self) -> float:  # type: ignore[override]
        """Score of p = 0."""
        return self.base.low

    @property
    def high(self) -> float:  # type: ignore[override]
        """Score of p = 1."""
        return self.base.high

    def scaled(self, factor: float) -> Link:
        """The base link stretched, its log-odds changed as before."""
        return dataclasses.replace(self, base=self.base.scaled(factor))


@register("Shifted(Logit(), 1.5)")
@final
@dataclass(frozen=True, repr=False)
class Shifted(_BentLink):
    """A link whose log-odds are lowered by a constant: t(F) = base.t(F) − by.

    Undoes a known weighting of the classes: a model fitted with positives weighted k times has log-odds
    too large by log k, and ``Shifted(link, log(k))`` reads the right probabilities from its scores.

    >>> import math
    >>> from propriety.losses.links import Logit
    >>> round(Shifted(Logit(), math.log(9)).inverse(0.0), 12)
    0.1
    """

    by: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.isfinite(self.by):
            raise ValueError(f"by must be finite, got {self.by!r}")
        object.__setattr__(self, "by", float(self.by))

    def _log_odds(self, F: Array) -> LogOdds:
        t, slope, bend = self.base._log_odds(F)
        return LogOdds(t - self.by, slope, bend)

    def _score(self, x: Point) -> Array:
        return self.base._score(at_log_odds(x.t + self.by))


@register("Recalibrated(Logit(), 0.7, 1.2, -0.3)")
@final
@dataclass(frozen=True, repr=False)
class Recalibrated(_BentLink):
    """A link whose log-odds are bent: t = low · log p − high · log q + shift, p and q those of the base link.

    `low` and `high` are the slopes at small and at large probabilities. Equal ones are Platt's scaling,
    low · t + shift; others beta calibration [Kull, Silva Filho and Flach, AISTATS 2017].

    >>> from propriety.losses.links import Logit
    >>> Recalibrated(Logit(), 0.5, 0.5, 0.0).inverse(2.0) == Logit().inverse(1.0)
    True
    """

    low_slope: float
    high_slope: float
    shift: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low_slope", "high_slope"):
            object.__setattr__(self, name, number(name, getattr(self, name), 1e-3, 1e3, "both"))
        object.__setattr__(self, "shift", number("shift", self.shift, -1e3, 1e3, "both"))

    def _log_odds(self, F: Array) -> LogOdds:
        t, slope, bend = self.base._log_odds(F)
        bent, rate, growth = self._bent(at_log_odds(t))
        return LogOdds(bent, rate * slope, growth * slope**2 + rate * bend)

    def _bent(self, x: Point) -> tuple[Array, Array, Array]:
        """The new log-odds, and their first and second derivative by the old ones."""
        a, c = self.low_slope, self.high_slope
        return a * x.lp - c * x.lq + self.shift, a * x.q + c * x.p, (c - a) * x.p * x.q

    def _score(self, x: Point) -> Array:
        goal = np.clip(x.t - self.shift, -1e300, 1e300)
        t = goal / np.where(goal > 0, self.high_slope, self.low_slope)
        # Convex, or concave, and increasing: Newton's steps cannot miss.
        for _ in range(60):
            bent, rate, _ = self._bent(at_log_odds(t))
            step = (bent - self.shift - goal) / rate
            t = t - step
            if np.all(np.abs(step) <= 1e-14 * (1 + np.abs(t))):
                break
        return self.base._score(at_log_odds(t))


@register("Interpolated(Logit(), (-1.01, 0.13, 2.07), (-0.7, 0.1, 1.3))")
@final
@dataclass(frozen=True, repr=False)
class Interpolated(_BentLink):
    """A link whose log-odds are bent at knots: those of the base link at `knots` become `values`.

    Between two knots it is a straight line, beyond the last ones a line of slope 1. Isotonic calibration
    leaves such a link: its pools of rows are the knots.

    >>> from propriety.losses.links import Logit
    >>> link = Interpolated(Logit(), (-1.0, 1.0), (-0.5, 0.5))
    >>> link.inverse(0.6) == Logit().inverse(0.3), round(link.link(Logit().inverse(0.3)), 12)
    (True, 0.6)
    """

    knots: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("knots", "values"):
            numbers = _rising(name, getattr(self, name))
            object.__setattr__(self, name, numbers)
        if len(self.knots) != len(self.values):
            raise ValueError(f"{len(self.knots)} knots have {len(self.values)} values; give each one")

    def _log_odds(self, F: Array) -> LogOdds:
        t, slope, bend = self.base._log_odds(F)
        bent, rate = _follow(t, self.knots, self.values)
        return LogOdds(bent, rate * slope, rate * bend)

    def _score(self, x: Point) -> Array:
        return self.base._score(at_log_odds(_follow(x.t, self.values, self.knots)[0]))


def _rising(name: str, given: Any) -> tuple[float, ...]:
    """Numbers, each above the one before."""
    numbers = tuple(number(name, value, -1e3, 1e3, "both") for value in given)
    if not numbers or any(not b - a > math.ulp(max(abs(a), abs(b))) for a, b in pairwise(numbers)):
        raise ValueError(f"{name} must be rising numbers, at least one, got {given!r}")
    return numbers


def _follow(t: Array, knots: tuple[float, ...], values: tuple[float, ...]) -> tuple[Array, Array]:
    """The value at t of the line through the knots, and its slope."""
    x, y = np.array(knots), np.array(values)
    slopes = np.concatenate([[1.0], np.diff(y) / np.diff(x), [1.0]])
    part = np.searchsorted(x, t)  # 0 before the first knot, len(x) after the last
    at = np.clip(part - 1, 0, None)
    return y[at] + slopes[part] * (t - x[at]), slopes[part] * np.ones_like(t)
