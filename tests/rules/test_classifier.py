"""RuleClassifier: the promises of the library, and what its rules say."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from propriety import RuleClassifier, losses

LOSSES = ["Log()", "Exponential()", "Matsushita()", "Squared()", "Mu(0.3)"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@parametrize_with_checks([RuleClassifier("Squared()", update="corrective", n_rules=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def same_rules(a, b, tolerance=1e-10):
    assert [str(rule) for rule in a.rules_] == [str(rule) for rule in b.rules_]
    pairs = zip(a.rules_, b.rules_, strict=True)
    return np.allclose(*zip(*((p.coefficient, q.coefficient) for p, q in pairs), strict=True), atol=tolerance)


# --- the promises ---------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_without_rules_the_probability_is_the_weighted_base_rate(data, loss):
    X, y = data
    w = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    expected = np.average(y, weights=w)
    for model in (
        RuleClassifier(loss, n_rules=0).fit(X, y, w),
        RuleClassifier(loss).fit(np.ones_like(X), y, w),
    ):
        assert model.rules_ == ()
        np.testing.assert_allclose(model.predict_proba(X[:3])[:, 1], expected, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("update", ["classical", "corrective"])
def test_a_weight_is_a_number_of_copies(data, loss, update):
    X, y = data
    rng = np.random.default_rng(1)
    w = rng.integers(0, 4, len(y))
    copies = rng.permutation(np.repeat(np.arange(len(y)), w))
    model = RuleClassifier(loss, update=update, n_rules=6, min_samples_rule=5)
    weighted = clone(model).fit(X, y, w.astype(float))
    assert len(weighted.rules_) > 2
    assert same_rules(weighted, clone(model).fit(X[copies], y[copies]), 1e-8)
    assert same_rules(weighted, clone(model).fit(X[w > 0], y[w > 0], w[w > 0]), 1e-8)


def test_the_scale_of_weights_that_are_not_whole_does_not_matter(data):
    X, y = data
    w = np.random.default_rng(1).random(len(y))
    one = RuleClassifier(min_samples_rule=10).fit(X, y, w)
    assert same_rules(one, RuleClassifier(min_samples_rule=10).fit(X, y, 1e-6 * w))


@pytest.mark.parametrize("loss", ["Log()", "Matsushita()", "Exponential()"])
def test_the_scale_of_the_loss_does_not_matter(data, loss):
    composite = losses.as_composite(loss)
    tripled = (3 * composite.loss).with_link(composite.link)
    assert same_rules(RuleClassifier(loss).fit(*data), RuleClassifier(tripled).fit(*data))


@pytest.mark.parametrize("loss", ["Log()", "Squared()"])
def test_flipping_the_labels_flips_the_probabilities(data, loss):
    X, y = data
    one, other = RuleClassifier(loss).fit(X, y), RuleClassifier(loss).fit(X, 1 - y)
    np.testing.assert_allclose(one.predict_proba(X)[:, 1], other.predict_proba(X)[:, 0], atol=1e-9)


def test_neither_threads_nor_the_order_of_rows_and_columns_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150_000, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.random(150_000) < 1 / (1 + np.exp(-np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2])))
    models = [RuleClassifier(n_rules=3, n_jobs=n).fit(X, y) for n in (1, 2, 5)]
    assert len({m.decision_function(X).tobytes() for m in models}) == 1
    order = rng.permutation(150_000)
    again = RuleClassifier(n_rules=3).fit(X[order][:, [2, 0, 1]], y[order])
    np.testing.assert_allclose(
        again.decision_function(X[:, [2, 0, 1]]), models[0].decision_function(X), atol=1e-10
    )


def test_costs_decide(data):
    X, y = data
    model = RuleClassifier(fp_cost=1, fn_cost=9).fit(X, np.array(["no", "yes"])[y])
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X) == "yes", p[:, 1] >= 0.1)
    np.testing.assert_allclose(p[:, 1], model.loss_.inverse(model.decision_function(X)))
    assert set(RuleClassifier().fit(X, y).predict(X)) == {0, 1}


def test_several_classes_one_against_the_rest():
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=1)
    model = RuleClassifier().fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert model.score(X, y) > 0.7
    assert len(model.rules_) == 3
    alone = RuleClassifier().fit(X, y == 1)
    np.testing.assert_allclose(model.decision_function(X)[:, 1], alone.decision_function(X))
    assert "score of 2 =" in model.export_text()
    with pytest.raises(ValueError, match="two classes"):
        RuleClassifier(fn_cost=2).fit(X, y)


# --- tables -------------------------------------------------------------------------------------


def test_tables_of_every_kind(frame, data):
    X, y = frame
    model = RuleClassifier().fit(X, y)
    polars = RuleClassifier().fit(pl.from_pandas(X), y)
    np.testing.assert_allclose(model.predict_proba(X), polars.predict_proba(pl.from_pandas(X)))
    unknown = X.head(3).assign(town=pd.Categorical(["Pisa"] * 3))
    missing = X.head(3).assign(town=pd.Categorical([None] * 3, categories=["Bonn"]))
    np.testing.assert_array_equal(model.predict_proba(unknown), model.predict_proba(missing))
    X, y = data
    dense = RuleClassifier(n_rules=3).fit(X, y)
    np.testing.assert_array_equal(
        RuleClassifier(n_rules=3).fit(sparse.csr_array(X), y).predict_proba(sparse.csc_array(X)),
        dense.predict_proba(X),
    )
    again = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(again.predict_proba(X), dense.predict_proba(X))


def test_values_at_the_ends():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([-np.inf, -1.0, 2.0, np.inf], 200), np.full(200, np.nan), np.zeros(200)])
    y = (X[:, 0] > 0) ^ (rng.random(200) < 0.1)
    model = RuleClassifier(n_rules=3).fit(X, y)
    assert model.score(X, y) > 0.85
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert RuleClassifier().fit([[0.0], [1.0]], [0, 1]).predict([[0.0], [1.0]]).tolist() == [0, 1]


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_rules", -1),
        ("n_rules", 2.5),
        ("max_literals", 0),
        ("max_bins", 256),
        ("min_samples_rule", -1),
        ("min_samples_rule", float("nan")),
        ("criterion", "gini"),
        ("update", "all"),
        ("choose", "best"),
        ("bag", 1),
        ("fn_cost", -1),
        ("fp_cost", 0),
    ],
)
def test_parameters(data, name, value):
    with pytest.raises(ValueError, match=name):
        RuleClassifier(**{name: value}).fit(*data)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bag": 3}, "bag must be"),
        ({"bag": []}, "empty"),
        ({"link": "Logit()"}, "link"),
    ],
)
def test_bags(data, parameters, words):
    with pytest.raises(ValueError, match=words):
        RuleClassifier("bag", **parameters).fit(*data)


def test_losses_that_cannot_be_boosted(data):
    with pytest.raises(ValueError, match="convex"):
        RuleClassifier("Tailored(0.1, 20)").fit(*data)
    with pytest.raises(ValueError, match="convex"):
        RuleClassifier("Squared()", link="Logit()").fit(*data)
    with pytest.raises((TypeError, ValueError), match="CostWeighted"):
        RuleClassifier("CostWeighted(0.3)").fit(*data)


def test_rows_and_labels(data):
    X, y = data
    model = RuleClassifier(n_rules=2)
    with pytest.raises(ValueError, match="zero"):
        model.fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="class"):
        model.fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="class"):
        model.fit(X, y, (y == 1).astype(float))
    with pytest.raises(ValueError, match="y"):
        model.fit(X, None)
    with pytest.raises(NotFittedError, match="not fitted"):
        model.export_text()
    with pytest.raises(ValueError, match="features"):
        model.fit(X, y).predict(X[:, :2])
    with pytest.raises(ValueError, match="not in classes"):
        model.margins(X, y + 5)
