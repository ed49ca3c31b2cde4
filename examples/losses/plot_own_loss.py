"""
A loss of your own in three lines
=================================

Say which probabilities matter, in a plain function, and get a proper loss with all its faces, its gradients,
and a compiled pass over arrays.
"""

# %%
# Suppose two decisions depend on one probability: a cheap one at about 0.1, and a second, taken less often,
# at about 0.7. The weight has two hills.

import time

import numpy as np

from propriety import losses, plots


def weight(p, q):
    """Two decisions: most of the weight at 0.1, some at 0.7, a little everywhere."""
    return 0.1 + np.exp(-(((p - 0.1) / 0.06) ** 2)) + 0.4 * np.exp(-(((p - 0.7) / 0.08) ** 2))


mine = losses.from_weight(weight)

# %%
# That is all. The other faces are integrals of the weight.

plots.loss_faces(mine, "Squared", labels=["mine", "Squared()"], normalize=True)

# %%
# It is proper, and it knows what else it is:

print(mine.composite().properties())

# %%
# The compiled pass
# -----------------
# Learners ask a composite for gradient and curvature of all rows at once. ``derivatives`` does that in one
# compiled pass. It works on a table made from the formulas, yours or the library's, so your loss runs at the
# speed of the other families; the log loss alone has a faster kernel of its own. The times are from the
# machine that built this page.

rng = np.random.default_rng(0)
F = rng.normal(size=1_000_000)
y = (rng.random(F.size) < 1 / (1 + np.exp(-F))).astype(float)


def best_of_five(composite):
    """Seconds of one pass, after a first one that makes the table."""
    composite.derivatives(y, F)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        composite.derivatives(y, F)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


for name, loss in (("mine", mine), ("Beta(6, 14)", losses.Beta(6, 14)), ("Log()", losses.Log())):
    print(f"{name:11} {1e3 * best_of_five(loss.composite()):6.1f} ms for a million rows")

# %%
# The numbers are those of the formulas:

composite = mine.composite()
gradient, curvature = composite.derivatives(y[:1000], F[:1000])
print("largest difference in the gradient: ", np.abs(gradient - composite.gradient(y[:1000], F[:1000])).max())
print("largest difference in the curvature:", np.abs(curvature - composite.fisher(F[:1000])).max())
