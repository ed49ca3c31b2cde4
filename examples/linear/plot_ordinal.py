"""
Classes in order
================

The progression of diabetes in four grades. One score and three thresholds make the probabilities of the
grades, none of which can be negative; costs are how far a decision is from the truth.
"""

# %%
# Two models
# ----------
# One knows that the grades are in order, the other does not. Both decide the grade of least expected
# distance.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from propriety import Costs, LinearClassifier

X, progression = load_diabetes(return_X_y=True, as_frame=True)
grade = 1 + np.digitize(progression, progression.quantile([0.25, 0.5, 0.75]))
X_train, X_test, y_train, y_test = train_test_split(X, grade, test_size=0.5, stratify=grade, random_state=0)
ordered = LinearClassifier(multiclass="ordinal", alpha=0.01).fit(X_train, y_train)
free = LinearClassifier(alpha=0.01, costs=Costs(matrix="distance")).fit(X_train, y_train)
for name, model in (("in order", ordered), ("softmax", free)):
    distance = np.abs(model.predict(X_test) - y_test).mean()
    print(f"{name:>8}: {np.abs(model.coef_).astype(bool).sum()} slopes, mean distance {distance:.3f}")
print(ordered.export_text())

# %%
# Probabilities along the score
# -----------------------------
# With the score all thresholds are passed one after the other.

score = ordered.decision_function(X_test)[:, 1] - ordered.intercept_[1]
order = np.argsort(score)
fig, ax = plt.subplots(figsize=(7, 3.5))
P = ordered.predict_proba(X_test)[order]
ax.stackplot(score[order], P.T, labels=[f"grade {k}" for k in ordered.classes_])
ax.set_xlabel("score")
ax.set_ylabel("probability")
ax.margins(0)
ax.legend(loc="center left")
fig.tight_layout()
