"""Tests of columns in words: intervals of numbers and sets of categories, as rules and trees print them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """``low < x ≤ high``, or missing where `missing` says so.

    >>> print(Interval("age", 0, low=24.5, texts=("24.5", "")))
    age > 24.5
    """

    name: str
    column: int
    low: float = -np.inf
    high: float = np.inf
    missing: bool = False
    nothing: bool = False  # no value at all: missing only
    missing_seen: bool = False  # there were missing values in this column
    texts: tuple[str, str] = field(default=("", ""), compare=False)

    def holds(self, x: Floats) -> NDArray[np.bool_]:
        """Where the condition holds, for the values of the column.

        >>> Interval("age", 0, high=24.5).holds(np.array([-np.inf, 30.0]))
        array([ True, False])
        """
        if self.nothing:
            return np.isnan(x) & self.missing
        above = (x > self.low) | (self.low == -np.inf)  # −∞ is a value
        return np.where(np.isnan(x), self.missing, above & (x <= self.high))

    def __str__(self) -> str:
        low, high = self.low > -np.inf, self.high < np.inf
        if self.nothing:
            return f"{self.name} is missing"
        if low and high:
            text = f"{self.texts[0]} < {self.name} ≤ {self.texts[1]}"
        elif low:
            text = f"{self.name} > {self.texts[0]}"
        elif high:
            text = f"{self.name} ≤ {self.texts[1]}"
        else:
            return f"{self.name} is any value or missing" if self.missing else f"{self.name} is not missing"
        return f"{text} or missing" if self.missing and self.missing_seen else text


@dataclass(frozen=True)
class Membership:
    """``x in categories``, or missing where `missing` says so; a category not listed does not belong.

    >>> print(Membership("town", 1, codes=(0, 2), categories=("Bonn", "Rome")))
    town in {Bonn, Rome}
    """

    name: str
    column: int
    codes: tuple[int, ...]
    categories: tuple[Any, ...]
    missing: bool = False
    missing_seen: bool = False

    def holds(self, x: Floats) -> NDArray[np.bool_]:
        """Where the condition holds, for the codes of the column."""
        return np.where(np.isnan(x), self.missing, np.isin(x, self.codes))

    def __str__(self) -> str:
        shown = ", ".join(str(c) for c in self.categories)
        missing = self.missing and self.missing_seen
        if not self.codes:
            return f"{self.name} is missing"
        return f"{self.name} in {{{shown}}}" + (" or missing" if missing else "")


Condition = Interval | Membership


def all_hold(
    conditions: Iterable[Condition], column: Callable[[int], ArrayLike], n_rows: int
) -> NDArray[np.bool_]:
    """Rows where every condition holds; ``column(f)`` gives column f as numbers.

    >>> X = np.array([[1.0, 5.0], [2.0, 6.0]])
    >>> all_hold([Interval("a", 0, low=1.5), Interval("b", 1, low=5.5)], lambda f: X[:, f], 2)
    array([False,  True])
    """
    held = np.ones(n_rows, dtype=bool)
    for condition in conditions:
        held &= condition.holds(np.asarray(column(condition.column), dtype=np.float64))
    return held
