"""What weights mean: copies if they are whole, else how rows compare; never an order of rows."""

import numpy as np
import pytest
from tests.inside import forest_of

from propriety import algorithms
from propriety.boosting import Algorithm, BoostingClassifier, gain_path

N = 1_000  # a whole multiple of the 20 rows that a leaf or a bin of a histogram holds at least
LEARNERS = ["tree", "histogram"]


def tree_of_random_cuts(X, y, weight=None, n_jobs=1):
    """Large leaves: whether a cut leaves enough rows is not known of large nodes when it is drawn."""
    model = BoostingClassifier(
        splitter="random", max_iter=6, min_samples_leaf=60, max_leaf_nodes=12, random_state=3, n_jobs=n_jobs
    )
    return structure(model.fit(X, y, weight))


def test_random_cuts_are_those_of_copies_of_any_order_and_number_of_threads():
    rng = np.random.default_rng(8)
    X = np.round(rng.normal(size=(4_000, 6)), 2)
    X[rng.random(X.shape) < 0.02] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1]) + rng.normal(size=4_000) > 0
    w = rng.integers(0, 5, 4_000)
    copies = rng.permutation(np.repeat(np.arange(4_000), w))
    weighted = tree_of_random_cuts(X, y, w)
    assert len(weighted) > 60
    assert tree_of_random_cuts(X[copies], y[copies]) == weighted
    assert tree_of_random_cuts(X[copies], y[copies], n_jobs=2) == weighted


def test_histograms_have_no_random_cuts():
    with pytest.raises(ValueError, match="splitter='random' is for trees"):
        BoostingClassifier(algorithm="additive", splitter="random").fit([[0.0], [1.0]], [0, 1])


def table(n_classes=2, seed=5):
    """Numbers, few values, many categories, missing values, and labels of two or more classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 5))
    X[:, 3] = np.round(X[:, 3], 1)
    X[:, 4] = rng.integers(0, 40, N)
    X[rng.random(X.shape) < 0.03] = np.nan
    score = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + np.isin(X[:, 4], [3, 8, 21]) + rng.normal(size=N)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)), rng


def fitted(X, y, weight=None, learner="tree", **parameters):
    algorithm = Algorithm(weak_learner=learner)
    model = BoostingClassifier(algorithm=algorithm, max_iter=15, categorical_features=[4], random_state=0)
    return model.set_params(**parameters).fit(X, y, weight)


def scores(*arguments, **parameters):
    return fitted(*arguments, **parameters).decision_function(arguments[0])


def structure(model):
    forest = forest_of(model)
    if hasattr(forest, "nodes"):
        return forest.nodes[["feature", "bin", "left", "missing_left"]].tolist()
    return forest.features.tolist()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e-300, 2.5, 1e17, 2.0**60])
def test_equal_weights_that_are_not_copies_are_no_weights(learner, constant):
    X, y, _ = table()
    plain = scores(X, y, learner=learner)
    np.testing.assert_array_equal(scores(X, y, np.full(N, constant), learner=learner), plain)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_only_ratios_of_weights_matter(learner, n_classes):
    X, y, rng = table(n_classes)
    for w in (rng.random(N), rng.choice([0.1, 0.3], N), rng.exponential(size=N) ** 3):
        one = fitted(X, y, w, learner)
        for factor in (2.0**-30, 8.0):
            np.testing.assert_array_equal(scores(X, y, factor * w, learner=learner), one.decision_function(X))
        for factor in (3.0, 0.07, np.pi * 1e12):
            other = fitted(X, y, factor * w, learner)
            assert structure(other) == structure(one)
            np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["none", "relative", "whole", "huge"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"l2_regularization": 1.0, "min_split_gain": 0.1, "algorithm__step": "exact"}],
)
def test_the_order_of_rows_does_not_matter(learner, n_classes, kind, parameters):
    X, y, rng = table(n_classes)
    weight = {
        "none": None,
        "relative": rng.random(N) * 0.1,
        "whole": rng.integers(0, 5, N).astype(float),
        "huge": rng.random(N) * 1e18,
    }[kind]
    order = rng.permutation(N)
    permuted = fitted(X[order], y[order], None if weight is None else weight[order], learner, **parameters)
    expected = scores(X, y, weight, learner=learner, **parameters)
    np.testing.assert_array_equal(permuted.decision_function(X), expected)


@pytest.mark.parametrize("coefficient", ["line", "bregman"])
def test_coefficients_do_not_depend_on_the_order_of_rows(coefficient):
    X, y, rng = table()
    weight, order = rng.random(N), rng.permutation(N)
    common = {"algorithm__coefficient": coefficient, "max_leaf_nodes": 4}
    expected = scores(X, y, weight, **common)
    permuted = fitted(X[order], y[order], weight[order], **common)
    np.testing.assert_array_equal(permuted.decision_function(X), expected)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("high", [3, 4_096])
def test_a_whole_weight_is_a_number_of_copies_bit_for_bit(learner, n_classes, high):
    X, y, rng = table(n_classes)
    w = rng.integers(0, 4, N)
    w[::400] = high
    copies = rng.permutation(np.repeat(np.arange(N), w))
    weighted = fitted(X, y, w, learner)
    copied = fitted(X[copies], y[copies], None, learner)
    assert structure(weighted) == structure(copied)
    np.testing.assert_array_equal(weighted.decision_function(X), copied.decision_function(X))


def test_weights_of_zero_and_one_leave_rows_out():
    X, y, rng = table()
    kept = rng.random(N) < 0.8
    expected = fitted(X[kept], y[kept])
    np.testing.assert_array_equal(scores(X, y, kept), expected.decision_function(X))


def test_a_path_does_not_depend_on_the_scale_of_weights():
    X, y, rng = table()
    X = np.nan_to_num(X[:, :3])
    w, model = rng.random(N), algorithms.make("boostlr", max_iter=5, random_state=0)
    one, other = (gain_path(model, X, y, gains=[4.0], sample_weight=c * w) for c in (1.0, 64.0))
    np.testing.assert_array_equal(one.values, other.values)
    plain, equal = (gain_path(model, X, y, gains=[4.0], sample_weight=c) for c in (None, np.full(N, 0.1)))
    np.testing.assert_array_equal(plain.values, equal.values)


def test_a_row_that_outweighs_all_others_may_be_in_another_fold():
    y, weight = np.arange(40) % 2, np.ones(40)
    weight[7] = 1e16
    X = np.arange(40.0)[:, None]
    model = BoostingClassifier().fit(X, y, weight)
    assert np.all(model.predict_proba(X)[:, 1] > 0.5)
