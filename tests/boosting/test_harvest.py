"""A tree that does its whole round in one call, against the same in several calls."""

import numpy as np
import pytest

from propriety import BoostingClassifier
from propriety.boosting import Algorithm, rounds
from propriety.boosting.draws import draws_of


def table(n, classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[:, 1] = rng.integers(0, 6, n)  # categories
    X[rng.random(n) < 0.2, 2] = np.nan
    score = X[:, 0] + np.sin(2 * X[:, 1]) + rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    return X, y, rng


def everything(model):
    state, arrays = model._state()
    return [str(state), *(np.ascontiguousarray(arrays[name]).tobytes() for name in sorted(arrays))]


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_iter": 8},
        {},  # rounds by folds, rows and features drawn
        {"max_iter": "cv", "subsample": 1.0, "max_features": 1.0},
        {"max_iter": 8, "subsample": 0.6, "max_features": 0.5},
        {"max_iter": 8, "monotonic_cst": [1, 0, 0, -1, 0], "subsample": 0.7},
        {"max_iter": 8, "algorithm": Algorithm(step="sign"), "max_step": None},
        {"max_iter": 8, "early_stopping": True},
    ],
)
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_one_call_and_several_make_the_same_model(parameters, weights, monkeypatch):
    X, y, rng = table(260, classes=3 if weights == "whole" else 2)
    w = {"none": None, "whole": rng.integers(0, 3, 260), "real": rng.random(260)}[weights]
    if parameters.get("monotonic_cst") and weights == "whole":
        y = y > 0
    model = BoostingClassifier(categorical_features=[1], random_state=0, n_jobs=1, **parameters)
    calls, advance = [], rounds.Booster._advance

    def noted(booster, *args):
        calls.append(bool(booster._harvesters))
        return advance(booster, *args)

    monkeypatch.setattr(rounds.Booster, "_advance", noted)
    one = everything(model.fit(X, y, w))
    assert all(calls)
    monkeypatch.setattr(rounds, "_FEW", 0)
    calls.clear()
    assert everything(model.fit(X, y, w)) == one
    assert not any(calls)


def test_draws_of_rounds_differ_and_features_are_drawn_alike():
    rounds = [draws_of(3, k, n_scores=2, n_features=6, count=4, rows=True, splits=True) for k in range(2000)]
    numbers = [draws.salt for draws in rounds] + [seed for draws in rounds for seed in draws.seeds]
    assert len(set(numbers)) == 3 * len(rounds)
    assert draws_of(4, 0, n_scores=2, n_features=6, count=4, rows=True, splits=True).salt not in numbers
    for score in range(2):
        masks = np.array([draws.features[score] for draws in rounds])
        assert (masks.sum(axis=1) == 4).all()
        # Each of two features is there in 2/3 of the rounds, both in 2/5.
        np.testing.assert_allclose(masks.mean(axis=0), 2 / 3, atol=0.04)
        together = (masks.T.astype(float) @ masks) / len(rounds)
        np.testing.assert_allclose(together[~np.eye(6, dtype=bool)], 2 / 5, atol=0.04)
