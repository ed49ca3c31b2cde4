"""Which loss is best on held-out rows, and how sure that is.

Losses are compared on the same rows, so the standard error is that of the mean of paired differences. A row
of weight k counts as k rows; rows of one group count as one observation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.data.training import read_groups
from propriety.weights import Weights

Floats = NDArray[np.float64]
#: The last is the default: the first, if the verdict supports it.
RULES = ("one_se", "best", "supported")


@dataclass(frozen=True)
class Fold:
    """What one split showed.

    Attributes
    ----------
    rows : held-out rows
    values : array of shape (m, len(rows)), the criterion of each candidate on them
    empirical : array of shape (m,), the mean criterion on the training rows; NaN if not asked for
    seconds : array of shape (m,), time to fit
    same : array of shape (m,), whether the probabilities are those of the first candidate
    """

    rows: NDArray[np.intp]
    values: Floats
    empirical: Floats
    seconds: Floats
    same: NDArray[np.bool_]


@dataclass(frozen=True)
class Observations:
    """What counts as one observation: weights of all rows, and the group of each if there are groups."""

    weights: Weights
    groups: NDArray[np.intp] | None = None

    @classmethod
    def read(
        cls, n: int, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Observations:
        """From weights and groups of n rows as a user gives them."""
        codes = None if groups is None else read_groups(groups, n)
        return cls(Weights.read(sample_weight, n), codes)

    def mean(self, rows: NDArray[np.intp], values: Floats) -> Any:
        """Weighted mean of values of these rows, over the last axis."""
        return self.weights.take(rows).mean(values)

    def standard_error(self, rows: NDArray[np.intp], values: Floats) -> float:
        """Standard error of that mean.

        >>> observations = Observations.read(4)
        >>> observations.standard_error(np.arange(4), np.array([0.0, 0.0, 2.0, 2.0])) == (4 / 3) ** 0.5 / 2
        True
        """
        rows, values = _once(rows, values)
        groups = None if self.groups is None else self.groups[rows]
        return self.weights.take(rows).standard_error(values, groups)


def _once(rows: NDArray[np.intp], values: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Each row once, with the mean of its values: a row that was held out twice is still one row."""
    unique, where, counts = np.unique(rows, return_inverse=True, return_counts=True)
    return unique, np.bincount(where, weights=values) / counts


def pool(folds: list[Fold]) -> tuple[NDArray[np.intp], Floats]:
    """Held-out rows of all folds, and the values of all candidates on them."""
    return np.concatenate([f.rows for f in folds]), np.concatenate([f.values for f in folds], axis=1)


def choose(folds: list[Fold], observations: Observations, rule: str) -> int:
    """The candidate of least mean, or the first that is within one standard error of it.

    The standard error is that of the paired difference from the best. The first candidate is the log loss,
    and the others come in the order of preference.
    """
    held_out, values = pool(folds)
    means = observations.mean(held_out, values)
    if not np.isfinite(means[0]):
        raise ValueError(
            "the log loss has no finite criterion on held-out rows, so there is nothing to compare"
        )
    best = int(np.nanargmin(means))
    if rule == "best":
        return best
    for j, mean in enumerate(means[:best]):
        if np.isfinite(mean):
            error = observations.standard_error(held_out, values[j] - values[best])
            if mean - means[best] <= error:
                return j
    return best


def choices_without(folds: list[Fold], observations: Observations, rule: str) -> list[int]:
    """For each fold the candidate that the other folds would choose."""
    return [choose(folds[:k] + folds[k + 1 :], observations, rule) for k in range(len(folds))]


def gain(folds: list[Fold], observations: Observations, choices: list[int]) -> tuple[float, float]:
    """Mean saving of the chosen candidates against the first, each on its fold, and its standard error."""
    held_out = np.concatenate([f.rows for f in folds])
    savings = np.concatenate([f.values[0] - f.values[j] for f, j in zip(folds, choices, strict=True)])
    return float(observations.mean(held_out, savings)), observations.standard_error(held_out, savings)
