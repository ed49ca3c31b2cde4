"""Weights of rows: whole copies or relative weights, sums that depend on no order, means and their errors.

Weights that are all whole numbers are copies: a row of weight k counts as k rows. Any others say how rows
compare, so they are divided by their mean; then w and c·w are the same weights.

Sums are exact. A relative weight is rounded to a multiple of a power of two so small that it does not matter
and so large that every sum of them is a float: neither the order of the rows nor the way they are shared out
can change a total.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from propriety import memory
from propriety.communicator import SINGLE, Communicator

Array = NDArray[np.float64]
#: Two-sided 95% quantile of the normal distribution.
Z95 = 1.959963984540054
_EXACT = 2.0**53  # whole numbers up to this are floats, and so are their sums
_BITS = 50  # of a sum of relative weights
_UNSEEN = 0.75  # of an event, that is added for the upper end of an interval


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of n rows as numbers of rows; `Weights.read` makes them.

    Attributes
    ----------
    n : int
    values : ndarray of shape (n,), or None
        None if every row counts once.
    copies : bool
        Whether a row of weight k stands for k rows; else weights are relative, with mean 1.
    unit : float
        Every weight is a whole multiple of it.
    communicator : Communicator
        The processes over which the rows are spread: these are the weights of some of them, and totals are
        those of all.

    Examples
    --------
    >>> Weights.read([1, 3], 2).total, Weights.read([0.1, 0.3], 2).values
    (4.0, array([0.5, 1.5]))
    >>> Weights.read(np.full(5, 0.1), 5).values is None
    True
    """

    n: int
    values: Array | None = None
    copies: bool = True
    unit: float = 1.0
    communicator: Communicator = SINGLE

    @classmethod
    def read(
        cls,
        sample_weight: ArrayLike | None,
        n: int,
        *,
        name: str = "sample_weight",
        communicator: Communicator = SINGLE,
    ) -> Weights:
        """Weights as a user gives them: None, one number or one for each row; none negative, not all zero."""
        values = check(sample_weight, n, name=name, communicator=communicator)
        if values is None:
            return cls(n, communicator=communicator)
        broken = float(np.any(values != np.rint(values)))
        broken, top = communicator.max((broken, float(values.max(initial=0.0))))
        with np.errstate(over="ignore"):  # then they are no copies
            (total,) = communicator.sum(np.array([values.sum()]))
        copies = not broken and top <= _EXACT and total <= _EXACT
        values, unit = (values, 1.0) if copies else _relative(values, communicator=communicator)
        (other,) = communicator.max((float(np.any(values != 1.0)),))
        return cls(n, values, copies, unit, communicator) if other else cls(n, communicator=communicator)

    @property
    def array(self) -> Array:
        """The weights, one for each row."""
        return np.ones(self.n) if self.values is None else self.values

    @property
    def total(self) -> float:
        """Sum of the weights of all processes, exactly."""
        own = float(self.n if self.values is None else self.values.sum())
        return float(self.communicator.sum(np.array([own]))[0])

    @property
    def overdispersion(self) -> float:
        """By how much more a sum over weighted rows varies than one over copies: Σ w²/Σ w, or 1 for copies.

        >>> Weights.read([1, 3], 2).overdispersion, Weights.read([0.1, 0.3], 2).overdispersion
        (1.0, 1.25)
        """
        if self.copies:
            return 1.0
        return exact_sum(self.array**2, self.communicator) / self.total

    @property
    def kept(self) -> NDArray[np.bool_] | None:
        """Which rows take part; None if all do."""
        if self.values is None or np.all(self.values > 0):
            return None
        return self.values > 0

    def __len__(self) -> int:
        return self.n

    def take(self, rows: Any) -> Weights:
        """The weights of some rows, as they are: not divided by their mean again."""
        if self.values is None:
            return Weights(len(np.arange(self.n)[rows]), communicator=self.communicator)
        values = memory.kept(self.values[rows])
        return Weights(len(values), values, self.copies, self.unit, self.communicator)

    def positive(self) -> tuple[Weights, NDArray[np.intp] | None]:
        """The weights of the rows that have one, and which rows these are; None if all are.

        They are what `read` makes of these rows alone. A process keeps its first row if all have weight 0.

        >>> weights, rows = Weights.read([1, 0, 1], 3).positive()
        >>> weights.values, rows
        (None, array([0, 2]))
        """
        if self.values is None:
            return self, None
        rows = np.flatnonzero(self.values)
        if len(rows) == self.n:
            kept, chosen = self, None
        else:
            chosen = rows if len(rows) else np.zeros(1, dtype=np.intp)
            kept = self.take(chosen)
        assert kept.values is not None
        (other,) = self.communicator.max((float(np.any(kept.values != 1.0)),))
        return (kept if other else Weights(kept.n, communicator=self.communicator)), chosen

    def times(self, factors: Array) -> Weights:
        """The weights multiplied by factors, one for each row, which makes them relative; the total stays."""
        product = factors if self.values is None else self.values * factors
        values, unit = _relative(product, self.total, self.communicator)
        return Weights(self.n, values, False, unit, self.communicator)

    def without(self, rows: Any) -> Weights:
        """The same with some rows of weight 0."""
        values = self.array.copy()
        values[rows] = 0.0
        values = memory.kept(values)
        return Weights(self.n, values, self.copies, self.unit, self.communicator)

    def by_class(self, codes: NDArray[np.intp], n_classes: int) -> Array:
        """Total weight of each class, in all processes."""
        own = np.bincount(codes, weights=self.values, minlength=n_classes).astype(np.float64)
        return self.communicator.sum(own)

    def mean(self, values: ArrayLike) -> Any:
        """Weighted mean over the last axis; rows of weight 0 take no part, whatever their value.

        >>> Weights.read([1, 0, 3], 3).mean([1.0, np.inf, 2.0])
        1.75
        """
        values = np.asarray(values, dtype=np.float64)
        if self.values is None:
            mean = values.mean(axis=-1)
        else:
            kept = self.values > 0
            mean = values[..., kept] @ self.values[kept] / self.values[kept].sum()
        return float(mean) if mean.ndim == 0 else mean

    def standard_error(self, values: ArrayLike, groups: NDArray[np.intp] | None = None) -> float:
        """Standard error of the mean: over rows, a row of weight k being k rows; or over groups of rows.

        Relative weights have the error Σ w²(v − m)²/(Σ w)² of a weighted mean. One observation has none: inf.

        >>> once = Weights.read(None, 4).standard_error([0.0, 0.0, 2.0, 2.0])
        >>> once == Weights.read([2, 2], 2).standard_error([0.0, 2.0]) == (4 / 3) ** 0.5 / 2
        True
        """
        weight, values, kept = self.array, np.asarray(values, dtype=np.float64), self.kept
        if kept is not None:
            weight, values, groups = weight[kept], values[kept], None if groups is None else groups[kept]
        total = weight.sum()
        deviations = values - values @ weight / total
        if groups is not None:
            sums = np.bincount(groups, weights=weight * deviations)
            squares, count = float(sums @ sums), float(len(np.unique(groups)))
        elif self.copies:
            squares, count = float(weight @ deviations**2), float(total)
        else:
            squares, count = float(np.sum((weight * deviations) ** 2)), float(len(weight))
        return float(np.sqrt(count / (count - 1) * squares) / total) if count > 1 else math.inf

    def estimate(
        self,
        values: ArrayLike,
        *,
        scale: float = 1.0,
        groups: NDArray[np.intp] | None = None,
        reach: tuple[float, float] | None = None,
    ) -> Estimate:
        """The mean with its 95% CI, times `scale`; arguments as of `SampledMean.of`.

        >>> Weights.read(None, 4).estimate([0.0, 1.0, 1.0, 0.0]).value
        0.5
        """
        sampled = SampledMean.of(self, values, groups, reach)
        low, high = sampled.interval()
        return Estimate(scale * sampled.value, scale * low, scale * high)


