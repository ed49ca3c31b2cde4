"""Monomials: conjunctions of tests of columns, and the rules that a person reads.

While rules are grown a literal is a set of a column's bins, a :class:`BinLiteral`; what is shown of a fitted
model are conditions on its values, which decide exactly the same.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.data.conditions import Condition, Interval, Membership, all_hold
from propriety.data.table import Schema
from propriety.trees.binning import Binner

_BYTES = 32  # a set of 256 bins


class BinLiteral(NamedTuple):
    """A column and the bins that satisfy the test, bit b of an integer for bin b."""

    feature: int
    bins: int

    def mask(self) -> NDArray[np.uint8]:
        """1 for each of 256 bins in the set.

        >>> BinLiteral(0, 0b101).mask()[:4]
        array([1, 0, 1, 0], dtype=uint8)
        """
        packed = np.frombuffer(self.bins.to_bytes(_BYTES, "little"), dtype=np.uint8)
        return np.unpackbits(packed, bitorder="little")


Monomial = tuple[BinLiteral, ...]


def bin_set(bins: NDArray[np.integer]) -> int:
    """The set of these bins.

    >>> bin_set(np.array([0, 2]))
    5
    """
    mask = np.zeros(8 * _BYTES, dtype=np.uint8)
    mask[bins] = 1
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def conjoin(literals: Sequence[BinLiteral], everything: Sequence[int]) -> Monomial:
    """The conjunction with one literal a column and none that always holds.

    ``everything[f]`` is the set of all bins of column f.

    >>> conjoin([BinLiteral(1, 0b0111), BinLiteral(0, 0b11), BinLiteral(1, 0b1110)], [0b11, 0b1111])
    (BinLiteral(feature=1, bins=6),)
    """
    sets: dict[int, int] = {}
    for f, bins in literals:
        sets[f] = sets.get(f, everything[f]) & bins
    return tuple(BinLiteral(f, bins) for f, bins in sets.items() if bins != everything[f])


@dataclass(frozen=True)
class WeightedRule:
    """If all literals hold, the score rises by the coefficient, else it falls by it.

    Attributes
    ----------
    literals : tuple of Condition
        The conjunction; empty for the constant.
    coefficient : float
        α of [N9 Fig. 4]; a negative one makes the rule say the other class.
    says, denies : label
        The class that the rule says where it holds, and the one it says elsewhere.
    coverage : float
        Share of the training weight where it holds.
    precision : float
        Share of that weight which is of the class it says.
    precision_outside : float
        Share of the other weight which is of the class it denies.
    """

    literals: tuple[Condition, ...]
    coefficient: float
    says: Any
    denies: Any
    coverage: float
    precision: float
    precision_outside: float

    def holds(self, column: Callable[[int], ArrayLike], n_rows: int) -> NDArray[np.bool_]:
        """Rows where all literals hold; ``column(f)`` gives column f as numbers."""
        return all_hold(self.literals, column, n_rows)

    def __str__(self) -> str:
        return f"if {' and '.join(map(str, self.literals))} then {self.says} else {self.denies}"


def in_words(monomial: Monomial, schema: Schema, binner: Binner) -> tuple[Condition, ...]:
    """The monomial as conditions on the values of its columns."""
    names = schema.labels
    return tuple(
        condition_of(
            literal,
            binner.edges[literal.feature],
            int(binner.n_bins[literal.feature]),
            names[literal.feature],
            schema.categories[literal.feature],
            binner.category_bins[literal.feature],
        )
        for literal in monomial
    )


def condition_of(
    literal: BinLiteral,
    edges: NDArray[np.float64],
    n_bins: int,
    name: str,
    categories: tuple[Any, ...] | None,
    category_bins: NDArray[np.float64] | None,
) -> Condition:
    """The literal as a condition on the values of its column.

    >>> print(condition_of(BinLiteral(0, 0b0110), np.array([1.5, 2.5]), 3, "x", None, None))
    x > 1.5
    """
    mask = literal.mask().astype(bool)
    common: dict[str, Any] = {
        "name": name,
        "column": literal.feature,
        "missing": bool(mask[n_bins]),
        "missing_seen": True,
    }
    if categories is not None:
        codes = np.flatnonzero(mask[np.asarray(category_bins, dtype=np.int64)]).tolist()
        return Membership(codes=tuple(codes), categories=tuple(categories[c] for c in codes), **common)
    bins = np.flatnonzero(mask[:n_bins])
    if len(bins) == 0:
        return Interval(nothing=True, **common)
    low = float(edges[bins[0] - 1]) if bins[0] > 0 else -math.inf
    high = float(edges[bins[-1]]) if bins[-1] < n_bins - 1 else math.inf
    return Interval(low=low, high=high, texts=(_number(low), _number(high)), **common)


def _number(x: float) -> str:
    """The shortest text that reads back as the number."""
    return repr(x).removesuffix(".0")


def shortest_between(below: float, above: float) -> float:
    """The number t of fewest digits with below ≤ t < above, in the middle half of the gap if one is there.

    >>> shortest_between(0.28, 0.33), shortest_between(4.0, 5.0)
    (0.3, 4.5)
    """
    gap = above - below
    middle = below + 0.5 * gap
    if not math.isfinite(middle):
        return below if math.isfinite(below) else -sys.float_info.max
    for digits in range(1, 18):
        t = float(f"{middle:.{digits}g}")
        if below + 0.25 * gap <= t <= above - 0.25 * gap and below <= t < above:
            return t
    return below
