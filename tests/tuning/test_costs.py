"""Searches by costs of rows, of a named class, and by a matrix."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propriety import Costs, LinearClassifier, LossSearchCV, TreeClassifier, evaluation, losses
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
    pipeline = make_pipeline(
        StandardScaler(), LinearClassifier(alpha=0.01, costs=Costs(weight_by_stakes=True))
    )
    search = LossSearchCV(pipeline, ["Squared"], cv=2, verdict="nested").fit(X, y, fn_cost=amount)
    p = search.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(search.predict(X, fn_cost=amount), p >= 1 / (1 + amount))
    weighted = make_pipeline(StandardScaler(), LinearClassifier(search.best_loss_, alpha=0.01))
    weighted.fit(X, y, linearclassifier__sample_weight=1 + amount)
    np.testing.assert_allclose(weighted.predict_proba(X)[:, 1], p, atol=1e-6)


def test_a_matrix_of_several_classes():
    X, y = data(("a", "b", "c"))
    matrix = np.array([[0, 1, 4, 0.5], [3, 0, 1, 0.5], [20, 9, 0, 0.5]])
    search = LossSearchCV(
        TreeClassifier(max_leaf_nodes=5), ["Squared"], costs=Costs(matrix=matrix), cv=3
    ).fit(X, y)
    P = search.predict_proba(X)
    cheapest = np.array(["a", "b", "c", "abstain"])[np.argmin(P @ matrix, axis=1)]
    np.testing.assert_array_equal(search.predict(X), cheapest)
    assert "abstain" in cheapest
    assert search.score(X, y) == pytest.approx(-evaluation.mean_cost(y, cheapest, costs=Costs(matrix=matrix)))
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
    # The search says it once, and writes nothing into its models.
    assert unnamed.best_estimator_.pos_label is None
    np.testing.assert_array_equal(
        unnamed.predict(X), np.where(unnamed.predict_proba(X)[:, 1] >= 0.2, "good", "bad")
    )


def test_a_fold_may_lack_a_class():
    X, y = data(("a", "b", "c"))
    matrix = np.array([[0, 1, 4], [3, 0, 1], [20, 9, 0]])
    rare = np.flatnonzero(y == "c")
    X, y = X.drop(index=rare[3:]), np.delete(y, rare[3:])
    rare, rows = np.flatnonzero(y == "c"), np.arange(len(y))
    held_out = np.union1d(rare, rows[::3])
    splits = [(np.setdiff1d(rows, held_out), held_out), (held_out, np.setdiff1d(rows, held_out))]
    model = TreeClassifier(max_leaf_nodes=4)
    search = LossSearchCV(model, ["Squared"], costs=Costs(matrix=matrix), cv=splits).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.costs.matrix, matrix)
    P = search.predict_proba(X)
    np.testing.assert_array_equal(search.predict(X), np.array(["a", "b", "c"])[np.argmin(P @ matrix, axis=1)])
    each = np.tile(matrix, (len(y), 1, 1))
    by_rows = LossSearchCV(model, ["Squared"], cv=splits).fit(X, y, costs=Costs(matrix=each))
    np.testing.assert_array_equal(by_rows.cv_results_["gain"], search.cv_results_["gain"])
    # Without a search to know all classes, the matrix has to name them.
    labelled = pd.DataFrame(matrix, index=["a", "b", "c"], columns=["a", "b", "c"])
    scores = cross_val_score(
        TreeClassifier(max_leaf_nodes=4, costs=Costs(matrix=labelled)),
        X,
        y,
        cv=splits,
        scoring=evaluation.cost_scorer(costs=Costs(matrix=labelled)),
    )
    assert np.all(np.isfinite(scores))
    with pytest.raises(
        ValueError, match=r"for 3 classes, and there are 2.*name the classes: give a data frame"
    ):
        TreeClassifier(costs=Costs(matrix=matrix)).fit(X[y != "c"], y[y != "c"])
