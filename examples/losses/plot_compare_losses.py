"""
Comparing losses by their faces
===============================

A proper loss is one object with many faces: its weight, its entropy, its two partial losses, and, with a
link, its margin loss, the weight it gives an example in boosting, and how strongly it regularizes.
:func:`propriety.plots.loss_faces` draws them all. Several losses are drawn on top of each other.
"""

# %%
# Four symmetric losses
# ---------------------
# Losses are fixed only up to a factor, so we divide each by its largest entropy to compare shapes. Read the
# top row from left to right: log loss and the exponential loss put weight on probabilities near 0 and 1, the
# squared loss on all alike. So their partial losses go to infinity there, and those of the squared loss do
# not. ``Savage`` is the squared loss again, with a steeper link.

from propriety import losses, plots

plots.loss_faces("Log", "Squared", "Exponential", "Savage", normalize=True)

# %%
# The row below is about scores. An example on the wrong side (v < 0) has an unbounded weight under the
# exponential loss, a bounded one under the log loss, and a vanishing one under the other two: they give up
# on what they got badly wrong. That is what makes them robust to wrong labels, and also what makes them
# non-convex:

for name in ("Log", "Exponential", "Squared", "Savage"):
    print(f"{name:12}", losses.parse(name).composite().properties()["convex"])

# %%
# Losses with a place of their own
# --------------------------------
# Three ways to care about one region of probabilities. They are not symmetric, so in the margin panels
# they have a curve for each label: solid for y = 1, dashed for y = 0.

plots.loss_faces("Tailored(0.2, 20)", "HandVinciotti(0.2, 0.1)", "CascadeDown(8)", normalize=True)

# %%
# Text, values and composites mix freely; so do losses that have no weight function. A cost-weighted loss
# has an entropy and partial losses, and nothing that would need a score.

plots.loss_faces(losses.CostWeighted(0.2), losses.Tailored(0.2, 20), normalize=True)

# %%
# One loss with different links
# -----------------------------
# The upper row depends on the loss alone, the rest on the link too.

plots.loss_faces(
    losses.Log().with_link("Logit"),
    losses.Log().with_link("Probit"),
    losses.Log().with_link("Cauchit"),
    labels=["logit", "probit", "cauchit"],
)
