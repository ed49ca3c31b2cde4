"""Fits of every kind; run by a process whose kernels are not compiled, and by one whose kernels are."""

import sys

import numpy as np
import pandas as pd
from scipy import sparse

from propriety import BoostingClassifier, ForestClassifier, LinearClassifier, RuleClassifier, TreeClassifier


def predictions():
    """Probabilities of small models, by name."""
    rng = np.random.default_rng(0)
    n = 700  # more than the rows that are searched without a histogram
    X = rng.normal(size=(n, 3))
    score = X[:, 0] + (np.arange(n) % 3 == 0) + 0.3 * rng.normal(size=n)
    y, weight = score > 0, rng.integers(0, 4, n)
    X[::7, 1] = np.nan
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=pd.Categorical(np.arange(n) % 3))
    few = slice(0, 90)
    models = {
        "boosting": (BoostingClassifier(max_iter=2, max_leaf_nodes=6), frame, y, None),
        "boosting, classes": (
            BoostingClassifier(max_iter=1, max_leaf_nodes=3),
            X,
            np.digitize(score, [0, 1]),
            None,
        ),
        "boosting, weights": (BoostingClassifier(max_iter=1, max_leaf_nodes=3), X, y, weight / 3),
        "curves": (
            BoostingClassifier(algorithm="additive", max_iter=2),
            frame[few],
            y[few],
            None,
        ),
        "tree": (TreeClassifier(max_leaf_nodes=4), frame, y, weight),
        "forest": (ForestClassifier(n_estimators=2, max_leaf_nodes=8, random_state=0), frame, y, weight),
        "extra trees": (
            ForestClassifier(n_estimators=1, splitter="random", max_depth=4, random_state=0, oob_score=True),
            frame,
            np.digitize(score, [0, 1]),
            None,
        ),
        "rules": (RuleClassifier(n_rules=2), frame[few], y[few], None),
        "linear": (LinearClassifier(alpha=0.01, l1_ratio=0.5), sparse.csr_array(np.nan_to_num(X)), y, None),
    }
    found = {}
    for name, (model, table, labels, weights) in models.items():
        model.fit(table, labels, weights)
        found[name] = model.predict_proba(table)
        found[f"{name}, contributions"] = model.predict_contributions(table[:5])
    return found


if __name__ == "__main__":
    np.savez(sys.argv[1], **predictions())
