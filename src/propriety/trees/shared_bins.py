"""Bins that several fits to one table share: they depend on rows and weights, not on the loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.trees.binned import Binned
from propriety.trees.binning import Binner, ColumnSource
from propriety.weights import Weights

Floats = NDArray[np.float64]


class SharedBins:
    """The bins of one table, made once for every set of weights.

    Whoever makes it promises that all fits given it see the same table.
    """

    def __init__(self) -> None:
        self._made: list[tuple[Weights, Floats, list[int], int, Binner, Binned]] = []

    def bins(
        self,
        table: ColumnSource,
        weights: Weights,
        target: Floats,
        n_categories: list[int],
        max_bins: int,
        n_jobs: int,
    ) -> tuple[Binner, Binned]:
        """The bins of the table; those that were made before, if they are the same."""
        for old_weights, old_target, old_categories, old_max, binner, binned in self._made:
            if (
                _equal(old_weights, weights)
                and np.array_equal(old_target, target)
                and old_categories == n_categories
                and old_max == max_bins
            ):
                return binner, binned
        binner = Binner.fit(table, weights, target, n_categories, max_bins, n_jobs)
        binned = binner.transform(table, n_jobs)
        self._made.append((weights, target, n_categories, max_bins, binner, binned))
        return binner, binned


def _equal(one: Weights, other: Weights) -> bool:
    if one.values is None or other.values is None:
        return one.values is other.values
    return np.array_equal(one.values, other.values)
