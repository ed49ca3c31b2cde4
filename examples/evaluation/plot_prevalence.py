"""
Another share of positives
==========================

A model of a balanced sample states probabilities that are far too large for a population in which one row in
twenty is positive. ``adapt`` mends them: by the known share, by a share estimated from rows without labels,
or by few rows with labels.
"""

import matplotlib.pyplot as plt
import numpy as np

from propriety import BoostingClassifier, evaluation, plots

rng = np.random.default_rng(0)


def rows(n, share):
    """Rows of a population with this share of positives."""
    y = rng.random(n) < share
    return rng.normal(size=(n, 3)) + 0.8 * y[:, None], y


model = BoostingClassifier(random_state=0).fit(*rows(2000, 0.5))
X_new, y_new = rows(20_000, 0.05)
adapted = {
    "as fitted": model,
    "known share": model.adapt(prevalence=0.05),
    "2,000 rows without labels": model.adapt(X_new[:2000]),
    "200 rows with labels": model.adapt(X_new[:200], y_new[:200]),
}
fig, axes = plt.subplots(1, 4, figsize=(13, 3.6), sharey=True, layout="constrained")
for ax, (name, one) in zip(axes, adapted.items(), strict=True):
    p = one.predict_proba(X_new)[:, 1]
    print(f"{name:26} mean {p.mean():.3f}, log loss {evaluation.mean_loss(y_new, p, 'Log'):.4f}")
    plots.ReliabilityDisplay.from_estimator(one, X_new, y_new, name=name, n_resamples=100, ax=ax)
print(adapted["2,000 rows without labels"].adaptation_)
plt.show()
