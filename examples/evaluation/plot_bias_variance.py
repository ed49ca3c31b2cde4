"""
Bias, variance and bounds for any loss
======================================

Larger trees have less bias and more variance: by how much depends on the loss. And how much can a probability
that is a little wrong cost in decisions? A bound answers that, shown beside what is observed.
"""

# %%
# Data whose true probabilities are known, so that noise, bias and variance are told apart; trees of growing
# depth, fitted to 12 bootstrap samples each.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from propriety.evaluation import theory

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(1500, 4))
eta = 1 / (1 + np.exp(-4 * X[:, 0] * X[:, 1] - 2 * X[:, 2]))
y = (rng.uniform(size=len(X)) < eta).astype(int)
DEPTHS = range(1, 10)
COLOURS = {"noise": "0.75", "bias": "#0072B2", "variance": "#E69F00"}

fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.3), layout="constrained")
for ax, loss in zip(axes, ("Squared", "Log"), strict=True):
    parts = [
        theory.bias_variance(
            DecisionTreeClassifier(max_depth=depth, min_samples_leaf=5),
            X,
            y,
            loss,
            eta=eta,
            n_repeats=12,
            clip=0.01,
            random_state=0,
        )
        for depth in DEPTHS
    ]
    ax.stackplot(
        DEPTHS,
        *([getattr(p, part) for p in parts] for part in COLOURS),
        labels=COLOURS,
        colors=COLOURS.values(),
    )
    best = int(np.argmin([p.total for p in parts]))
    ax.axvline(DEPTHS[best], color="black", linewidth=0.8, linestyle="--")
    ax.set(xlabel="depth of the tree", ylabel=f"mean {loss.lower()} loss", xlim=(1, 9))
    ax.set_title(f"{loss} loss: best at depth {DEPTHS[best]}")
axes[0].legend(loc="lower right", frameon=True, facecolor="white", framealpha=0.9)
plt.show()

# %%
# A model that shrinks the true probabilities towards one half, and what it loses by the log loss against
# the truth. That excess bounds what its decisions can lose at each cost c; the observed loss is below, as
# it must be.

shrunk = 0.5 + 0.7 * (eta - 0.5)
c = np.linspace(0.05, 0.95, 37)
found = [theory.cost_bound(y, shrunk, "Log", t, eta=eta) for t in c]
fig, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
ax.plot(c, [b.bound for b in found], color="#0072B2", linestyle="--", label="bound by the least weight")
ax.plot(c, [b.tight for b in found], color="#0072B2", label="bound by the convex minorant")
ax.plot(c, [b.excess_cost for b in found], color="#D55E00", label="observed")
ax.set(xlabel="cost c of a false alarm", ylabel="excess cost-weighted risk", xlim=(0, 1))
ax.set_ylim(bottom=0)
ax.legend(frameon=False)
plt.show()
