"""Small fitted models of every kind that a file can hold, with rows to predict."""

from functools import cache

import numpy as np
import pandas as pd

from propriety import (
    BoostingClassifier,
    ForestClassifier,
    KernelClassifier,
    LinearClassifier,
    RuleClassifier,
    TreeClassifier,
    losses,
)


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + 2 * (np.arange(n) % 3 == 0) - 0.7 + 0.5 * rng.normal(size=n)


def frame(n=120, seed=0):
    X, _ = rows(n, seed)
    X[::7, 1] = np.nan
    kind = pd.Categorical(np.array(["red", "green", "blue"])[np.arange(n) % 3])
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=kind)


def two():
    return rows()[1] > 0


def three():
    return np.digitize(rows()[1], [-0.5, 0.5])


def text():
    return np.where(two(), "yes", "no")


COSTS = {"fp_cost": 1, "fn_cost": 9}
MODELS = {
    "boosting": (
        lambda: BoostingClassifier("Beta(2, 3)", max_iter=4, random_state=0, **COSTS),
        frame,
        text,
    ),
    "boosting, weighted": (
        lambda: BoostingClassifier(max_iter=3, monotonic_cst={"a": 1}),
        frame,
        two,
    ),
    "boosting, stopped early": (
        lambda: BoostingClassifier(max_iter=6, early_stopping=True, random_state=0),
        lambda: rows()[0],
        two,
    ),
    "boosting, three classes": (lambda: BoostingClassifier(max_iter=2), lambda: rows()[0], three),
    "boosting, no tree": (lambda: BoostingClassifier(max_iter=0), lambda: rows()[0], two),
    "boosting, curves": (
        lambda: BoostingClassifier(algorithm="additive", max_iter=3, random_state=0),
        frame,
        two,
    ),
    "tree": (lambda: TreeClassifier("Beta(2, 3)", min_samples_leaf=5, **COSTS), frame, text),
    "tree, pruned": (
        lambda: TreeClassifier(ccp_alpha="one_se", cv=3, min_samples_leaf=3, random_state=0),
        frame,
        two,
    ),
    "tree, three classes": (lambda: TreeClassifier("CostWeighted(0.3)"), lambda: rows()[0], three),
    "forest": (
        lambda: ForestClassifier("Beta(2, 3)", n_estimators=3, oob_score=True, random_state=0, **COSTS),
        frame,
        text,
    ),
    "forest, three classes": (
        lambda: ForestClassifier(n_estimators=2, splitter="random", bootstrap=False, random_state=0),
        lambda: rows()[0],
        three,
    ),
    "rules": (lambda: RuleClassifier(n_rules=4, **COSTS), frame, text),
    "rules, of a bag": (lambda: RuleClassifier("bag", n_rules=3), lambda: rows()[0], two),
    "rules, three classes": (lambda: RuleClassifier(n_rules=2), frame, three),
    "linear": (
        lambda: LinearClassifier(losses.Tailored(0.1, 2) + losses.Log(), **COSTS),
        lambda: frame()[["a", "c"]],
        text,
    ),
    "kernel": (lambda: KernelClassifier(n_landmarks=20, width=0.5, alpha=0.001, **COSTS), frame, text),
    "kernel, three classes": (lambda: KernelClassifier(width=1.0, alpha=0.01), lambda: rows()[0], three),
    "linear, link": (lambda: LinearClassifier("Log", link="Probit"), lambda: rows()[0], two),
    "linear, three classes": (LinearClassifier, lambda: rows()[0], three),
}


@cache
def fitted(name):
    """The model and its training rows."""
    make, table, labels = MODELS[name]
    return make().fit(table(), labels()), table()
