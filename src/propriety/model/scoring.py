"""What the decisions of a model are worth: what ``score`` returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from propriety.costs import Costs
from propriety.weights import Weights


def worth(
    classes: NDArray[Any], probabilities: NDArray[np.float64], costs: Costs, y: Any, sample_weight: Any = None
) -> float:
    """Minus the mean cost of decisions by probabilities; where every mistake costs 1, the share of right ones.

    >>> P = np.array([[0.8, 0.2], [0.3, 0.7]])
    >>> worth(np.array([0, 1]), P, Costs.of_mistakes(1, 9), [0, 1])
    -0.5
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
