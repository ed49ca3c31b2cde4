"""What BoostingClassifier can do, each against an oracle or a law."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import log_loss
from tests.inside import forest_of, start_of

from propriety import losses
from propriety.boosting import Algorithm, BoostingClassifier


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(800, 8, n_informative=5, weights=[0.6], flip_y=0.05, random_state=5)
    return X, y


@pytest.fixture(scope="module")
def three_classes():
    X, y = make_classification(900, 8, n_informative=5, n_classes=3, random_state=5)
    return X, np.array(["a", "b", "c"])[y]


def test_as_good_as_scikit_learn(rng):
    X = rng.normal(size=(12_000, 6))
    eta = 1 / (1 + np.exp(-(X[:, 0] + np.abs(X[:, 1]) - 0.5 * X[:, 2] * X[:, 0])))
    y = rng.random(12_000) < eta
    train, test = slice(0, 6_000), slice(6_000, None)
    ours = BoostingClassifier(max_iter=100).fit(X[train], y[train])
    theirs = HistGradientBoostingClassifier(early_stopping=False).fit(X[train], y[train])
    a, b = (log_loss(y[test], m.predict_proba(X[test])) for m in (ours, theirs))
    assert a < b * 1.01


@pytest.mark.parametrize("n", [50, 150, 1_000])
def test_defaults_learn_something_on_small_data(n):
    X, y = make_classification(n + 2_000, 6, n_informative=4, class_sep=1.5, random_state=0)
    model = BoostingClassifier().fit(X[:n], y[:n])
    base = np.full(2_000, y[:n].mean())
    assert log_loss(y[n:], model.predict_proba(X[n:])[:, 1]) < log_loss(y[n:], base) - 0.05


@pytest.mark.parametrize("step", ["fisher", "newton", "gradient", "exact"])
@pytest.mark.parametrize("loss", ["Log()", "Tailored(0.2, 12)", "Exponential()", "Squared()"])
def test_every_step_lowers_its_loss(data, step, loss):
    X, y = data
    composite = losses.as_composite(loss)
    model = BoostingClassifier(loss, algorithm=Algorithm(step=step), max_iter=20, l2_regularization=1.0).fit(
        X, y
    )
    values = [composite.value(y, F).mean() for F in model.staged_decision_function(X)]
    assert np.all(np.diff(values) < 1e-9)
    start = composite.value(y, np.full(len(y), composite.link(y.mean()))).mean()
    assert values[-1] < 0.85 * start


def test_newton_and_fisher_agree_for_a_canonical_pair_only(data):
    X, y = data
    same = [
        BoostingClassifier("Log()", algorithm=Algorithm(step=s), max_iter=10).fit(X, y).predict_proba(X)
        for s in ("fisher", "newton")
    ]
    np.testing.assert_allclose(same[0], same[1], atol=1e-12)
    other = [
        BoostingClassifier("Squared()", algorithm=Algorithm(step=s), max_iter=10).fit(X, y).predict_proba(X)
        for s in ("fisher", "newton")
    ]
    assert np.abs(other[0] - other[1]).max() > 1e-3


def test_exact_leaves_have_zero_edge(data):
    X, y = data
    composite = losses.as_composite("Log()")
    model = BoostingClassifier(
        algorithm=Algorithm(step="exact"),
        max_step=None,
        max_iter=1,
        learning_rate=1.0,
        max_leaf_nodes=4,
        min_samples_leaf=50,
    )
    F = model.fit(X, y).decision_function(X)
    gradient = composite.gradient(y, F)
    for leaf in np.unique(F):
        assert abs(gradient[leaf == F].sum()) < 1e-8


def test_gradient_step_is_the_weighted_mean_of_the_labels(data):
    X, y = data
    model = BoostingClassifier(
        "Exponential()", algorithm=Algorithm(step="gradient"), max_iter=1, learning_rate=1.0, max_leaf_nodes=2
    ).fit(X, y)
    F0 = start_of(model)[0]
    added = model.decision_function(X) - F0
    w = np.exp(-(2 * y - 1) * F0)
    for value in np.unique(added):
        rows = added == value
        assert value == pytest.approx(np.average((2 * y - 1)[rows], weights=w[rows]), abs=1e-9)


def test_contributions_add_up_and_are_the_shapley_values(data):
    from itertools import combinations
    from math import factorial

    X, y = data[0][:, :4].copy(), data[1]
    X[::7, 1] = np.nan
    model = BoostingClassifier(max_iter=6, max_leaf_nodes=6).fit(X, y)
    parts = model.predict_contributions(X)
    np.testing.assert_allclose(parts.sum(axis=1), model.decision_function(X), atol=1e-12)
    nodes, roots = forest_of(model).nodes, forest_of(model).roots[:-1]

    def worth(x, known, at):
        node = nodes[at]
        if node["feature"] < 0:
            return node["value"]
        if node["feature"] in known:
            value = x[node["feature"]]
            left = node["missing_left"] if np.isnan(value) else value <= node["threshold"]
            return worth(x, known, node["left"] + (0 if left else 1))
        children = (node["left"], node["left"] + 1)
        return sum(nodes[c]["weight"] / node["weight"] * worth(x, known, c) for c in children)

    for row in (0, 7, 31):
        for f in range(4):
            others = [k for k in range(4) if k != f]
            value = 0.0
            for size in range(4):
                share = factorial(size) * factorial(3 - size) / factorial(4)
                for known in combinations(others, size):
                    gain = sum(worth(X[row], {*known, f}, r) - worth(X[row], set(known), r) for r in roots)
                    value += share * gain
            assert parts[row, f] == pytest.approx(value, abs=1e-10)


def test_contributions_of_several_classes(three_classes):
    X, y = three_classes
    model = BoostingClassifier(max_iter=4).fit(X, y)
    parts = model.predict_contributions(X[:20])
    assert parts.shape == (20, 3, 9)
    np.testing.assert_allclose(parts.sum(axis=2), model.decision_function(X[:20]), atol=1e-12)


@pytest.mark.parametrize("loss", ["Log()", "Squared()", "Tailored(0.2, 12)"])
@pytest.mark.parametrize("multiclass", ["auto", "ovr"])
def test_several_classes(three_classes, loss, multiclass):
    X, y = three_classes
    model = BoostingClassifier(loss, multiclass=multiclass, max_iter=20).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert model.score(X, y) > 0.9
    assert model.decision_function(X).shape == (900, 3)
    with pytest.raises(ValueError, match="two classes"):
        BoostingClassifier(loss, fn_cost=5).fit(X, y)


def test_simplex_loss_as_loss(three_classes):
    X, y = three_classes
    model = BoostingClassifier(losses.simplex.Brier(), max_iter=10).fit(X, y)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("step", ["fisher", "exact"])
def test_monotone_constraints(rng, sign, step):
    X = rng.uniform(-2, 2, size=(3_000, 2))
    y = rng.random(3_000) < 1 / (1 + np.exp(-sign * X[:, 0] - np.sin(4 * X[:, 0]) * 2 - X[:, 1]))
    grid = np.column_stack((np.linspace(-2, 2, 200), np.zeros(200)))
    free = BoostingClassifier(max_iter=40).fit(X, y).decision_function(grid)
    assert np.any(sign * np.diff(free) < 0)
    bound = BoostingClassifier(max_iter=40, monotonic_cst={0: sign}, algorithm=Algorithm(step=step)).fit(X, y)
    for x1 in (-1.5, 0.0, 1.5):
        grid[:, 1] = x1
        assert np.all(sign * np.diff(bound.decision_function(grid)) >= 0)
    assert bound.score(X, y) > 0.6


def test_monotone_probabilities_of_several_classes(rng):
    X = rng.normal(size=(2_000, 2))
    y = np.digitize(X[:, 0] + np.sin(5 * X[:, 0]) + 0.3 * rng.normal(size=2_000), [-0.5, 0.5])
    model = BoostingClassifier(max_iter=30, monotonic_cst={2: [1, 0]}).fit(X, y)
    grid = np.column_stack((np.linspace(-2, 2, 200), np.zeros(200)))
    assert np.all(np.diff(model.predict_proba(grid)[:, 2]) >= -1e-12)
    with pytest.raises(ValueError, match="dict from class"):
        BoostingClassifier(monotonic_cst=[1, 0]).fit(X, y)


def test_interaction_constraints_make_the_score_additive(data):
    X, y = data
    model = BoostingClassifier(max_iter=20, interaction_cst="no_interactions").fit(X, y)
    a, b = X[:50].copy(), X[50:100].copy()
    mixed_a, mixed_b = a.copy(), b.copy()
    mixed_a[:, 0], mixed_b[:, 0] = b[:, 0], a[:, 0]
    F = model.decision_function
    np.testing.assert_allclose(F(a) + F(b), F(mixed_a) + F(mixed_b), atol=1e-12)
    free = BoostingClassifier(max_iter=20).fit(X, y).decision_function
    assert np.abs(free(a) + free(b) - free(mixed_a) - free(mixed_b)).max() > 1e-3


def test_early_stopping_keeps_the_best_round(rng):
    X = rng.normal(size=(1_500, 5))
    y = rng.random(1_500) < 1 / (1 + np.exp(-X[:, 0]))
    model = BoostingClassifier(early_stopping=True, max_iter=500, random_state=0, n_iter_no_change=5).fit(
        X, y
    )
    assert 1 < model.n_iter_ < 200
    assert model.n_iter_ == np.argmax(model.validation_score_)
    assert len(model.validation_score_) == model.n_iter_ + 6
    assert np.all(np.diff(model.train_score_) > 0)


def test_early_stopping_on_given_rows(data):
    X, y = data
    w = np.ones(200)
    model = BoostingClassifier(early_stopping=True, max_iter=60).fit(
        X[:600], y[:600], X_val=X[600:], y_val=y[600:], sample_weight_val=w
    )
    staged = [-log_loss(y[600:], p[:, 1]) for p in model.staged_predict_proba(X[600:])]
    np.testing.assert_allclose(model.validation_score_[1 : model.n_iter_ + 1], staged, atol=1e-12)


@pytest.mark.parametrize("parameters", [{}, {"subsample": 0.6, "max_features": 0.5}])
def test_warm_start_goes_on_where_it_stopped(data, parameters):
    X, y = data
    whole = BoostingClassifier(max_iter=20, random_state=0, **parameters).fit(X, y)
    model = BoostingClassifier(max_iter=8, random_state=0, warm_start=True, **parameters).fit(X, y)
    assert model.n_iter_ == 8
    model.set_params(max_iter=20).fit(X, y)
    assert forest_of(model).nodes.tolist() == forest_of(whole).nodes.tolist()


def test_staged_predictions_end_at_the_prediction(three_classes):
    X, y = three_classes
    model = BoostingClassifier(max_iter=5).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 5
    np.testing.assert_array_equal(stages[-1], model.predict_proba(X))
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    np.testing.assert_array_equal(list(model.staged_decision_function(X))[-1], model.decision_function(X))


def test_subsampling_uses_the_seed(data):
    X, y = data
    models = [BoostingClassifier(max_iter=5, subsample=0.5, random_state=s).fit(X, y) for s in (0, 0, 1)]
    nodes = [forest_of(m).nodes.tolist() for m in models]
    assert nodes[0] == nodes[1]
    assert nodes[0] != nodes[2]


def test_importances(rng):
    X = rng.normal(size=(2_000, 4))
    y = rng.random(2_000) < 1 / (1 + np.exp(-3 * X[:, 1]))
    model = BoostingClassifier(max_iter=20).fit(X, y)
    for kind in ("split_gain", "count"):
        importances = model.importances(kind)
        assert importances.sum() == pytest.approx(1.0)
        assert np.argmax(importances) == 1
    np.testing.assert_array_equal(model.feature_importances_, model.importances("split_gain"))
    assert model.importances("count")[0] > model.importances("split_gain")[0]
    result = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert np.argmax(result.importances_mean) == 1
    curve = partial_dependence(model, X, [1], grid_resolution=10)["average"][0]
    assert curve[-1] > curve[0]


def test_sparse_input_is_the_dense_one(rng):
    X = rng.normal(size=(500, 6)) * (rng.random((500, 6)) < 0.3)
    y = X[:, 0] + X[:, 1] > 0.1
    dense = BoostingClassifier(max_iter=10).fit(X, y)
    for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array):
        model = BoostingClassifier(max_iter=10).fit(kind(X), y)
        np.testing.assert_array_equal(model.predict_proba(kind(X)), dense.predict_proba(X))


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.int64, bool])
def test_dtypes(rng, dtype):
    X = (
        rng.integers(0, 2, size=(300, 4)).astype(dtype)
        if dtype is bool
        else (rng.normal(size=(300, 4)) * 3).astype(dtype)
    )
    y = X[:, 0] > 0
    as_float = BoostingClassifier(max_iter=5).fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(
        BoostingClassifier(max_iter=5).fit(X, y).predict_proba(X),
        as_float.predict_proba(X.astype(np.float64)),
    )


def test_pickle_clone_and_html(data):
    X, y = data
    model = BoostingClassifier(losses.Beta(2, 1), max_iter=5).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).loss == losses.Beta(2, 1)
    assert "BoostingClassifier" in model._repr_html_()


def test_parameters_of_the_loss_can_be_searched(data):
    X, y = data
    model = BoostingClassifier(losses.Tailored(0.1, 20), max_iter=3).set_params(loss__cost=0.4)
    assert model.loss == losses.Tailored(0.4, 20)
    assert model.fit(X, y).n_iter_ == 3


def test_progress_bar(data, capsys):
    X, y = data
    BoostingClassifier(max_iter=3, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "round 3/3" in shown
    assert shown.endswith("\n")


def test_callbacks_see_a_model_after_each_round(data):
    callback = pytest.importorskip("sklearn.callback")
    X, y = data
    monitor = callback.ScoringMonitor(scoring="neg_log_loss")
    model = BoostingClassifier(max_iter=4).set_callbacks(monitor).fit(X, y)
    log = monitor.get_logs()
    seen = [row["neg_log_loss"] for row in log.data if row["task_name"] == "round"]
    expected = [-log_loss(y, p) for p in model.staged_predict_proba(X)]
    np.testing.assert_allclose(seen, expected)


def test_ctrl_c_leaves_the_rounds_so_far(data, monkeypatch):
    from propriety.boosting import rounds

    X, y = data
    advance = rounds.Booster.advance

    def interrupted(self, number):
        if number == 7:
            raise KeyboardInterrupt
        return advance(self, number)

    monkeypatch.setattr(rounds.Booster, "advance", interrupted)
    model = BoostingClassifier(max_iter=20)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert model.n_iter_ == 7
    np.testing.assert_array_equal(
        model.predict_proba(X), BoostingClassifier(max_iter=7).fit(X, y).predict_proba(X)
    )


def test_ctrl_c_before_the_first_round_leaves_an_earlier_fit(data, monkeypatch):
    from propriety.boosting import rounds

    X, y = data
    model = BoostingClassifier(max_iter=3).fit(X, y)
    before = model.predict_proba(X)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(rounds.Booster, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, 1 - y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_losses_on_the_simplex_do_for_two_classes():
    X, y = make_classification(200, 4, random_state=1)
    for many, two in ((losses.simplex.Log(), "Log"), (losses.simplex.PairwiseExponential(), "Exponential")):
        p = BoostingClassifier(many, max_iter=5).fit(X, y).predict_proba(X)
        assert np.array_equal(p, BoostingClassifier(two, max_iter=5).fit(X, y).predict_proba(X))


def test_a_fit_lets_its_arrays_go_when_it_ends():
    X = np.random.default_rng(0).normal(size=(300, 2))
    gc.collect()
    gc.disable()
    try:
        model = BoostingClassifier(max_iter=2).fit(X, X[:, 0] > 0)
        kept = weakref.ref(X)
        del X
        assert kept() is None
    finally:
        gc.enable()
    assert model.n_iter_ == 2
