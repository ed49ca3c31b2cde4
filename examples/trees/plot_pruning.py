"""
How large a tree? Pruning in the loss itself
============================================

A tree is grown large and then pruned: each leaf has a price α, and the subtree with the least loss plus price
is kept. The loss here is the tree's own, so a tree grown by the log loss is pruned by the log loss, and one
grown for a cost is pruned by that cost. The price is chosen by cross-validation.
"""

# %%
# The path
# --------
# ``ccp_alpha="one_se"`` takes the smallest subtree whose held-out loss is within one standard error of the
# least.

import matplotlib.pyplot as plt
import numpy as np

from propriety import TreeClassifier, plots

rng = np.random.default_rng(0)
n = 1_500
X = rng.normal(size=(n, 6))
eta = 1 / (1 + np.exp(-(2 * (X[:, 0] > 0) + 1.5 * (X[:, 1] > 0.5) * (X[:, 2] > 0) - 1.5)))
y = (rng.random(n) < eta).astype(int)

fig, axes = plt.subplots(1, 2, figsize=(7.4, 3), layout="constrained")
models = {}
for ax, loss, label in (
    (axes[0], "Log()", "log loss"),
    (axes[1], "CostWeighted(0.4)", "cost-weighted loss, c = 0.4"),
):
    model = TreeClassifier(
        loss, fp_cost=2, fn_cost=3, ccp_alpha="one_se", max_leaf_nodes=40, min_samples_leaf=5, random_state=0
    )
    path = model.fit(X, y).pruning_path_
    low, high = path.cv_losses - path.cv_errors, path.cv_losses + path.cv_errors
    ax.fill_between(path.n_leaves, low, high, color="0.85")
    ax.plot(path.n_leaves, path.losses, "--", color="#0072B2", label="training rows")
    ax.plot(path.n_leaves, path.cv_losses, color="#D55E00", label="held-out rows ± s.e.")
    chosen = model.get_n_leaves()
    ax.axvline(chosen, color="0.4", linestyle=":", label=f"one s.e.: {chosen} leaves")
    ax.set(xscale="log", xlabel="leaves", ylabel=label)
    ax.set_xticks([1, 2, 5, 10, 20, 40], ["1", "2", "5", "10", "20", "40"])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=7.5)
    models[loss] = model
plt.show()

# %%
# The tree that is left
# ---------------------
# The rows were made with three thresholds: 0 in x0 and x2, 0.5 in x1. The log loss finds them all. A tree
# grown for the decision at 0.4 alone asks a needless question: a loss that looks at one probability is a poor
# guide to the first splits, and the log loss decides as well.

for loss, model in models.items():
    print(loss, model.export_text(decimals=2), sep="\n", end="\n\n")
plots.tree(models["Log()"])
plt.show()
