"""When to stop: the loss on rows that the learners do not see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import memory
from propriety.boosting import curves
from propriety.boosting.objective import Objective
from propriety.boosting.settings import TOLERANCE
from propriety.trees.binned import Binned
from propriety.trees.binning import Binner
from propriety.trees.fixed_point import row_weights, weighted_sum
from propriety.weights import Weights


class Validation:
    """Follows the loss on held-out rows, negated, so that larger is better.

    Parameters
    ----------
    binned, binner : the held-out rows in bins
    objective : Objective
        The loss, bound to their labels.
    weights : Weights
    start : ndarray of shape (K,), or (n, K)
    """

    def __init__(
        self,
        binned: Binned,
        binner: Binner,
        objective: Objective,
        weights: Weights,
        start: Any,
    ) -> None:
        self._binned, self._binner, self._objective = binned, binner, objective
        self._weights = weights
        self._row_weights = row_weights(weights)
        self._scores = memory.empty((len(binned.rows), objective.n_scores))
        self._scores[...] = start
        self.history: list[float] = []

    def add(self, items: list[Any], n_jobs: int) -> None:
        """Take in the learners of one or more rounds and write down the score after them."""
        if items:
            ensemble = curves.join(items, self._objective.n_scores, self._binner)
            ensemble.add_binned_scores(self._binned, self._scores, n_jobs)
        self.history.append(self._score(n_jobs))

    def _score(self, n_jobs: int) -> float:
        values, kept = self._objective.values(self._scores, n_jobs), self._weights.kept
        values = values if kept is None else np.where(kept, values, 0.0)
        total = weighted_sum(values, self._row_weights, n_jobs, self._weights.communicator)
        return -total / self._row_weights.total

    def best(self) -> int:
        """The first entry of the history that no later one beats by more than a rounding error.

        The error is relative to the first score, so that it does not depend on the scale of the loss.
        """
        return first_best(self.history, TOLERANCE * abs(self.history[0]))


def first_best(scores: Sequence[float] | NDArray[np.float64], tol: float) -> int:
    """The position of the first score that no later one beats by more than ``tol``.

    >>> first_best([0.0, 2.0, 1.0, 2.1], 0.5)
    1
    """
    best = 0
    for i, score in enumerate(scores):
        if score > scores[best] + tol:
            best = i
    return best
