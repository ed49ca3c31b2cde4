"""The rows that a linear model is fitted to, and the loss of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.communicator import SINGLE, Communicator
from propriety.data.training import Training
from propriety.linear.objective import RowsLoss, row_losses
from propriety.linear.row_tailoring import RowTailored, TailoredRows
from propriety.linear.solvers import AnyLoss
from propriety.separators.linalg import Codes, Floats

#: What can be fitted: one loss for all rows, or one for each.
FittedLoss = AnyLoss | RowTailored


@dataclass(frozen=True)
class LinearRows:
    """The rows that take part in a fit: all of positive weight.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
    codes : array of shape (n,)
    weight : array of shape (n,)
    classes : array of shape (K,)
    offset : array of shape (n, n_scores), or None
    thresholds : array of shape (n,), or None
        The probability of class 1 at which each row's decision changes, if the rows have costs of their own.
    communicator : Communicator
        The processes over which the rows are spread.
    """

    X: Any
    codes: Codes
    weight: Floats
    classes: NDArray[Any]
    offset: Floats | None = None
    thresholds: Floats | None = None
    communicator: Communicator = SINGLE

    @classmethod
    def of(cls, training: Training, loss: FittedLoss, chosen: Codes | None = None) -> LinearRows:
        """The rows of positive weight; among those chosen, and with a decision to make if the loss needs one.

        Costs may settle the decision about a row, whatever its probability: no loss is tailored to that.
        """
        weight = training.weights.array
        kept = weight > 0
        costs = training.costs
        thresholds = costs.boundary if costs.by_row and costs.n_classes == 2 else None
        if isinstance(loss, RowTailored) and thresholds is not None:
            kept &= (thresholds > 0) & (thresholds < 1)
            if len(np.unique(training.codes[kept])) < 2:
                raise ValueError(
                    "loss='tailored' leaves out rows whose costs settle their decision, and that is every "
                    "row of a class; use loss='Log'"
                )
        rows = np.flatnonzero(kept) if chosen is None else chosen[kept[chosen]]
        cut: Any = slice(None) if chosen is None and len(rows) == len(kept) else rows
        return cls(
            training.table.matrix if isinstance(cut, slice) else training.table.matrix[cut],
            training.codes[cut],
            weight[cut],
            training.classes,
            None if training.offset is None else training.offset[cut],
            None if thresholds is None else thresholds[cut],
            training.communicator,
        )

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    def losses(self, loss: FittedLoss) -> list[RowsLoss]:
        """What is minimized; see `row_losses`."""
        if not isinstance(loss, RowTailored):
            return row_losses(loss, self.codes, self.n_classes, self.offset)
        assert self.thresholds is not None, "rows without costs of their own"
        y, offset = self.codes.astype(np.float64), None if self.offset is None else self.offset[:, 0]
        return [TailoredRows(loss, self.thresholds, y, self.weight, offset)]

    def shifted(self, scores: Floats) -> Floats:
        """Scores with the offset."""
        return scores if self.offset is None else scores + self.offset

    def mean_loss(self, loss: FittedLoss, scores: Floats) -> float:
        """Mean loss of the rows at these scores of their columns."""
        if isinstance(loss, RowTailored) or self.n_classes == 2:
            values = self.losses(loss)[0].values(slice(None), scores)
        else:
            values = loss.value(self.codes, self.shifted(scores))
        return float(np.average(values, weights=self.weight))


def composite_of(loss: FittedLoss) -> AnyLoss:
    """The loss itself, or that of a row at the mean costs."""
    return loss.composite if isinstance(loss, RowTailored) else loss
