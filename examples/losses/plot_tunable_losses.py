"""
The tunable losses and the weights they give examples
=====================================================

Boosting weights an example by −φ′(v), the slope of the margin loss at its margin v. Masnadi-Shirazi and
Vasconcelos (2015) define families of losses in which a gain σ sets how far that weight reaches (their figure
7), and a parameter α how heavily outliers weigh (their figure 8). Here are weights of both kinds, drawn from
the losses of this package.
"""

# %%
# Four canonical losses, and their gain
# -------------------------------------
# For a canonical loss the example weight is 1 − p(v), and so lies between 0 and 1. A larger gain reaches
# examples farther from the boundary on the right side, and changes more slowly: it asks for a larger margin.

import matplotlib.pyplot as plt
import numpy as np

from propriety import losses

v = np.linspace(-10, 10, 501)
gains = [0.5, 1, 2, 4]
colours = [plt.colormaps["viridis"](x) for x in np.linspace(0, 0.85, len(gains))]

fig, axes = plt.subplots(2, 2, figsize=(7.2, 5), sharex=True, sharey=True, layout="constrained")
for ax, family in zip(axes.flat, ("GLog", "GBoost", "GGauss", "GLaplace"), strict=True):
    for gain, colour in zip(gains, colours, strict=True):
        composite = getattr(losses, family)(gain).composite()
        ax.plot(v, composite.example_weight(v), color=colour, label=f"σ = {gain:g}")
    ax.set_title(family)
axes[0, 0].legend(frameon=False)
fig.supxlabel("margin v")
fig.supylabel("example weight −φ′(v)")

# %%
# The loss margin μ grows with the gain, one for one. From μ = ½ on a loss is called a regularization loss.

for family in ("GLog", "GBoost", "GGauss", "GLaplace"):
    margins = [getattr(losses, family)(gain).composite().loss_margin for gain in gains]
    print(
        f"{family:9}",
        "  ".join(f"σ = {g:g}: μ = {m:g}" for g, m in zip(gains, np.round(margins, 6), strict=True)),
    )

# %%
# Between LogitBoost and AdaBoost
# -------------------------------
# ``AlphaTunable(gain, alpha)`` keeps the link and changes the binding: α = 0 is the logistic loss, whose
# weights level off, α = ½ the exponential loss, whose weights do not. The gain and α can be chosen apart.

sigma = 1.0
fig, ax = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
alphas = [0, 0.1, 0.2, 0.3, 0.4, 0.5]
colours = [plt.colormaps["viridis"](x) for x in np.linspace(0, 0.92, len(alphas))]
margin = np.linspace(-5, 5, 401)
for alpha, colour in zip(alphas, colours, strict=True):
    composite = losses.AlphaTunable(sigma, alpha).composite()
    ax.plot(margin / sigma, composite.example_weight(margin), color=colour, label=f"α = {alpha:g}")
ax.set(xlabel="normalized margin v/σ", ylabel="example weight −φ′(v)", ylim=(0, 6))
ax.legend(frameon=False)

# %%
# The ends are what they should be:

print(np.abs(losses.AlphaTunable(1, 0).composite().margin_loss(v) - np.log1p(np.exp(-v))).max() < 1e-12)
exponential = losses.Exponential().composite().shrunk(2)
print(np.allclose(losses.AlphaTunable(1, 0.5).composite().example_weight(v), exponential.example_weight(v)))
