"""Settings that depend on the classes: leaves that hold enough of a rare one, cuts of several."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from propriety import BoostingClassifier
from propriety.boosting.settings import settings_of
from propriety.data.training import Training


def settings(share, n=1_000, weight=None, **parameters):
    y = (np.arange(n) < share * n).astype(int)
    return settings_of(BoostingClassifier(**parameters), Training.read("T", np.zeros((n, 1)), y, weight), 0)


def test_leaves_hold_as_many_rows_as_tell_a_rare_class():
    rare = settings(0.02, max_iter=10)
    assert rare.min_weight_leaf == rare.l2_regularization == pytest.approx(1 / (0.02 * 0.98))
    assert settings(0.98, max_iter=10).l2_regularization == pytest.approx(rare.l2_regularization)
    assert settings(0.02).l2_regularization == pytest.approx(rare.l2_regularization)
    common = settings(0.06, max_iter=10)
    assert (common.min_weight_leaf, common.l2_regularization) == (1e-3, 0.0)
    assert settings(0.06).l2_regularization == 10.0
    assert settings(0.001, max_iter=10).l2_regularization == 200.0  # no more than a fifth of all rows


def test_what_is_given_or_weighed_anew_stays():
    given = settings(0.02, max_iter=10, l2_regularization=1.0, min_weight_leaf=0.5)
    assert (given.l2_regularization, given.min_weight_leaf) == (1.0, 0.5)
    assert settings(0.02, max_iter=10, max_step=None).l2_regularization == 0.0
    weight = np.where(np.arange(1_000) < 20, 49.0, 1.0)  # as many of one class as of the other
    assert settings(0.02, weight=weight, max_iter=10).l2_regularization == 0.0


def test_a_rare_class_is_found_among_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16_000, 8))
    y = (rng.random(16_000) < 1 / (1 + np.exp(6.5 - 1.5 * X[:, 0] - X[:, 1]))).astype(int)
    assert 0.004 < y.mean() < 0.02
    one, other = (
        average_precision_score(
            y[8_000:],
            BoostingClassifier(max_iter=60, **given).fit(X[:8_000], y[:8_000]).predict_proba(X[8_000:])[:, 1],
        )
        for given in ({}, {"l2_regularization": 0.0, "min_weight_leaf": 1e-3})
    )
    assert one > 1.2 * other


def test_leaves_of_one_row_are_for_shrunken_trees():
    assert settings(0.3).min_samples_leaf == 1
    assert settings(0.3, l2_regularization=1.0).min_samples_leaf == 5
    assert settings(0.3, algorithm="additive").min_samples_leaf == 5
    assert settings(0.3, max_iter=10).min_samples_leaf == 20


@pytest.mark.parametrize(
    ("n_classes", "rounds", "random"),
    [(2, "auto", False), (3, "auto", True), (3, 50, False), (3, "cv", True), (2, "cv", True)],
)
def test_cuts_are_random_where_folds_or_several_classes_count_rounds(n_classes, rounds, random):
    training = Training.read("T", np.zeros((24_000, 1)), np.arange(24_000) % n_classes)

    def found(**parameters):
        return settings_of(BoostingClassifier(max_iter=rounds, **parameters), training, 0).random_cuts

    assert found() == random
    assert not found(splitter="best")
