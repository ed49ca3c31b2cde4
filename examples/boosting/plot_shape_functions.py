"""
An additive model and its curves
================================

With weak learners that look at one feature each, a boosted model is a sum of curves, one per feature, and can
be read in full. Here the truth is additive except for one pair, so we know what to look for.
"""

# %%
# Five features: a wave, a step, a parabola with missing values, a category, and one that does nothing. The
# wave and the step also act together.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from propriety import BoostingClassifier, plots
from propriety.boosting import Algorithm

rng = np.random.default_rng(0)
n = 12_000
X = pd.DataFrame(
    {
        "wave": rng.uniform(-3, 3, n),
        "step": rng.normal(size=n),
        "parabola": rng.normal(size=n),
        "site": pd.Categorical(rng.choice(["north", "east", "south", "west"], n, p=[0.4, 0.3, 0.2, 0.1])),
        "nothing": rng.exponential(size=n),
    }
)
effect = {"north": -0.5, "east": 0.0, "south": 0.5, "west": 1.0}
score = np.sin(2 * X["wave"]) + (X["step"] > 0.5) + 0.5 * X["parabola"] ** 2 - 0.8
score += X["site"].map(effect).astype(float) + 0.8 * (X["wave"] > 0) * (X["step"] > 0.5)
y = rng.random(n) < 1 / (1 + np.exp(-score))
X.loc[rng.random(n) < 0.1, "parabola"] = np.nan
train, test = slice(0, 8000), slice(8000, None)

# %%
# Stumps
# ------
# ``plots.shape_functions`` draws each curve over the density of the training rows: where there are no rows, a
# curve says nothing. The dotted line is the value for missing values.

model = BoostingClassifier(algorithm=Algorithm(weak_learner="stump"), max_iter=400).fit(X[train], y[train])
plots.shape_functions(model)
plt.show()

# %%
# The score of a row is the intercept and its value on every curve, to the last digits:

shapes = model.shape_functions()
row = X.iloc[[8000]]
for curve in shapes:
    print(f"{curve.axis.name:10s} {curve(row[curve.axis.name])[0]:+.4f}")
total = shapes.intercept + sum(curve(row[curve.axis.name])[0] for curve in shapes)
print(f"intercept  {shapes.intercept:+.4f}, sum {total:.12f}, score {model.decision_function(row)[0]:.12f}")

# %%
# Pairs
# -----
# Trees that may combine two features, and no more, are a sum of curves and of surfaces.

pairs = BoostingClassifier(interaction_cst="pairwise", max_leaf_nodes=6, max_iter=150).fit(X[train], y[train])
plots.shape_functions(pairs, features=["wave", "step"], surfaces=1)
plt.show()

# %%
# Held-out log loss of the two, of histogram learners, and of trees that may combine everything:

histogram = BoostingClassifier(algorithm="additive", max_bins=30, max_iter=150).fit(X[train], y[train])
trees = BoostingClassifier(max_iter=60).fit(X[train], y[train])
for name, m in {"stumps": model, "histogram": histogram, "pairs": pairs, "trees": trees}.items():
    p = m.predict_proba(X[test])[:, 1]
    print(f"{name:10s} {-np.mean(np.log(np.where(y[test], p, 1 - p))):.4f}")
