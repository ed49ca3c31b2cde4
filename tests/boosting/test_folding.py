"""Rounds by folds and calibration by the same folds, each against fits of its own."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import propriety
from propriety import BoostingClassifier, links, losses
from propriety.boosting import Algorithm
from propriety.boosting.calibration import _isotonic, recalibrated
from propriety.boosting.folding import rounds_by_folds
from propriety.boosting.learning import prepare
from propriety.boosting.settings import N_FOLDS, settings_of
from propriety.data.folds import fold_numbers
from propriety.data.training import Training
from propriety.losses import simplex
from propriety.model.fitted_loss import fitted_loss
from propriety.weights import Weights


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(700, 5, n_informative=4, n_redundant=0, flip_y=0.2, random_state=1)
    return X[:200], y[:200], X[200:], y[200:]


@pytest.fixture(scope="module")
def folded(data):
    return BoostingClassifier(max_iter="cv", random_state=0).fit(*data[:2])


def lesson_of(model, X, y):
    training = Training.read("T", X, y)
    settings = settings_of(model, training, model._new_seed(False))
    return prepare(training, settings, fitted_loss(model.loss, None, training.n_classes))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"algorithm": "additive"},
        {"subsample": 0.7},
        {"algorithm": Algorithm(coefficient="line")},
        {"algorithm": Algorithm(sequential=True)},
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fold_models_are_those_of_weight_zero(data, parameters, n_classes):
    X, y = (
        np.clip(np.rint(data[0]), -1, 1),
        data[1],
    )  # values that every fold has, so that the bins are the same
    y = y + (n_classes == 3) * (X[:, 0] > 0)
    model = BoostingClassifier(max_iter=4, random_state=0, **parameters)
    folds = fold_numbers(Training.read("T", X, y), 3)
    found = rounds_by_folds(lesson_of(model, X, y), folds, stop=False)
    for k in range(3):
        alone = model.fit(X, y, (folds != k).astype(float))
        scores = alone.decision_function(X[folds == k]).reshape(-1, found.scores.shape[1])
        np.testing.assert_allclose(found.scores[folds == k], scores, atol=1e-12)
    probabilities = model.loss_.inverse(found.scores if n_classes == 3 else found.scores[:, 0])
    assert found.rounds == 4
    assert found.curve[-1] == pytest.approx(log_loss(y, probabilities))


def test_the_rounds_are_those_of_least_pooled_loss(data, folded):
    curve = -folded.validation_score_
    rounds = int(np.argmin(curve))
    assert folded.n_iter_ == 3 * rounds > 0
    assert len(curve) == rounds + np.ceil(10 + rounds / 4) + 1  # as long as it waits
    assert curve[0] == pytest.approx(np.log(2), abs=0.01)


def test_three_models_are_averaged_round_by_round(data, folded, monkeypatch):
    drawn = {"subsample": 0.7, "splitter": "random"}
    small = {
        "l2_regularization": 10,
        "min_samples_leaf": 1,
        "max_leaf_nodes": 8,
        "learning_rate": 0.2,
        **drawn,
    }
    alone = BoostingClassifier(max_iter=folded.n_iter_ // 3, random_state=0, **small)
    scores = []
    for seed in range(folded._seed, folded._seed + 3):
        monkeypatch.setattr(alone, "_new_seed", lambda again, seed=seed: seed)
        scores.append(list(alone.fit(*data[:2]).staged_decision_function(data[2][:40])))
    assert np.ptp(scores, axis=0).max() > 0.1
    mean = np.mean(scores, axis=0)
    whole = [stage.copy() for stage in folded.staged_decision_function(data[2][:40])]
    np.testing.assert_allclose(whole[2::3], mean, atol=1e-12)


def test_nothing_is_averaged_where_nothing_is_drawn(data):
    every = {"subsample": 1.0, "max_features": 1.0, "splitter": "best"}
    all_of_it = BoostingClassifier(max_iter="cv", **every).fit(*data[:2])
    assert all_of_it.n_iter_ == np.argmax(all_of_it.validation_score_)


def test_they_are_the_default_where_rows_are_few(data, folded):
    X, y = data[:2]
    default = BoostingClassifier(random_state=0).fit(X, y)
    assert np.array_equal(default.predict_proba(X), folded.predict_proba(X))
    heavy = BoostingClassifier().fit(X, y, np.full(len(y), 101))
    assert heavy.n_iter_ == 100  # so few different rows are not held out of many
    assert len(heavy.validation_score_) == 0
    stopped = BoostingClassifier(early_stopping=True).fit(X, y)
    assert len(stopped.train_score_) > 0


def test_many_rows_are_stopped_by_a_tenth_of_them(rng):
    X = rng.normal(size=(24_000, 4)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + rng.normal(size=24_000) > 0).astype(int)
    small = {"max_leaf_nodes": 4, "learning_rate": 0.8}
    model = BoostingClassifier(**small).fit(X, y)
    assert len(model.validation_score_) - 1 == model.n_iter_ + np.ceil(10 + model.n_iter_ / 4)
    assert model.validation_score_.argmax() == model.n_iter_ > 0
    order = rng.permutation(len(y))  # neither that nor the seed matters
    again = BoostingClassifier(**small, random_state=7).fit(X[order], y[order])
    assert np.array_equal(model.predict_proba(X[:100]), again.predict_proba(X[:100]))
    fixed = BoostingClassifier(**small, early_stopping=False).fit(X, y)
    assert fixed.n_iter_ == 100
    assert model.loss_ == fixed.loss_ == losses.Log().composite()  # no folds, nothing to calibrate by
    assert BoostingClassifier(**small, warm_start=True).fit(X, y).n_iter_ == 100
    rare = (np.arange(len(y)) < 300).astype(int)  # of which 30 would judge
    assert len(BoostingClassifier(**small).fit(X, rare).validation_score_) == 0
    bent = BoostingClassifier(**small, calibrate="platt").fit(X, y)
    assert bent.n_iter_ == 100  # folds calibrate scores of so many rounds
    assert np.array_equal(bent.decision_function(X[:50]), fixed.decision_function(X[:50]))
    groups = np.arange(len(y)) // 40
    apart = BoostingClassifier(**small).fit(X, y, groups=groups)
    seeded = BoostingClassifier(**small, random_state=7).fit(X, y, groups=groups)
    assert len(apart.validation_score_) > 0
    assert np.array_equal(apart.predict_proba(X[:50]), seeded.predict_proba(X[:50]))
    for none_to_spare in (y, np.zeros(len(y))):  # each class in one group, or all rows
        plain = BoostingClassifier(**small).fit(X, y, groups=none_to_spare)
        assert np.array_equal(plain.predict_proba(X[:50]), fixed.predict_proba(X[:50]))


def test_probabilities_of_two_classes_are_calibrated_where_folds_find_the_rounds(data, folded, three):
    assert isinstance(folded.loss_.link, links.Recalibrated)
    plain = BoostingClassifier(calibrate=None, random_state=0).fit(*data[:2])
    assert plain.loss_ == losses.Log().composite()
    assert np.array_equal(plain.decision_function(data[2]), folded.decision_function(data[2]))
    assert BoostingClassifier(max_iter=5).fit(*data[:2]).loss_ == losses.Log().composite()
    assert BoostingClassifier().fit(*three[:2]).loss_ == simplex.Log()


def test_they_are_better_than_many(data, folded):
    many = BoostingClassifier(max_iter=100).fit(*data[:2])
    assert log_loss(data[3], folded.predict_proba(data[2])) < 0.9 * log_loss(
        data[3], many.predict_proba(data[2])
    )


@pytest.mark.parametrize("calibrate", [None, "beta", "isotonic"])
def test_order_and_copies_change_nothing(data, rng, calibrate):
    X, y = data[:2]
    weight = rng.integers(0, 3, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    model = BoostingClassifier(max_iter="cv", calibrate=calibrate, random_state=0)
    one, other = clone(model).fit(X, y, weight), clone(model).fit(X[rows], y[rows])
    assert one.n_iter_ == other.n_iter_ > 0
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_groups_are_not_parted(data):
    X, y = np.repeat(data[0][:60], 5, axis=0), np.repeat(data[1][:60], 5)
    X = X + 1e-9 * np.arange(300)[:, None]  # no copies, so that only the groups say what belongs together
    groups = np.repeat(np.arange(60), 5)
    apart = BoostingClassifier(max_iter="cv").fit(X, y)
    together = BoostingClassifier(max_iter="cv").fit(X, y, groups=groups)
    assert together.n_iter_ < apart.n_iter_
    with pytest.raises(ValueError, match="folds are for"):
        BoostingClassifier(max_iter=3).fit(X, y, folds=groups % 2)
    # Nothing is held out, so that nothing can be parted: as of "auto" with many rows.
    fixed = [BoostingClassifier(max_iter=3).fit(X, y, **given) for given in ({}, {"groups": groups})]
    assert np.array_equal(fixed[0].predict_proba(X), fixed[1].predict_proba(X))


def test_early_stopping_holds_out_whole_groups(data):
    X, y = np.repeat(data[0][:60], 5, axis=0), np.repeat(data[1][:60], 5)
    training = Training.read("T", X, y, groups=np.repeat(np.arange(60), 5))
    model = BoostingClassifier(early_stopping=True, validation_fraction=0.2, max_iter=5)
    lesson = prepare(training, settings_of(model, training, 0), fitted_loss("Log", None, 2))
    rows = lesson.held_out.where
    assert len(rows) == pytest.approx(60, abs=10)
    assert np.array_equal(np.isin(training.groups, training.groups[rows]), np.isin(np.arange(300), rows))
    assert not np.any(lesson.weights.array[rows])
    with pytest.raises(ValueError, match="groups leave none to be held out for early stopping"):
        model.fit(X, y, groups=y)


def test_platt_is_a_shrunken_logistic_regression(data):
    X, y = data[:2]
    model = BoostingClassifier(max_iter=40, calibrate="platt").fit(X, y)
    folds = fold_numbers(Training.read("T", X, y), N_FOLDS)
    scores = rounds_by_folds(lesson_of(BoostingClassifier(max_iter=40), X, y), folds, stop=False).scores
    link = model.loss_.link
    free = LogisticRegression(C=np.inf, tol=1e-10).fit(scores, y)
    assert free.coef_[0, 0] < link.low_slope == link.high_slope < 1
    # The prior counts as an observation of slope 1 with standard deviation ½: check the balance of slopes.
    t = link.low_slope * scores[:, 0] + link.shift
    gradient = np.sum((1 / (1 + np.exp(-t)) - y) * scores[:, 0])
    assert gradient == pytest.approx(-(link.low_slope - 1) / 0.25, abs=1e-6)


@pytest.mark.parametrize(
    ("loss", "calibrate"),
    [
        ("Log()", "platt"),
        ("Log()", "isotonic"),
        ("Exponential()", "beta"),
        ("Squared().with_link(Probit())", "platt"),
        ("Squared().with_link(Probit())", "isotonic"),
    ],
)
def test_calibration_bends_the_link_and_leaves_the_score(data, loss, calibrate, tmp_path):
    X, y, X_new, y_new = data
    plain = BoostingClassifier(loss, max_iter=60).fit(X, y)
    bent = BoostingClassifier(loss, max_iter=60, calibrate=calibrate).fit(X, y)
    assert np.array_equal(plain.decision_function(X_new), bent.decision_function(X_new))
    kind = links.Interpolated if calibrate == "isotonic" else links.Recalibrated
    assert isinstance(bent.loss_.link, kind)
    p = bent.predict_proba(X_new)
    np.testing.assert_allclose(p[:, 1], bent.loss_.inverse(bent.decision_function(X_new)))
    assert log_loss(y_new, p) < log_loss(y_new, plain.predict_proba(X_new))
    bent.save(tmp_path / "bent.propriety")
    assert np.array_equal(propriety.load(tmp_path / "bent.propriety").predict_proba(X_new), p)


def test_without_splits_calibration_leaves_the_base_rate(data):
    X, y = data[:2]
    model = BoostingClassifier(max_iter=3, min_samples_leaf=10_000, calibrate="beta").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:3])[:, 1], y.mean(), atol=1e-12)


def test_one_row_of_a_class_is_never_held_out():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1], [11, 1])
    assert BoostingClassifier(max_iter="cv", min_samples_leaf=1).fit(X, y).predict_proba(X).shape == (12, 2)
    two = BoostingClassifier(max_iter="cv").fit([[0.0], [1.0]], [0, 1])
    assert two.n_iter_ == 3 * 100  # nothing says how many, so it is the number for many rows


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_iter": "many"}, r"max_iter must be one of \['auto', 'cv'\]"),
        ({"max_iter": "cv", "early_stopping": True}, "does not go with early_stopping=True"),
        ({"calibrate": "platt", "warm_start": True}, "does not go with warm_start=True"),
        ({"calibrate": "sigmoid"}, r"calibrate must be one of \['auto', 'platt', 'beta', 'isotonic'\]"),
    ],
)
def test_what_does_not_go_together_is_refused(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        BoostingClassifier(**parameters).fit(*data[:2])


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(
        900, 5, n_informative=4, n_redundant=0, n_classes=3, flip_y=0.3, random_state=2
    )
    return X[:250], y[:250], X[250:], y[250:]


@pytest.mark.parametrize("calibrate", ["platt", "beta"])
def test_calibration_of_three_classes(three, rng, calibrate, tmp_path):
    X, y, X_new, y_new = three
    plain = BoostingClassifier(max_iter=40).fit(X, y)
    bent = BoostingClassifier(max_iter=40, calibrate=calibrate).fit(X, y)
    assert np.array_equal(plain.decision_function(X_new), bent.decision_function(X_new))
    p = bent.predict_proba(X_new)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert log_loss(y_new, p) < 0.97 * log_loss(y_new, plain.predict_proba(X_new))
    assert len(bent.loss_.slopes) == (1 if calibrate == "platt" else 3)
    assert max(bent.loss_.slopes) < 1  # it was too sure
    bent.save(tmp_path / "bent.propriety")
    assert np.array_equal(propriety.load(tmp_path / "bent.propriety").predict_proba(X_new), p)
    rows, weight = rng.permutation(len(y)), np.ones(len(y), dtype=int)
    again = BoostingClassifier(max_iter=40, calibrate=calibrate).fit(X[rows], y[rows], weight)
    assert np.array_equal(again.predict_proba(X_new), p)


def test_several_classes_of_scores_of_two_are_calibrated_as_two(data):
    """The softmax of (0, t) is the probability of t, and its calibration that of t but for the prior."""
    rng = np.random.default_rng(0)
    t = rng.normal(scale=3.0, size=3000)
    y = (rng.random(3000) < 1 / (1 + np.exp(-0.5 * t))).astype(int)
    two = recalibrated(losses.Log().composite(), y, t[:, None], Weights(3000), "platt")
    many = recalibrated(simplex.Log(), y, np.column_stack([0 * t, t]), Weights(3000), "platt")
    grid = np.linspace(-4, 4, 9)
    found = many.inverse(np.column_stack([0 * grid, grid]))[:, 1]
    np.testing.assert_allclose(found, two.inverse(grid), atol=2e-3)


def test_isotonic_pools_are_the_shares_of_their_rows_drawn_to_no_change():
    t, y = np.repeat([-2.0, 0.0, 2.0], 100), np.zeros(300)
    y[[0, *range(100, 160), *range(200, 250)]] = 1  # 1 %, 60 %, 50 %: the last two are one pool
    knots, values = _isotonic(t, y, np.ones(300))
    stated = 1 / (1 + np.exp(-np.array([-2.0, 0.0, 2.0])))
    first = (1 + 50 * stated[0]) / 150
    second = (110 + 50 * stated[1:].mean()) / 250
    np.testing.assert_allclose(knots, [-2.0, 1.0])
    np.testing.assert_allclose(values, np.log([first / (1 - first), second / (1 - second)]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"calibrate": "isotonic"}, "for two classes, got 3; several classes take 'platt' or 'beta'"),
        ({"calibrate": "platt", "multiclass": "ovr"}, "3 classes needs a loss with the softmax link"),
        ({"calibrate": "sigmoid"}, "calibrate must be"),
    ],
)
def test_what_three_classes_do_not_take_is_refused(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        BoostingClassifier(**parameters).fit(data[0], np.arange(200) % 3)


def test_recalibrated_links_hold_sane_numbers():
    with pytest.raises(ValueError, match="low_slope"):
        links.Recalibrated(links.Logit(), 0.0, 1.0, 0.0)
    c = losses.Log().with_link(links.Recalibrated(links.Logit(), 0.5, 2.0, 0.1))
    assert losses.parse(repr(c)) == c


def test_categories_that_labels_merge_are_merged_without_the_fold():
    rng = np.random.default_rng(0)
    code = (np.arange(1100) % 260).astype(float)  # more than there are bins, and each in every fold
    y = (rng.random(1100) < np.where(code < 100, 0.9, 0.3)).astype(int)
    X, folds = np.column_stack([code, rng.normal(size=1100)]), np.arange(1100) % 3
    model = BoostingClassifier(max_iter=3, calibrate="platt", categorical_features=[0], n_jobs=1)
    scores = model.fit(X, y, folds=folds).oof_decision_function_
    for fold in range(3):
        other = BoostingClassifier(max_iter=3, categorical_features=[0], n_jobs=1)
        other.fit(X, y, (folds != fold).astype(int))
        expected = other.decision_function(X[folds == fold])
        np.testing.assert_allclose(scores[folds == fold], expected, atol=1e-9)


@pytest.mark.parametrize("max_iter", ["auto", "cv"])
def test_rows_that_a_user_holds_out_have_the_validation_score(data, folded, max_iter):
    X, y, X_new, y_new = data
    model = BoostingClassifier(max_iter=max_iter, calibrate=None, random_state=0)
    model.fit(X, y, X_val=X_new, y_val=y_new)
    assert model.n_iter_ == folded.n_iter_  # these rows judge, and do not choose
    loss = [log_loss(y_new, p) for p in model.staged_predict_proba(X_new)]
    np.testing.assert_allclose(model.validation_score_[-model.n_iter_ :], -np.array(loss), rtol=1e-9)
