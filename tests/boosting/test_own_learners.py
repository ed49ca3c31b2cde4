"""Weak learners of the user's own, against boosting by hand with the same estimators."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.inside import forest_of

from propriety import BoostingClassifier, algorithms, evaluation, losses
from propriety.boosting import Algorithm, gain_path
from propriety.boosting.objective import objective_of
from propriety.boosting.own_learners import slope_bound

STUMP, PART = DecisionTreeClassifier(max_depth=1), DecisionTreeRegressor(max_depth=2)


def own(learner, loss="auto", *, step="fisher", coefficient="fixed", plain=False, sequential=False, **params):
    """Boosting with a learner of one's own; `plain` as in the papers."""
    algorithm = Algorithm(
        weak_learner=learner, step=step, coefficient=coefficient, sequential=sequential,
        **({"init": "zero", "regularized": False} if plain else {}),
    )  # fmt: skip
    return BoostingClassifier(loss, algorithm=algorithm, **params)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(300) > 0.3).astype(int)


def test_discrete_adaboost_is_that_of_scikit_learn(data):
    X, y = data
    ours = algorithms.make("discrete_adaboost", algorithm__weak_learner=STUMP, max_iter=15).fit(X, y)
    theirs = AdaBoostClassifier(STUMP, n_estimators=15, random_state=0).fit(X, y)
    alpha = theirs.estimator_weights_ / 2  # its weights of learners are log((1 − ε)/ε)
    np.testing.assert_allclose([item.factor for item in forest_of(ours).items], alpha, rtol=1e-6)
    signs = [2 * learner.predict(X) - 1 for learner in theirs.estimators_]
    score = alpha @ signs
    np.testing.assert_allclose(ours.decision_function(X), score, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * score)), atol=1e-6)


def test_logitboost_by_hand(data):
    X, y = data
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    model = algorithms.make("logitboost", algorithm__weak_learner=PART, max_iter=8).fit(
        X, y, sample_weight=weight
    )
    F, stages = np.zeros(len(y)), list(model.staged_decision_function(X))
    for stage in stages:
        p = 1 / (1 + np.exp(-F))
        F = F + clone(PART).fit(X, (y - p) / (p * (1 - p)), weight * p * (1 - p)).predict(X)
        np.testing.assert_allclose(stage, F, atol=1e-6)
    assert len(stages) == model.n_iter_ == 8


def test_probabilities_as_learners_and_the_rule_of_bregman(data):
    X, y = data
    model = own(GaussianNB(), step="gradient", coefficient="bregman", max_iter=4, plain=True).fit(X, y)
    F = np.zeros(len(y))
    for stage in model.staged_decision_function(X):
        w = 1 / (1 + np.exp((2 * y - 1) * F))
        h = 2 * GaussianNB().fit(X, 2 * y - 1, w).predict_proba(X)[:, 1] - 1
        r = np.sum(w * (2 * y - 1) * h) / w.sum()
        F = F + 0.5 * np.log((1 + r) / (1 - r)) * h
        np.testing.assert_allclose(stage, F, atol=1e-6)


def test_corrective_coefficients_have_no_edge_left(data):
    X, y = data
    model = own(STUMP, step="sign", coefficient="corrective", max_iter=6, plain=True).fit(X, y)
    g = model.predict_proba(X)[:, 1] - y
    for item in forest_of(model).items:
        assert abs(np.mean(g * (2 * item.estimator.predict(X).clip(0) - 1))) < 1e-8


def test_a_step_is_bounded(data):
    X, y = data
    tree = DecisionTreeRegressor()
    model = own(tree, max_iter=1, max_step=0.5, learning_rate=1).fit(X, y)
    score = model.decision_function(X)
    base = np.log(y.mean() / (1 - y.mean()))
    assert np.abs(score - base).max() == pytest.approx(0.5)
    deep = DecisionTreeClassifier(max_depth=3)
    shortened = own(deep, step="sign", coefficient="line", max_step=0.25, max_iter=1, plain=True).fit(X, y)
    assert np.abs(shortened.decision_function(X)).max() == pytest.approx(0.25)


