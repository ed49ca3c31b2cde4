"""Miscalibration, discrimination and uncertainty: what a score is made of, consistently for every loss.

The isotonic regression p̂ of the labels on the probabilities is the best recalibration by every proper loss
at once, so one fit serves all of them (Dimitriadis, Gneiting & Jordan 2021):

    mean loss = MCB − DSC + UNC,
    MCB = mean loss − mean loss of p̂,   DSC = H(ȳ) − mean loss of p̂,   UNC = H(ȳ),

with ȳ the share of class 1. None of the three is ever negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from propriety.aliases import Label
from propriety.evaluation import inputs
from propriety.evaluation.inputs import Array, Rows
from propriety.evaluation.scores import as_loss
from propriety.losses import simplex
from propriety.losses.point import product

if TYPE_CHECKING:
    from propriety.losses.registry import LossLike


@dataclass(frozen=True, eq=False)
class Recalibration:
    """Isotonic regression of labels on probabilities, at the distinct probabilities; `recalibrate` makes it.

    Attributes
    ----------
    p : array of shape (K,)
        Distinct probabilities, in increasing order.
    rate : array of shape (K,)
        Recalibrated probabilities, not decreasing.
    weight, positive : arrays of shape (K,)
        Weight of the rows and of those of class 1 at each probability.
    """

    p: Array
    rate: Array
    weight: Array
    positive: Array

    def __repr__(self) -> str:
        """The number of probabilities and the range of rates, not the arrays.

        >>> recalibrate([0, 1, 1], [0.1, 0.4, 0.8])
        Recalibration(3 probabilities from 0.1 to 0.8, rates from 0 to 1)
        """
        p, rate = self.p, self.rate
        return (
            f"Recalibration({len(p)} probabilities from {p[0]:.3g} to {p[-1]:.3g}, "
            f"rates from {rate[0]:.3g} to {rate[-1]:.3g})"
        )

    def __call__(self, p: ArrayLike) -> Any:
        """Recalibrated probabilities: linear between those seen, constant beyond them."""
        p = inputs.probabilities(np.atleast_1d(p))
        return np.interp(p, self.p, self.rate)

    @property
    def blocks(self) -> tuple[Array, Array, Array]:
        """Recalibrated probability, mean probability and weight of each block of equal rate."""
        start = np.flatnonzero(np.diff(self.rate, prepend=-1.0) > 0)
        weight = np.add.reduceat(self.weight, start)
        return self.rate[start], np.add.reduceat(self.weight * self.p, start) / weight, weight


def recalibrate(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None, *, pos_label: Label | None = None
) -> Recalibration:
    """The non-decreasing function of p that is best by every proper loss: isotonic regression.

    >>> recalibrate([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.9]).rate
    array([0. , 0.5, 0.5, 1. ])
    """
    return recalibrate_rows(inputs.read_counted(y, p, sample_weight, pos_label))


def recalibrate_rows(rows: Rows) -> Recalibration:
    """`recalibrate` for rows that have been read."""
    p, group = np.unique(rows.p, return_inverse=True)
    weight, positive = (
        np.bincount(group, of_rows, minlength=len(p)).astype(np.float64)
        for of_rows in (rows.weight, rows.weight * rows.y)
    )
    return Recalibration(p, pool(positive / weight, weight), weight, positive)


def pool(mean: Array, weight: Array) -> Array:
    """Pool adjacent violators."""
    return np.clip(isotonic_regression(mean, weights=weight).x, 0.0, 1.0)


@dataclass(frozen=True)
class Decomposition:
    """A mean loss as MCB − DSC + UNC; `decomposition` makes it.

    Attributes
    ----------
    loss : str
        By which loss.
    score : float
        Mean loss.
    miscalibration : float
        MCB: what recalibration would gain.
    discrimination : float
        DSC: what the recalibrated probabilities gain over the constant share of class 1.
    uncertainty : float
        UNC: mean loss of that constant; no merit of the model.
    """

    loss: str
    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    @property
    def skill(self) -> float:
        """1 − score/UNC: the share of the uncertainty that the model takes away."""
        return 1 - self.score / self.uncertainty if self.uncertainty > 0 else float("nan")

    def __str__(self) -> str:
        return (
            f"{self.loss}: {self.score:.4g} = {self.miscalibration:.4g} miscalibration "
            f"- {self.discrimination:.4g} discrimination + {self.uncertainty:.4g} uncertainty"
        )


def decomposition(
    y: ArrayLike,
    p: ArrayLike,
    loss: LossLike = "Log()",
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Decomposition:
    """Miscalibration, discrimination and uncertainty of probabilities, by any proper loss.

    Parameters
    ----------
    y : array of labels
    p : array of shape (n,) or (n, 2)
    loss : loss, composite or str
    sample_weight : array of shape (n,), optional
    pos_label : label, optional

    Examples
    --------
    >>> parts = decomposition([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.9], "Squared")
    >>> print(parts)
    Squared(): 0.1675 = 0.0425 miscalibration - 0.125 discrimination + 0.25 uncertainty
    """
    loss = as_loss(loss)
    if isinstance(loss, simplex.SimplexLoss):
        loss = loss.binary.loss
    best = recalibrate_rows(inputs.read_counted(y, p, sample_weight, pos_label))
    share = best.weight / best.weight.sum()
    mean = float(best.positive.sum() / best.weight.sum())
    ones, zeros = best.positive / best.weight.sum(), (best.weight - best.positive) / best.weight.sum()

    def mean_loss(q: Array) -> float:
        return float(np.sum(product(ones, loss.loss(1.0, q)) + product(zeros, loss.loss(0.0, q))))

    score = mean_loss(best.p)
    uncertainty = float(loss.entropy(mean))
    # The gain over the constant, as a sum of divergences that are never negative.
    discrimination = float(np.sum(share * loss.regret(best.rate, np.full_like(best.rate, mean))))
    miscalibration = max(score - (uncertainty - discrimination), 0.0)
    return Decomposition(repr(loss), score, miscalibration, discrimination, uncertainty)
