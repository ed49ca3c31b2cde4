"""
Calibrated, or merely sharp?
============================

A score mixes two virtues: probabilities that mean what they say, and probabilities that tell rows apart.
Isotonic recalibration separates them, without bins, consistently for every loss.
"""

# %%
# Naive Bayes counts correlated columns several times and is too sure; the logistic regression is right
# about itself but sees less than the forest.

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from propriety import evaluation, plots

X, y = make_classification(6000, 20, n_informative=5, n_redundant=10, flip_y=0.08, random_state=1)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
models = {
    "logistic": LogisticRegression().fit(X, y),
    "naive Bayes": GaussianNB().fit(X, y),
    "forest": RandomForestClassifier(60, random_state=0).fit(X, y),
}

# %%
# Reliability diagrams: the step curve is the recalibrated probability, the band where it would lie in 90 %
# of samples if the stated probabilities were right, the grey bars where those lie.

fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.5), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    plots.ReliabilityDisplay.from_estimator(model, X_test, y_test, name=name, n_resamples=200, ax=ax)
plt.show()

# %%
# All models at once. Up is more discrimination, left is better calibration, and the mean loss is the same
# along a line. What a model loses by being farther right, recalibration wins back.

plots.DecompositionDisplay.from_estimator(models, X_test, y_test, loss="Squared")
plt.show()

# %%
# The same for other losses, one isotonic fit serving all. The forest said 0 to a row of class 1, so its log
# loss is infinite, and all of that is miscalibration. The binned calibration error knows nothing of the loss.

for name, model in models.items():
    p = model.predict_proba(X_test)
    for loss in ("Log", "Squared", "CostWeighted(0.1)"):
        print(f"{name:>12}  {evaluation.decomposition(y_test, p, loss)}")
    print(f"{name:>12}  expected calibration error {evaluation.calibration_error(y_test, p):.3f}")
