"""What `score` says of a model: how much of the possible cost its decisions avoid."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.costs import ResolvedCosts
from propriety.data.soft import soft_labels, soft_rows
from propriety.weights import Weights


def worth(
    classes: NDArray[Any],
    probabilities: NDArray[np.float64],
    costs: ResolvedCosts,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
) -> float:
    """1 − (cost − least possible)/(most possible − least possible) of decisions by given probabilities.

    It is the accuracy where every mistake costs the same. Soft labels are the weighted rows that they stand
    for.

    >>> P = np.array([[0.7, 0.3], [0.9, 0.1]])
    >>> worth(np.array([0, 1]), P, ResolvedCosts.of_mistakes(1, 4), [0, 1], None)
    0.0
    """
    if soft_labels(y) is not None:
        rows, y, sample_weight = soft_rows(y, len(probabilities), sample_weight)
        probabilities, costs = probabilities[rows], costs.take(rows)
    decided = costs.decide(probabilities)
    labels = np.asarray(y)
    true = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    weights = Weights.read(sample_weight, len(true))
    if np.array_equal(costs.matrix, 1.0 - np.eye(len(classes))):  # labels that are not known are mistakes
        return float(weights.mean((classes[decided] == labels).astype(np.float64)))
    if not np.all(classes[true] == labels):
        unknown = np.unique(labels[classes[true] != labels])[:5].tolist()
        raise ValueError(f"y has labels {unknown} that the model was not trained on, so they have no cost")
    of_decisions = costs.matrix[np.arange(len(true)), true] if costs.by_row else costs.matrix[true]
    least, most = (weights.mean(end(of_decisions, axis=1)) for end in (np.min, np.max))
    if not most > least:
        warnings.warn(
            "nothing is at stake in these rows: every decision costs the same, so the score is not defined",
            UserWarning,
            stacklevel=3,
        )
        return float("nan")
    return float(1 - (weights.mean(costs.of_rows(true, decided)) - least) / (most - least))
