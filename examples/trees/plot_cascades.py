"""
Trees that cascade, on the Pima Indians' diabetes data
======================================================

The entropy decides what a tree looks for. The Gini index treats all probabilities alike and grows a balanced
tree. An entropy with its weight at high probabilities peels off the rows of highest risk first, one with its
weight at low probabilities those of lowest risk: the tree becomes a list of rules, ordered by probability.

Buja, Stuetzle & Shen (2005), section 18, Figures 9 to 11.
"""

# %%
# The data
# --------
# 752 women, as in the paper: rows without plasma or body mass are left out. The file is looked for in a
# folder ``data`` or ``shared/data`` here or above; without it this page has only words.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from propriety import TreeClassifier, losses, plots

names = ["pregnant", "plasma", "pressure", "skin", "insulin", "b.mass", "pedigree", "age"]
places = [
    parent / folder / "pima-indians-diabetes.data"
    for parent in (Path.cwd(), *Path.cwd().parents)
    for folder in ("data", "shared/data")
]
source = next((place for place in places if place.exists()), None)
if source is None:
    print("pima-indians-diabetes.data is not here: put it in a folder 'data' to run this example.")
else:
    rows = np.loadtxt(source, delimiter=",")
    rows = rows[(rows[:, 1] > 0) & (rows[:, 5] > 0)]
    X, y = pd.DataFrame(rows[:, :8], columns=names), rows[:, 8].astype(int)
    print(f"{len(y)} women, {y.mean():.0%} with diabetes")

# %%
# Three entropies
# ---------------
# Each is scaled to its largest value. What a split gains is how far the entropy bends between the shares of
# its two sides: q(1 − q¹⁶) bends only near 1, its mirror image with 31 only near 0.

fig, ax = plt.subplots(figsize=(5, 2.8), layout="constrained")
p = np.linspace(0, 1, 401)
for loss, colour, style in (
    ("Squared()", "#000000", "-"),
    ("CascadeUp(16)", "#D55E00", "--"),
    ("CascadeDown(31)", "#0072B2", "-."),
):
    H = losses.parse(loss).entropy(p)
    ax.plot(p, H / H.max(), style, color=colour, label=loss)
ax.set(xlabel="share q of class 1", ylabel="entropy H(q) / max H", xlim=(0, 1), ylim=(0, 1.05))
ax.legend(frameon=False, fontsize=8)
plt.show()

# %%
# The Gini index
# --------------
# Splits are balanced, and the leaves' probabilities are in no particular order.

if source is not None:
    limits = {"min_samples_leaf": 46, "max_leaf_nodes": None, "smoothing": None}
    gini = TreeClassifier("Squared", **limits).fit(X, y)
    plots.tree(gini, class_names=["healthy", "diabetes"])
    plt.show()

# %%
# From the highest probability down
# ---------------------------------
# The first leaf is the paper's: plasma above 166, 86 % with diabetes. As the cascade goes on, its thresholds
# of plasma and its probabilities fall together: plasma goes with diabetes.

if source is not None:
    up = TreeClassifier("CascadeUp(16)", **limits).fit(X, y)
    plots.tree(up, class_names=["healthy", "diabetes"])
    plt.show()

# %%
# From the lowest probability up
# ------------------------------
# None of the 48 women of least body mass has diabetes. The other end of the cascade is a crisper group of
# high risk than the first leaf of the tree before.

if source is not None:
    down = TreeClassifier("CascadeDown(31)", **limits).fit(X, y)
    plots.tree(down, class_names=["healthy", "diabetes"])
    plt.show()

# %%
# Ten tests, four conditions
# --------------------------
# The path to that group is ten tests long, but most of them are on the same variables. ``rules`` merges them;
# the paper has *plasma > 155*, *pedigree > 0.3*, *b.mass > 29.9* and *age > 24*, with 91 %.

if source is not None:
    best = max(down.rules(), key=lambda rule: rule.probabilities[1])
    print(f"{len(down.tree_.path(best.node)) - 1} tests, {len(best.conditions)} conditions:")
    print(f"    {best}: {best.probabilities[1]:.0%} of {best.weight:.0f}")

# %%
# What it costs
# -------------
# A cascade is made to be read. Where probabilities are what counts, it pays for that: log losses from
# ten-fold cross-validation, repeated three times, of trees with at least 46 rows per leaf, smoothed by one
# row.

if source is not None:
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=3, random_state=0)
    for loss in ("Log()", "Squared()", "CascadeUp(16)", "CascadeDown(31)"):
        model = TreeClassifier(loss, min_samples_leaf=46, max_leaf_nodes=None, n_jobs=1)
        found = -cross_val_score(model, X, y, cv=folds, scoring="neg_log_loss")
        print(f"{loss:16} {found.mean():.4f}")
