"""A table as numbers for models that take nothing else: missing values filled, categories as indicators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.data.table import Schema, Table
from propriety.weights import Weights

KINDS = ("value", "missing", "level")
#: Indicators of one category; rarer values have none.
LEVELS = 50

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """One column of numbers made of one feature.

    ``kind`` is "value" (filled with the median, then (x − centre)/scale), "missing" (1 where it is missing)
    or "level" (1 where the category is ``level``).
    """

    feature: int
    kind: str
    fill: float = 0.0
    centre: float = 0.0
    scale: float = 1.0
    level: Any = ""


@dataclass(frozen=True)
class Numbers:
    """The terms, learned from the training table."""

    terms: tuple[Term, ...]

    @classmethod
    def fit(cls, X: Any, sample_weight: ArrayLike | None = None) -> Numbers:
        """Learn from a table of any kind; a row of weight k counts as k rows.

        >>> import pandas as pd
        >>> numbers = Numbers.fit(pd.DataFrame({"x": [1.0, 3.0], "c": pd.Categorical(["a", "b"])}))
        >>> numbers(pd.DataFrame({"x": [2.0], "c": pd.Categorical(["a"])}))
        array([[ 0. ,  0.5, -0.5]])
        """
        schema, table = Schema.fit(X)
        return cls.learn(table, schema, Weights.read(sample_weight, table.n_rows))

    @classmethod
    def learn(cls, table: Table, schema: Schema, weights: Weights) -> Numbers:
        """Learn medians, means, spreads and the frequent categories.

        >>> schema, table = Schema.fit(np.array([[1.0, 7.0], [np.nan, 5.0], [3.0, 7.0]]), categorical=[1])
        >>> numbers = Numbers.learn(table, schema, Weights(3))
        >>> [(term.feature, term.kind, term.level) for term in numbers.terms]
        [(0, 'value', ''), (0, 'missing', ''), (1, 'level', 7.0), (1, 'level', 5.0)]
        >>> numbers.of(table, schema).round(2)[:, 0]
        array([-1.22,  0.  ,  1.22])
        """
        terms: list[Term] = []
        for f, categories in enumerate(schema.categories):
            column = np.asarray(table.column(f), dtype=np.float64)
            if categories is None:
                terms += _of_number(f, column, weights)
            else:
                terms += _of_category(f, column, categories, weights)
        return cls(tuple(terms))

    @property
    def owners(self) -> tuple[int, ...]:
        """For each number the feature that it is made of."""
        return tuple(term.feature for term in self.terms) or (0,)  # without terms there is a column of zeros

    def combined(self, spreads: Floats, n_features: int) -> Floats:
        """Spreads of what numbers add to a score, as spreads of what the features add: the root of squares.

        A sum would let a category of many levels, none of which says anything, outgrow one that matters.

        >>> schema, table = Schema.fit(np.array([[1.0, 7.0], [2.0, 5.0], [3.0, 7.0]]), categorical=[1])
        >>> Numbers.learn(table, schema, Weights(3)).combined(np.array([2.0, 3.0, 4.0]), 2)
        array([2., 5.])
        """
        return np.sqrt(np.bincount(self.owners, weights=spreads**2, minlength=n_features))

    def __call__(self, X: Any) -> Floats:
        """The numbers of a table of any kind."""
        schema, table = Schema.fit(X)
        return self.of(table, schema)

    def of(self, table: Table, schema: Schema) -> Floats:
        """The numbers of a table, of shape (n, terms); indicators are centred too."""
        result = np.zeros((table.n_rows, max(1, len(self.terms))))
        feature, column = -1, np.empty(0)
        for j, term in enumerate(self.terms):
            if term.feature != feature:
                feature, column = term.feature, np.asarray(table.column(term.feature), dtype=np.float64)
            if term.kind == "level":
                categories = schema.categories[feature] or ()
                place = categories.index(term.level) if term.level in categories else -1
                x = (column == place).astype(np.float64)
            else:
                lost = ~np.isfinite(column)
                x = lost.astype(np.float64) if term.kind == "missing" else np.where(lost, term.fill, column)
            result[:, j] = (x - term.centre) / term.scale
        return result


def summed(parts: Floats, owners: Sequence[int], n_owners: int) -> Floats:
    """What each column of a score adds to it, summed to what owns the columns; the last, of nothing, stays.

    >>> summed(np.array([[1.0, 2.0, 4.0, 0.5]]), (0, 0, 1), 2)
    array([[3. , 4. , 0.5]])
    """
    total = np.zeros((*parts.shape[:-1], n_owners + 1))
    for part, owner in enumerate(owners):
        total[..., owner] += parts[..., part]
    total[..., -1] = parts[..., -1]
    return total


def _of_number(f: int, column: Floats, weights: Weights) -> list[Term]:
    """The value, and whether it is missing; a constant has no term, nor what hardly varies."""
    known = np.isfinite(column) & (weights.array > 0)
    terms = []
    if known.any():
        fill = _median(column[known], weights.array[known])
        # In units of the largest, so that no square is infinite.
        size = float(np.abs(column[known]).max()) or 1.0
        filled = np.where(np.isfinite(column), column, fill) / size
        centre = weights.mean(filled)
        scale = float(np.sqrt(weights.mean((filled - centre) ** 2)))
        if scale > 1e-12 and scale * size >= np.finfo(np.float64).tiny:
            terms.append(Term(f, "value", fill, centre * size, scale * size))
    share = weights.mean(~np.isfinite(column))
    if 0 < share < 1:
        terms.append(Term(f, "missing", centre=share))
    return terms


def _of_category(f: int, column: Floats, categories: tuple[Any, ...], weights: Weights) -> list[Term]:
    """Indicators of the most frequent levels."""
    known = ~np.isnan(column)
    totals = np.bincount(
        column[known].astype(np.intp), weights=weights.array[known], minlength=len(categories)
    )
    frequent = [i for i in np.argsort(-totals, kind="stable")[:LEVELS] if totals[i] > 0]
    return [Term(f, "level", centre=totals[i] / weights.total, level=categories[i]) for i in frequent]


def _median(values: Floats, weight: Floats) -> float:
    """The weighted median; the middle of two, as for a row that is there several times."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    half = 0.5 * total[-1]
    low, high = np.searchsorted(total, half, side="left"), np.searchsorted(total, half, side="right")
    ends = values[order[[low, min(high, len(values) - 1)]]]
    return float(0.5 * ends[0] + 0.5 * ends[1])
