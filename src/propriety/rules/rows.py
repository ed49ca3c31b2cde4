"""The rows that rules are learned from: binned, without those of weight 0."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.data.training import Training
from propriety.trees.binned import Binned
from propriety.trees.binning import Binner
from propriety.weights import Weights


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """The rows of positive weight, with their bins.

    Attributes
    ----------
    training : Training
        All rows, as they were given.
    kept : mask or slice
        Which of them take part.
    binner : Binner
    binned : Binned
    codes : ndarray
        The class of each row that takes part.
    weights : Weights
    """

    training: Training
    kept: Any
    binner: Binner
    binned: Binned
    codes: NDArray[np.intp]
    weights: Weights

    @classmethod
    def read(cls, training: Training, max_bins: int, n_jobs: int) -> BinnedRows:
        """Bin the table, and keep the rows of positive weight."""
        weights, schema = training.weights, training.schema
        binner = Binner.fit(training.table, weights, training.target, schema.n_categories, max_bins, n_jobs)
        binned = binner.transform(training.table, n_jobs, by_rows=False)
        kept: Any = slice(None)
        if weights.kept is not None:
            kept = weights.kept
            binned = binned._replace(columns=np.ascontiguousarray(binned.columns[:, kept]))
        return cls(training, kept, binner, binned, training.codes[kept], weights.take(kept))

    @property
    def columns(self) -> NDArray[np.uint8]:
        """The bin of each column and row, of shape (d, n)."""
        return self.binned.columns

    def values(self, feature: int) -> NDArray[np.floating]:
        """A column as numbers."""
        return self.training.table.column(feature)[self.kept]

    def with_edges(self, edges: NDArray[np.float64]) -> BinnedRows:
        """The same rows in the same bins, which have other edges."""
        return replace(self, binner=replace(self.binner, edges=edges))
