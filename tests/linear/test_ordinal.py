"""Ordered classes in linear models: one slope, thresholds in order, and any loss at each of them."""

import numpy as np
import pytest
from scipy import optimize, sparse

import propriety
from propriety import Costs, LinearClassifier, losses
from propriety.losses import simplex


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X @ [1.5, -0.7, 0.0] + rng.logistic(size=n)
    return X, np.digitize(score, [-2.0, 0.0, 2.5]) * 10


X, Y = rows()


def objective(theta, composite, alpha):
    """The mean loss over all thresholds, and the penalty, by hand."""
    F = X @ theta[:3]
    values = [composite.value((k * 10 <= Y).astype(float), F + theta[2 + k]) for k in (1, 2, 3)]
    return np.mean(values) + 0.5 * alpha * theta[:3] @ theta[:3]


@pytest.mark.parametrize("loss", ["Log", "Squared().with_link(Logit())", "Log().with_link(Probit())"])
def test_it_is_the_minimum_of_the_loss_at_the_thresholds(loss):
    composite = losses.as_composite(loss)
    model = LinearClassifier(composite, multiclass="ordinal", alpha=0.01).fit(X, Y)
    assert model.loss_ == simplex.Cumulative(composite)
    unit = float(composite.loss.entropy(0.5)) / np.log(2)
    found = np.append(model.coef_[1], model.intercept_[1:])
    best = optimize.minimize(objective, np.array([1.0, 0, 0, 1, 0, -1]), (composite, 0.01 * unit), tol=1e-12)
    np.testing.assert_allclose(found, best.x, atol=1e-4)
    assert np.all(np.diff(model.intercept_[1:]) < 0)
    assert not model.coef_[0].any()
    np.testing.assert_array_equal(model.coef_[1:], np.tile(model.coef_[1], (3, 1)))


def test_probabilities_are_none_below_0_where_classes_all_but_coincide():
    labels = np.where(np.arange(300) == 7, 15, Y)  # a class of one row
    model = LinearClassifier(multiclass="ordinal", alpha=0.01).fit(X, labels)
    P = model.predict_proba(np.random.default_rng(1).normal(scale=9, size=(500, 3)))
    assert P.shape == (500, 5)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_weights_are_copies_and_sparse_rows_are_rows():
    weight = np.random.default_rng(2).integers(0, 3, len(Y))
    given = {"multiclass": "ordinal", "alpha": 0.1, "tol": 1e-12}
    one = LinearClassifier(**given).fit(X, Y, weight)
    other = LinearClassifier(**given).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-9)
    whole = LinearClassifier(**given).fit(X, Y)
    np.testing.assert_allclose(
        LinearClassifier(**given).fit(sparse.csr_array(X), Y).coef_, whole.coef_, atol=1e-9
    )


def test_costs_are_distances_unless_others_are_stated():
    model = LinearClassifier(multiclass="ordinal", alpha=0.01).fit(X, Y)
    np.testing.assert_array_equal(
        model.costs_.matrix, np.abs(np.subtract.outer(np.arange(4.0), np.arange(4)))
    )
    above = 1 - np.cumsum(model.predict_proba(X), axis=1)
    np.testing.assert_array_equal(model.predict(X), 10 * (above[:, :3] > 0.5).sum(axis=1))  # the median
    stated = LinearClassifier(multiclass="ordinal", alpha=0.01, costs=Costs(matrix=1 - np.eye(4))).fit(X, Y)
    np.testing.assert_array_equal(stated.predict(X), 10 * stated.predict_proba(X).argmax(axis=1))
    own = LinearClassifier(alpha=0.01, costs=Costs(matrix="distance")).fit(X, Y)
    np.testing.assert_array_equal(own.costs_.matrix, model.costs_.matrix)
    few = Costs(matrix="distance").resolve(np.array([0, 20, 30]), known=np.array([0, 10, 20, 30]))
    np.testing.assert_array_equal(few.matrix, [[0, 2, 3], [2, 0, 1], [3, 1, 0]])
    assert LinearClassifier(multiclass="ordinal", fn_cost=3).fit(X, Y > 9).costs_.threshold == 0.25


def test_of_two_classes_it_is_the_binary_model():
    one, two = (LinearClassifier(multiclass=m, alpha=0.01).fit(X, Y > 9) for m in ("ordinal", "auto"))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_file_text_and_contributions(tmp_path):
    model = LinearClassifier("simplex.RankedProbability()", alpha=0.01).fit(X, Y)
    assert model.loss_ == simplex.RankedProbability()
    model.save(tmp_path / "m.propriety")
    again = propriety.load(tmp_path / "m.propriety")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(model.contributions(X).sum(axis=2), model.decision_function(X), atol=1e-12)
    text = model.export_text()
    assert text.count("x0") == 1
    assert "probability of 30 or above" in text
    soft = LinearClassifier(multiclass="ordinal", alpha=0.01).fit(X, np.eye(4)[Y // 10])
    np.testing.assert_allclose(soft.coef_, LinearClassifier(multiclass="ordinal", alpha=0.01).fit(X, Y).coef_)


def test_what_cannot_be_is_refused():
    for wrong, message in (
        ({"alpha": "cv"}, "alpha='cv' is not for ordered classes"),
        ({"fit_intercept": False}, "fit_intercept=False is not"),
        ({"loss": "simplex.Log()"}, "is not of ordered classes"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearClassifier(**{"multiclass": "ordinal", **wrong}).fit(X, Y)
    with pytest.raises(ValueError, match="takes no offset for ordered classes"):
        LinearClassifier(multiclass="ordinal").fit(X, Y, offset=np.zeros((300, 4)))
    with pytest.raises(ValueError, match="summary is not for ordered classes"):
        LinearClassifier(multiclass="ordinal").fit(X, Y).summary()
