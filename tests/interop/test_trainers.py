"""Losses in LightGBM, XGBoost and CatBoost."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from propriety import interop, losses

LOSSES = ["Log", "Tailored(0.1, 20)", "Exponential", "Squared().with_link(Probit())"]
MAKERS = {"lightgbm": interop.lightgbm, "xgboost": interop.xgboost, "catboost": interop.catboost}


NO_SPLITS = {
    "lightgbm": {"min_gain_to_split": 1e9},
    "xgboost": {"min_child_weight": 1e6},
    "catboost": {"l2_leaf_reg": 1e12},
}


@pytest.fixture
def table(rng):
    X = rng.normal(size=(400, 3))
    eta = 1 / (1 + np.exp(2 - X[:, 0]))
    return X, (rng.uniform(size=400) < eta).astype(float)


def boosted(name, ours, X, y, weight=None, rounds=10, **parameters):
    """Probabilities of the rows by the library's own training function."""
    library = pytest.importorskip(name)
    if name == "lightgbm":
        settings = {"objective": ours.objective, "verbose": -1, "num_threads": 1, **parameters}
        booster = library.train(settings, library.Dataset(X, y, weight=weight), num_boost_round=rounds)
        return ours.probabilities(booster.predict(X, raw_score=True))
    if name == "xgboost":
        data = library.DMatrix(X, y, weight=weight)
        booster = library.train({"nthread": 1, **parameters}, data, rounds, obj=ours.objective)
        return ours.probabilities(booster.predict(data, output_margin=True))
    model = library.CatBoost(
        {
            "loss_function": ours.objective,
            "eval_metric": ours.metric,
            "iterations": rounds,
            "verbose": False,
            "thread_count": 1,
            "allow_writing_files": False,
            "leaf_estimation_method": "Newton",
            **parameters,
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it suggests compiling with Numba what is compiled already
        model.fit(library.Pool(X, y, weight=weight))
    return ours.probabilities(model.predict(X, prediction_type="RawFormulaVal"))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_fit_that_cannot_split_is_the_base_rate(name, loss, table):
    X, y = table
    p = boosted(name, MAKERS[name](loss, y.mean()), X, y, rounds=2, **no_start(name), **NO_SPLITS[name])
    assert np.allclose(p, y.mean(), atol=1e-6)


def no_start(name):
    return {"base_score": 0.0} if name == "xgboost" else {}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_boosting_learns_the_loss(name, loss, table):
    X, y = table
    ours = MAKERS[name](loss, y.mean())
    p = boosted(name, ours, X, y)
    c = ours.loss
    assert np.mean(c.loss.loss(y, p)) < 0.97 * c.loss.entropy(y.mean())
    assert p[y == 1].mean() > y.mean()


@pytest.mark.parametrize("name", MAKERS)
def test_the_scale_of_the_loss_does_not_matter(name, table):
    X, y = table
    one = boosted(name, MAKERS[name](losses.Squared(), y.mean()), X, y)
    thousand = boosted(name, MAKERS[name](1000 * losses.Squared(), y.mean()), X, y)
    assert np.allclose(one, thousand, atol=1e-4)


@pytest.mark.parametrize("name", MAKERS)
def test_weights_are_copies(name, table):
    X, y = table
    weight = np.where(np.arange(len(y)) < 40, 3.0, 1.0)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    rate = np.average(y, weights=weight)
    ours = MAKERS[name]("Tailored(0.1, 20)", rate)
    # Trees of one split at most: what a library counts in rows, weights or not, is then the same.
    few = {
        "lightgbm": {"num_leaves": 2, "min_data_in_leaf": 1, "min_data_in_bin": 1, "max_bin": 500},
        "xgboost": {"max_depth": 1, "tree_method": "exact"},
        "catboost": {"depth": 1, "bootstrap_type": "No", "random_strength": 0, "boosting_type": "Plain"},
    }[name]
    if name == "catboost":
        X = np.round(X)  # its bins are quantiles of rows
    weighted = boosted(name, ours, X, y, weight, rounds=3, **few)
    copied = boosted(name, ours, X[rows], y[rows], rounds=3, **few)
    assert np.allclose(weighted[rows], copied, atol=1e-4)


@pytest.mark.parametrize("name", MAKERS)
def test_the_metric_is_the_mean_loss_relative_to_the_base_rate(name, table):
    X, y = table
    ours = MAKERS[name]("Beta(2, 6)", y.mean())
    weight, raw = np.linspace(0.5, 2, len(y)), X[:, 0]
    expected = np.average(ours.loss.value(y, ours.start + raw), weights=weight)
    expected /= ours.loss.loss.entropy(y.mean())
    if name == "catboost":
        assert ours.get_final_error(*ours.evaluate([raw], y, weight)) == pytest.approx(expected)
        return
    told = ours.metric(y, raw, weight)
    assert (told[1] if name == "lightgbm" else told) == pytest.approx(expected)
    library = pytest.importorskip(name)
    data = (
        library.Dataset(X, y, weight=weight) if name == "lightgbm" else library.DMatrix(X, y, weight=weight)
    )
    assert ours.metric(raw, data)[1] == pytest.approx(expected, rel=1e-6)


def test_start_and_scale_are_those_of_the_base_rate():
    ours = interop.xgboost("Tailored(0.1, 20)", 0.05, link="Logit(2)")
    assert ours.start == pytest.approx(2 * np.log(0.05 / 0.95))
    gradient, curvature = ours.derivatives([1.0], [0.0])
    assert curvature[0] == pytest.approx(1)
    assert gradient[0] == pytest.approx(ours.loss.gradient(1, ours.start) / ours.loss.fisher(ours.start))
    again = pickle.loads(pickle.dumps(ours))
    assert again == ours
    assert again.probabilities([0.0])[0] == pytest.approx(0.05)


@pytest.mark.parametrize("rate", [0.0, 1.0, -1, float("nan"), "half"])
def test_a_base_rate_that_is_none_is_refused(rate):
    with pytest.raises((ValueError, TypeError), match="base_rate must be a"):
        interop.lightgbm("Log", rate)


def test_a_loss_without_weight_is_refused():
    with pytest.raises(TypeError, match="no weight function"):
        interop.xgboost("CostWeighted(0.1)", 0.3)


# --- the classifiers ------------------------------------------------------------------------------


def classifier(name, loss="Tailored(0.1, 20)", *, rounds=10, **parameters):
    if name == "lightgbm":
        inner = pytest.importorskip(name).LGBMClassifier(n_estimators=rounds, verbose=-1, n_jobs=1)
        return interop.LightGBMProper(loss, estimator=inner, **parameters)
    inner = pytest.importorskip(name).XGBClassifier(n_estimators=rounds, n_jobs=1)
    return interop.XGBoostProper(loss, estimator=inner, **parameters)


BOTH = pytest.mark.parametrize("name", ["lightgbm", "xgboost"])


@BOTH
def test_a_classifier_fits_what_the_library_fits(name, table):
    X, y = table
    model = classifier(name).fit(X, np.where(y == 1, "yes", "no"))
    assert list(model.classes_) == ["no", "yes"]
    same = boosted(name, MAKERS[name]("Tailored(0.1, 20)", y.mean()), X, y, **no_start(name))
    assert np.allclose(model.predict_proba(X)[:, 1], same, atol=1e-5)
    assert np.allclose(model.loss_.inverse(model.decision_function(X)), same, atol=1e-5)


@BOTH
def test_a_classifier_decides_by_costs(name, table):
    X, y = table
    labels = np.where(y == 1, "bad", "good")
    model = classifier(name, fn_cost=9, pos_label="bad").fit(X, labels)
    assert list(model.classes_) == ["bad", "good"]
    bad = model.predict_proba(X)[:, 0]
    assert np.array_equal(model.predict(X) == "bad", bad >= 0.1)


@BOTH
def test_a_classifier_stops_early_by_the_loss(name, table):
    X, y = table
    model = clone(classifier(name, rounds=200))
    stopping = {"lightgbm": "early_stopping_round", "xgboost": "early_stopping_rounds"}[name]
    model.set_params(**{f"estimator__{stopping}": 3})
    model.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])])
    inner = model.estimator_
    best = inner.best_iteration_ if name == "lightgbm" else inner.best_iteration + 1
    assert 0 < best < 150
    history = next(iter((inner.evals_result_ if name == "lightgbm" else inner.evals_result()).values()))
    followed = np.asarray(next(iter(history.values())))
    loss = model.loss_.loss
    reached = np.mean(loss.loss(y[300:], model.predict_proba(X[300:])[:, 1]))
    assert followed.min() == pytest.approx(reached / loss.entropy(y[:300].mean()), rel=1e-4)
    with pytest.raises(ValueError, match="labels that y has not"):
        model.fit(X, y, eval_set=[(X, y + 1)])


@BOTH
def test_a_classifier_takes_weights(name, table):
    X, y = table
    weight = np.where(y == 1, 5.0, 1.0)
    model = classifier(name, rounds=1)
    model.set_params(**{f"estimator__{name}": value for name, value in NO_SPLITS[name].items()})
    model.fit(X, y, weight)
    assert np.allclose(model.predict_proba(X)[:, 1], np.average(y, weights=weight), atol=1e-6)


@BOTH
def test_a_classifier_is_for_two_classes(name, table):
    X, y = table
    with pytest.raises(ValueError, match="two classes, got 3"):
        classifier(name).fit(X, np.arange(len(y)) % 3)
