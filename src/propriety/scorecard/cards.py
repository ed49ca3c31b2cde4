"""Points: what a fitted scorecard keeps, adds up, and writes as trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.data.table import Table
from propriety.losses import Composite
from propriety.scorecard.columns import BinnedColumn, Floats
from propriety.storage.checks import Arrays, require, take

if TYPE_CHECKING:
    from propriety.scorecard.learning import CardFit

_ROUNDING = 1e-6  # of points


@dataclass(frozen=True)
class PointScale:
    """points = base_points + factor · (score − origin)."""

    base_points: float
    factor: float
    origin: float

    @classmethod
    def of(
        cls, composite: Composite, of_other: bool, pdo: float, base_odds: float, base_points: float
    ) -> PointScale:
        """`base_points` where the odds against the class are `base_odds`; `pdo` more double them.

        With a link that is not the log-odds they do so at `base_odds` only. If the class is the other one,
        the score is that of what is not the class.
        """
        odds = np.array([base_odds, 2 * base_odds])
        p, q = 1 / (1 + odds), odds / (1 + odds)
        at = np.asarray(composite.link.link(q, p) if of_other else composite.link.link(p, q))
        return cls(base_points, pdo / float(at[1] - at[0]), float(at[0]))

    def points(self, score: Any) -> Any:
        """The points of a score."""
        return self.base_points + self.factor * (score - self.origin)


@dataclass(frozen=True, eq=False)
class Card:
    """What the bins of some columns add to the score of a row, in whole points or not."""

    columns: tuple[BinnedColumn, ...]
    values: tuple[Floats, ...]
    intercept: float
    scale: PointScale
    rounded: bool

    @classmethod
    def of(cls, fit: CardFit, composite: Composite, scale: PointScale, rounded: bool) -> Card:
        """That of a fit; if it is `rounded`, bins add whole points, and rows begin with such a number."""
        unit, values = 1 / abs(scale.factor), []
        for bins, b in zip(fit.columns, fit.coef, strict=True):
            own = b * bins.evidence(composite.link)
            values.append(np.rint(own / unit) * unit if rounded else own)
        card = cls(fit.columns, tuple(values), fit.intercept, scale, rounded)
        if not rounded:
            return card
        moved = float(np.rint(card.base)) - card.base  # less than a point, which changes no score
        return replace(card, scale=replace(scale, base_points=scale.base_points + moved))

    @property
    def points(self) -> list[Floats]:
        """The points of each bin, from 0 up in every column."""
        return [
            self._whole(self.scale.factor * own - low)
            for own, low in zip(self.values, self._lows, strict=True)
        ]

    @property
    def base(self) -> float:
        """The points that every row begins with."""
        return float(self._whole(np.array(self.scale.points(self.intercept) + sum(self._lows))))

    @property
    def _lows(self) -> list[float]:
        """The least points of each column, where there are rows."""
        return [
            float((self.scale.factor * own)[bins.sums.sum(axis=1) > 0].min())
            for bins, own in zip(self.columns, self.values, strict=True)
        ]

    def _whole(self, points: Floats) -> Floats:
        """Points without the rounding errors of sums, if they are whole numbers."""
        whole = np.rint(points)
        return np.where(np.abs(points - whole) < _ROUNDING, whole, points) if self.rounded else points

    def scores(self, table: Table) -> Floats:
        """The score of each row."""
        total = np.full(table.n_rows, self.intercept)
        for bins, own in zip(self.columns, self.values, strict=True):
            total += own[bins.place(np.asarray(table.column(bins.feature), dtype=np.float64))]
        return total

    def contributions(self, table: Table, n_features: int) -> Floats:
        """What each column adds to the score beyond its mean over the training rows; last the rest."""
        parts, rest = np.zeros((table.n_rows, n_features + 1)), self.intercept
        for bins, own in zip(self.columns, self.values, strict=True):
            mean = float(np.average(own, weights=bins.sums.sum(axis=1)))
            column = np.asarray(table.column(bins.feature), dtype=np.float64)
            parts[:, bins.feature] = own[bins.place(column)] - mean
            rest += mean
        parts[:, -1] = rest
        return parts

    def spreads(self, n_features: int) -> Floats:
        """Standard deviation over the training rows of what each column adds."""
        spreads = np.zeros(n_features)
        for bins, own in zip(self.columns, self.values, strict=True):
            weight = bins.sums.sum(axis=1)
            spreads[bins.feature] = np.sqrt(
                np.average((own - np.average(own, weights=weight)) ** 2, weights=weight)
            )
        return spreads


# --- in a file ------------------------------------------------------------------------------------


def cards_state(cards: Sequence[Card]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Cards as plain values and as arrays."""
    values: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}
    for k, card in enumerate(cards):
        columns = []
        for j, (bins, own) in enumerate(zip(card.columns, card.values, strict=True)):
            columns.append([bins.feature, bins.rare, bins.missing])
            kind = "groups" if bins.edges is None else "edges"
            given = bins.groups.astype(np.int64) if bins.groups is not None else bins.edges
            arrays |= {f"{k}.{j}.{kind}": given, f"{k}.{j}.sums": bins.sums, f"{k}.{j}.values": own}
        scale = [card.scale.base_points, card.scale.factor, card.scale.origin]
        values.append(
            {"columns": columns, "intercept": card.intercept, "scale": scale, "rounded": card.rounded}
        )
    return values, arrays


def read_cards(values: list[Any], arrays: Arrays, n_categories: Sequence[int]) -> tuple[Card, ...]:
    """Cards out of a file, checked."""
    return tuple(_read_card(k, dict(value), arrays, n_categories) for k, value in enumerate(values))


def _read_card(k: int, value: dict[str, Any], arrays: Arrays, n_categories: Sequence[int]) -> Card:
    columns, values = [], []
    for j, given in enumerate(take(value, "columns", list)):
        whole = len(given) == 3 and all(type(v) is int for v in given)
        require(whole and 0 <= given[0] < len(n_categories), "a column of it is none of the table")
        f, rare, missing = given
        own = arrays.take(f"{k}.{j}.values", "f8", (None,), finite=True)
        require(-1 <= rare < len(own) and 0 <= missing < len(own), "a bin of it is none of the column")
        sums = arrays.take(f"{k}.{j}.sums", "f8", (len(own), 2), finite=True)
        require(np.all(sums >= 0) and np.all(sums.sum(axis=0) > 0), "a column has no rows of a class")
        edges = groups = None
        if n_categories[f]:
            groups = arrays.take(f"{k}.{j}.groups", "i8", (n_categories[f],))
            require(np.all((groups >= 0) & (groups < len(own))), "a category has no bin")
        else:
            edges = arrays.take(f"{k}.{j}.edges", "f8", (len(own) - 2,))
            require(np.all(np.diff(edges) > 0) and missing == len(own) - 1, "bins are not in order")
        columns.append(BinnedColumn(f, edges, groups, rare, missing, sums))
        values.append(own)
    scale = take(value, "scale", list)
    good = len(scale) == 3 and all(type(v) is float and np.isfinite(v) for v in scale) and scale[1] != 0
    require(good, "its scale of points is not three numbers")
    intercept = take(value, "intercept", float)
    require(np.isfinite(intercept), "its intercept is no number")
    rounded = take(value, "rounded", bool)
    return Card(tuple(columns), tuple(values), intercept, PointScale(*scale), rounded)
