"""The gain: what it is equivalent to, and paths over many of them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold

from propriety import algorithms, losses
from propriety.boosting import Algorithm, BoostingClassifier, gain_path


@pytest.fixture(scope="module")
def data():
    return make_classification(300, 5, n_informative=3, n_redundant=0, flip_y=0.15, random_state=2)


@pytest.mark.parametrize("learner", ["tree", "stump", "histogram"])
@pytest.mark.parametrize("step", ["gradient", "sign"])
@pytest.mark.parametrize(
    ("base", "with_gain"),
    [
        ("Log()", "GLog(8)"),
        ("GBoost(1)", "GBoost(8)"),
        ("AlphaTunable(1, 0.3)", "AlphaTunable(8, 0.3)"),
        ("Exponential()", losses.Exponential().composite().shrunk(8)),
    ],
)
def test_a_gain_is_a_learning_rate_whose_probabilities_are_right(data, learner, step, base, with_gain):
    X, y = data
    common = {
        "algorithm": Algorithm(weak_learner=learner, step=step, init="zero"),
        "max_iter": 20,
        "max_leaf_nodes": 5,
    }
    common |= {
        "max_step": None
    }  # a bound is in log-odds before the learning rate, which is not the same here
    gained = BoostingClassifier(with_gain, learning_rate=1.0, **common).fit(X, y)
    slow = BoostingClassifier(base, learning_rate=1 / 8, **common).fit(X, y)
    F, G = gained.decision_function(X), slow.decision_function(X)
    np.testing.assert_allclose(F, 8 * G, atol=1e-10)
    np.testing.assert_allclose(gained.predict_proba(X), slow.predict_proba(X), atol=1e-10)
    # The sum of the learners read by the link of φ, as if there were no gain, is something else. [M §6.4]
    plain = losses.as_composite(base).inverse(F)
    assert np.abs(plain - gained.predict_proba(X)[:, 1]).max() > 0.1


def gained(model, gain):
    """The model with a gain."""
    return model.set_params(loss=losses.as_composite(model.stated_loss).shrunk(float(gain)))


def test_a_gain_of_a_loss_is_that_of_its_family(data):
    X, y = data
    one = gained(algorithms.make("boostlr", max_iter=10), 4).fit(X, y)
    other = algorithms.make("boostlr", loss="GLog(4)", max_iter=10).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-10)


def test_a_newton_step_undoes_the_gain(data):
    X, y = data
    model = BoostingClassifier("Log()", max_iter=10)
    one = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(one, gained(model, 7).fit(X, y).predict_proba(X), atol=1e-9)


def few_values(X):
    """Values that every fold has, so that its bins are those of the whole table."""
    return np.clip(np.rint(X), -1, 1)


def held_out_log_loss(model, X, y, folds, weight=None):
    """(folds, rounds), by ordinary fits to the rows of each fold."""
    result = []
    w = np.ones(len(y)) if weight is None else weight
    for train, test in folds.split(X, y):
        fold = np.zeros(len(y))
        fold[train] = w[train]
        stages = model.fit(X, y, fold).staged_predict_proba(X[test])
        own = [P[np.arange(len(test)), y[test]] for P in stages]
        result.append([-np.average(np.log(p), weights=w[test]) for p in own])
    return np.array(result)


@pytest.mark.parametrize("loss", ["GLog()", "GGauss()", "AlphaTunable(1, 0.25)"])
@pytest.mark.parametrize("name", ["boostlr", "boostlr_sign"])
@pytest.mark.parametrize("extra", [{}, {"l2_regularization": 2.0, "algorithm__init": "base_rate"}])
def test_a_path_is_what_fits_one_by_one_would_give(data, loss, name, extra):
    X, y = few_values(data[0]), data[1]
    folds = StratifiedKFold(3)
    model = algorithms.make(name, loss=loss, max_iter=6, max_bins=100, **extra)
    path = gain_path(model, X, y, gains=[2.0, 16.0], cv=folds)
    for j, gain in enumerate(path.gains):
        expected = held_out_log_loss(gained(clone(model), gain), X, y, folds)
        np.testing.assert_allclose(path.values[0, j], expected, rtol=1e-9)


def test_weights_in_a_path(data):
    X, y = few_values(data[0]), data[1]
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    folds = StratifiedKFold(3)
    model = algorithms.make("boostlr", max_iter=5, max_bins=100)
    path = gain_path(model, X, y, gains=[8.0], cv=folds, sample_weight=weight)
    expected = held_out_log_loss(gained(model, 8), X, y, folds, weight)
    np.testing.assert_allclose(path.values[0, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("loss", ["GLog()", "GGauss()"])
def test_a_path_keeps_the_held_out_probabilities(data, loss):
    X, y = few_values(data[0]), data[1]
    train, test = np.arange(200), np.arange(200, 290)
    model = algorithms.make("boostlr", loss=loss, max_iter=6, max_bins=100)
    path = gain_path(model, X, y, gains=[2.0, 16.0], cv=[(train, test)], probabilities=True)
    np.testing.assert_array_equal(path.held[0], test)
    assert path.probabilities[0].shape == (1, 2, 90)
    for j, gain in enumerate(path.gains):
        p = gained(clone(model), gain).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        np.testing.assert_allclose(path.probabilities[0][0, j], p, rtol=1e-9)
    assert gain_path(model, X, y, gains=[2.0], cv=3).probabilities is None


def test_probabilities_of_a_path_are_for_two_classes(data):
    y = np.arange(len(data[1])) % 3
    with pytest.raises(ValueError, match="needs two classes, and there are 3"):
        gain_path(
            algorithms.make("boostlr", loss="auto", max_iter=2), data[0], y, gains=[2.0], probabilities=True
        )


def test_the_path_over_several_losses_and_the_diagnosis():
    rng = np.random.default_rng(0)

    def sample(n):
        y = rng.random(n) < 0.5
        return rng.normal(size=(n, 2)) + 0.7416 * y[:, None], y

    model = algorithms.make("boostlr", max_iter=30, random_state=0)
    few, many = (gain_path(model, *sample(n)) for n in (30, 6000))
    assert few.best_gain > many.best_gain
    assert "scarce" in few.diagnosis()
    assert few.near_best[0] <= few.best_gain <= few.near_best[1]
    both = gain_path(
        model,
        *sample(200),
        gains=[4, 8],
        losses=[losses.AlphaTunable(1, a) for a in (0.0, 0.5)],
        score="Misclassification()",
    )
    assert both.values.shape == (2, 2, 5, 30)
    i, j = np.unravel_index(np.argmin(both.mean), both.mean.shape)
    assert both.best_loss == losses.AlphaTunable(1, [0.0, 0.5][i]).composite().shrunk([4, 8][j])
    assert 0.2 < both.mean.min() < 0.5


def test_a_path_for_several_classes():
    X, y = make_classification(200, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    model = algorithms.make("boostlr", max_iter=4, multiclass="ovr", random_state=0)
    path = gain_path(model, X, y, gains=[2, 8], cv=2)
    assert path.values.shape == (1, 2, 2, 4)
    assert np.all(path.values[..., -1] < np.log(3))


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({"algorithm__step": "fisher"}, {}, "undoes the gain"),
        ({"algorithm__coefficient": "line"}, {}, "undoes the gain"),
        ({"early_stopping": True}, {}, "early_stopping"),
        ({"max_iter": 0}, {}, "max_iter"),
        ({}, {"gains": [1, -2]}, "gains"),
    ],
)
def test_paths_that_make_no_sense_are_refused(data, change, arguments, message):
    model = algorithms.make("boostlr", max_iter=3).set_params(**change)
    with pytest.raises(ValueError, match=message):
        gain_path(model, *data, **arguments)
