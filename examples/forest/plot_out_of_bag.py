"""
A forest that judges itself
===========================

Every tree of a random forest leaves out about a third of the rows. The trees' predictions for rows they have
not seen are as good as for new rows, so the out-of-bag loss tells when there are enough trees, and whether
probabilities are right, without a held-out fold.
"""

# %%
# How many trees?
# ---------------
# The loss falls with the number of trees, and ever more slowly. Out of bag only some 37 of 100 trees predict
# a row, so the curve of new rows is ahead.

import matplotlib.pyplot as plt
import numpy as np

from propriety import ForestClassifier, losses, plots


def draw(n, rng):
    """Rows whose label depends on one column, and on the product of two others."""
    X = rng.normal(size=(n, 8))
    eta = 1 / (1 + np.exp(-(1.5 * X[:, 0] + 2 * X[:, 1] * X[:, 2] - 0.5)))
    return X, (rng.random(n) < eta).astype(int)


rng = np.random.default_rng(0)
X, y = draw(1_000, rng)
new, labels = draw(5_000, rng)
numbers = [5, 10, 20, 50, 100, 200]
out_of_bag, held_out = [], []
for n_estimators in numbers:
    model = ForestClassifier(n_estimators=n_estimators, oob_score=True, random_state=0).fit(X, y)
    out_of_bag.append(model.oob_score_)
    held_out.append(np.mean(losses.Log().loss(labels, model.predict_proba(new)[:, 1])))

fig, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.plot(numbers, out_of_bag, "o-", color="#0072B2", label="out of bag")
ax.plot(numbers, held_out, "o--", color="#D55E00", label="new rows")
ax.set(xscale="log", xlabel="trees", ylabel="log loss")
ax.set_xticks(numbers, [str(number) for number in numbers])
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()

# %%
# Are the probabilities right?
# ----------------------------
# The reliability of the rows out of bag shows it as well as that of new rows would.

display = plots.ReliabilityDisplay.from_predictions(y, model.oob_decision_function_[:, 1])
display.ax_.set_title("out of bag")
plt.show()
