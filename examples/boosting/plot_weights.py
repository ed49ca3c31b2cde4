"""
How losses weigh the examples
=============================

Boosting fits each round to weighted examples, and the loss decides the weights: w(v) = −φ′(v), a function
of the margin v alone. These are figures 7 and 8 of Masnadi-Shirazi and Vasconcelos (2015).
"""

# %%
# Gain
# ----
# The four canonical losses of their table 2. A larger gain σ extends the region of non-zero weight beyond
# the boundary, and makes the weight fall more slowly there. All weights are ½ at the boundary and reach 1
# for examples that are badly wrong: canonical losses differ in how they regularize, not in how they treat
# outliers.

import matplotlib.pyplot as plt
import numpy as np

from propriety import losses

v = np.linspace(-8, 8, 401)
gains = [0.5, 1, 2, 4]
colours = plt.colormaps["viridis"](np.linspace(0, 0.85, len(gains)))
fig, axes = plt.subplots(2, 2, figsize=(6.4, 4.4), sharex=True, sharey=True, layout="constrained")
families = (losses.GLog, losses.GBoost, losses.GGauss, losses.GLaplace)
for ax, family in zip(axes.flat, families, strict=True):
    for gain, colour in zip(gains, colours, strict=True):
        ax.plot(v, family(gain).composite().example_weight(v), color=colour, label=f"σ = {gain:g}")
    ax.set_title(family.__name__, fontsize=9)
for ax in axes[1]:
    ax.set_xlabel("margin v")
for ax in axes[:, 0]:
    ax.set_ylabel("weight −φ′(v)")
axes[0, 1].legend(frameon=False, fontsize=8)
plt.show()

# %%
# Outliers
# --------
# ``AlphaTunable`` has the link of the logistic loss at every α, and so its regularization; α decides what
# outliers weigh, from LogitBoost's bounded weights (α = 0) to AdaBoost's exponential ones (α = ½). The
# Savage loss goes the other way and gives up on examples that are badly wrong.

fig, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
alphas = [0, 0.2, 0.35, 0.5]
for alpha, colour in zip(alphas, colours, strict=True):
    ax.plot(
        v, losses.AlphaTunable(1, alpha).composite().example_weight(v), color=colour, label=f"α = {alpha:g}"
    )
savage = losses.Savage().composite()
scale = 0.5 / savage.example_weight(0.0)
ax.plot(v, scale * savage.example_weight(v), "--", color="#D55E00", label="Savage, scaled")
ax.set(xlabel="margin v, in units of the gain", ylabel="weight −φ′(v)", xlim=(-5, 5), ylim=(0, 4))
ax.legend(frameon=False)
plt.show()
