"""
Costs that are known only roughly
=================================

A miss costs about nine false alarms, give or take. :func:`~propriety.recommend` turns that into the loss
whose weight lies where the decisions will be made, and explains it.
"""

# %%
# The ratio of the costs is right within a factor of 1.5, 3 or 10.

import matplotlib.pyplot as plt
import numpy as np

from propriety import recommend

advice = {factor: recommend(1, 9, uncertainty=factor) for factor in (1.5, 3, 10)}
print(advice[3])

# %%
# The weights, each with area 1. All have their mean at 0.1, the threshold of the stated costs. The bars below
# are the ranges of thresholds that the costs allow.

c = np.linspace(0.001, 0.6, 600)
colours = ("#0072B2", "#D55E00", "#009E73")
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for i, (factor, one) in enumerate(advice.items()):
    weight = one.loss.weight(c)
    weight = weight / np.trapezoid(weight, c)
    ax.plot(c, weight, color=colours[i], lw=1.8, label=f"within a factor of {factor:g}: {one.loss!r}")
    ax.hlines(-1.5 - 1.5 * i, one.low, one.high, color=colours[i], lw=4)
ax.axvline(0.1, color="0.6", lw=0.8, zorder=0)
ax.axhline(0, color="0.6", lw=0.8)
ax.set(xlabel="threshold c", ylabel="weight ω(c), area 1", xlim=(0, 0.6), yticks=range(0, 30, 5))
ax.legend(frameon=False, loc="upper right", fontsize=9)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
