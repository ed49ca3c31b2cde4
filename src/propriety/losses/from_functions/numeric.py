"""A loss known by its weight alone: what every loss from a user's functions shares.

Each constructor derives from what it is given the weight relative to the log loss, r = ω p q, as a function
of the log-odds; partial losses are integrals of it (adaptive quadrature), derivatives are central differences
of order eight. What is not proper is refused when it is made, with the reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety.cached_properties import cached_property
from propriety.losses.base import SmoothLoss
from propriety.losses.from_functions.calculus import Cumulative, derivative
from propriety.losses.point import Array, Point, at_log_odds

#: Log-odds at which a loss is checked: p from 1e-6 to 1 − 1e-6 in 1121 points. Said in every error.
_GRID = np.linspace(-14, 14, 1121)
_STEP = 1 / 32  # of the differences in log-odds
_ROUGH = np.linspace(-40, 40, 4001)  # log-odds at which the slope is known beforehand
_TAIL = np.concatenate([np.linspace(-745, -50, 140), np.linspace(-48, -20.5, 56)])
EDGES = np.concatenate([_TAIL, np.linspace(-20, 20, 161), -_TAIL[::-1]])


class NumericLoss(SmoothLoss):
    """A smooth loss known by r = ω p q alone; the other faces by quadrature and differences."""

    #: H(0) and H(1)
    _ends: tuple[float, float] = (0.0, 0.0)

    def _accuracy(self, t: Array) -> Array:
        return np.full_like(t, 1e-9)  # of numerical derivatives

    def _partial1(self, x: Point) -> Array:
        value = self._ends[1] + self._above.above(np.asarray(x.t))
        return np.where((x.p == 0) & self._unbounded[0], np.inf, value)

    def _partial0(self, x: Point) -> Array:
        value = self._ends[0] + self._below.below(np.asarray(x.t))
        return np.where((x.q == 0) & self._unbounded[1], np.inf, value)

    @cached_property
    def _unbounded(self) -> tuple[bool, bool]:
        """Whether ℓ(1, 0) and ℓ(0, 1) are infinite: whether r does not decay towards p = 0 and p = 1."""
        with np.errstate(all="ignore"):
            r = np.exp(self._log_relative(at_log_odds(np.array([-120.0, -60.0, 60.0, 120.0]))))
        return bool(r[0] >= 0.999 * r[1] > 0), bool(r[3] >= 0.999 * r[2] > 0)

    def _rough_log_odds(self, slope: Array) -> Array | None:
        # Each step of an inversion is two integrals for every score; from here, three steps are enough.
        return np.interp(slope, self._slopes, _ROUGH)

    @cached_property
    def _slopes(self) -> Array:
        with np.errstate(all="ignore"):
            return np.maximum.accumulate(np.nan_to_num(self._slope(at_log_odds(_ROUGH))))

    def _dlog_relative(self, x: Point) -> Array:
        slope = derivative(lambda t: self._log_relative(at_log_odds(t)), x.t, _STEP)
        # Where the weight vanishes its logarithm has no slope, and none is needed.
        return np.where(np.isfinite(slope), slope, 0.0)

    @cached_property
    def _below(self) -> Cumulative:
        return Cumulative(lambda t: self._mass(t, "lp"), EDGES)

    @cached_property
    def _above(self) -> Cumulative:
        return Cumulative(lambda t: self._mass(t, "lq"), EDGES)

    def _mass(self, t: Array, side: str) -> Array:
        x = at_log_odds(t)
        mass = np.exp(self._log_relative(x) + getattr(x, side))
        # At p of 1e-300 a user's function may leave the range of doubles; nothing of weight is there.
        return np.where(np.isfinite(mass), mass, 0.0)

    def _check_integrable(self) -> None:
        """Both partial losses are finite inside (0, 1) iff the masses decay outwards."""
        for side, sign, label in (("lp", -1, 0), ("lq", 1, 1)):
            # Far out, but not so far that a power of p leaves the range of doubles.
            t = sign * np.array([60.0, 120.0])
            with np.errstate(all="ignore"):
                near, far = self._mass(t, side)
            if not (far < 0.999 * near or far == 0):
                raise ValueError(
                    f"{self!r} is not a proper loss with finite values: the integral of t (1 - t) weight(t) "
                    f"diverges at p = {label}"
                )

    def _check_weight(self, what: str) -> None:
        with np.errstate(all="ignore"):
            log_r = self._log_relative(at_log_odds(_GRID))
        if np.any(np.isnan(log_r)) or np.any(log_r == np.inf):
            bad = at_log_odds(_GRID[np.isnan(log_r) | (log_r == np.inf)][0]).p
            raise ValueError(f"{what} is negative or not finite at p = {bad:.6g}")
        if np.all(log_r == -np.inf):
            raise ValueError(f"{what} is zero everywhere")

    def __reduce__(self) -> Any:
        # Cumulative integrals hold closures; they are made again when asked for.
        return _rebuild, (type(self), self.get_params(deep=False))


def _rebuild(cls: type, params: dict[str, Any]) -> Any:
    return cls(**params)


def log_positive(value: Array) -> Array:
    """log of a non-negative value; a value below zero by rounding alone counts as zero, others give nan."""
    floor = -1e-9 * np.max(np.abs(value), initial=0.0)
    with np.errstate(all="ignore"):
        return np.log(np.where((value < 0) & (value >= floor), 0.0, value))
