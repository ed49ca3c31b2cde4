"""Paths of gains beside scikit-learn and LightGBM, and an additive model beside interpret's.

    python benchmarks/boosting_papers.py            # both cases
    python benchmarks/boosting_papers.py path
    python benchmarks/boosting_papers.py additive

Two threads; in turn, the best of several repetitions. Tables of seconds, the ratio to ours (above 1:
we are faster), and the loss on held-out rows.
"""

from __future__ import annotations

import warnings

import numpy as np
from measuring import SECONDS, Column, Part, Table, best_of
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from propriety import algorithms
from propriety.boosting import Algorithm, BoostingClassifier, gain_path, paths

THREADS, ROUNDS, FOLDS = 2, 50, 5
RATES = [1 / gain for gain in paths.GAINS]
warnings.filterwarnings("ignore")


def table(name, title, seconds, losses):
    ours = next(iter(seconds.values()))
    ratio, loss = Column("time ÷ ours", "peer ÷ ours", ".1f"), Column("held-out log loss", "loss", ".4f")
    rows = [[program, s, s / ours, losses[program]] for program, s in seconds.items()]
    return Table(name, title, ["program", SECONDS, ratio, loss], rows)


# --- 17 gains × 5 folds × 50 rounds on 700 × 10 -----------------------------------------------------


def folds_of(X, y):
    return list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))


def ours(X, y, form):
    name = "boostlr" if form == "real" else "boostlr_sign"
    model = algorithms.make(name, max_iter=ROUNDS, n_jobs=THREADS, random_state=0)
    return float(gain_path(model, X, y, cv=folds_of(X, y)).mean.min())


def loop(X, y, fit):
    """The least mean held-out loss of all rates; ``fit(rate, train)`` gives a function to probabilities."""
    means = []
    for rate in RATES:
        scores = []
        for train, test in folds_of(X, y):
            p = fit(rate, train)(X[test])
            scores.append(log_loss(y[test], np.clip(p, 1e-15, 1 - 1e-15)))
        means.append(np.mean(scores))
    return float(min(means))


def adaboost(X, y):
    from sklearn.ensemble import AdaBoostClassifier

    def fit(rate, train):
        model = AdaBoostClassifier(n_estimators=ROUNDS, learning_rate=rate).fit(X[train], y[train])
        return lambda A: model.predict_proba(A)[:, 1]

    return loop(X, y, fit)


def gradient_boosting(X, y):
    from sklearn.ensemble import GradientBoostingClassifier

    def fit(rate, train):
        model = GradientBoostingClassifier(n_estimators=ROUNDS, learning_rate=rate, max_depth=1)
        model.fit(X[train], y[train])
        return lambda A: model.predict_proba(A)[:, 1]

    return loop(X, y, fit)


def lightgbm(X, y):
    """Stumps; bins made once a fold, one thread, which is the fastest for so few rows."""
    import lightgbm as lgb

    settings = {"objective": "binary", "num_leaves": 2, "num_threads": 1, "verbose": -1}
    sets = {}

    def fit(rate, train):
        if train.tobytes() not in sets:
            sets[train.tobytes()] = lgb.Dataset(X[train], y[train], free_raw_data=False).construct()
        model = lgb.train({**settings, "learning_rate": rate}, sets[train.tobytes()], num_boost_round=ROUNDS)
        return model.predict

    return loop(X, y, fit)


def path(given):
    X, y = make_classification(700, 10, n_informative=5, flip_y=0.2, random_state=0)
    models = {
        "propriety, real values per bin": lambda: ours(X, y, "real"),
        "propriety, ±1 per bin": lambda: ours(X, y, "sign"),
        "LightGBM, stumps": lambda: lightgbm(X, y),
        "scikit-learn GradientBoosting, stumps": lambda: gradient_boosting(X, y),
        "scikit-learn AdaBoost": lambda: adaboost(X, y),
    }
    ours(X, y, "real")
    ours(X, y, "sign")
    if given.quick:
        models = dict(list(models.items())[:3])
    seconds, results = best_of(models, given.times(3))
    title = "17 gains × 5 folds × 50 rounds, 700 × 10; the loss is that of the best gain"
    yield table("path", title, seconds, results)


# --- an additive model on 100,000 × 28 --------------------------------------------------------------


def additive_data(n, seed):
    """Curves of many shapes in 13 of 28 columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 28)).astype(np.float32)
    F = 0.8 * np.sin(2 * X[:, 0]) + 0.6 * (X[:, 1] > 0.5) + 0.5 * X[:, 2] ** 2 - 0.5 + 0.7 * np.tanh(X[:, 3])
    F += 0.4 * np.abs(X[:, 4]) + 0.15 * X[:, 5:12].sum(axis=1) + 0.5 * np.cos(3 * X[:, 12])
    return X, (rng.random(n) < 1 / (1 + np.exp(-F))).astype(int), F


def additive(given):
    from interpret.glassbox import ExplainableBoostingClassifier

    n = given.size(100_000)
    X, y, _ = additive_data(n, 2)
    X_test, y_test, F = additive_data(n, 3)

    def ours():
        return BoostingClassifier(**ADDITIVE, n_jobs=THREADS, random_state=0).fit(X, y)

    def explainable():
        # Main effects alone, as ours; everything else as it comes.
        return ExplainableBoostingClassifier(interactions=0, random_state=0, n_jobs=THREADS).fit(X, y)

    BoostingClassifier(**{**ADDITIVE, "max_iter": 2}).fit(X[:40_000], y[:40_000])
    seconds, models = best_of({"propriety, histogram learners": ours}, given.times(3))
    slow, other = best_of({"interpret ExplainableBoostingClassifier": explainable}, 1)
    losses = {k: log_loss(y_test, m.predict_proba(X_test)[:, 1]) for k, m in {**models, **other}.items()}
    title = f"additive model, {n:,} × 28; the truth itself has {log_loss(y_test, 1 / (1 + np.exp(-F))):.4f}"
    yield table("additive", title, {**seconds, **slow}, losses)


#: Step functions of one feature, the best of a quarter of the features; each round sees some of the rows.
ADDITIVE = {
    "algorithm": Algorithm(weak_learner="histogram", max_intervals=3),
    "max_iter": 1800,
    "learning_rate": 0.04,
    "min_samples_leaf": 400,
    "max_features": 0.25,
    "subsample": 0.4,
}

PART = Part(__doc__, {"path": path, "additive": additive})

if __name__ == "__main__":
    PART.main()
