"""
Is another loss worth it?
=========================

A linear model cannot be right everywhere on Hand and Vinciotti's staircase, whose boundaries of equal
probability turn with the threshold. A loss that looks at one threshold makes it right there. Boosted trees
can be right everywhere, and have little to gain. :class:`~propriety.LossSearchCV` finds out, and says so.

Buja, Stuetzle & Shen (2005), section 14; Hand & Vinciotti (2003).
"""

# %%
# The staircase: η is the angle of x as a share of the right angle. A false alarm costs 3, a miss 7.

import matplotlib.pyplot as plt
import numpy as np

from propriety import BoostingClassifier, LinearClassifier, LossSearchCV, losses

rng = np.random.default_rng(0)
X = rng.random((4000, 2))
eta = np.arccos(X[:, 0] / np.hypot(*X.T)) / (np.pi / 2)
y = (rng.random(4000) < eta).astype(int)

# %%
# The same search for both models: the log loss and tailored losses of growing focus, judged by the cost of
# decisions on held-out rows. The verdict is about rows that took no part in the choice.

FOCUS = [5, 20]

models = {
    "linear": LinearClassifier(alpha=1e-4, tol=1e-4),
    "boosted trees": BoostingClassifier(max_iter=30, max_leaf_nodes=8, min_samples_leaf=40),
}
searches = {}
for name, model in models.items():
    tried = [losses.Tailored(0.3, focus) for focus in FOCUS]
    searches[name] = LossSearchCV(model, tried, fp_cost=3, fn_cost=7, cv=5).fit(X, y)
    print(f"{name}: {searches[name].verdict_}\n")

# %%
# Here the truth is known, so the verdicts can be checked: the cost that the chosen loss and the log loss
# really have, from η on 100,000 other rows. The linear model's saving is real, but 4,000 rows hardly show it,
# and this sample is a lucky one: on six other samples of the same size no gain could be told from chance, nor
# with 3,000 or 6,000 rows and other values of focus. A verdict of "nothing" means not shown, not absent.

others = rng.random((100_000, 2))
truth = np.arccos(others[:, 0] / np.hypot(*others.T)) / (np.pi / 2)


def true_cost(model):
    """Expected cost of 1,000 decisions."""
    return 1000 * np.mean(np.where(model.predict(others) == 1, 3 * (1 - truth), 7 * truth))


for name, model in models.items():
    log = true_cost(model.set_params(loss="Log", fp_cost=3, fn_cost=7).fit(X, y))
    chosen = true_cost(searches[name].best_estimator_)
    print(f"{name}: 1,000 decisions cost {log:.0f} with the log loss, {chosen:.0f} with the chosen one")

# %%
# What each loss saves against the log loss, with one standard error of the paired difference. The one that
# the search took is filled.

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
labels = ["log loss", *(str(focus) for focus in FOCUS)]
styles = (("#0072B2", -0.06), ("#D55E00", 0.06))
for (name, search), (colour, shift) in zip(searches.items(), styles, strict=True):
    saved, error = 1000 * search.cv_results_["gain"], 1000 * search.cv_results_["gain_se"]
    at = np.arange(len(labels)) + shift
    ax.errorbar(at, saved, error, fmt="o-", color=colour, mfc="white", capsize=3, lw=1.2, label=name)
    best = search.best_index_
    ax.plot(at[best], saved[best], "o", color=colour, ms=8, zorder=5)
ax.axhline(0, color="0.6", lw=0.8, zorder=0)
ax.set(xlabel="focus of the tailored loss", ylabel="saved per 1,000 decisions", xticks=range(len(labels)))
ax.set_xticklabels(labels)
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
