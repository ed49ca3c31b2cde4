"""Losses as metrics and scorers."""

import numpy as np
import pytest
import sklearn
from sklearn import metrics
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from propriety import evaluation, losses
from propriety.losses import simplex


def test_log_and_brier_agree_with_scikit_learn(rows):
    y, p, weight, _ = rows
    for w in (None, weight):
        assert evaluation.mean_loss(y, p, "Log", sample_weight=w) == pytest.approx(
            metrics.log_loss(y, p, sample_weight=w), abs=1e-12
        )
        assert evaluation.mean_loss(y, p, "Squared", sample_weight=w) == pytest.approx(
            metrics.brier_score_loss(y, p, sample_weight=w), abs=1e-12
        )


def test_several_classes_agree_with_scikit_learn():
    X, y = load_iris(return_X_y=True)
    P = GaussianNB().fit(X, y).predict_proba(X)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    assert evaluation.mean_loss(y, P, "Log") == pytest.approx(metrics.log_loss(y, P), abs=1e-10)
    assert evaluation.mean_loss(names, P, simplex.Log()) == pytest.approx(metrics.log_loss(y, P), abs=1e-10)
    brier = np.mean(np.sum((P - np.eye(3)[y]) ** 2, axis=1)) / 2
    assert evaluation.mean_loss(y, P, "Squared") == pytest.approx(brier, abs=1e-12)


def test_weights_are_copies(rows):
    y, p, weight, _ = rows
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    for loss in losses.examples():
        weighted = evaluation.mean_loss(y, p, loss, sample_weight=weight)
        assert weighted == pytest.approx(evaluation.mean_loss(y[copies], p[copies], loss), rel=1e-12)


def test_certain_and_wrong_is_infinite_unless_clipped():
    assert evaluation.mean_loss([1, 0], [0.0, 0.0], "Log") == np.inf
    assert evaluation.mean_loss([1, 0], [0.0, 0.0], "Log", sample_weight=[0, 1]) == 0
    clipped = evaluation.mean_loss([1, 0], [0.0, 0.0], "Log", clip=1e-3)
    assert clipped == pytest.approx(-(np.log(1e-3) + np.log1p(-1e-3)) / 2)


def test_labels_of_any_kind(rows):
    y, p, _, _ = rows
    expected = evaluation.mean_loss(y, p, "Log")
    for labels in (y.astype(bool), 2 * y - 1, np.array(["no", "yes"])[y], y.astype(float)):
        assert evaluation.mean_loss(labels, p, "Log") == expected
        assert evaluation.mean_loss(labels, np.column_stack([1 - p, p]), "Log") == expected
    turned = evaluation.mean_loss(np.array(["no", "yes"])[y], 1 - p, "Log", pos_label="no")
    assert turned == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", ["Log", "Squared", "Tailored(0.1, 20)", losses.Exponential().composite()])
def test_scorer_is_minus_the_mean_loss(loss, rows):
    y, p, weight, _ = rows
    names = np.array(["no", "yes"])[y]
    model = LogisticRegression().fit(p[:, None], names)
    score = evaluation.scorer(loss)(model, p[:, None], names, sample_weight=weight)
    q = model.predict_proba(p[:, None])[:, 1]
    assert score == -evaluation.mean_loss(y, q, loss, sample_weight=weight)


def test_scorer_in_searches(rows):
    y, p, _, _ = rows
    search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1.0]}, scoring=evaluation.scorer("Log"), cv=3)
    search.fit(p[:, None], y)
    peer = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1.0]}, scoring="neg_log_loss", cv=3)
    peer.fit(p[:, None], y)
    scores = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(scores, peer.cv_results_["mean_test_score"], atol=1e-10)
    both = {"loss": evaluation.scorer("Squared"), "cost": evaluation.cost_scorer(fn_cost=9)}
    assert cross_validate(DummyClassifier(), p[:, None], y, scoring=both, cv=3)["test_cost"].shape == (3,)


def test_scorer_gets_weights_where_scikit_learn_routes_them(rows):
    y, p, weight, _ = rows
    X = p[:, None]
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = evaluation.scorer("Log").set_score_request(sample_weight=True)
        model = LogisticRegression(C=1e-3).set_fit_request(sample_weight=True)
        scores = cross_validate(model, X, y, scoring=scorer, cv=3, params={"sample_weight": weight})
        with pytest.raises(ValueError, match="sample_weight"):
            cross_validate(
                model, X, y, scoring=evaluation.scorer("Log"), cv=3, params={"sample_weight": weight}
            )
    from sklearn.model_selection import StratifiedKFold

    expected = []
    for train, test in StratifiedKFold(3).split(X, y):
        fitted = clone(model).fit(X[train], y[train], sample_weight=weight[train])
        expected.append(-metrics.log_loss(y[test], fitted.predict_proba(X[test]), sample_weight=weight[test]))
    np.testing.assert_allclose(scores["test_score"], expected, atol=1e-10)


def test_one_class_in_a_fold_or_in_the_model():
    model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    assert evaluation.scorer("Log")(model, [[0.0]], ["a"]) < 0
    alone = DummyClassifier().fit([[0.0]], ["a"])
    assert evaluation.scorer("Squared")(alone, [[0.0]], ["a"]) == 0


def test_a_model_without_probabilities_is_refused():
    model = LinearSVC().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        evaluation.scorer("Log")(model, [[0.0]], [0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0.5, 1.5]), r"p must lie in \[0, 1\]"),
        (([0, 1, 2], [0.5, 0.5, 0.5]), "two classes, found 3"),
        ((["a", "a"], [0.5, 0.5]), "give pos_label"),
        (([0, 1], [0.5]), "y has 2, p has 1"),
        (([0, 1], [[0.1], [0.2]]), r"got shape \(2, 1\)"),
        (([0.0, np.nan], [0.5, 0.5]), "missing"),
        (([], []), "one label for each row"),
    ],
)
def test_bad_rows_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluation.mean_loss(*arguments, "Log")
    with pytest.raises(ValueError, match=message):
        evaluation.murphy_curve(*arguments)


@pytest.mark.parametrize(
    ("weight", "message"), [([0, 0], "zero everywhere"), ([1, -1], "negative"), ([1], "one entry")]
)
def test_bad_weights_are_named(weight, message):
    with pytest.raises(ValueError, match=message):
        evaluation.mean_loss([0, 1], [0.5, 0.5], "Log", sample_weight=weight)
