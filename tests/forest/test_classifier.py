"""What a forest says: bags, probabilities out of bag, smoothing, tables of every kind."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from tests.inside import grown_of, read_by

from propriety import ForestClassifier, losses
from propriety.losses import simplex

EXTRA = {"splitter": "random", "bootstrap": False}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, (X[:, 0] + 0.7 * rng.normal(size=300) > 0).astype(int)


def test_one_tree_speaks_of_the_rows_that_it_has_not_seen(data):
    X, y = data
    model = ForestClassifier(n_estimators=1, oob_score=True, random_state=0).fit(X, y)
    inside = np.all(np.isclose(model.oob_decision_function_, grown_of(model).base_rates, atol=1e-12), axis=1)
    assert 0.55 < inside.mean() < 0.72  # 1 − 1/e
    np.testing.assert_allclose(
        model.oob_decision_function_[~inside], model.predict_proba(X)[~inside], atol=1e-9
    )
    assert np.all(np.argmax(model.predict_proba(X), axis=1)[inside] == y[inside])  # it is pure there


def test_the_loss_out_of_bag_is_that_of_new_rows(data):
    X, y = data
    noise = np.random.default_rng(1).permutation(y)
    of_noise = ForestClassifier(oob_score=True, random_state=0, n_estimators=50).fit(X, noise)
    assert of_noise.oob_score_ > np.log(2)
    model = ForestClassifier("Squared", oob_score=True, random_state=0, n_estimators=50).fit(X, y)
    rng = np.random.default_rng(1)
    new = rng.normal(size=(3000, 4))
    labels = (new[:, 0] + 0.7 * rng.normal(size=3000) > 0).astype(int)
    held_out = np.mean(losses.Squared().loss(labels, model.predict_proba(new)[:, 1]))
    assert model.oob_score_ == pytest.approx(held_out, abs=0.03)
    P = model.oob_decision_function_
    assert model.oob_score_ == pytest.approx(np.mean(losses.Squared().loss(y, P[:, 1])))


def test_a_tree_that_drew_no_row_says_nothing_out_of_bag():
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    seen = set()
    for seed in range(60):  # e⁻² of them draw neither row
        model = ForestClassifier(n_estimators=1, oob_score=True, random_state=seed).fit(X, y)
        pure = model.predict_proba(X)[1, 1] > 0.7
        seen.add(bool(pure))
        if pure:  # grown on both rows
            np.testing.assert_allclose(model.oob_decision_function_, 0.5)
    assert seen == {True, False}


def test_copies_are_weights_out_of_bag_too(data):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 4, 300)
    given = {"n_estimators": 8, "oob_score": True, "random_state": 0}
    weighted = ForestClassifier(**given).fit(X, y, weight)
    copied = ForestClassifier(**given).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(
        np.repeat(weighted.oob_decision_function_, weight, axis=0), copied.oob_decision_function_
    )
    assert weighted.oob_score_ == pytest.approx(copied.oob_score_, rel=1e-12)
    # A row without weight is in no bag: all trees speak of it.
    np.testing.assert_array_equal(
        weighted.oob_decision_function_[weight == 0], weighted.predict_proba(X)[weight == 0]
    )


def test_many_copies_are_drawn_in_proportion(data):
    X, y = data
    model = ForestClassifier(n_estimators=5, random_state=0, max_depth=2)
    roots = grown_of(model.fit(X, y, np.full(300, 50) + y)).forest
    weights = roots.nodes["weight"][roots.roots[:-1]]
    assert np.all(np.abs(weights / (50 * 300 + y.sum()) - 1) < 0.05)
    huge = model.fit(X, y, (np.full(300, 50) + y) * 10**6).predict_proba(X)
    assert np.corrcoef(huge[:, 1], y)[0, 1] > 0.5


def test_the_number_of_threads_changes_nothing_out_of_bag(data):
    X, y = data
    one, *others = (
        ForestClassifier(n_estimators=12, oob_score=True, random_state=0, n_jobs=jobs).fit(X, y)
        for jobs in (1, 2, 3)
    )
    for model in others:
        np.testing.assert_array_equal(model.oob_decision_function_, one.oob_decision_function_)
        np.testing.assert_array_equal(grown_of(model).forest.nodes, grown_of(one).forest.nodes)


@pytest.mark.parametrize("loss", ["Log", "Squared", "CostWeighted(0.3)"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_splits_it_says_the_base_rates(loss, n_classes):
    y = np.arange(40) % 7 % n_classes
    weight = np.random.default_rng(0).uniform(0.5, 2, 40)
    model = ForestClassifier(loss, n_estimators=7).fit(np.zeros((40, 2)), y, weight)
    rates = np.bincount(y, weight) / weight.sum()
    np.testing.assert_allclose(model.predict_proba(np.zeros((3, 2))), np.tile(rates, (3, 1)), atol=1e-12)


@pytest.mark.parametrize("params", [{}, EXTRA], ids=["forest", "extra trees"])
def test_no_probability_is_0_or_1(data, params):
    X = data[0]
    model = ForestClassifier(n_estimators=10, random_state=0, **params).fit(X, X[:, 0] > 0)
    P = model.predict_proba(X)
    assert P.min() == pytest.approx(0.5 * grown_of(model).base_rates.min() / 10.5, rel=0.5)
    assert P.min() > 0
    assert np.all(np.isfinite(model.decision_function(X)))
    smoother = ForestClassifier(n_estimators=10, random_state=0, smoothing=20, **params).fit(X, X[:, 0] > 0)
    assert smoother.predict_proba(X).min() > 0.25


def test_it_is_as_good_as_scikit_learns():
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    train, test = order[:380], order[380:]

    def loss(model):
        P = np.clip(model.fit(X[train], y[train]).predict_proba(X[test]), 1e-3, 1)
        return -np.mean(np.log(P[np.arange(len(test)), y[test]]))

    theirs = loss(RandomForestClassifier(random_state=0))
    assert loss(ForestClassifier(random_state=0)) < theirs + 0.02
    assert loss(ForestClassifier(random_state=0, **EXTRA)) < theirs + 0.02


def test_a_seed_decides(data):
    X, y = data
    one, same, other = (
        ForestClassifier(n_estimators=5, random_state=seed).fit(X, y).predict_proba(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_sparse_tables_are_tables(data):
    X, y = np.where(np.abs(data[0]) > 1, data[0], 0.0), data[1]
    model = ForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    other = ForestClassifier(n_estimators=5, random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(sparse.csc_array(X)))


@pytest.mark.parametrize("params", [{}, EXTRA], ids=["forest", "extra trees"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_categories_and_missing_values_find_their_way(params, n_classes):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 6, 240)
    x = rng.normal(size=240)
    x[kind == 2] = np.nan
    frame = pd.DataFrame({"x": x, "kind": pd.Categorical.from_codes(kind, list("abcdef"))})
    y = (kind * n_classes // 6 + (rng.random(240) < 0.05)) % n_classes
    model = ForestClassifier(n_estimators=20, random_state=0, **params).fit(frame, y)
    assert np.mean(model.predict(frame) == y) > 0.95
    odd = pd.DataFrame({"x": [np.nan, 0.0, np.inf], "kind": pd.Categorical([None, "z", "a"])})
    P = model.predict_proba(odd)
    assert np.all((P > 0) & (P < 1))
    np.testing.assert_allclose(P.sum(axis=1), 1)


@pytest.mark.parametrize("params", [{}, EXTRA], ids=["forest", "extra trees"])
def test_rows_take_the_same_way_by_bins_and_by_values(params):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(203, 3)).round(1)
    X[rng.random(X.shape) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        kind=pd.Categorical(rng.choice(list("uvwxyz"), 203).tolist())
    )
    y = np.nan_to_num(X[:, 0]) + (frame["kind"].cat.codes > 2) > 0.5
    model = ForestClassifier(n_estimators=9, random_state=0, **params).fit(frame, y)
    frame.loc[:5, "a"], frame.loc[3:9, "b"], frame.loc[4:6, "kind"] = np.inf, -np.inf, None
    grown, votes = grown_of(model), np.zeros((203, 1))
    for start, stop, values in read_by(model, frame).chunks(grown.encoders()):
        grown.forest.add_scores(values, votes[start:stop], 1)
    expected = grown.smoothed(np.hstack([9 - votes, votes]), 9)
    for jobs in (1, 3):
        np.testing.assert_array_equal(grown.probabilities(read_by(model, frame), jobs), expected)


def test_what_a_column_adds(data):
    X, y = data
    alone = ForestClassifier(n_estimators=10, random_state=0).fit(X[:, :1], y)
    parts = alone.contributions(X[:, :1])
    np.testing.assert_allclose(parts[:, 0], alone.decision_function(X[:, :1]) - parts[:, 1], atol=1e-9)
    assert np.ptp(parts[:, 1]) == 0
    parts = ForestClassifier(n_estimators=30, random_state=0).fit(X, y).contributions(X)
    assert np.abs(parts[:, 0]).mean() > 2 * np.abs(parts[:, 1:4]).mean(axis=0).max()
    assert np.corrcoef(parts[:, 0], X[:, 0])[0, 1] > 0.7


def test_parts_of_a_start_near_one_are_finite():
    X, y, weight = np.zeros((40, 1)), np.arange(40) % 2, np.ones(40)
    weight[7] = 1e12
    model = ForestClassifier(n_estimators=3, random_state=0).fit(X, y, weight)
    np.testing.assert_allclose(model.contributions(X).sum(axis=1), model.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize(
    "loss", [simplex.Log(), simplex.PairwiseExponential(), simplex.OneVsRest("Tailored(0.3, 5)")]
)
def test_parts_of_several_scores_add_up(data, loss):
    X = data[0]
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    model = ForestClassifier(loss, n_estimators=6, random_state=0).fit(X, y)
    parts = model.contributions(X)
    np.testing.assert_allclose(parts.sum(axis=2), model.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(
        model.loss_.inverse(model.decision_function(X)), model.predict_proba(X), atol=1e-9
    )


def test_a_new_fit_forgets_the_last_one(data):
    X, y = data
    model = ForestClassifier(n_estimators=3, oob_score=True).fit(X, y)
    assert not hasattr(model.set_params(oob_score=False).fit(X, y), "oob_score_")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_estimators", 0),
        ("n_estimators", 2.5),
        ("splitter", "worst"),
        ("bootstrap", "yes"),
        ("oob_score", 1),
        ("max_features", 0),
        ("max_features", 1.5),
        ("max_features", "auto"),
        ("max_features", True),
        ("max_depth", 0),
        ("max_leaf_nodes", 1),
        ("min_samples_leaf", -1),
        ("smoothing", 0),
        ("max_bins", 256),
        ("multiclass", "ovo"),
        ("n_jobs", 0),
    ],
)
def test_parameters_are_checked(data, name, value):
    with pytest.raises(ValueError, match=name):
        ForestClassifier(**{name: value}).fit(*data)


def test_what_cannot_be_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="oob_score=True needs rows out of the bag"):
        ForestClassifier(bootstrap=False, oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="at most 256"):
        ForestClassifier().fit(np.repeat(X, 2, axis=0), np.arange(600) % 300)


def test_an_unseen_category_gets_about_what_an_average_row_gets():
    rng = np.random.default_rng(0)
    level = rng.integers(10, size=1000)
    y = (rng.random(1000) < np.where(level < 7, 0.8, 0.1)).astype(int)
    X = pd.DataFrame({"level": pd.Categorical(level.astype(str))})
    model = ForestClassifier(n_estimators=200, random_state=0).fit(X, y)
    new = model.predict_proba(pd.DataFrame({"level": pd.Categorical(["new"])}))[0, 1]
    assert abs(new - y.mean()) < 0.05
