"""What decisions are worth: what `score` says of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from propriety.costs import ResolvedCosts
from propriety.weights import Weights


def worth(
    classes: NDArray[Any],
    probabilities: NDArray[np.float64],
    costs: ResolvedCosts,
    y: Any,
    sample_weight: Any,
) -> float:
    """What decisions by given probabilities are worth: minus their mean cost, or the share of right ones.

    >>> P = np.array([[0.7, 0.3], [0.9, 0.1]])
    >>> worth(np.array([0, 1]), P, ResolvedCosts.of_mistakes(1, 4), [0, 1], None)
    -2.5
    """
    decided = costs.decide(probabilities)
    if np.array_equal(costs.matrix, 1.0 - np.eye(len(classes))):
        return float(accuracy_score(y, classes[decided], sample_weight=sample_weight))
    labels = np.asarray(y)
    true = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if not np.all(classes[true] == labels):
        unknown = np.unique(labels[classes[true] != labels])[:5].tolist()
        raise ValueError(f"y has labels {unknown} that the model was not trained on, so they have no cost")
    return -float(Weights.read(sample_weight, len(true)).mean(costs.of_rows(true, decided)))
