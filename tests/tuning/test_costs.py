"""Searches by costs of rows, of a named class, and by a matrix."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propriety import LinearClassifier, LossSearchCV, TreeClassifier, evaluation, losses
from propriety.costs import PositiveClassWarning


def data(labels=(0, 1), n=200):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["amount"] = rng.lognormal(1, 1, n)
    score = X["a"] - 0.5 * X["b"] + 0.8 * rng.normal(size=n)
    cuts = np.quantile(score, np.arange(1, len(labels)) / len(labels))
    return X, np.array(labels)[np.digitize(score, cuts)]


def test_costs_of_rows_judge_each_row_by_its_own():
    X, y = data()
    amount = X["amount"].to_numpy()
    by_name = LossSearchCV(LinearClassifier(alpha=0.01, fn_cost="amount"), cv=3).fit(X, y)
    by_array = LossSearchCV(LinearClassifier(alpha=0.01), cv=3).fit(X, y, fn_cost=amount)
    np.testing.assert_array_equal(by_name.cv_results_["gain"], by_array.cv_results_["gain"])
    np.testing.assert_array_equal(by_name.predict(X), by_array.predict(X, fn_cost=amount))
    decided = by_name.predict_proba(X)[:, 1] >= 1 / (1 + amount)
    np.testing.assert_array_equal(by_name.predict(X), decided)
    cost = evaluation.mean_cost(y, decided.astype(int), fn_cost=amount)
    assert by_name.score(X, y) == by_array.score(X, y, fn_cost=amount) == pytest.approx(-cost)
    assert by_name.criterion_.cost == pytest.approx(1 / (1 + amount.mean()))
    assert "each row at its own costs" in str(by_name.verdict_)


def test_rows_in_a_pipeline_and_in_nested_searches():
    X, y = data()
    amount = X["amount"].to_numpy()
    pipeline = make_pipeline(StandardScaler(), LinearClassifier(alpha=0.01, stakes=True))
    search = LossSearchCV(pipeline, ["Squared"], cv=2, verdict="nested").fit(X, y, fn_cost=amount)
    p = search.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(search.predict(X, fn_cost=amount), p >= 1 / (1 + amount))
    weighted = make_pipeline(StandardScaler(), LinearClassifier(search.best_loss_, alpha=0.01))
    weighted.fit(X, y, linearclassifier__sample_weight=1 + amount)
    np.testing.assert_allclose(weighted.predict_proba(X)[:, 1], p, atol=1e-6)


def test_a_matrix_of_several_classes():
    X, y = data(("a", "b", "c"))
    matrix = np.array([[0, 1, 4, 0.5], [3, 0, 1, 0.5], [20, 9, 0, 0.5]])
    search = LossSearchCV(TreeClassifier(max_leaf_nodes=5), ["Squared"], cost_matrix=matrix, cv=3).fit(X, y)
    P = search.predict_proba(X)
    cheapest = np.array(["a", "b", "c", "abstain"])[np.argmin(P @ matrix, axis=1)]
    np.testing.assert_array_equal(search.predict(X), cheapest)
    assert "abstain" in cheapest
    assert search.score(X, y) == pytest.approx(-evaluation.mean_cost(y, cheapest, cost_matrix=matrix))
    assert "by the cost matrix" in search.criterion_.unit


def test_the_named_class():
    X, y = data(("good", "bad"))
    model = LinearClassifier(alpha=0.01)
    search = LossSearchCV(model, fn_cost=4, pos_label="bad", cv=3).fit(X, y)
    turned = LossSearchCV(model, fn_cost=4, cv=3).fit(X, (y == "bad").astype(int))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], turned.cv_results_["mean_test_score"])
    assert search.criterion_.cost == pytest.approx(0.8)
    tailored = [p["loss"] for p in search.cv_results_["params"][1:]]
    assert all(isinstance(loss, losses.Tailored) and loss.cost == pytest.approx(0.8) for loss in tailored)
    with pytest.warns(PositiveClassWarning, match="'good' was taken") as seen:
        unnamed = LossSearchCV(model, fn_cost=4, cv=3).fit(X, y)
    assert len([w for w in seen if w.category is PositiveClassWarning]) == 1
    assert unnamed.best_estimator_.pos_label == "good"
