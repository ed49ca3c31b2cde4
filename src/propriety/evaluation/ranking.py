"""How well probabilities rank: gains, lift, precision and recall for every share of rows that is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import Label
from propriety.evaluation import inputs
from propriety.evaluation.inputs import Array


@dataclass(frozen=True, eq=False)
class RankingCurve:
    """Rows checked in the order of their probability, largest first; `ranking_curve` makes it.

    Rows of equal probability are checked in any order, so between two of the points everything is linear.

    Attributes
    ----------
    checked : array of shape (K + 1,)
        Share of the rows that is checked, from 0 to 1: up to each distinct probability.
    found : array of shape (K + 1,)
        Share of class 1 that is among them: the gain, or recall.
    rate : float
        Share of class 1 among all rows.

    Examples
    --------
    >>> curve = ranking_curve([1, 0, 1, 0], [0.9, 0.6, 0.3, 0.05])
    >>> curve.gain(0.5), curve.lift(0.25), curve.precision(0.75)
    (0.5, 2.0, 0.6666666666666666)
    """

    checked: Array
    found: Array
    rate: float

    def gain(self, share: ArrayLike) -> Any:
        """Share of class 1 among the first rows, a share of all: their recall."""
        value = np.interp(_share(share), self.checked, self.found)
        return float(value) if value.ndim == 0 else value

    def lift(self, share: ArrayLike) -> Any:
        """How much denser class 1 is among the first rows than among all; the limit at 0."""
        at = np.maximum(_share(share), self.checked[1])
        value = np.asarray(self.gain(at) / at)
        return float(value) if value.ndim == 0 else value

    def precision(self, share: ArrayLike) -> Any:
        """Share of the first rows that is of class 1."""
        return self.rate * self.lift(share)

    @property
    def average_precision(self) -> float:
        """Mean precision over the rows of class 1, each at its own probability."""
        at_knots = self.rate * self.found[1:] / self.checked[1:]
        return float(np.sum(np.diff(self.found) * at_knots))

    @property
    def area(self) -> float:
        """Area under the ROC curve: the chance that a row of class 1 is ranked above one of class 0."""
        passed = (self.checked - self.rate * self.found) / (1 - self.rate)
        return float(np.sum(np.diff(passed) * (self.found[1:] + self.found[:-1]) / 2))


def ranking_curve(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Label | None = None
) -> RankingCurve:
    """Gains, lift, precision and recall of checking rows in the order of their probability.

    >>> round(ranking_curve([1, 0, 1, 0], [0.9, 0.6, 0.3, 0.05]).average_precision, 6)
    0.833333
    """
    rows = inputs.read_counted(y, p, sample_weight, pos_label)
    rate = inputs.mean(rows.y, rows.weight)
    if not 0 < rate < 1:
        raise ValueError("y has one class, so that there is nothing to rank")
    knots, group = np.unique(-rows.p, return_inverse=True)
    weight = np.bincount(group, rows.weight, minlength=len(knots))
    positive = np.bincount(group, rows.weight * rows.y, minlength=len(knots))
    checked = np.concatenate([[0.0], np.cumsum(weight) / weight.sum()])
    found = np.concatenate([[0.0], np.cumsum(positive) / positive.sum()])
    checked[-1] = found[-1] = 1.0
    return RankingCurve(checked, found, rate)


def _share(share: ArrayLike) -> Array:
    value = np.asarray(share, dtype=np.float64)
    if not np.all((value >= 0) & (value <= 1)):
        raise ValueError(f"share must be in [0, 1], got {share!r}")
    return value
