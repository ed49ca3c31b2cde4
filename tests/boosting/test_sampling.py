"""Rows that are drawn each round: by what they hold, not by where they lie."""

import numpy as np
import pytest

from propriety import BoostingClassifier
from propriety.boosting import Algorithm, rounds


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, (X[:, 0] + rng.normal(size=200) > 0).astype(int), rng


def fit(X, y, weight=None):
    return BoostingClassifier(max_iter=8, subsample=0.5, random_state=3).fit(X, y, weight)


def test_the_order_of_rows_does_not_matter(rows):
    X, y, rng = rows
    order = rng.permutation(200)
    np.testing.assert_array_equal(fit(X, y).predict_proba(X), fit(X[order], y[order]).predict_proba(X))


def test_copies_are_drawn_together_and_count_as_a_weight(rows):
    X, y, rng = rows
    weight = rng.integers(1, 4, 200)
    copies = np.repeat(np.arange(200), weight)
    copied, weighed = fit(X[copies], y[copies]), fit(X, y, weight)
    np.testing.assert_allclose(copied.predict_proba(X), weighed.predict_proba(X), atol=1e-9)


def test_about_the_share_is_drawn_and_another_one_each_round(rows):
    X, y, _ = rows
    one, half = (
        BoostingClassifier(max_iter=1, subsample=share, min_samples_leaf=1, max_leaf_nodes=200).fit(X, y)
        for share in (1.0, 0.5)
    )
    assert np.mean(one.predict_proba(X) == half.predict_proba(X)) < 0.9
    seeds = [BoostingClassifier(max_iter=1, subsample=0.5, random_state=s).fit(X, y) for s in (0, 1)]
    assert not np.array_equal(seeds[0].predict_proba(X), seeds[1].predict_proba(X))


@pytest.mark.parametrize("weak_learner", ["tree", "histogram"])
@pytest.mark.parametrize("few", [0, 2**16], ids=["several calls", "one call"])
def test_drawn_rows_find_the_leaves_and_all_rows_give_their_values(rows, weak_learner, few, monkeypatch):
    monkeypatch.setattr(rounds, "_FEW", few)
    X, y, rng = rows
    weight = rng.integers(0, 3, 200)
    settings = {"max_leaf_nodes": 4, "min_samples_leaf": 5, "learning_rate": 1.0, "max_step": None}
    model = BoostingClassifier(
        max_iter=1,
        subsample=0.3,
        max_bins=4,
        random_state=0,
        algorithm=Algorithm(weak_learner=weak_learner),
        **settings,
    ).fit(X, y, weight)
    start = np.log(np.average(y, weights=weight) / np.average(1 - y, weights=weight))
    p = 1 / (1 + np.exp(-start))
    moved = np.round(model.decision_function(X) - start, 9)
    assert len(np.unique(moved)) > 2
    for value in np.unique(moved):  # of a leaf, or of several that agree
        leaf = moved == value
        expected = np.average(y[leaf] - p, weights=weight[leaf]) / (p * (1 - p))
        assert value == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("weak_learner", ["tree", "histogram"])
def test_rows_of_weight_zero_do_not_matter_where_rows_are_drawn(rows, weak_learner):
    X, y, _ = rows
    weight = (np.arange(200) % 4 > 0).astype(int)
    X[weight == 0] *= 5  # scores far from those of the others
    # A link whose steps are bounded by where the scores lie.
    model = BoostingClassifier(
        "Squared",
        link="Identity",
        max_iter=20,
        subsample=0.5,
        random_state=0,
        algorithm=Algorithm(weak_learner=weak_learner),
    )
    without = model.fit(X[weight > 0], y[weight > 0]).predict_proba(X)
    np.testing.assert_allclose(model.fit(X, y, weight).predict_proba(X), without, atol=1e-9)
