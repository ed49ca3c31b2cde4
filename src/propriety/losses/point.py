"""A probability, with both of its tails exact.

``p * (1 - p)`` at score 37 is 0.0 in floating point, the truth is 8.5e-17; so formulas never see p alone.
They see a `Point`: p, q = 1 − p, their logarithms and the log-odds t = log(p/q). The log-odds is the
coordinate in which nothing over- or underflows, and in which every link and every loss of this package
meet: a link is a map F → t, a loss a function of t.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Beyond this log-odds every quantity has long left the range of doubles; clipping keeps inf − inf away.
LARGEST_LOG_ODDS = 1e305


class Foreign:
    """An array of another library, which answers NumPy's functions by that library's own.

    Formulas are stated once, in NumPy's names. An array that answers to them (NEP 13 and 18) brings its own
    namespace along, so the same formulas run on it; `propriety.interop` has such arrays. What is checked or
    converted for NumPy's arrays is left alone, since its values may not be known yet.
    """


class Point(NamedTuple):
    """One probability (or an array of them) in five exact coordinates."""

    p: Array
    q: Array
    lp: Array  # log p
    lq: Array  # log q
    t: Array  # log p − log q

    @property
    def mirror(self) -> Point:
        """The point 1 − p."""
        return Point(self.q, self.p, self.lq, self.lp, -self.t)


def as_float(name: str, value: ArrayLike) -> Array:
    """`value` as float64, or an error that names the argument."""
    if isinstance(value, Foreign):
        return cast("Array", value)
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number or an array of numbers, got {value!r:.80}") from error


def check_probability(name: str, value: ArrayLike) -> Array:
    """`value` as float64, every entry in [0, 1]."""
    array = as_float(name, value)
    if isinstance(value, Foreign):
        return array
    if not np.all((array >= 0) & (array <= 1)):
        bad = array[~((array >= 0) & (array <= 1))].flat[0]
        raise ValueError(f"{name} must lie in [0, 1], found {bad!r}")
    return array


def at_probability(p: ArrayLike, q: ArrayLike | None = None) -> Point:
    """Point of a probability; give q = 1 − p too where p is so near 1 that 1 − p would be rounded."""
    p = check_probability("p", p)
    if q is None:
        q = 1.0 - p
    else:
        q = check_probability("q", q)
        if not isinstance(q, Foreign) and not np.all(np.abs((p + q) - 1.0) <= 1e-9):
            raise ValueError("q must be 1 - p")
    return point_of(p, q)


def point_of(p: Array, q: Array) -> Point:
    """The same of numbers that are known to be probabilities and 1 less them."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lp = np.where(p < 0.5, np.log(p), np.log1p(-q))
        lq = np.where(q < 0.5, np.log(q), np.log1p(-p))
        # Near p = 1/2 the difference of logarithms cancels; p − q is exact there.
        t = np.where(np.abs(p - q) < 0.5, np.log1p((p - q) / q), lp - lq)
    return Point(p, q, lp, lq, t)


def at_log_odds(t: ArrayLike) -> Point:
    """Point of a log-odds, exact for every finite t."""
    t = np.clip(as_float("t", t), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    e = np.exp(-np.abs(t))
    larger, log_larger = 1.0 / (1.0 + e), -np.log1p(e)
    smaller, log_smaller = e * larger, log_larger - np.abs(t)
    positive = t >= 0
    return Point(
        np.where(positive, larger, smaller),
        np.where(positive, smaller, larger),
        np.where(positive, log_larger, log_smaller),
        np.where(positive, log_smaller, log_larger),
        t,
    )


def probability_at(t: ArrayLike) -> Array:
    """The probability of a log-odds: `at_log_odds` without the rest."""
    t = np.clip(as_float("t", t), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    e = np.exp(-np.abs(t))
    larger = 1.0 / (1.0 + e)
    return np.where(t >= 0, larger, e * larger)


def product(a: Array, b: Array) -> Array:
    """``a * b`` with 0 · ∞ = 0: an event of probability zero costs nothing, whatever its loss."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return np.where(a == 0, 0.0, a * b)


def plain(value: Any) -> Any:
    """A zero-dimensional array as a Python float, anything else as it is."""
    return value if isinstance(value, Foreign) or np.ndim(value) else float(value)
