"""
Boosting with costs
===================

A miss costs nine false alarms. What is gained by deciding at the threshold that the costs imply, and what by
fitting a loss that is concentrated there? For boosted trees the threshold is nearly all of it, and a tailored
loss loses; this example measures both on rows that were not used for fitting.
"""

# %%
# Data with 14 % positives, and three models: log loss decided at one half, log loss decided by the costs, and
# tailored losses of growing focus decided by the costs.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from propriety import BoostingClassifier, losses

FP_COST, FN_COST = 1.0, 9.0
COST = FP_COST / (FP_COST + FN_COST)
FOCUS = [1, 2, 5, 10, 20]


def split(seed):
    """Training and test rows."""
    X, y = make_classification(
        6000, 12, n_informative=5, weights=[0.86], flip_y=0.05, class_sep=0.8, random_state=seed
    )
    return train_test_split(X, y, test_size=0.5, random_state=seed)


def cost_of(p, y, threshold):
    """Cost of 1,000 decisions."""
    alarms, misses = np.mean((p >= threshold) & (y == 0)), np.mean((p < threshold) & (y == 1))
    return 1000 * (FP_COST * alarms + FN_COST * misses)


settings = {"max_iter": 60, "learning_rate": 0.1, "max_leaf_nodes": 15, "random_state": 0}
half, log, tailored = [], [], []
for seed in range(3):
    X, X_test, y, y_test = split(seed)
    p = BoostingClassifier(**settings).fit(X, y).predict_proba(X_test)[:, 1]
    half.append(cost_of(p, y_test, 0.5))
    log.append(cost_of(p, y_test, COST))
    rows = []
    for focus in FOCUS:
        model = BoostingClassifier(loss=losses.Tailored(COST, focus), **settings).fit(X, y)
        rows.append(cost_of(model.predict_proba(X_test)[:, 1], y_test, COST))
    tailored.append(rows)

# %%
# The cost of 1,000 decisions, mean and range over three data sets.

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
mean = np.mean(tailored, axis=0)
ax.fill_between(FOCUS, np.min(tailored, axis=0), np.max(tailored, axis=0), color="#0072B2", alpha=0.15, lw=0)
ax.plot(FOCUS, mean, "o-", color="#0072B2", label="Tailored(0.1, focus), decided at 0.1")
ax.axhline(np.mean(log), color="#009E73", label="log loss, decided at 0.1")
ax.axhline(np.mean(half), color="#D55E00", ls="--", label="log loss, decided at 0.5")
ax.set(xscale="log", xlabel="focus", ylabel="cost of 1,000 decisions", xticks=FOCUS, xticklabels=FOCUS)
ax.set_ylim(bottom=0)
ax.minorticks_off()
ax.legend(frameon=False, loc="lower left")
plt.show()

# %%
# That is why ``BoostingClassifier(fp_cost=1, fn_cost=9)`` fits the log loss and lets the costs decide.
