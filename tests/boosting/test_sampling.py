"""Rows that are drawn each round: by what they hold, not by where they lie."""

import numpy as np
import pytest

from propriety import BoostingClassifier
from propriety.boosting import Algorithm
from propriety.boosting.draws import draws_of


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
def test_drawn_rows_find_the_leaves_and_all_rows_give_their_values(rows, weak_learner):
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


def test_draws_of_rounds_differ_and_features_are_drawn_alike():
    rounds = [draws_of(3, k, n_scores=2, n_features=6, count=4, rows=True, splits=True) for k in range(2000)]
    numbers = [draws.salt for draws in rounds] + [seed for draws in rounds for seed in draws.seeds]
    assert len(set(numbers)) == 3 * len(rounds)
    assert draws_of(4, 0, n_scores=2, n_features=6, count=4, rows=True, splits=True).salt not in numbers
    for score in range(2):
        masks = np.array([draws.features[score] for draws in rounds])
        assert (masks.sum(axis=1) == 4).all()
        # Each of two features is there in 2/3 of the rounds, both in 2/5.
        np.testing.assert_allclose(masks.mean(axis=0), 2 / 3, atol=0.04)
        together = (masks.T.astype(float) @ masks) / len(rounds)
        np.testing.assert_allclose(together[~np.eye(6, dtype=bool)], 2 / 5, atol=0.04)
