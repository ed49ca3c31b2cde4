"""An offset of the score in boosting: against LightGBM's init_score, and by what must not change."""

import numpy as np
import pytest
import sklearn
from scipy import special
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.inside import start_of

from propriety import BoostingClassifier, TreeClassifier
from propriety.boosting import Algorithm, gain_path
from propriety.model.offsets import MissingOffsetWarning

SMALL = {"max_iter": 5, "max_leaf_nodes": 4, "n_jobs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 6, (200, 3)).astype(float)
    offset = rng.normal(0, 1, 200)
    y = (rng.random(200) < special.expit(X[:, 0] - 2.5 + offset)).astype(int)
    return X, y, offset


def test_the_first_trees_are_lightgbms_with_an_init_score(table):
    lightgbm = pytest.importorskip("lightgbm")
    X, _, offset = table
    rng = np.random.default_rng(3)
    y = (rng.random(200) < special.expit(0.3 * (X[:, 0] - 2.5) + offset)).astype(int)
    parameters = {
        "objective": "binary", "num_leaves": 4, "learning_rate": 0.3, "min_data_in_leaf": 20,
        "min_sum_hessian_in_leaf": 0.0, "lambda_l2": 0.0, "verbose": -1, "num_threads": 1, "max_bin": 255,
        "min_data_in_bin": 1, "boost_from_average": False,
    }  # fmt: skip
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, y, init_score=offset), num_boost_round=3)
    model = BoostingClassifier(
        **SMALL | {"max_iter": 3},
        learning_rate=0.3,
        algorithm=Algorithm(init="zero"),
        min_samples_leaf=20,
        min_weight_leaf=0.0,
    )
    if "max_step" in model.get_params():  # LightGBM's steps have no bound
        model.set_params(max_step=None)
    model.fit(X, y, offset=offset)
    expected = booster.predict(X, raw_score=True)  # without the init score
    np.testing.assert_allclose(model.decision_function(X, offset=offset) - offset, expected, atol=1e-5)


@pytest.mark.parametrize("learner", ["tree", "stump", "histogram"])
def test_a_constant_offset_changes_the_start_alone(table, learner):
    X, y, _ = table
    plain = BoostingClassifier(**SMALL, algorithm=Algorithm(weak_learner=learner)).fit(X, y)
    constant = np.full(len(y), 1.5)
    model = BoostingClassifier(**SMALL, algorithm=Algorithm(weak_learner=learner)).fit(X, y, offset=constant)
    np.testing.assert_allclose(start_of(model), start_of(plain) - 1.5, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X, offset=constant), plain.predict_proba(X), atol=1e-9)


def test_without_splits_it_is_the_best_constant_on_top(table):
    X, y, offset = table
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    model = BoostingClassifier(max_iter=0).fit(X, y, sample_weight=weight, offset=offset)
    p = model.predict_proba(X, offset=offset)[:, 1]
    assert weight @ (p - y) == pytest.approx(0, abs=1e-10)  # what the log loss's minimum means
    copies = np.repeat(np.arange(len(y)), weight)
    again = BoostingClassifier(max_iter=0).fit(X[copies], y[copies], offset=offset[copies])
    assert start_of(again) == start_of(model)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"algorithm": Algorithm(weak_learner="histogram")},
        {"algorithm": Algorithm(step="newton"), "loss": "Squared"},
        {"algorithm": Algorithm(step="exact")},
        {"algorithm": Algorithm(coefficient="line")},
    ],
    ids=str,
)
def test_going_on_from_a_models_score_is_a_warm_start(table, parameters):
    X, y, offset = table
    parameters = SMALL | {"min_weight_leaf": 0.0} | parameters
    model = BoostingClassifier(**parameters, warm_start=True).fit(X, y, offset=offset)
    score = model.decision_function(X, offset=offset)
    rest = BoostingClassifier(**parameters).set_params(algorithm__init="zero").fit(X, y, offset=score)
    longer = model.set_params(max_iter=10).fit(X, y, offset=offset)
    np.testing.assert_allclose(
        rest.decision_function(X, offset=score), longer.decision_function(X, offset=offset), atol=1e-7
    )