def test_several_classes_and_what_is_asked_of_a_classifier():
    X, y = load_iris(return_X_y=True)
    model = own(PART, max_iter=10).fit(X, y)
    assert model.score(X, y) > 0.95
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    rule = {"step": "sign", "coefficient": "bregman", "sequential": True}
    moved = own(STUMP, losses.simplex.Log(), max_iter=10, **rule).fit(X, y)
    factors = np.array([item.factor for item in forest_of(moved).items]).reshape(-1, 3)
    assert np.all(np.count_nonzero(factors, axis=1) == 1)
    assert moved.score(X, y) > 0.85


def test_filtering_accepts_rows_by_their_weights(data):
    """Learners that take no weights see rows in proportion to them; the loss must bound the weights."""
    X, y = data
    seen = []

    class Watched(KNeighborsClassifier):
        def fit(self, X, y):
            seen.append(X)
            return super().fit(X, y)

    line = {"step": "sign", "coefficient": "line"}
    algorithm = Algorithm(weak_learner=Watched(15), init="zero", **line)
    model = BoostingClassifier(algorithm=algorithm, subsample="filter", max_iter=60, random_state=0).fit(X, y)
    # In the first round all weights are ½; later, those of rows that are right are smaller.
    assert len(seen[0]) == pytest.approx(150, abs=4 * np.sqrt(75))
    assert len(seen[-1]) < len(seen[0])
    p = model.predict_proba(X)[:, 1]
    expected = np.abs(p - y).sum()
    assert len(seen[-1]) == pytest.approx(expected, abs=4 * np.sqrt(expected))
    assert evaluation.mean_loss(y, p) < 0.55
    with pytest.raises(ValueError, match=r"those of Exponential.* have no bound"):
        own(STUMP, "Exponential()", step="sign", subsample="filter").fit(X, y)
    with pytest.raises(TypeError, match="fit takes no sample_weight"):
        own(KNeighborsClassifier(), step="sign").fit(X, y)


@pytest.mark.parametrize(
    ("loss", "bound"),
    [
        ("Log()", 1),
        ("GLog(3)", 1),
        ("Matsushita()", None),
        ("Exponential()", np.inf),
        (losses.Squared().with_link(losses.links.Identity(-1)), np.inf),  # least squares
    ],
)
def test_bounds_of_slopes(loss, bound):
    composite = losses.as_composite(loss)
    found = slope_bound(objective_of(composite, np.array([0, 1]), 2))
    expected = np.abs(composite.gradient(1.0, composite.link(1e-12))) if bound is None else bound
    assert found == pytest.approx(float(expected), rel=1e-3)


def test_what_is_lost_is_said(data, tmp_path):
    X, y = data
    model = own(Ridge(), max_iter=3).fit(X, y)
    for call in (model.contributions, model.predict_interactions):
        with pytest.raises(NotImplementedError, match=r"weak learner is Ridge\(\) has no"):
            call(X)
    with pytest.raises(NotImplementedError, match="no shape functions"):
        model.shape_functions()
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(ValueError, match=r"no code, and the weak learners are Ridge.*by pickle"):
        model.save(tmp_path / "model")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    other = clone(model).set_params(algorithm__weak_learner=Ridge(5.0)).fit(X, y)
    assert not np.array_equal(other.predict_proba(X), model.predict_proba(X))
    table = pd.DataFrame(X, columns=list("abcd")).assign(e=pd.Categorical(["x", "y"] * 150))
    with pytest.raises(ValueError, match="column 'e' is categorical: encode it"):
        own(Ridge()).fit(table, y)
    # A model of trees has all of that again.
    assert model.set_params(algorithm="gradient").fit(X, y).feature_importances_.shape == (4,)


@pytest.mark.parametrize(
    ("learner", "params", "message"),
    [
        (STUMP, {}, "step='fisher' fits numbers, and DecisionTreeClassifier is a classifier"),
        (PART, {"step": "exact"}, "sets the leaves of the library's own trees"),
        (PART, {"max_depth": 3}, "max_depth=3 is for the library's own weak learners"),
        (PART, {"max_iter": "cv"}, "finds the rounds by folds"),
        (PART, {"subsample": 0.5}, "subsample=0.5 is for"),
        (PART, {"coefficient": "corrective"}, "set learning_rate=1 and max_step=None"),
        (3, {}, "weak_learner must be one of"),
        ("tree", {"subsample": "filter"}, "subsample"),
    ],
)
def test_what_does_not_go_together_is_refused(data, learner, params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        own(learner, **params).fit(*data)
    with pytest.raises(ValueError, match="folds, gains and workers are for the library's own"):
        gain_path(own(PART, step="gradient"), *data)
