"""Categories are learned where they tell something, and not memorized where they do not."""

import numpy as np
import pandas as pd
import pytest

from propriety import BoostingClassifier, RuleClassifier, TreeClassifier
from propriety.boosting import Algorithm
from propriety.data.identifiers import IdentifierWarning

SMALL = {"max_iter": 30, "learning_rate": 0.2, "max_leaf_nodes": 6, "random_state": 0}
MODELS = [
    BoostingClassifier(**SMALL),
    BoostingClassifier(algorithm="additive", max_bins=16, max_iter=30),
    BoostingClassifier(algorithm=Algorithm(weak_learner="histogram", max_intervals=3), max_iter=30),
    TreeClassifier(min_samples_leaf=20),
    TreeClassifier(min_samples_leaf=20, splits="histogram"),
    RuleClassifier(n_rules=6),
]


def table(seed, levels, n, effects=0.0, classes=2):
    """Two numbers that matter, and levels with effects on the score."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    level = rng.integers(levels, size=n)
    score = X @ [0.9, -0.7] + effects * rng.normal(size=levels)[level]
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    if classes == 3:
        y += rng.random(n) < 0.2
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "level": pd.Categorical([f"L{i}" for i in level])})
    return frame, y


def log_loss(model, X, y):
    p = np.clip(model.predict_proba(X), 1e-9, 1)
    return -np.mean(np.log(p[np.arange(len(y)), y]))


@pytest.mark.filterwarnings("ignore::propriety.data.identifiers.IdentifierWarning")
@pytest.mark.parametrize(("levels", "classes"), [(10, 2), (60, 3), (300, 2)])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:60])
def test_a_column_of_noise_is_not_memorized(model, levels, classes):
    without, known, new = [], [], []
    for seed in range(2):
        X, y = table(seed, levels, 1200, classes=classes)
        train, test = slice(0, 400), slice(400, None)
        model.fit(X[train].drop(columns="level"), y[train])
        without.append(log_loss(model, X[test].drop(columns="level"), y[test]))
        model.fit(X[train], y[train])
        known.append(log_loss(model, X[test], y[test]))
        new.append(log_loss(model, X[test].assign(level=pd.Categorical(["new"] * 800)), y[test]))
    assert np.mean(known) < 1.02 * np.mean(without)
    assert np.mean(new) < 1.02 * np.mean(without)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:60])
@pytest.mark.parametrize("levels", [8, 40])
def test_effects_of_levels_are_learned(model, levels):
    X, y = table(3, levels, 4000, effects=2.0)
    train, test = slice(0, 2000), slice(2000, None)
    model.fit(X[train].drop(columns="level"), y[train])
    without = log_loss(model, X[test].drop(columns="level"), y[test])
    assert log_loss(model.fit(X[train], y[train]), X[test], y[test]) < 0.9 * without


def test_a_level_that_was_not_seen_gets_what_an_average_row_gets():
    """Six levels in ten raise the score and four lower it more, so that neither side is the average."""
    rng = np.random.default_rng(0)
    level = rng.integers(30, size=1500)
    y = (rng.random(1500) < np.where(level < 18, 0.7, 0.2)).astype(int)
    X = pd.DataFrame({"x": np.zeros(1500), "level": pd.Categorical(level.astype(str))})
    model = BoostingClassifier(**SMALL | {"max_iter": 100}).fit(X, y)
    new = model.decision_function(X[:1].assign(level=pd.Categorical(["new"])))[0]
    scores = model.decision_function(X)
    assert abs(new - scores.mean()) < 0.15
    assert np.ptp(scores) > 2.0
    warm = BoostingClassifier(**SMALL | {"max_iter": 40}, warm_start=True).fit(X, y)
    again = (
        warm.set_params(max_iter=100).fit(X, y).decision_function(X[:1].assign(level=pd.Categorical(["new"])))
    )
    assert again[0] == pytest.approx(new, abs=1e-12)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[3], MODELS[5]], ids=lambda model: repr(model)[:60])
def test_identifiers_are_named(model):
    X, y = table(0, 300, 300)
    with pytest.warns(IdentifierWarning, match=r"the column 'level' has \d+ categories in 300 rows"):
        model.fit(X, y)


@pytest.mark.filterwarnings("ignore::propriety.data.identifiers.IdentifierWarning")
def test_part_numbers_do_no_harm():
    """540 rows and a part number of 429 values, most of which stand for one row."""
    rng = np.random.default_rng(5)
    n = 1_500
    part = np.where(np.arange(n) % 540 < 429, np.arange(n) % 540, rng.integers(429, size=n))
    frame, y = table(5, 2, n, effects=0.0)
    frame = frame.assign(part=pd.Categorical([f"P{k}" for k in part]))
    train, test = slice(0, 540), slice(540, None)
    assert frame["part"][train].nunique() == 429
    plain = frame.drop(columns="part")
    model = BoostingClassifier(random_state=0)
    without = log_loss(model.fit(plain[train], y[train]), plain[test], y[test])
    model.fit(frame[train], y[train])
    assert log_loss(model, frame[test], y[test]) < 1.02 * without
    new = frame[test].assign(part=pd.Categorical(["new"] * (n - 540)))
    assert log_loss(model, new, y[test]) < 1.02 * without
