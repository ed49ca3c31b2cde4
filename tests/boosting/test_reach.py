"""No round moves the log-odds of a row by more than it may, and rare classes keep honest probabilities."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from propriety import BoostingClassifier, links, losses
from propriety.boosting import Algorithm
from propriety.boosting.reach import Reach
from propriety.losses.point import at_log_odds

DELTA = 0.4


@pytest.fixture(scope="module")
def data():
    return make_classification(250, 5, n_informative=4, n_redundant=0, weights=[0.8], random_state=1)


@pytest.fixture(scope="module")
def three_classes():
    return make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=1)


def log_odds(probabilities):
    with np.errstate(divide="ignore"):
        return np.log(probabilities) - np.log1p(-probabilities)


def largest_move(model, X, base):
    """The most that any round moves the log-odds of any row and class."""
    stages = [np.broadcast_to(base, (len(X), len(base)))]
    stages += [p.copy() for p in model.staged_predict_proba(X)]
    return np.max(np.abs(np.diff([log_odds(p) for p in stages], axis=0)))


@pytest.mark.parametrize("link", links.examples(), ids=repr)
def test_reach_is_the_score_of_so_much_log_odds(link):
    reach = Reach.of_link(link, DELTA)
    t = np.array([-9.0, -2.0, 0.1, 3.0, 8.0])
    below, scores, above = (
        np.asarray(link(at_log_odds(t + s).p, at_log_odds(t + s).q)) for s in (-DELTA, 0, DELTA)
    )
    down, up = reach.at(scores)
    np.testing.assert_allclose(up, above - scores, rtol=1e-3)
    np.testing.assert_allclose(down, scores - below, rtol=1e-3)
    widest = reach.within(scores[:1], scores[-1:])
    every = np.asarray(link(at_log_odds(np.linspace(-9, 8, 5_000)).p))
    np.testing.assert_allclose([widest[0][0], widest[1][0]], [b.min() for b in reach.at(every)], rtol=1e-2)


@pytest.mark.parametrize("learner", ["tree", "histogram"])
@pytest.mark.parametrize("step", ["fisher", "newton", "gradient", "exact", "sign"])
def test_no_round_goes_further_whatever_the_step(data, learner, step):
    X, y = data
    model = BoostingClassifier(
        algorithm=Algorithm(weak_learner=learner, step=step),
        learning_rate=1.0,
        max_step=DELTA,
        max_iter=6,
        min_samples_leaf=2,
    )
    base = np.array([1 - y.mean(), y.mean()])
    assert 0.9 * DELTA < largest_move(model.fit(X, y), X, base) < DELTA * (1 + 1e-9)


@pytest.mark.parametrize(
    "loss",
    [
        "Log().with_link(Probit())",
        "Log().with_link(CLogLog())",
        "Squared().with_link(Identity())",
        "Matsushita()",
        "Exponential()",
        "GLaplace(2)",
    ],
)
def test_no_round_goes_further_whatever_the_link(data, loss):
    X, y = data
    base = np.array([1 - y.mean(), y.mean()])
    for settings in (
        {},
        {
            "algorithm": Algorithm(weak_learner="histogram", max_intervals=4),
        },
        {"monotonic_cst": {0: 1}},
    ):
        model = BoostingClassifier(loss, learning_rate=1.0, max_step=DELTA, max_iter=5, **settings)
        assert 0.5 * DELTA < largest_move(model.fit(X, y), X, base) < DELTA * (1 + 1e-3)


@pytest.mark.parametrize("coefficient", ["line", "bregman"])
def test_no_coefficient_goes_further(data, coefficient):
    X, y = data
    model = BoostingClassifier(
        algorithm=Algorithm(coefficient=coefficient, step="sign"), max_step=0.1, learning_rate=1.0, max_iter=5
    )
    base = np.array([1 - y.mean(), y.mean()])
    assert largest_move(model.fit(X, y), X, base) == pytest.approx(0.1, rel=1e-9)


@pytest.mark.parametrize(
    "loss", ["simplex.Log()", "simplex.PairwiseExponential()", "simplex.OneVsRest(Log())"]
)
def test_a_score_of_several_classes_moves_its_own_log_odds_as_far(three_classes, loss):
    X, y = three_classes
    model = BoostingClassifier(loss, learning_rate=1.0, max_step=DELTA, max_iter=1).fit(X, y)
    shares = np.bincount(y) / len(y)
    moves = np.abs(model.decision_function(X) - model.loss_.link(shares[None, :]))
    size = DELTA / 2 if "Pairwise" in loss else DELTA
    np.testing.assert_allclose(moves.max(), size, rtol=1e-9)


def test_a_bound_that_nothing_reaches_changes_nothing(data):
    X, y = data
    free, wide = (BoostingClassifier(max_step=d, max_iter=10).fit(X, y) for d in (None, 60.0))
    assert np.array_equal(free.predict_proba(X), wide.predict_proba(X))


@pytest.mark.parametrize("name", ["logitboost", "real_adaboost", "boostlr", "uls_corrective"])
def test_the_papers_algorithms_take_the_plain_step(data, name):
    X, y = data
    model = BoostingClassifier(algorithm=name, max_iter=3)
    plain = clone(model).set_params(max_step=None).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(model.fit(X, y).decision_function(X), plain)


def test_bad_bounds_are_refused(data):
    X, y = data
    for bad in (0, -1.0, "far", np.inf, True):
        with pytest.raises(ValueError, match="max_step must be a number above 0"):
            BoostingClassifier(max_step=bad).fit(X, y)
    with pytest.raises(ValueError, match=r"max_step=1\.0; set it to None"):
        BoostingClassifier(
            algorithm=Algorithm(coefficient="corrective"), learning_rate=1.0, max_step=1.0
        ).fit(X, y)


def rare(one_in, n_rare=12):
    """Few rows of class 1, some of them far out, in many of class 0; weights stand for most of these."""
    rng = np.random.default_rng(0)
    n = 400
    X = rng.normal(size=(n, 3))
    y = np.zeros(n, dtype=int)
    y[:n_rare] = 1
    X[: n_rare // 2, 0] += 4
    weight = np.where(y == 1, 1.0, np.rint(n_rare * (one_in - 1) / (n - n_rare)))
    return X, y, np.maximum(weight, 1.0)


@pytest.mark.parametrize("one_in", [100, 1_000, 10_000])
@pytest.mark.parametrize(
    "loss", [loss for loss in losses.examples() if isinstance(loss, losses.SmoothLoss)], ids=repr
)
def test_every_loss_fits_a_rare_class(loss, one_in):
    X, y, weight = rare(one_in)
    # Steps as long as they may be: without a bound, some losses end at 0 and 1, or learn nothing.
    model = BoostingClassifier(loss, max_iter=20, learning_rate=1.0, min_samples_leaf=1).fit(X, y, weight)
    p = model.predict_proba(X)
    assert np.all((p > 0) & (p < 1))
    assert p[:6, 1].min() > 2 * np.average(y, weights=weight)


@pytest.mark.parametrize("one_in", [100, 1_000, 10_000])
def test_a_bound_keeps_unseen_rows_of_a_rare_class_honest(one_in):
    X, y, weight = rare(one_in)
    rng = np.random.default_rng(1)
    fresh = rng.normal(size=(2_000, 3))
    any_leaf = {"l2_regularization": 5.0, "min_weight_leaf": 1e-3}  # as of classes that are not rare
    free, bound = (
        BoostingClassifier(max_iter=60, max_step=d, min_samples_leaf=1, random_state=0, **any_leaf)
        .fit(X, y, weight)
        .predict_proba(fresh)[:, 1]
        for d in (None, 1.0)
    )
    assert log_loss(np.zeros(2_000), bound, labels=[0, 1]) < log_loss(np.zeros(2_000), free, labels=[0, 1])
