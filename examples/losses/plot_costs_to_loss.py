"""
From costs to a loss
====================

A missed case costs four times as much as a false alarm. What should a model minimize?
"""

# %%
# The costs imply a threshold, c: say yes at a probability of c or more. The loss that counts the costs is a
# step at c, which no gradient can climb. ``Tailored(c, focus)`` spreads it: its weight is a hill around c,
# and with growing focus it tends, up to a factor, to the step.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from propriety import losses

fp_cost, fn_cost = 1, 4
c = fp_cost / (fp_cost + fn_cost)
focuses = [0, 5, 20, 80]
colours = [plt.colormaps["viridis"](x) for x in np.linspace(0, 0.85, len(focuses))]

p = np.linspace(0.002, 0.998, 999)
fig, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3), layout="constrained")
for focus, colour in zip(focuses, colours, strict=True):
    loss = losses.Tailored(c, focus)
    scale = np.mean(loss.weight(p[(p > 0.02) & (p < 0.98)]))
    left.plot(p, loss.weight(p) / scale, color=colour, label=f"focus {focus}")
    right.plot(p, loss.entropy(p) / loss.entropy(p).max(), color=colour)
cost = losses.CostWeighted(c)
right.plot(p, cost.entropy(p) / cost.entropy(p).max(), color="black", linestyle=":", label="cost-weighted")
left.axvline(c, color="black", linestyle=":", linewidth=1)
left.set(xlabel="probability p", ylabel="weight ω(p), mean 1", ylim=(0, 10))
right.set(xlabel="probability p", ylabel="entropy H(p), largest 1", ylim=(0, 1.05))
left.legend(frameon=False)
right.legend(frameon=False)

# %%
# What focus does to a model that cannot be right everywhere
# ----------------------------------------------------------
# Take one feature x, and a truth η(x) that no straight line in log-odds can follow. A loss takes a
# probability for a label, so we can fit the model to η itself, without the noise of a sample: minimize the
# mean of ℓ(η(x), p(a + b x)).

x = np.linspace(-3, 3, 601)
eta = 0.03 + 0.27 / (1 + np.exp(-6 * (x + 1))) + 0.65 / (1 + np.exp(-4 * (x - 2)))


def fit(loss, start):
    """Intercept and slope that minimize the expected loss."""
    composite = loss.composite()

    def objective(b):
        F = b[0] + b[1] * x
        gradient, _ = composite.derivatives(eta, F)
        scale = np.max(loss.entropy(p))
        value = np.mean(composite.value(eta, F)) / scale
        return value, np.array([gradient.mean(), np.mean(gradient * x)]) / scale

    return minimize(objective, start, jac=True, method="BFGS").x


fig, ax = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
ax.plot(x, eta, color="black", linewidth=2, label="truth η(x)")
b = np.zeros(2)  # each fit starts from the one before, because focused losses are not convex
for focus, colour in zip(focuses, colours, strict=True):
    b = fit(losses.Tailored(c, focus), b)
    ax.plot(x, 1 / (1 + np.exp(-b[0] - b[1] * x)), color=colour, label=f"focus {focus}")
    decided = b[0] + b[1] * x >= np.log(c / (1 - c))
    mean_cost = np.mean(np.where(decided, (1 - eta) * fp_cost, eta * fn_cost))
    print(f"focus {focus:2}: mean cost {mean_cost:.4f}")
best = np.mean(np.minimum((1 - eta) * fp_cost, eta * fn_cost))
print(f"the truth: mean cost {best:.4f}")
ax.axhline(c, color="black", linestyle=":", linewidth=1)
ax.annotate("threshold c", (-2.9, c), xytext=(0, 3), textcoords="offset points", fontsize=8)
ax.set(xlabel="x", ylabel="probability", ylim=(0, 1))
ax.legend(frameon=False)

# %%
# The log loss (focus 0) is a compromise over the whole range, and crosses the threshold in the wrong place.
# With more focus the line gives up the right end, where the decision is plain, and crosses the threshold
# where the truth does. The cost of the decisions falls to nearly the least there is.
#
# What focus does to a model that can
# -----------------------------------
# Nothing. A model with a probability of its own for each of twelve bins of x is best, for every proper loss,
# at the mean of η in the bin. Where the model is flexible enough, the log loss will do, and the costs enter
# only in the decision.

bins = np.arange(len(x)) * 12 // len(x)
means = np.array([eta[bins == k].mean() for k in range(12)])
for focus in focuses:
    composite = losses.Tailored(c, focus).composite()
    scores = np.linspace(-5, 5, 20_001)
    best_score = scores[np.argmin(composite.value(means[4], scores))]
    print(f"focus {focus:2}: best p for the fifth bin {composite.inverse(best_score):.3f}")
fifth = eta[bins == 4]
print(f"η in it: from {fifth.min():.3f} to {fifth.max():.3f}, mean {means[4]:.3f}")
