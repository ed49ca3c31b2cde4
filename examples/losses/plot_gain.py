"""
What a gain does to link and margin
===================================

A gain σ stretches the link: scores are σ times as large, and a probability is read at F/σ. There are two
things to do with the loss itself: ``with_gain`` leaves it alone, ``shrunk`` multiplies it by σ too.
"""

# %%
# ``shrunk``: the learning rate, made honest
# ------------------------------------------
# ``shrunk(σ)`` turns φ(v) into σ φ(v/σ). Boosting with it takes the same steps as boosting φ with the
# learning rate 1/σ. The difference is that the loss knows about it: its link has been stretched too, so
# probabilities are right. For the log loss it is ``GLog(σ)``.

import matplotlib.pyplot as plt
import numpy as np

from propriety import losses, plots

log = losses.Log().composite()
gains = [0.5, 1, 2, 4]
colours = [plt.colormaps["viridis"](x) for x in np.linspace(0, 0.85, len(gains))]
plots.loss_faces(
    *(log.shrunk(gain) for gain in gains),
    labels=[f"shrunk, σ = {gain:g}" for gain in gains],
    colors=colours,
    margin=6,
)

# %%
# A larger gain makes the link steeper and the margin loss rounder, and around the boundary it raises the
# regularization strength 1/p′: it takes more score there to move a probability. The loss margin
# μ = 1/(2 p′(0)) is that strength at the boundary, halved.

for gain in (0.1, *gains):
    c = log.shrunk(gain)
    print(f"σ = {gain:<3g}  μ = {c.loss_margin:g}  ", c.properties()["regularization loss"])

# %%
# ``with_gain``: the same loss, another link
# ------------------------------------------
# Weight, entropy and partial losses stay; everything that is about scores is stretched.

plots.loss_faces(
    *(log.with_gain(gain) for gain in gains),
    labels=[f"with gain, σ = {gain:g}" for gain in gains],
    colors=colours,
    margin=6,
)

# %%
# What plain shrinkage forgets
# ----------------------------
# Learners found with learning rate ¼ and added whole give the scores of the loss with gain 4. Reading them
# with the link of the loss without gain pushes every probability towards 0 or 1:

scores = np.array([-4.0, -1.0, 1.0, 4.0])
print("read with the gain:   ", log.shrunk(4).inverse(scores).round(3))
print("read without the gain:", log.inverse(scores).round(3))
