"""
A smooth decision boundary
==========================

Where the probability changes smoothly with the columns, trees approximate it by steps. A kernel machine is a
sum of Gaussians around rows of the training table, so its probabilities are smooth, and so is the boundary
at which the decision changes.
"""

# %%
# Hills and valleys
# -----------------
# The log-odds are a product of waves. Both models are fitted to the log loss with their defaults. A miss
# costs four times a false alarm, so that the decision changes at a probability of 0.2, the black line.

import matplotlib.pyplot as plt
import numpy as np

from propriety import BoostingClassifier, KernelClassifier


def draw(n, rng):
    """Rows of two columns, and labels whose log-odds are smooth in them."""
    X = rng.uniform(-3, 3, size=(n, 2))
    eta = 1 / (1 + np.exp(-5 * np.sin(X[:, 0]) * np.cos(X[:, 1])))
    return X, (rng.random(n) < eta).astype(int)


rng = np.random.default_rng(0)
X, y = draw(500, rng)
new_X, new_y = draw(4_000, rng)
models = [KernelClassifier(fn_cost=4).fit(X, y), BoostingClassifier(fn_cost=4, random_state=0).fit(X, y)]

grid = np.linspace(-3, 3, 150)
points = np.column_stack([axis.ravel() for axis in np.meshgrid(grid, grid)])
fig, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharey=True)
for ax, model in zip(axes, models, strict=True):
    P = model.predict_proba(points)[:, 1].reshape(len(grid), -1)
    ax.contourf(grid, grid, P, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.7)
    ax.contour(grid, grid, P, levels=[0.2], colors="k", linewidths=1)
    ax.scatter(*X.T, c=y, cmap="RdBu_r", s=6, edgecolors="k", linewidths=0.3)
    ax.set(title=type(model).__name__, xticks=[], yticks=[])
plt.show()

# %%
# On new rows
# -----------
# The loss of the probabilities, and the share of the possible cost that the decisions avoid.

for model in models:
    p = model.predict_proba(new_X)[np.arange(len(new_y)), new_y]
    print(f"{type(model).__name__}: log loss {-np.log(p).mean():.3f}, score {model.score(new_X, new_y):.3f}")

# %%
# What was chosen
# ---------------
# Folds compare four widths and nine strengths of the ridge.

kernel = models[0]
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
for width, losses in zip(kernel.widths_, kernel.cv_loss_, strict=True):
    ax.plot(kernel.alphas_, losses, "o-", label=f"width {width:g}", ms=3)
ax.set(xscale="log", xlabel="ridge", ylabel="log loss of held-out rows")
ax.legend(frameon=False)
plt.show()
