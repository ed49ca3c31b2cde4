"""How the golden files were made: ``python make.py DIR RELEASE``, with that release installed.

The files of a release were written by it and must load for ever. Never write them again: a new version adds a
folder and a function of its own.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from propriety import (
    AutoClassifier,
    BoostingClassifier,
    ForestClassifier,
    LinearClassifier,
    RuleClassifier,
    TreeClassifier,
    losses,
)
from propriety.linear.updates import Norm, Uls


def rows():
    """Forty rows to predict, with missing values and categories, and the labels of two and three classes."""
    rng = np.random.default_rng(20261116)
    n = 240
    X = np.round(rng.normal(size=(n, 3)), 3)
    X[rng.random((n, 3)) < 0.05] = np.nan
    category = rng.integers(0, 4, n).astype(float)
    X = np.column_stack([X, category])
    score = np.nan_to_num(X[:, 0]) - 0.7 * np.nan_to_num(X[:, 1]) + (category == 2) + 0.5 * rng.normal(size=n)
    return X, (score > 0).astype(int), np.digitize(score, [-0.6, 0.8])


def models_of_0_1(X, two, three):
    """A model of every kind."""
    filled = np.nan_to_num(X)
    small = {"max_iter": 5, "max_leaf_nodes": 4, "min_samples_leaf": 5, "categorical_features": [3]}
    weight = 1.0 + (np.arange(len(two)) % 3)
    text = np.array(["no", "yes"])[two]
    frame = pd.DataFrame(X, columns=["age", "size", "dose", "site"])
    return {
        "boosting": (BoostingClassifier(fn_cost=4, **small).fit(X, text, weight), X),
        "boosting-frame": (
            BoostingClassifier(
                "2 * Log() + Beta(6, 14)",
                gain=2.0,
                step="gradient",
                **(small | {"categorical_features": ["site"]}),
            ).fit(frame, two),
            frame,
        ),
        "boosting-classes": (
            BoostingClassifier("Squared", **small).fit(X, three),
            X,
        ),
        "boosting-ovr": (BoostingClassifier("Matsushita", multiclass="ovr", **small).fit(X, three), X),
        "boosting-curves": (
            BoostingClassifier(
                "Tailored(0.2, 5)", weak_learner="histogram", max_iter=6, min_samples_leaf=10
            ).fit(X, two),
            X,
        ),
        "linear": (
            LinearClassifier("Log", link="Probit", alpha=0.01, fp_cost=1, fn_cost=3).fit(filled, text),
            filled,
        ),
        "linear-classes": (
            LinearClassifier(losses.simplex.Power(0.5), alpha=0.05).fit(filled, three),
            filled,
        ),
        "tree": (
            TreeClassifier(
                "CascadeDown(8)", max_leaf_nodes=6, min_samples_leaf=5, categorical_features=[3]
            ).fit(X, two),
            X,
        ),
        "tree-costs": (
            TreeClassifier("CostWeighted(0.3)", max_leaf_nodes=5, min_samples_leaf=5).fit(X, text),
            X,
        ),
        "tree-classes": (
            TreeClassifier(
                max_leaf_nodes=6, min_samples_leaf=5, ccp_alpha="one_se", cv=3, random_state=0
            ).fit(X, three),
            X,
        ),
        "rules": (RuleClassifier(n_rules=4, categorical_features=[3]).fit(X, two), X),
        "rules-bag": (RuleClassifier("bag", n_rules=4, fn_cost=2).fit(X, two), X),
        "rules-classes": (RuleClassifier("Matsushita", n_rules=3).fit(X, three), X),
    }


def models_of_0_2(X, two, three):
    """Models with the parameters of 0.2 that are called otherwise now, and of the kinds that 0.1 had not."""
    filled, text = np.nan_to_num(X), np.array(["no", "yes"])[two]
    small = {"max_iter": 5, "max_leaf_nodes": 4, "min_samples_leaf": 5}
    matrix = [[0.0, 1.0, 4.0], [3.0, 0.0, 1.0], [9.0, 9.0, 0.0]]
    papers = {"init": "zero", "learning_rate": 1.0, "max_step": None, "weak_learner": "stump"}
    return {
        "boosting": (BoostingClassifier(fn_cost=4, tp_benefit=1, pos_label="no", **small).fit(X, text), X),
        "boosting-default": (BoostingClassifier(random_state=0).fit(X, two), X),
        "boosting-weighted": (
            BoostingClassifier(class_weight="balanced", correct_class_weight=True, **small).fit(X, two),
            X,
        ),
        "boosting-unweighted": (BoostingClassifier(class_weight={0: 1, 1: 3}, **small).fit(X, two), X),
        "boosting-adaboost": (
            BoostingClassifier(
                "Exponential", step="sign", criterion="gradient", coefficient="line", max_iter=5, **papers
            ).fit(X, two),
            X,
        ),
        "boosting-sequential": (
            BoostingClassifier(
                losses.simplex.MH(),
                step="sign",
                coefficient="bregman",
                multiclass="sequential",
                max_iter=5,
                **(papers | {"weak_learner": "histogram"}),
            ).fit(X, three),
            X,
        ),
        "boosting-gain": (
            BoostingClassifier(
                "GLog()", gain="cv", step="gradient", weak_learner="histogram", max_intervals=4, max_iter=5
            ).fit(X, two),
            X,
        ),
        "boosting-classes": (
            BoostingClassifier(
                cost_matrix=matrix, max_features_tree=0.5, tol=1e-3, scoring="accuracy", **small
            ).fit(X, three),
            X,
        ),
        "forest": (ForestClassifier(n_estimators=3, fn_cost=4, random_state=0).fit(X, text), X),
        "auto": (AutoClassifier(n_estimators=10, n_folds=3, fn_cost=4, random_state=0).fit(X, text), X),
        "linear-uls": (
            LinearClassifier(solver=Uls("all"), max_iter=50, tol=1e-3).fit(filled, two),
            filled,
        ),
        "linear-norm": (
            LinearClassifier(solver=Norm(3.0), max_iter=50, tol=1e-3).fit(filled, two),
            filled,
        ),
        "rules-bag": (RuleClassifier("bag", bag=2, choose="edge", n_rules=3).fit(X, two), X),
        "tree": (TreeClassifier(stakes=True, max_leaf_nodes=6, abstain_label="none").fit(X, two), X),
    }


MODELS = {"0.1.0": models_of_0_1, "0.2.0": models_of_0_2}


def main(folder, release):
    """Write each model beside what it predicts."""
    X, two, three = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = MODELS[release](X, two, three)
    folder.mkdir(parents=True, exist_ok=True)
    expected = {"rows": X[:40]}
    for name, (model, table) in fitted.items():
        model.save(folder / f"{name}.propriety")
        shown = table[:40]
        expected |= {
            f"{name}.score": model.decision_function(shown),
            f"{name}.probability": model.predict_proba(shown),
            f"{name}.decision": model.predict(shown),
        }
    np.savez_compressed(folder / "expected.npz", **expected)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
