"""Bins that several fits to one table share: they depend on rows and weights, not on the loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.engine.binning import Binner, Columns
from propriety.engine.layout import Binned


class SharedBins:
    """The bins of one table, made once for every set of weights.

    Whoever makes it promises that all fits given it see the same table.
    """

    def __init__(self) -> None:
        self._made: list[tuple[Any, Any, list[int], int, Binner, Binned]] = []

    def bins(
        self,
        table: Columns,
        weight: NDArray[np.float64] | None,
        target: NDArray[np.float64],
        n_categories: list[int],
        max_bins: int,
        n_jobs: int,
    ) -> tuple[Binner, Binned]:
        """The bins of the table; those that were made before, if they are the same."""
        for old_weight, old_target, old_categories, old_max, binner, binned in self._made:
            if (
                _equal(old_weight, weight)
                and np.array_equal(old_target, target)
                and old_categories == n_categories
                and old_max == max_bins
            ):
                return binner, binned
        binner = Binner.fit(table, weight, target, n_categories, max_bins, n_jobs)
        binned = binner.transform(table, n_jobs)
        self._made.append((weight, target, n_categories, max_bins, binner, binned))
        return binner, binned


def _equal(a: NDArray[np.float64] | None, b: NDArray[np.float64] | None) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))
