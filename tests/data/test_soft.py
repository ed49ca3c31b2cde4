"""Soft labels are the weighted rows that they stand for, and text columns are categories."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.inside import schema_of

from propriety import (
    BoostingClassifier,
    Costs,
    LinearClassifier,
    ScorecardClassifier,
    TreeClassifier,
    evaluation,
)

ESTIMATORS = [
    pytest.param(LinearClassifier(alpha=0.1), id="linear"),
    pytest.param(BoostingClassifier(max_iter=10, min_samples_leaf=3, random_state=0), id="boosting"),
    pytest.param(BoostingClassifier(max_iter="cv", random_state=0), id="boosting-cv"),
    pytest.param(ScorecardClassifier(), id="scorecard"),
]


def rows(k, n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    P = np.exp(X[:, :1] * np.arange(k) + 0.5 * rng.normal(size=(n, k)))
    P[0] = np.eye(k)[0]
    return X, P / P.sum(axis=1, keepdims=True), rng


@pytest.mark.parametrize("model", ESTIMATORS)
@pytest.mark.parametrize("k", [2, 3])
def test_probabilities_are_a_weighted_row_of_each_class(model, k):
    X, P, rng = rows(k)
    weight = rng.random(len(X))
    place, codes = np.nonzero(P)
    expected = model.fit(X[place], codes, (P * weight[:, None])[place, codes]).predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, P, weight).predict_proba(X), expected)
    if k == 2:
        np.testing.assert_array_equal(model.fit(X, P[:, 1], weight).predict_proba(X), expected)
    assert model.classes_.tolist() == list(range(k))


@pytest.mark.parametrize("model", ESTIMATORS[:2])
def test_successes_of_trials_are_copies(model):
    X, _, rng = rows(2)
    trials = rng.integers(0, 6, len(X))
    successes = rng.binomial(trials, 0.3)
    each = [np.repeat(np.arange(len(X)), count) for count in (trials - successes, successes)]
    y = np.repeat([0, 1], [len(part) for part in each])
    expected = model.fit(X[np.concatenate(each)], y).predict_proba(X)
    np.testing.assert_allclose(model.fit(X, (successes, trials)).predict_proba(X), expected, atol=1e-9)
    frame = pl.DataFrame(X)
    soft = model.fit(frame, (successes, trials), offset=np.zeros(len(X)))
    np.testing.assert_allclose(soft.predict_proba(frame, offset=np.zeros(len(X))), expected, atol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_soft_labels_judge_as_the_weighted_rows(k):
    X, P, rng = rows(k)
    weight = rng.random(len(X))
    place, codes = np.nonzero(P)
    shares = (P * weight[:, None])[place, codes]
    model = LinearClassifier(alpha=0.1, costs=Costs(matrix=np.arange(k * k).reshape(k, k) % (k + 1))).fit(
        X, P
    )
    assert model.score(X, P, weight) == pytest.approx(model.score(X[place], codes, shares))
    stated = model.predict_proba(X)
    for loss in ("Log", "Squared"):
        expected = evaluation.mean_loss(codes, stated[place], loss, sample_weight=shares)
        assert evaluation.mean_loss(P, stated, loss, sample_weight=weight) == pytest.approx(expected)
    if k == 2:
        assert model.score(X, P[:, 1], weight) == model.score(X, P, weight)


def test_soft_labels_that_make_no_sense_are_refused():
    X, P, _ = rows(3)
    with pytest.raises(ValueError, match="sum to 1"):
        LinearClassifier().fit(X, 2 * P)
    with pytest.raises(ValueError, match="successes"):
        LinearClassifier().fit(X, (np.ones(80), np.zeros(80)))
    with pytest.raises(ValueError, match="80 soft labels"):
        LinearClassifier().fit(X[:5], P)
    with pytest.raises(ValueError, match="no costs of rows"):
        LinearClassifier().fit(X, P[:, 1], fn_cost=np.ones(80))
    with pytest.raises(ValueError, match="continuous"):
        LinearClassifier().fit(X, X[:, 0])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_text_columns_are_categories(kind):
    rng = np.random.default_rng(0)
    city = rng.choice(["bern", "oslo", "rome"], 200)
    y = (city == "oslo") ^ (rng.random(200) < 0.1)
    given = {"city": [None, *city[1:]], "size": rng.normal(size=200)}
    model = TreeClassifier().fit(kind(given), y)
    assert schema_of(model).categories == (("bern", "oslo", "rome"), None)
    as_categories = pd.DataFrame(given).astype({"city": "category"})
    np.testing.assert_array_equal(
        model.predict_proba(kind(given)), TreeClassifier().fit(as_categories, y).predict_proba(as_categories)
    )
    assert model.predict(kind({"city": ["oslo", "unknown"], "size": [0.0, 0.0]})).tolist()[0]
    with pytest.raises(ValueError, match="numbers written as text, such as"):
        TreeClassifier().fit(kind({"age": [str(age) for age in range(200)]}), y)
    TreeClassifier(categorical_features=["age"]).fit(kind({"age": [str(age % 5) for age in range(200)]}), y)
