"""The main job on a data set that ships with scikit-learn: state two costs, fit, decide, compare.

A tumour is to be called malignant or not; missing a malignant one costs nine times a false alarm. Every
model sees the same folds; what counts is the mean cost of its decisions on rows it has not seen.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propriety.boosting import BoostingClassifier
from propriety.linear import LinearClassifier
from propriety.losses import CostWeighted

FP_COST, FN_COST = 1.0, 9.0
REPEATS = 3
# Five measurements of the cell nuclei; with all thirty every model is nearly perfect.
COLUMNS = slice(0, 5)


def models() -> dict[str, tuple[BaseEstimator, float]]:
    """Models to compare, each with the probability from which it decides for class 1."""
    threshold = FP_COST / (FP_COST + FN_COST)
    costs = {"fp_cost": FP_COST, "fn_cost": FN_COST}
    return {
        "logistic regression, threshold 1/2": (_scaled(LogisticRegression()), 0.5),
        "logistic regression, threshold 0.1": (_scaled(LogisticRegression()), threshold),
        "LinearClassifier(fp_cost=1, fn_cost=9)": (
            _scaled(LinearClassifier(alpha=0.001, **costs)),
            threshold,
        ),
        "BoostingClassifier(fp_cost=1, fn_cost=9)": (BoostingClassifier(**costs, random_state=0), threshold),
    }


def compare() -> list[tuple[str, float, float, float]]:
    """Rows of (model, cost of 1,000 decisions, false alarms, misses), the counts for 1,000 decisions too."""
    data = load_breast_cancer()
    X, y = data.data[:, COLUMNS], (data.target == 0).astype(int)  # class 1: malignant
    c = FP_COST / (FP_COST + FN_COST)
    rows = []
    for name, (model, threshold) in models().items():
        costs, alarms, misses = [], [], []
        for repeat in range(REPEATS):
            folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=repeat)
            p = cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1]
            # The cost-weighted loss decides at c; moving p there makes it decide where the model does.
            decided = np.where(p >= threshold, 1.0, 0.0)
            costs.append(float(np.mean(CostWeighted(c).loss(y, decided))) * (FP_COST + FN_COST))
            alarms.append(float(np.mean((decided == 1) & (y == 0))))
            misses.append(float(np.mean((decided == 0) & (y == 1))))
        rows.append(
            (name, 1000 * float(np.mean(costs)), 1000 * float(np.mean(alarms)), 1000 * float(np.mean(misses)))
        )
    return rows


def main() -> None:
    """Print the comparison."""
    print("Breast cancer, 569 tumours, 5 measurements; a false alarm costs 1, a miss 9.")
    print(f"Cost of 1,000 decisions on unseen rows, mean of {REPEATS} five-fold cross-validations:\n")
    print(f"{'model':<42}{'cost':>8}{'false alarms':>15}{'misses':>9}")
    for name, cost, alarms, misses in compare():
        print(f"{name:<42}{cost:8.1f}{alarms:15.1f}{misses:9.1f}")
    print("\nProbabilities and decisions: model.predict_proba(X), model.predict(X). More: README.md, docs/.")


def _scaled(model: BaseEstimator) -> BaseEstimator:
    return make_pipeline(StandardScaler(), model)
