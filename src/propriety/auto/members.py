"""The members of the stack: how each is fitted, and what it says of rows out of fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.auto.stacking import on_scale
from propriety.data.numbers import Numbers
from propriety.data.table import Schema, Table
from propriety.data.training import Training
from propriety.model.base import ProperClassifier

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted model in the stack.

    Attributes
    ----------
    name : str
        What the catalogue calls it.
    model : ProperClassifier
    numbers : Numbers or None
        Made of the table before the model sees it, for one that takes numbers only.
    """

    name: str
    model: ProperClassifier
    numbers: Numbers | None = None

    def _read(self, table: Table, schema: Schema) -> Table:
        if self.numbers is None:
            return table
        return Schema.fit(self.numbers(table, schema), None)[1]

    def probabilities(self, table: Table, schema: Schema) -> Floats:
        """Of the classes."""
        model = self.model
        return model._probabilities(model._scores(self._read(table, schema)))

    def contributions(self, table: Table, schema: Schema, loss: Any) -> Floats:
        """What each feature adds to this member's scores on the scale of a loss: (n, S, d + 1).

        The member's own contributions are on the scale of its own loss. They are stretched by what lies
        between the score of no feature and the score on the one scale and on the other.
        """
        parts = self.model._contributions(self._read(table, schema))
        if self.numbers is not None:
            parts = _owned(parts, self.numbers.owners, table.n_features)
        base = parts[:, :, -1]
        start = on_scale(self.model._probabilities(base), loss)
        end = on_scale(self.model._probabilities(parts.sum(axis=2)), loss)
        way = parts[:, :, :-1].sum(axis=2)
        stretch = np.divide(end - start, way, out=np.zeros_like(way), where=np.abs(way) > 1e-9)
        parts = np.concatenate([parts[:, :, :-1] * stretch[:, :, None], start[:, :, None]], axis=2)
        parts[:, :, -1] += end - parts.sum(axis=2)
        return parts

    def importances(self, n_features: int) -> Floats:
        """How much each feature counts."""
        each = self.model.importances()
        if self.numbers is None:
            return each
        return np.bincount(self.numbers.owners, weights=each, minlength=n_features).astype(np.float64)


def _owned(parts: Floats, owners: tuple[int, ...], n_features: int) -> Floats:
    """Contributions of numbers, summed to the features that they are made of."""
    result = np.zeros((*parts.shape[:2], n_features + 1))
    for number, feature in enumerate(owners):
        result[:, :, feature] += parts[:, :, number]
    result[:, :, -1] = parts[:, :, -1]
    return result
