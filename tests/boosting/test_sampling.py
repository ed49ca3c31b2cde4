"""Rows that are drawn each round: by what they hold, not by where they lie."""

import numpy as np
import pytest

from propriety import BoostingClassifier


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
