"""A fitted model together with the columns of its table: reads a table, and decides."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from propriety.tables import reading
from propriety.tables.columns import Columns
from propriety.tables.numbers import Numbers
from propriety.tables.targets import Target

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TableModel:
    """A classifier and how it reads a table: what ``propriety fit --save`` writes.

    Attributes
    ----------
    estimator : a fitted classifier of this package; its class 1 is the positive label
    columns : Columns
    target : Target
    numbers : Numbers or None
        Made of the features before the estimator sees them, for models that take numbers only.
    summary : dict
        What is known of the training: rows, judgement, versions, the command.
    """

    estimator: Any
    columns: Columns
    target: Target
    numbers: Numbers | None = None
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The labels, negative and positive."""
        return np.array([self.target.negative, self.target.positive])

    @property
    def costs(self) -> tuple[float, float]:
        """Cost of a false alarm and of a miss."""
        return float(self.estimator.fp_cost), float(self.estimator.fn_cost)

    @property
    def threshold(self) -> float:
        """The probability from which the positive class is decided."""
        alarm, miss = self.costs
        return alarm / (alarm + miss)

    def features(self, table: Any, first_row: int = 1) -> tuple[Any, dict[str, int]]:
        """What the estimator reads of a table, and counts of unknown categories."""
        frame, unknown = self.columns.encode(as_arrow(table), first_row)
        return (frame if self.numbers is None else self.numbers(frame)), unknown

    def predict_proba(self, table: Any) -> Floats:
        """Probabilities of the labels, for an Arrow table or any data frame."""
        return self.estimator.predict_proba(self.features(table)[0])

    def predict(self, table: Any) -> NDArray[np.str_]:
        """Labels decided by the costs."""
        return self.classes_[(self.predict_proba(table)[:, 1] >= self.threshold).astype(np.intp)]

    def contributions(self, table: Any) -> tuple[Floats, float]:
        """What each column adds to the score of each row, and the score of no column: they add up."""
        X, _ = self.features(table)
        each, base = reading.contributions(self.estimator, X, self.numbers, len(self.columns.features))
        total = np.zeros((len(each), len(self.columns.columns)))
        np.add.at(total.T, np.array(self.columns.owners), each.T)
        return total, base

    def importances(self) -> Floats:
        """How much each column counts in the model; the sum is 1, or 0 if none does."""
        each = reading.importances(self.estimator, self.numbers, len(self.columns.features))
        total = np.bincount(self.columns.owners, weights=each, minlength=len(self.columns.columns))
        return total / total.sum() if total.sum() > 0 else total

    def because(self, table: Any) -> list[str]:
        """The rules that the first row meets, of a model that is made of rules; else nothing."""
        return reading.rules_met(self.estimator, self.features(table)[0])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a model file, whole or not at all."""
        from propriety import storage

        storage.save(self, path)


def as_arrow(table: Any) -> Any:
    """An Arrow table of a data frame."""
    if isinstance(table, pa.Table):
        return table
    import narwhals as nw

    return nw.from_native(table, eager_only=True).to_arrow()
