"""Boosting for ordered classes: the model of the thresholds, written out."""

import numpy as np
import pandas as pd
import pytest

import propriety
from propriety import BoostingClassifier
from propriety.boosting.ordinal import at_thresholds
from propriety.losses import simplex

SMALL = {"max_iter": 8, "min_samples_leaf": 5, "random_state": 0}


def rows(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    X["kind"] = pd.Categorical(rng.choice(["p", "q", "r"], n))
    score = X["a"] ** 2 - X["b"] + 2 * (X["kind"] == "q") + 0.5 * rng.normal(size=n)
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    return X, np.digitize(score.fillna(0.0), [-0.5, 1.0, 2.5])


X, Y = rows()


def test_it_is_the_model_of_the_thresholds():
    model = BoostingClassifier(multiclass="ordinal", **SMALL).fit(X, Y)
    assert model.loss_ == simplex.Cumulative("Log")
    inner = BoostingClassifier(monotonic_cst={3: -1}, **SMALL)
    labels = (Y[:, None] > np.arange(3)).ravel()
    inner.fit(at_thresholds(X, 3), labels, groups=np.repeat(np.arange(len(Y)), 3))
    F = inner.decision_function(at_thresholds(X, 3)).reshape(-1, 3)
    np.testing.assert_allclose(model.decision_function(X)[:, 1:], F, atol=1e-12)
    assert not model.decision_function(X)[:, 0].any()
    assert np.all(np.diff(F, axis=1) <= 0)
    assert (model.predict(X) == Y).mean() > 0.6


def test_probabilities_of_any_rows_are_none_below_0():
    rng = np.random.default_rng(1)
    wild = pd.DataFrame(rng.normal(scale=5, size=(400, 2)), columns=["a", "b"])
    wild["kind"] = pd.Categorical(rng.choice(["p", "q", "z"], 400))
    for params in ({}, {"loss": "Tailored(0.3, 5)"}, {"interaction_cst": "no_interactions"}):
        P = BoostingClassifier(multiclass="ordinal", **SMALL, **params).fit(X, Y).predict_proba(wild)
        assert P.min() >= 0
        np.testing.assert_allclose(P.sum(axis=1), 1)


def test_contributions_stages_importances_and_file(tmp_path):
    model = BoostingClassifier("simplex.RankedProbability()", **SMALL).fit(X, Y)
    assert model.loss_ == simplex.RankedProbability()
    np.testing.assert_allclose(model.contributions(X).sum(axis=2), model.decision_function(X), atol=1e-9)
    assert model.importances().sum() == pytest.approx(1)
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_array_equal(last, model.predict_proba(X))
    assert model.n_iter_ == 8
    model.save(tmp_path / "m.propriety")
    again = propriety.load(tmp_path / "m.propriety")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_folds_part_no_row_and_calibrate():
    model = BoostingClassifier(multiclass="ordinal", max_iter="cv", calibrate="platt", random_state=0).fit(
        X, Y
    )
    assert model.oof_decision_function_.shape == (len(Y), 4)
    assert isinstance(model.loss_, simplex.Cumulative)
    assert model.loss_ != simplex.Cumulative("Log")
    assert model.predict_proba(X).min() >= 0


def test_weights_are_copies_and_rows_may_be_arrays():
    A = X[["a", "b"]].to_numpy()
    weight = np.random.default_rng(2).integers(0, 3, len(Y))
    one = BoostingClassifier(multiclass="ordinal", **SMALL).fit(A, Y, weight)
    other = BoostingClassifier(multiclass="ordinal", **SMALL).fit(
        np.repeat(A, weight, axis=0), np.repeat(Y, weight)
    )
    np.testing.assert_allclose(one.predict_proba(A), other.predict_proba(A), atol=1e-9)
    held = BoostingClassifier(multiclass="ordinal", early_stopping=True, max_iter=30, random_state=0)
    held.fit(A[:160], Y[:160], X_val=A[160:], y_val=Y[160:])
    assert 1 <= held.n_iter_ <= 30


def test_what_cannot_be_is_refused():
    for wrong, message in (
        ({"algorithm": "additive"}, "does not take algorithm='additive'"),
        ({"warm_start": True}, "does not take warm_start"),
        ({"loss": "simplex.Log()"}, "is not of ordered classes"),
    ):
        with pytest.raises(ValueError, match=message):
            BoostingClassifier(multiclass="ordinal", **{**SMALL, **wrong}).fit(X, Y)
    with pytest.raises(ValueError, match="does not take an offset"):
        BoostingClassifier(multiclass="ordinal", **SMALL).fit(X, Y, offset=np.zeros((len(Y), 4)))
