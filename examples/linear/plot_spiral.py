"""
A boundary for the cost at hand: the spiral ramp
================================================

Hand and Vinciotti's artificial data: the probability of class 1 is the angle of the point, so that every
boundary η(x) = c is a straight line through the origin, and no two of them are parallel. Logistic regression
has one direction for all costs. A loss tailored to the cost 0.3 finds the direction that belongs to 0.3.

Buja, Stuetzle & Shen (2005), section 14 and Figure 4.
"""

# %%
# Four thousand points
# --------------------
# Uniform on the unit square, with η(x₁, x₂) = arccos(x₁ / ‖x‖) / (π/2).

import matplotlib.pyplot as plt
import numpy as np

from propriety.linear import LinearClassifier

rng = np.random.default_rng(2005)
X = rng.random((4000, 2))
eta = np.arccos(X[:, 0] / np.hypot(X[:, 0], X[:, 1])) / (np.pi / 2)
y = (rng.random(4000) < eta).astype(int)

# %%
# Two fits
# --------
# The weight of Beta(6, 14) has its mean at 6/(6 + 14) = 0.3.

cost = 0.3
models = {
    "log loss": LinearClassifier("Log", fp_cost=3, fn_cost=7).fit(X, y),
    "Beta(6, 14)": LinearClassifier("Beta(6, 14)", fp_cost=3, fn_cost=7).fit(X, y),
}


def angle(model):
    """Direction of the boundary, in degrees."""
    a, b = model.coef_[0]
    return np.degrees(np.arctan2(-a, b))


print(f"true boundary at {cost}: {cost * 90:.1f} degrees")
for name, model in models.items():
    wrong = np.mean(np.where(model.predict(X) == 1, (1 - eta) * 0.3, eta * 0.7))
    print(f"{name:<12} {angle(model):5.1f} degrees, expected cost {wrong:.4f}")
best = np.mean(np.minimum((1 - eta) * 0.3, eta * 0.7))
print(f"{'the best':<12} {cost * 90:5.1f} degrees, expected cost {best:.4f}")

# %%
# The picture
# -----------
# Grey rays are the true boundaries for costs from 0.1 to 0.9, the black one that of 0.3. The log loss's line
# is parallel to the ray of 0.5; the tailored line lies next to the ray of 0.3.

fig, ax = plt.subplots(figsize=(5.6, 6.2), layout="constrained")
shown = rng.permutation(4000)[:1200]
for label, colour in ((0, "#4c72b0"), (1, "#dd8452")):
    at = shown[y[shown] == label]
    ax.scatter(X[at, 0], X[at, 1], s=9, color=colour, alpha=0.5, label=f"class {label}", linewidth=0)
for c in np.arange(0.1, 0.95, 0.1):
    t = c * np.pi / 2
    length = 1 / max(np.cos(t), np.sin(t))
    own = np.isclose(c, cost)
    colour, width = ("black", 1.6) if own else ("0.65", 0.7)
    ax.plot([0, length * np.cos(t)], [0, length * np.sin(t)], color=colour, lw=width)
    away = length + 0.045
    ax.text(away * np.cos(t), away * np.sin(t), f"{c:.1f}", ha="center", va="center", fontsize=8)
level = np.log(cost / (1 - cost))
line = np.array([0.0, 1.0])
for (name, model), style in zip(models.items(), ("--", "-"), strict=True):
    (a, b), b0 = model.coef_[0], model.intercept_[0]
    ax.plot(line, (level - b0 - a * line) / b, style, color="#c44e52", lw=2.4, label=f"0.3 by {name}")
ax.set(xlim=(0, 1.1), ylim=(0, 1.1), xlabel="x₁", ylabel="x₂", aspect="equal")
ax.set_title("Boundaries for the cost 0.3")
fig.legend(loc="outside lower center", ncols=2)
plt.show()
