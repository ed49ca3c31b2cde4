"""The parameters of a fit, checked and resolved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class BoostingSettings:
    """What boosting reads of the classifier's parameters; automatic values are numbers here."""

    weak_learner: str
    step: str
    criterion: str
    coefficient: str
    sequential: bool
    learning_rate: float
    max_leaf_nodes: int
    max_depth: int | None
    max_intervals: int | None
    min_samples_leaf: float
    min_weight_leaf: float
    l2_regularization: float
    min_gain: float
    subsample: float
    tree_features: int
    split_features: int
    monotone: NDArray[np.int8]
    groups: NDArray[np.uint8]
    seed: int
    n_jobs: int
