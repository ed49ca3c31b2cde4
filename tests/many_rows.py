"""Tables of two parts of 70,000 rows: more than kernels take at once, with splits that are not kept."""

import numpy as np

from propriety import BoostingClassifier

N = 140_000
#: Trees that grow over spread rows drop splits that have moved rows: those made ahead of their turn, and
#: those that leave too few rows on a side, which is known afterwards.
MODELS = {
    "ahead": BoostingClassifier(max_iter=3, max_leaf_nodes=16, random_state=0),
    "too few rows": BoostingClassifier(
        max_iter=2, max_leaf_nodes=4, min_samples_leaf=57_000, min_weight_leaf=0.0, random_state=0
    ),
}


def table(name):
    """Numbers and labels for a model."""
    rng = np.random.default_rng(0)
    if name == "ahead":
        X = rng.normal(size=(N, 4))
        return X, (np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + rng.logistic(size=N) > 0.5).astype(int)
    X = rng.integers(0, 40, (N, 2)).astype(float)
    best = rng.permutation(N) < 56_000  # the best group to be parted from the others, and too small
    X[:, 1] = best
    return X, (rng.random(N) < np.where(best, 0.8, 0.5 + 0.001 * X[:, 0])).astype(int)
