"""
A scorecard
===========

A scorecard adds up whole points for the bins of a few columns. Here one decides about tumours, where a missed
malignant one costs ten times as much as a false alarm.
"""

# %%
# Fit
# ---
# Columns are binned, chosen and weighed in five folds anew; their number is that of least loss on held-out
# rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from propriety import Costs, ScorecardClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.where(y == 0, "malignant", "benign")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
model = ScorecardClassifier(costs=Costs(fn=10, pos_label="malignant"), max_columns=5).fit(X_train, y_train)
print(model.export_text())

# %%
# The table of points
# -------------------
# Weight of evidence is the log of the share of benign tumours in a bin over that of malignant ones; the
# information value sums it over the bins.

table = model.points_table()
print(table.round(3).to_string(index=False))

# %%
# Points and decisions
# --------------------
# The line is where the decision changes. It lies to the right of where the classes overlap most, because a
# miss costs more than a false alarm.

points = model.points(X_test)
limit = points[model.predict(X_test) == "malignant"].max()
edges = np.histogram_bin_edges(points, 30)
fig, ax = plt.subplots(figsize=(7, 3.5))
for label in ("malignant", "benign"):
    ax.hist(points[y_test == label], edges, alpha=0.6, label=label)
ax.axvline(limit, color="black", linewidth=1)
ax.annotate("malignant is decided up to here", (limit, ax.get_ylim()[1]), ha="right", va="top")
ax.set_xlabel("points")
ax.set_ylabel("held-out tumours")
ax.legend()
fig.tight_layout()
