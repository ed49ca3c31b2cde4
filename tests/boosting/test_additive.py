"""Histogram learners and additive models: the score is the sum of the curves."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.inside import forest_of

from propriety.boosting import Algorithm, BoostingClassifier

ADDITIVE = [
    {"algorithm": "additive"},
    {"algorithm": Algorithm(weak_learner="histogram", step="exact"), "subsample": 0.7, "random_state": 0},
    {
        "algorithm": Algorithm(weak_learner="histogram", max_intervals=3),
    },
    {"algorithm": Algorithm(weak_learner="stump")},
    {"interaction_cst": "no_interactions", "max_leaf_nodes": 4},
    {"interaction_cst": "pairwise", "max_leaf_nodes": 6},
]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 500
    table = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n).round(1),
            "dose": rng.exponential(size=n),
            "site": pd.Categorical(rng.choice(list("abcd"), n)),
        }
    )
    table.loc[rng.random(n) < 0.1, "dose"] = np.nan
    score = (table["age"] > 52) + (table["site"] == "b") + np.nan_to_num(table["dose"]) - 1.5
    return table, rng.random(n) < 1 / (1 + np.exp(-2 * score))


def total(shapes, X):
    score = shapes.intercept + sum(curve(X[curve.axis.name]) for curve in shapes)
    return score + sum((s(X[s.axes[0].name], X[s.axes[1].name]) for s in shapes.surfaces), 0.0)


@pytest.mark.parametrize("parameters", ADDITIVE)
def test_the_score_is_the_sum_of_the_curves(frame, parameters):
    X, y = frame
    model = BoostingClassifier(max_iter=30, **parameters).fit(X, y)
    shapes = model.shape_functions()
    np.testing.assert_allclose(total(shapes, X), model.decision_function(X), atol=1e-12)
    assert len(shapes) == 3
    assert (len(shapes.surfaces) > 0) == (parameters.get("interaction_cst") == "pairwise")
    for curve in shapes:
        assert abs(curve.values @ curve.axis.weights) < 1e-9 * len(y)
        assert curve.axis.weights.sum() == len(y)
    assert shapes["site"].axis.categories == (("a",), ("b",), ("c",), ("d",))
    assert shapes["site"]("b") > max(shapes["site"](c) for c in "acd")
    unknown = X.assign(site=pd.Categorical(["z"] * len(X)), age=-1e9)
    np.testing.assert_allclose(total(shapes, unknown), model.decision_function(unknown), atol=1e-12)


@pytest.mark.parametrize("parameters", ADDITIVE[:4])
def test_contributions_are_the_curves(frame, parameters):
    X, y = frame
    model = BoostingClassifier(max_iter=20, **parameters).fit(X, y)
    shapes, contributions = model.shape_functions(), model.predict_contributions(X)
    for f, curve in enumerate(shapes):
        np.testing.assert_allclose(contributions[:, f], curve(X[curve.axis.name]), atol=1e-12)
    if parameters.get("subsample") is None:
        np.testing.assert_allclose(contributions[:, -1], shapes.intercept, atol=1e-12)


def test_curves_of_several_classes():
    X, y = make_classification(300, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0)
    model = BoostingClassifier(algorithm="additive", max_iter=10).fit(X, y)
    shapes = model.shape_functions()
    score = shapes.intercept + sum(curve(X[:, curve.axis.feature]).T for curve in shapes)
    np.testing.assert_allclose(score, model.decision_function(X), atol=1e-12)
    assert shapes[0].values.shape[0] == 3
    np.testing.assert_allclose(model.predict_contributions(X).sum(axis=2), score, atol=1e-12)


def test_other_trees_are_not_additive(frame):
    X, y = frame
    with pytest.raises(ValueError, match="no_interactions"):
        BoostingClassifier(max_iter=3).fit(X, y).shape_functions()
    triples = BoostingClassifier(max_iter=20, min_samples_leaf=2, interaction_cst=[["age", "dose", "site"]])
    with pytest.raises(ValueError, match="combines 3 features"):
        triples.fit(X, y).shape_functions()
    with pytest.raises(KeyError, match="weight"):
        BoostingClassifier(algorithm=Algorithm(weak_learner="stump"), max_iter=1).fit(X, y).shape_functions()[
            "weight"
        ]


PLAIN = {"min_samples_leaf": 1, "min_weight_leaf": 0.0, "max_iter": 15}


@pytest.mark.parametrize(("columns", "leaves"), [(3, 2), (1, 5)])
@pytest.mark.parametrize("extra", [{}, {"algorithm__step": "exact"}, {"l2_regularization": 3.0}])
def test_joined_bins_are_the_leaves_of_a_tree_on_one_feature(columns, leaves, extra):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(250, columns)).round(2)
    y = rng.random(250) < 1 / (1 + np.exp(-2 * np.sin(3 * X[:, 0])))
    joined = BoostingClassifier(algorithm=Algorithm(weak_learner="histogram", max_intervals=leaves), **PLAIN)
    joined.set_params(**extra).fit(X, y)
    tree = BoostingClassifier(max_leaf_nodes=leaves, **PLAIN).set_params(**extra).fit(X, y)
    np.testing.assert_allclose(joined.decision_function(X), tree.decision_function(X), atol=1e-9)


def test_joined_categories_are_the_best_two_sets():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, 300).astype(float)[:, None]
    y = (rng.random(300) < np.array([0.2, 0.8, 0.3, 0.7, 0.25, 0.5])[X[:, 0].astype(int)]).astype(float)
    model = BoostingClassifier(
        algorithm=Algorithm(weak_learner="histogram", max_intervals=2),
        learning_rate=1,
        categorical_features=[0],
        **PLAIN | {"max_iter": 1},
    ).fit(X, y)
    g = y - y.mean()
    best = max(
        (
            sum(g[side].sum() ** 2 / side.sum() for side in (inside, ~inside))
            for members in range(1, 32)
            for inside in [np.array([members >> int(x) & 1 for x in X[:, 0]], dtype=bool)]
        ),
    )
    F = model.decision_function(X)
    sides = [value == F for value in np.unique(F)]
    assert len(sides) == 2
    assert sum(g[side].sum() ** 2 / side.sum() for side in sides) == pytest.approx(best)


def test_counting_columns_or_rows_is_the_same(monkeypatch):
    X, y = make_classification(300, 8, random_state=0)
    settings = {
        "algorithm": Algorithm(weak_learner="histogram", max_intervals=3),
        "max_features": 0.25,
        "max_iter": 10,
        "random_state": 0,
    }
    by_column = BoostingClassifier(subsample=0.6, **settings).fit(X, y)
    monkeypatch.setattr("propriety.boosting.histograms._FEW", 1000)
    by_row = BoostingClassifier(subsample=0.6, **settings).fit(X, y)
    np.testing.assert_array_equal(forest_of(by_column).values, forest_of(by_row).values)
    assert len(np.unique(forest_of(by_column).values[0])) <= 3 + 1  # and 0 for bins that are not there


@pytest.mark.parametrize("step", ["fisher", "sign"])
def test_histogram_weights_are_copies(step):
    X, y = make_classification(200, 4, random_state=0)
    X = X.round(1)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    copies = np.random.default_rng(1).permutation(np.repeat(np.arange(200), weight))
    settings = {
        "algorithm": Algorithm(weak_learner="histogram", step=step),
        "max_iter": 15,
        "min_samples_leaf": 1,
    }
    weighted = BoostingClassifier(**settings).fit(X, y, weight)
    copied = BoostingClassifier(**settings).fit(X[copies], y[copies])
    np.testing.assert_array_equal(forest_of(weighted).features, forest_of(copied).features)
    np.testing.assert_allclose(forest_of(weighted).values, forest_of(copied).values, atol=1e-12)
    uneven = BoostingClassifier(**settings).fit(X, y, 0.3 * weight)
    np.testing.assert_allclose(uneven.predict_proba(X), weighted.predict_proba(X), atol=1e-9)


def test_histogram_models_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 4))
    y = rng.random(40_000) < 1 / (1 + np.exp(-X[:, 0]))
    settings = {
        "algorithm": "additive",
        "max_iter": 5,
        "subsample": 0.8,
        "random_state": 0,
    }
    models = [BoostingClassifier(n_jobs=n, **settings).fit(X, y) for n in (1, 3)]
    np.testing.assert_array_equal(forest_of(models[0]).values, forest_of(models[1]).values)


def test_histogram_scale_of_the_loss_does_not_matter():
    X, y = make_classification(300, 4, random_state=0)
    settings = {"algorithm": "additive", "max_iter": 10, "l2_regularization": 3.0}
    one = BoostingClassifier("Log()", **settings).fit(X, y).predict_proba(X)
    other = BoostingClassifier("3 * Log()", link="Logit()", **settings).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_histogram_stages_warm_start_early_stopping_and_pickle():
    X, y = make_classification(400, 5, flip_y=0.3, random_state=0)
    model = BoostingClassifier(algorithm="additive", max_iter=12).fit(X, y)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == 12
    np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-12)
    halves = BoostingClassifier(algorithm="additive", max_iter=5, warm_start=True).fit(X, y)
    halves.set_params(max_iter=12).fit(X, y)
    np.testing.assert_allclose(halves.decision_function(X), stages[-1], atol=1e-12)
    stopped = BoostingClassifier(
        algorithm="additive",
        max_iter=300,
        learning_rate=0.5,
        early_stopping=True,
        random_state=0,
    ).fit(X, y)
    assert stopped.n_iter_ < 300
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert model.importances("count").sum() == pytest.approx(1)
    none = BoostingClassifier(algorithm="additive", max_iter=0).fit(X, y)
    np.testing.assert_allclose(none.predict_proba(X)[:, 1], y.mean())
    assert none.shape_functions().intercept == pytest.approx(none.decision_function(X[:1])[0])


def test_constant_and_missing_columns_add_nothing():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(100, 3.0), np.full(100, np.nan), rng.normal(size=100)])
    model = BoostingClassifier(algorithm="additive", max_iter=10).fit(X, X[:, 2] > 0)
    shapes = model.shape_functions()
    assert np.all(shapes[0].values == 0)
    assert np.all(shapes[1].values == 0)
    assert np.all(np.isfinite(model.decision_function([[np.nan, np.inf, -np.inf]])))


@parametrize_with_checks([BoostingClassifier(algorithm="additive", max_iter=5)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
