"""
Gain, rounds and sample size
============================

Two classes of points in the plane, each Gaussian, with 30 % of them on the wrong side of any line: the true
probability is known, and so is the error of an estimate. This is the experiment of Masnadi-Shirazi and
Vasconcelos (2015), section 7.1, with BoostLR, the loss ``GLog`` and histogram learners of ten bins.

Their claims: with few rows every model overfits, early stopping is not enough, and a large gain helps; with
many rows a small gain is best; so the best gain tells whether more data would help.
"""

# %%
# Mean squared error of the probability, after each round, for 5, 40 and 1,000 rows of each class.

import matplotlib.pyplot as plt
import numpy as np

from propriety import algorithms, losses
from propriety.boosting import gain_path

MEAN, ROUNDS, REPETITIONS = 0.7416, 50, 3
GAINS = np.array([0.5, 1, 2, 5, 10, 20, 50, 100, 300])
SIZES = [5, 40, 1000]


def sample(rng, n):
    """n points of each class."""
    y = np.repeat([0, 1], n)
    return rng.normal(size=(2 * n, 2)) + MEAN * y[:, None], y


def truth(X):
    """Probability of class 1."""
    return 1 / (1 + np.exp(-MEAN * (X.sum(axis=1) - MEAN)))


def model(**params):
    """BoostLR with ten bins."""
    return algorithms.make("boostlr", max_iter=ROUNDS, n_jobs=1, **params)


rng = np.random.default_rng(0)
X_test, _ = sample(rng, 500)
errors = np.zeros((len(SIZES), len(GAINS), ROUNDS))
for i, n in enumerate(SIZES):
    for _ in range(REPETITIONS):
        X, y = sample(rng, n)
        for j, gain in enumerate(GAINS):
            stages = model(loss=losses.GLog(gain)).fit(X, y).staged_predict_proba(X_test)
            errors[i, j] += [np.mean((p[:, 1] - truth(X_test)) ** 2) / REPETITIONS for p in stages]

# %%
# Above, error against rounds for some gains; below, the same against the gain for some numbers of rounds.

fig, axes = plt.subplots(2, 3, figsize=(7.2, 4.6), sharey="col", layout="constrained")
shown = [0, 2, 4, 6, 8]
colours = plt.colormaps["viridis"](np.linspace(0, 0.9, len(shown)))
for i, n in enumerate(SIZES):
    for j, colour in zip(shown, colours, strict=True):
        axes[0, i].plot(np.arange(1, ROUNDS + 1), errors[i, j], color=colour, label=f"σ = {GAINS[j]:g}")
    for t, style in zip([2, 10, 50], ["-", "--", ":"], strict=True):
        axes[1, i].plot(GAINS, errors[i, :, t - 1], style, color="#D55E00", label=f"{t} rounds")
    axes[0, i].set(title=f"{n} rows a class", xlabel="rounds")
    axes[1, i].set(xlabel="gain σ", xscale="log")
    axes[0, i].set_ylim(0, np.quantile(errors[i], 0.97))
axes[0, 0].set_ylabel("MSE of the probability")
axes[1, 0].set_ylabel("MSE of the probability")
fig.legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, fontsize=7, loc="outside right upper")
fig.legend(*axes[1, 0].get_legend_handles_labels(), frameon=False, fontsize=7, loc="outside right lower")
plt.show()

# %%
# With five rows per class the error rises from the first rounds unless the gain is large, and stopping early
# at a small gain does not reach what a large gain does:

for i, n in enumerate(SIZES):
    j, t = np.unravel_index(np.argmin(errors[i]), errors[i].shape)
    early = errors[i, :3].min()
    print(
        f"{n:4d} rows a class: least error {errors[i].min():.4f} at gain {GAINS[j]:g}, round {t + 1}; "
        f"best early stop with a gain up to 2: {early:.4f}; after {ROUNDS} rounds the best gain is "
        f"{GAINS[np.argmin(errors[i, :, -1])]:g}"
    )

# %%
# The gain as a diagnosis
# -----------------------
# With the rounds fixed, the best gain falls as rows are added. :func:`~propriety.boosting.gain_path` finds it
# by cross-validation, without knowing the truth: seventeen gains, five folds, fifty rounds in one call.

sizes = [10, 20, 40, 80, 160, 320, 640, 1280]
chosen = np.array(
    [[gain_path(model(random_state=r), *sample(rng, n)).best_gain for n in sizes] for r in range(5)]
)
middle = np.exp(np.log(chosen).mean(axis=0))
fig, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
ax.plot(sizes, chosen.T, ".", color="0.7", ms=5)
ax.plot(sizes, middle, "o-", color="#0072B2", label="geometric mean of five samples")
ax.axhline(1, color="0.8", lw=0.8)
ax.set(xscale="log", yscale="log", xlabel="rows of each class", ylabel="cross-validated gain σ")
ax.legend(frameon=False)
plt.show()

# %%
# What you would read off a single small sample:

print(gain_path(model(random_state=0), *sample(rng, 20)).diagnosis())
