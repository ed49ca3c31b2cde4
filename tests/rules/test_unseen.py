"""Rules and categories that were not in training."""

import numpy as np
import pandas as pd
import pytest

from propriety import RuleClassifier


@pytest.mark.parametrize("some_missing", [False, True])
def test_an_unseen_category_scores_about_as_an_average_row(some_missing):
    rng = np.random.default_rng(0)
    level = rng.integers(12, size=1200)
    y = (rng.random(1200) < 1 / (1 + np.exp(-np.linspace(-2, 2, 12)[level]))).astype(int)
    names = pd.Series(level.astype(str))
    names[: 200 if some_missing else 0] = None
    y[: 200 if some_missing else 0] = rng.random(200 if some_missing else 0) < 0.95
    X = pd.DataFrame({"level": pd.Categorical(names)})
    model = RuleClassifier(n_rules=8, max_literals=1).fit(X, y)
    scores = model.decision_function(X)
    new = model.decision_function(pd.DataFrame({"level": pd.Categorical(["new"])}))[0]
    assert np.ptp(scores) > 2.0
    if some_missing:  # these have decided where a missing value goes
        assert new == scores[0] > scores.mean() + 0.5
    else:
        assert abs(new - scores.mean()) < 0.5
        assert scores.min() < new < scores.max()
