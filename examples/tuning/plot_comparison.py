"""
Losses compared on real data
============================

A small version of ``benchmarks/quality.py``: three learners with the log loss, a tailored loss and the loss
that :class:`~propriety.LossSearchCV` chooses, beside scikit-learn's logistic regression, on data sets that
come with scikit-learn. A false alarm costs 1, a miss 9; every model decides at 0.1, on rows that it has not
seen.
"""

# %%
# Two yes-or-no questions: malignant or not, an even digit or not (from every fourth image, with every other
# row of pixels).

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from propriety import BoostingClassifier, LinearClassifier, LossSearchCV, TreeClassifier

FP_COST, FN_COST = 1, 9
costs = {"fp_cost": FP_COST, "fn_cost": FN_COST}


def questions():
    """Names, tables and labels."""
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", X, (y == 0).astype(int)
    X, y = load_digits(return_X_y=True)
    rows = np.arange(64).reshape(8, 8)[::2].ravel()
    yield "even digits", X[::4, rows], (y[::4] % 2 == 0).astype(int)


learners = {
    "boosting": BoostingClassifier(max_iter=25, random_state=0, **costs),
    "linear": LinearClassifier(alpha=0.003, tol=1e-4, **costs),
    "tree": TreeClassifier(random_state=0, **costs),
}
models = {"logistic regression": LogisticRegression(max_iter=1000)}
for name, learner in learners.items():
    models[f"{name}, log loss"] = learner.set_params(loss="Log")
    models[f"{name}, tailored"] = type(learner)(**{**learner.get_params(), "loss": "Tailored(0.1, 5)"})
    models[f"{name}, chosen"] = LossSearchCV(learner, ["Tailored(0.1, 5)"], cv=3)

# %%
# Out-of-fold probabilities of three folds, decided by the costs.

folds = StratifiedKFold(3, shuffle=True, random_state=0)
table = {}
for question, X, y in questions():
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scaled = make_pipeline(StandardScaler(), model)
            p = cross_val_predict(scaled, X, y, cv=folds, method="predict_proba")[:, 1]
        decided = p >= FP_COST / (FP_COST + FN_COST)
        cost = np.where(decided, FP_COST * (y == 0), FN_COST * (y == 1))
        table[question, name] = 1000 * cost.mean(), 1000 * cost.std() / np.sqrt(len(y))

# %%
# The cost of 1,000 decisions with one standard error. The learner matters more than its loss, and most
# differences between losses are within their errors: read a single data set with care.

asked = list(dict.fromkeys(question for question, _ in table))
fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.8), layout="constrained", sharey=True)
colours = {"log loss": "#0072B2", "tailored": "#D55E00", "chosen": "#009E73", "logistic regression": "0.4"}
for ax, question in zip(axes, asked, strict=True):
    for row, name in enumerate(models):
        mean, error = table[question, name]
        ax.errorbar(mean, row, xerr=error, fmt="o", color=colours[name.split(", ")[-1]], capsize=3)
    ax.set(title=question, xlabel="cost of 1,000 decisions", xlim=(0, None))
    ax.grid(axis="y", color="0.92")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_yticks(range(len(models)), list(models))
axes[0].invert_yaxis()
plt.show()
