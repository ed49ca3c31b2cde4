"""
Parallel, sequential, and iterative scaling
===========================================

Collins, Schapire and Singer's updates see logistic regression and AdaBoost as one problem with two Bregman
distances. This page repeats their three synthetic experiments: how fast the loss falls with many and with few
relevant features, and how the error on new data falls under the logistic and the exponential loss.

Collins, Schapire & Singer (2000), section 10, Figures 4 and 5.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from propriety import plots
from propriety.linear import LinearClassifier

warnings.simplefilter("ignore")  # the runs stop long before the minimum, on purpose

# %%
# A noisy hyperplane
# ------------------
# 300 points in 100 dimensions; the label is the side of a random hyperplane on which the point lies, and then
# the point is moved by noise of standard deviation 0.8. On the right only four coordinates matter.


def hyperplane(relevant, rng):
    """Points and labels; `relevant` coordinates matter."""
    w = rng.standard_normal(100)
    w[relevant:] = 0
    X = rng.standard_normal((300, 100))
    y = (X @ w > 0).astype(int)
    return X + rng.normal(0, 0.8, X.shape), y


rules = ("sequential", "sequential2", "parallel", "gis")
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for ax, relevant in zip(axes, (100, 4), strict=True):
    X, y = hyperplane(relevant, np.random.default_rng(5))
    best = LinearClassifier(fit_intercept=False).fit(X, y).trace_[-1]
    fits = [LinearClassifier(solver=rule, fit_intercept=False, max_iter=1000).fit(X, y) for rule in rules]
    for rule, model in zip(rules, fits, strict=True):
        print(f"{relevant:3} relevant, {rule:<11}: loss after 10, 100, 1000 rounds", end=" ")
        print(*(f"{model.trace_[k] / model.trace_[0]:.3f}" for k in (10, 100, 1000)))
    plots.convergence(*fits, minimum=best, ax=ax)
    ax.set_title(f"{relevant} relevant features")
plt.show()

# %%
# Error on new data
# -----------------
# A thousand points of the cube {−1, 1}¹⁰⁰, labelled by a hyperplane; then each coordinate is flipped with
# probability 0.05. All variants end at about the same error; the parallel ones get there much sooner.


def boolean(n, w, rng):
    """Points of the cube with noise, and labels without."""
    X = rng.choice([-1.0, 1.0], size=(n, 100))
    y = (X @ w > 0).astype(int)
    return np.where(rng.random(X.shape) < 0.05, -X, X), y


rng = np.random.default_rng(1)
w = rng.standard_normal(100)
X, y = boolean(1000, w, rng)
X_new, y_new = boolean(5000, w, rng)

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
stops = np.unique(np.round(np.logspace(0, 3, 25)).astype(int))
for loss, colour in (("Log", "#4c72b0"), ("Exponential", "#dd8452")):
    for rule, style in (("sequential", "--"), ("parallel", "-")):
        model = LinearClassifier(loss, solver=rule, fit_intercept=False, warm_start=True)
        errors, done = [], 0
        for stop in stops:
            model.set_params(max_iter=int(stop - done)).fit(X, y)
            errors.append(np.mean(model.predict(X_new) != y_new))
            done = stop
        ax.plot(stops, errors, style, color=colour, label=f"{'log' if loss == 'Log' else 'exp'} {rule[:3]}")
        early = errors[stops.searchsorted(10)]
        print(f"{loss:<12} {rule:<11} test error after 10 rounds {early:.3f}, at the end {errors[-1]:.3f}")
ax.set(xscale="log", xlabel="round", ylabel="test error", title="Boolean features, 5 % noise")
ax.legend()
plt.show()

# %%
# Any loss of bounded growth
# --------------------------
# The proofs need one property of the loss φ: that −φ″/φ′ has a finite supremum L. With steps divided by L the
# same updates minimize Matsushita's loss or a Laplace loss, and they, too, never let it rise.

X, y = hyperplane(100, np.random.default_rng(5))
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for loss in ("Log", "Exponential", "Matsushita", "GLaplace(1)"):
    model = LinearClassifier(loss, solver="parallel", fit_intercept=False, max_iter=300).fit(X, y)
    ax.plot(model.trace_ / model.trace_[0], label=loss)
ax.set(xlabel="round", ylabel="training loss (1 at the start)", title="Parallel updates of four losses")
ax.legend()
plt.show()
