"""
What decisions cost
===================

A miss costs nine false alarms. Where should the threshold be: where theory says, or where the data say? And
is the model worth using at all, compared with treating everyone or no one?
"""

# %%
# Three models; thresholds are judged on validation rows and confirmed on test rows.

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from propriety import Costs, evaluation, plots

COSTS = {"fp_cost": 1.0, "fn_cost": 9.0}
X, y = make_classification(
    9000, 20, n_informative=6, n_redundant=6, weights=[0.8], flip_y=0.06, random_state=3
)
X, X_rest, y, y_rest = train_test_split(X, y, test_size=2 / 3, random_state=0)
X_valid, X_test, y_valid, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
models = {
    "logistic": LogisticRegression().fit(X, y),
    "naive Bayes": GaussianNB().fit(X, y),
    "forest": RandomForestClassifier(100, random_state=0).fit(X, y),
}

# %%
# Cost at every threshold, and net benefit at every threshold. At a threshold, net benefit counts a false
# alarm as the odds of that threshold; a model is worth using where it lies above both grey lines.

fig, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.5), layout="constrained")
for name, model in models.items():
    plots.CostCurveDisplay.from_estimator(model, X_valid, y_valid, **COSTS, name=name, ax=left)
    plots.DecisionCurveDisplay.from_estimator(
        model, X_valid, y_valid, name=name, high=0.6, band=name == "logistic", ax=right
    )
plt.show()

# %%
# Does the cheapest threshold of the validation rows keep its promise on test rows? For probabilities that
# are right the theoretical threshold is as good, and needs no data.

for name, model in models.items():
    found = evaluation.best_threshold(y_valid, model.predict_proba(X_valid), **COSTS)
    p = model.predict_proba(X_test)[:, 1]
    theory = evaluation.mean_cost(y_test, p >= found.theory, **COSTS)
    tuned = evaluation.mean_cost(y_test, p >= found.value, **COSTS)
    print(f"{name:>12}: at {found.theory:.2f} {theory:.3f} a decision, at {found.value:.3f} {tuned:.3f}")

# %%
# Several classes and a matrix of costs, ``Costs(matrix=cost[true, predicted])``: taking class 2 for class 0
# is a disaster, the reverse a nuisance. The decisions of least expected cost beside those of the most
# probable class:

X, y = make_classification(4000, 10, n_informative=5, n_classes=3, flip_y=0.1, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
matrix = [[0, 1, 1], [2, 0, 1], [20, 5, 0]]
model = LogisticRegression().fit(X, y)
P = model.predict_proba(X_test)
for label, decided in {
    "most probable": P.argmax(axis=1),
    "least cost": Costs(matrix=matrix).decide(P),
}.items():
    print(f"{label:>13}: {evaluation.mean_cost(y_test, decided, costs=Costs(matrix=matrix)):.3f} a decision")
