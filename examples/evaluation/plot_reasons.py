"""
Why a decision, for whom, and what would change it
==================================================

A bank refuses loans that it expects to be repaid late. A refused applicant is owed reasons; the bank asks
what would change the decision, and whether groups of people are treated alike.
"""

# %%
# A model, judged on applicants that it has not seen
# --------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from propriety import BoostingClassifier, Costs, Study

rng = np.random.default_rng(0)
n = 3000
X = pd.DataFrame(
    {
        "amount": rng.lognormal(8, 0.6, n).round(-1),
        "duration": rng.choice([6, 12, 24, 36, 48], n),
        "age": rng.integers(19, 75, n),
        "sex": pd.Categorical(rng.choice(["female", "male"], n)),
    }
)
score = 1.1 * (np.log(X["amount"]) - 8) + 0.04 * (X["duration"] - 24) - 0.03 * (X["age"] - 40) - 2
y = np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "late", "paid")
model = BoostingClassifier(costs=Costs(fn=4, pos_label="late"), random_state=0).fit(X[:2000], y[:2000])
study = Study.from_estimator(model, X[2000:], y[2000:])
print(study)

# %%
# Reasons
# -------
# Points are what a column adds to the score of the decision, here against the mean of those who got a loan.

refused = X[2000:][model.predict(X[2000:]) == "late"][:3]
print(model.reasons(refused, n=2, reference=X[:2000]).round(2).to_string(index=False))

# %%
# What would change the decision
# ------------------------------
# The smallest change of the amount or the duration with which the model decides otherwise, for decisions that
# were close.

for found in study.counterfactuals(actionable=["amount", "duration"], n=4):
    print(
        study.labels[study.decided[found.row]], found.flip.changes if found.flip else "nothing that was tried"
    )

# %%
# Groups of people
# ----------------
# What decisions cost in each group, and how that differs from all other rows, with 95% intervals.

groups = [part for by in ("sex", "age") for part in study.subgroups(by)]
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, title, estimates in (
    (axes[0], "mean cost of a decision", [part.cost for part in groups]),
    (
        axes[1],
        "share of late ones missed, less that of all others",
        [part.differences["missed"] for part in groups],
    ),
):
    middle = np.array([e.value for e in estimates])
    ends = np.abs(np.array([(e.low, e.high) for e in estimates]).T - middle)
    ax.errorbar(middle, range(len(groups)), xerr=ends, fmt="o", capsize=3)
    ax.set(title=title, yticks=range(len(groups)), yticklabels=[part.name for part in groups])
axes[1].axvline(0, color="grey", linewidth=0.8)
plt.show()