@dataclass(frozen=True)
class SampledMean:
    """The mean of rows, and how far that of other rows may be: intervals that hold for rare events.

    The distances of values from their median, above and below it, are two sums of events of several sizes.
    The ends of each are quantiles of gamma distributions of its first two moments, with a part of an event
    more for the upper one [Fay and Feuer, Statistics in Medicine 1997, have a whole one]: Poisson's interval
    where all events are of one size. Both are joined by their distances from the sums [Zou and Donner, ibid.
    2008], which are scaled to the standard error of the mean. With many events it is the normal interval.
    ``benchmarks/intervals.py`` has the coverage.

    Attributes
    ----------
    value : float
    median, total : float
        Of the values, and of their weights.
    above, below : tuple of three floats
        The sum of the distances, that of their squares, and the size of an event that was not seen.
    factor : float
        Of the distances, so that the variance is that of the mean.
    reach : pair of floats
        No end is beyond.
    """

    value: float
    median: float
    total: float
    above: tuple[float, float, float]
    below: tuple[float, float, float]
    factor: float
    reach: tuple[float, float] = (-math.inf, math.inf)

    @classmethod
    def of(
        cls,
        weights: Weights,
        values: ArrayLike,
        groups: NDArray[np.intp] | None = None,
        reach: tuple[float, float] | None = None,
    ) -> SampledMean:
        """Of the values of rows.

        Parameters
        ----------
        weights : Weights
        values : array of shape (n,)
        groups : array of shape (n,), optional
            Rows of a group are one observation.
        reach : pair of floats, optional
            The least and the largest value that a row can have, seen or not. By default unseen events are of
            the size of those that were seen, and there are none where none was seen.
        """
        value, error = weights.mean(values), weights.standard_error(values, groups)
        weight, values, kept = weights.array, np.asarray(values, dtype=np.float64), weights.kept
        if kept is not None:
            weight, values, groups = weight[kept], values[kept], None if groups is None else groups[kept]
        total = float(weight.sum())
        if weights.values is None:
            median = float(np.partition(values, (len(values) - 1) // 2)[(len(values) - 1) // 2])
        else:
            order = np.argsort(values, kind="stable")
            middle = np.searchsorted(np.cumsum(weight[order]), 0.5 * total)
            median = float(values[order[min(int(middle), len(order) - 1)]])
        away = values - median
        sums = away * weight if groups is None else np.bincount(groups, weights=weight * away)
        sizes = away if groups is None and weights.copies else sums
        unit = weights.overdispersion  # rows that an event has
        if groups is not None:
            of_group = np.bincount(groups, weights=weight)
            unit = float(of_group @ of_group) / total
        ends = (None, None) if reach is None else (reach[1] - median, median - reach[0])
        parts = []
        for side, end in zip((1.0, -1.0), ends, strict=True):
            held = side * sums > 0
            first = float(side * sums[held].sum())
            second = float(sums[held] @ sizes[held])
            seen = second / first if first > 0 else 0.0
            parts.append((first, second, seen if end is None else max(end, 0.0) * unit))
        squares = math.sqrt(parts[0][1] + parts[1][1])
        factor = error * total / squares if squares > 0 and math.isfinite(error) else 1.0
        least, most = reach or (-math.inf, math.inf)
        ends_at = min(least, float(value)), max(most, float(value))
        return cls(float(value), median, total, parts[0], parts[1], factor, ends_at)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Both ends."""
        tail = 0.5 * (1 - level)
        (above_low, above_high), (below_low, below_high) = (_ends(*p, tail) for p in (self.above, self.below))
        middle = self.median + (self.above[0] - self.below[0]) / self.total
        scale = self.factor / self.total
        low = middle - scale * math.hypot(above_low, below_high)
        high = middle + scale * math.hypot(above_high, below_low)
        return max(low, self.reach[0]), min(high, self.reach[1])

    @property
    def p_value(self) -> float:
        """Of the test that the mean is 0: one less the level of the interval that ends there."""
        if self.value == 0:
            return 1.0
        side = 0 if self.value > 0 else 1

        def beyond(log_p: float) -> float:
            return self.interval(-math.expm1(log_p))[side] * self.value

        least, most = math.log(1e-15), -1e-9
        if beyond(least) >= 0:
            return 0.0
        return 1.0 if beyond(most) <= 0 else math.exp(optimize.brentq(beyond, least, most, xtol=1e-9))


def _ends(first: float, second: float, size: float, tail: float) -> tuple[float, float]:
    """How far the mean of a sum of events may be from it, below and above, each with this chance of more."""
    low, high = 0.0, 0.0
    if second > 0:
        low = second / first * float(special.gammaincinv(first**2 / second, tail))
    more, squares = first + _UNSEEN * size, second + _UNSEEN * size**2
    if squares > 0:
        high = squares / more * float(special.gammainccinv(more**2 / squares, tail))
    return max(first - low, 0.0), max(high - first, 0.0)


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% CI."""

    value: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether 0 lies outside of the interval."""
        return self.low > 0 or self.high < 0

    def minus(self, other: Estimate) -> Estimate:
        """The difference from an estimate of other rows, by both intervals [Zou and Donner, 2008].

        >>> Estimate(3.0, 2.0, 7.0).minus(Estimate(1.0, 1.0, 4.0))
        Estimate(value=2.0, low=-1.1622776601683795, high=6.0)
        """
        more = self.value - other.value
        low = math.hypot(self.value - self.low, other.high - other.value)
        return Estimate(more, more - low, more + math.hypot(self.high - self.value, other.value - other.low))


def check(
    sample_weight: ArrayLike | None,
    n: int,
    *,
    name: str = "sample_weight",
    communicator: Communicator = SINGLE,
) -> Array | None:
    """Weights as floats, one for each of n rows: finite, none negative, not all zero; None stays None.

    >>> check(2, 3)
    array([2., 2., 2.])
    """
    if sample_weight is None:
        return None
    try:
        values = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, one for each row: {error}") from None
    if values.ndim == 0:
        values = np.full(n, float(values))
    if values.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of {n} rows, got shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{name} must be finite; it has NaN or an infinite weight")
    if np.any(values < 0):
        raise ValueError(f"Negative values in data passed to {name}: weights must not be negative")
    if not communicator.max((float(np.any(values > 0)),))[0]:
        raise ValueError(f"{name} is zero everywhere: at least one row must have a positive weight")
    return values


def exact_sum(values: Array, communicator: Communicator = SINGLE) -> float:
    """Sum of numbers ≥ 0, the same in any order: by whole numbers, 53 bits below the largest.

    >>> exact_sum(np.full(10, 0.1)), exact_sum(np.array([1e300, 1e-300, 1e300]))
    (1.0, 2e+300)
    """
    (top,) = communicator.max((float(values.max(initial=0.0)),))
    if top == 0.0:
        return 0.0
    exponent = math.frexp(top)[1]
    scaled = np.ldexp(values, 30 - exponent)
    high = np.floor(scaled)
    low = np.rint((scaled - high) * 2.0**23)
    # Each part is below 2³⁰, so that eight thousand million of them fit.
    parts = communicator.sum(np.array([high.astype(np.int64).sum(), low.astype(np.int64).sum()]))
    total = (int(parts[0]) << 23) + int(parts[1])
    return math.ldexp(float(total), exponent - 53) if total < 2**1000 else math.inf


def _relative(
    values: Array, total: float | None = None, communicator: Communicator = SINGLE
) -> tuple[Array, float]:
    """Weights with mean 1 over the rows that have one, or with a given total; and their unit."""
    if total is None:
        total = float(communicator.sum(np.array([np.count_nonzero(values)]))[0])
    # First by a power of two, which is exact, so that huge weights have a sum.
    (top,) = communicator.max((float(values.max(initial=0.0)),))
    values = np.ldexp(values, -math.frexp(top)[1])
    scaled = values * (total / exact_sum(values, communicator))
    unit = 2.0 ** (math.ceil(math.log2(total)) - _BITS)
    return memory.kept(np.where(values > 0, np.maximum(np.rint(scaled / unit), 1.0) * unit, 0.0)), unit