def test_stages_end_at_the_score(table):
    X, y, offset = table
    model = BoostingClassifier(**SMALL, subsample=0.7).fit(X, y, offset=offset)
    stages = list(model.staged_decision_function(X, offset=offset))
    assert len(stages) == 5
    np.testing.assert_allclose(stages[-1], model.decision_function(X, offset=offset))
    *_, P = model.staged_predict_proba(X, offset=offset)
    np.testing.assert_allclose(P, model.predict_proba(X, offset=offset))
    *_, decided = model.staged_predict(X, offset=offset)
    np.testing.assert_array_equal(decided, model.predict(X, offset=offset))
    with pytest.warns(MissingOffsetWarning, match="give the offset"):
        model.predict(X)


def test_held_out_rows_stop_with_their_offset(table):
    X, y, offset = table
    stopping = BoostingClassifier(**SMALL | {"max_iter": 30}, early_stopping=True, learning_rate=0.3)
    given = stopping.fit(X[:150], y[:150], offset=offset[:150], X_val=X[150:], y_val=y[150:],
                         offset_val=offset[150:])  # fmt: skip
    p = given.predict_proba(X[150:], offset=offset[150:])[:, 1]
    held_out = -np.mean(np.where(y[150:], np.log(p), np.log1p(-p)))
    assert -given.validation_score_.max() == pytest.approx(held_out, abs=1e-6)
    by_part = stopping.fit(X, y, offset=offset)
    assert len(by_part.validation_score_) > 1
    with pytest.raises(ValueError, match="X_val needs an offset as well"):
        stopping.fit(X, y, offset=offset, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="offset_val is the offset of X_val"):
        stopping.fit(X, y, X_val=X, y_val=y, offset_val=offset)


def test_several_classes(table):
    X, y, _ = table
    y = y + (X[:, 1] > 3)
    offset = np.random.default_rng(3).normal(size=(len(y), 3))
    model = BoostingClassifier(max_iter=0).fit(X, y, offset=offset)
    P = model.predict_proba(X, offset=offset)
    np.testing.assert_allclose(P.mean(axis=0), np.bincount(y) / len(y), atol=1e-9)
    model = BoostingClassifier(**SMALL).fit(X, y, offset=offset)
    assert np.mean(model.predict(X, offset=offset) == y) > np.mean(np.argmax(offset, axis=1) == y)


@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_a_path_of_gains_has_the_offset(table, l2):
    X, y, offset = table
    model = BoostingClassifier(
        **SMALL,
        algorithm=Algorithm(weak_learner="histogram", step="gradient"),
        learning_rate=1.0,
        l2_regularization=l2,
    )
    path = gain_path(model, X, y, gains=[1, 4], cv=3, offset=offset)
    assert np.abs(path.values - gain_path(model, X, y, gains=[1, 4], cv=3).values).max() > 0.01


def test_offsets_are_routed(table):
    X, y, offset = table
    with sklearn.config_context(enable_metadata_routing=True):
        model = BoostingClassifier(**SMALL).set_fit_request(offset=True)
        model.set_predict_proba_request(offset=True).set_score_request(offset=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y, offset=offset)
        P = pipeline.predict_proba(X, offset=offset)
        search = GridSearchCV(pipeline, {"boostingclassifier__max_iter": [1, 5]}, cv=2)
        search.fit(X, y, offset=offset)
    np.testing.assert_array_equal(P, model.predict_proba(StandardScaler().fit_transform(X), offset=offset))
    assert search.best_score_ > 0.6


def test_models_without_an_offset_do_not_have_the_argument(table):
    X, y, offset = table
    with pytest.raises(TypeError, match="offset"):
        TreeClassifier().fit(X, y, offset=offset)
