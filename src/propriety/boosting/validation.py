"""When to stop: the loss or a score on rows that the learners do not see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer

from propriety import memory
from propriety.boosting import curves
from propriety.boosting.objective import Objective
from propriety.engine.binning import Binner
from propriety.engine.fixed_point import row_weights, weighted_sum
from propriety.engine.layout import Binned
from propriety.weights import Weights


class Snapshot(ClassifierMixin, BaseEstimator):
    """A classifier that answers for one table whose scores are known: what a scorer sees during the fit."""

    def __init__(self, classes: Any, objective: Objective, scores: Any, decide: Any) -> None:
        self.classes, self.objective, self.scores, self.decide = classes, objective, scores, decide
        self.classes_ = classes

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the table's rows."""
        return self.objective.probabilities(self.scores)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of the table's rows."""
        return self.scores[:, 0] if self.scores.shape[1] == 1 else self.scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Decisions for the table's rows."""
        return self.classes[self.decide(self.predict_proba(X))]


class Validation:
    """Follows the loss, or a scorer, on held-out rows; larger is better, so the loss is negated.

    Parameters
    ----------
    binned, binner : the held-out rows in bins
    objective : Objective
        The loss, bound to their labels.
    weights : Weights
    start : ndarray of shape (K,), or (n, K)
    scoring : "loss", a scorer or its name
    labels : ndarray
        The labels as the user gave them, for the scorer.
    """

    def __init__(
        self,
        binned: Binned,
        binner: Binner,
        objective: Objective,
        weights: Weights,
        start: Any,
        scoring: Any,
        labels: Any,
        classes: Any,
        decide: Any,
    ) -> None:
        self._binned, self._binner, self._objective = binned, binner, objective
        self._weights, self._labels = weights, labels
        self._row_weights = row_weights(weights)
        self._scores = memory.empty((len(binned.rows), objective.n_scores))
        self._scores[...] = start
        self._snapshot = Snapshot(classes, objective, self._scores, decide)
        self._scorer = None if isinstance(scoring, str) and scoring == "loss" else get_scorer(scoring)
        self.history: list[float] = []

    def add(self, items: list[Any], n_jobs: int) -> None:
        """Take in the learners of one or more rounds and write down the score after them."""
        if items:
            ensemble = curves.join(items, self._objective.n_scores, self._binner)
            ensemble.add_binned_scores(self._binned, self._scores, n_jobs)
        self.history.append(self._score(n_jobs))

    def _score(self, n_jobs: int) -> float:
        if self._scorer is None:
            values, kept = self._objective.values(self._scores, n_jobs), self._weights.kept
            values = values if kept is None else np.where(kept, values, 0.0)
            return (
                -weighted_sum(values, self._row_weights, n_jobs, self._weights.communicator)
                / self._row_weights.total
            )
        rows, weight = self._binned.rows, self._weights.values
        if weight is None:
            return float(self._scorer(self._snapshot, rows, self._labels))
        return float(self._scorer(self._snapshot, rows, self._labels, sample_weight=weight))

    def best(self, tol: float) -> int:
        """The first entry of the history that no later one beats by more than ``tol``."""
        return first_best(self.history, tol)


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
