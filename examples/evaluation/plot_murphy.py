"""
Which model for which cost
==========================

Two models, one better at low costs of a false alarm, the other at high ones: no single score shows that. The
Murphy diagram shows the mean cost-weighted loss at every cost, exactly, and the band of the paired difference
shows what is more than chance.
"""

# %%
# A logistic regression and a random forest on rows that neither has seen.

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from propriety import evaluation, plots
from propriety.evaluation.dominance import dominance

X, y = make_classification(
    6000, 20, n_informative=6, n_redundant=6, weights=[0.75], flip_y=0.08, random_state=0
)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
logistic = LogisticRegression().fit(X, y)
forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0).fit(X, y)

# %%
# The curve of each, with pointwise 95 % bands, beside that of a constant probability; and the difference,
# with a band that holds for all costs at once.

fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
for name, model in {"logistic": logistic, "forest": forest}.items():
    plots.MurphyDisplay.from_estimator(model, X_test, y_test, name=name, ax=left)
plots.MurphyDisplay.from_estimator(
    forest, X_test, y_test, other=logistic, name="forest − logistic", band="simultaneous", ax=right
)
left.set_title("Each model")
right.set_title("Below 0 the forest is better")
plt.show()

# %%
# In words, for a range of costs, and for one in which nothing is decided:

p, q = forest.predict_proba(X_test), logistic.predict_proba(X_test)
for low, high in [(0.3, 0.7), (0.01, 0.1)]:
    print(dominance(y_test, p, q, low=low, high=high))

# %%
# The area under the curve, weighted by a loss's weight, is the mean of that loss: every proper score is a
# summary of this one picture.

curve = evaluation.murphy_curve(y_test, p)
for loss in ("Squared", "Log", "Tailored(0.1, 20)"):
    print(f"{loss:>18}: area {curve.area(loss):.6g}, mean loss {evaluation.mean_loss(y_test, p, loss):.6g}")
