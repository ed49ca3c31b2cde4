"""A column's bins: what they hold, how many rows, and what these say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety.data.table import Table
from propriety.losses.links import Link

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
_PRIOR = 4.0  # rows at the base rate that each bin is counted with


def drawn_rates(sums: Floats, base: float) -> Floats:
    """Shares of rows of the class, of sums as `BinnedColumn` has them, drawn to the base rate by a few rows.

    >>> drawn_rates(np.array([[0.0, 0.0], [6.0, 0.0]]), 0.5)
    array([0.5, 0.2])
    """
    return np.asarray((sums[..., 1] + _PRIOR * base) / (sums.sum(axis=-1) + _PRIOR))


@dataclass(frozen=True, eq=False)
class BinnedColumn:
    """A column's bins.

    Attributes
    ----------
    feature : int
    edges : ndarray, or None
        Of numbers: bin k holds edges[k − 1] < x ≤ edges[k].
    groups : ndarray, or None
        Of categories: the bin of each.
    rare : int
        The bin of rare levels, or −1.
    missing : int
        The bin of missing values, and of categories that were not in training.
    sums : ndarray of shape (bins, 2)
        Weight of the training rows of each bin that are not of the class, and of those that are.
    """

    feature: int
    edges: Floats | None
    groups: Codes | None
    rare: int
    missing: int
    sums: Floats

    def place(self, column: Floats) -> Codes:
        """The bin of each value.

        >>> bins = BinnedColumn(0, np.array([2.0]), None, -1, 2, np.ones((3, 2)))
        >>> bins.place(np.array([2.0, 2.5, np.nan]))
        array([0, 1, 2])
        """
        if self.edges is not None:
            found = np.searchsorted(self.edges, column, side="left")
            return np.where(np.isnan(column), self.missing, found).astype(np.intp)
        assert self.groups is not None
        known = np.append(self.groups, self.missing)
        return known[np.where(np.isnan(column), len(self.groups), column).astype(np.intp)]

    @property
    def rates(self) -> tuple[float, Floats]:
        """The share of the class, and that in each bin, drawn towards it by a few rows."""
        base = float(self.sums[:, 1].sum() / self.sums.sum())
        return base, drawn_rates(self.sums, base)

    def evidence(self, link: Link) -> Floats:
        """By how much the score of each bin's rate exceeds that of the base rate; 0 without rows."""
        base, rates = self.rates
        values = np.asarray(link.link(rates, 1 - rates)) - float(
            link.link(np.array(base), np.array(1 - base))
        )
        return np.where(self.sums.sum(axis=1) > 0, values, 0.0)

    @property
    def woe(self) -> Floats:
        """Weight of evidence against the class: the log of (share of the others)/(share of the class)."""
        base, rates = self.rates
        values = np.log(1 - rates) - np.log(rates) - np.log(1 - base) + np.log(base)
        return np.where(self.sums.sum(axis=1) > 0, values, 0.0)

    @property
    def information(self) -> Floats:
        """What each bin adds to the information value of the column."""
        parts = self.sums / self.sums.sum(axis=0)
        return np.asarray((parts[:, 0] - parts[:, 1]) * self.woe)


def columns_of(table: Table) -> list[Floats]:
    """The columns of a table as numbers: NaN is missing, a category is its code."""
    return [np.asarray(table.column(f), dtype=np.float64) for f in range(table.n_features)]
