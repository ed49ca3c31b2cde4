"""A cost that is known only roughly: a range, or a distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.costs import ResolvedCosts
from propriety.errors import ArgumentError
from propriety.losses.special import gauss_legendre
from propriety.losses.value import positive, show

Floats = NDArray[np.float64]
_NODES = 32


def is_uncertain(cost: object) -> bool:
    """Whether a cost is a pair (low, high) or a frozen SciPy distribution, not a number or one for each row.

    >>> is_uncertain((5, 20)), is_uncertain(9), is_uncertain(np.ones(2))
    (True, False, False)
    """
    return isinstance(cost, tuple | list) or (hasattr(cost, "ppf") and hasattr(cost, "support"))


def read(name: str, cost: Any) -> Any:
    """A number, or a frozen distribution; a pair is a range in which every order of magnitude is as likely.

    >>> read("fn_cost", (5, 20)).support(), read("fn_cost", (3, 3))
    ((np.float64(5.0), np.float64(20.0)), 3.0)
    """
    if isinstance(cost, tuple | list):
        if len(cost) != 2:
            raise ArgumentError(name, f"must be a number, a pair (low, high) or a distribution, got {cost!r}")
        low, high = (_end(name, which, end) for which, end in zip(("lower", "upper"), cost, strict=True))
        if low > high:
            raise ArgumentError(
                name, f"=({show(low)}, {show(high)}) is no range: give (low, high), low ≤ high"
            )
        return low if low == high else between(low, high)
    if is_uncertain(cost):
        if cost.support()[0] < 0 or not np.isfinite(cost.mean()):
            raise ArgumentError(name, "must have a distribution on positive numbers, with a finite mean")
        return cost
    return positive(name, cost)


def _end(name: str, which: str, value: Any) -> float:
    """An end of a range, which must be a number above 0."""
    try:
        return positive("it", value)
    except ValueError:
        raise ArgumentError(
            name, f"must have a {which} end that is a finite number above 0, got {value!r}"
        ) from None


def between(low: float, high: float) -> Any:
    """The log-uniform distribution on a range."""
    from scipy import stats

    return stats.loguniform(low, high)


def mean(name: str, cost: Any) -> float:
    """The expected cost.

    >>> round(mean("fn_cost", (5, 20)), 4), mean("fn_cost", 9)
    (10.8202, 9.0)
    """
    cost = read(name, cost)
    return cost if isinstance(cost, float) else float(cost.mean())


def nodes(cost: Any) -> tuple[Floats, Floats]:
    """Values and probabilities that stand for a cost as `read` returns it in sums."""
    if isinstance(cost, float):
        return np.array([cost]), np.array([1.0])
    u, a = (np.asarray(v) for v in gauss_legendre(_NODES))
    return np.asarray(cost.ppf(u)), a


def ends(cost: Any) -> tuple[float, float]:
    """The ends of its range, or its central 95 % where that is unbounded."""
    if isinstance(cost, float):
        return cost, cost
    low, high = cost.support()
    if low > 0 and np.isfinite(high):
        return float(low), float(high)
    return float(cost.ppf(0.025)), float(cost.ppf(0.975))


def threshold(fp: float, fn: float) -> float:
    """fp/(fp + fn) where the end of a range may be 0, which no stated cost is."""
    return float(ResolvedCosts.of_matrix([[0, fp], [fn, 0]]).threshold)
