"""LossSearchCV over the tailored losses: seconds of a search, beside those of fits of the log loss.

Run ``python benchmarks/search.py`` or one of its cases, ``linear`` and ``boosting``. A search has 31 fits:
six losses in five folds, and the chosen one on all rows. The first search of a process also makes the tables
of its losses and, for linear models, loads the compiled code; it is timed by itself.
"""

from __future__ import annotations

import warnings

import numpy as np
from measuring import SECONDS, Column, Part, Table, best_of, seconds_of

from propriety import BoostingClassifier, LinearClassifier, LossSearchCV

FITS = 31


def data(n):
    """Twenty columns; the log-odds bend, so that a straight line is not right everywhere."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    score = X @ (rng.standard_normal(20) / 4) + np.maximum(X[:, 0], 0) ** 2 - X[:, 1] * X[:, 2] / 2 - 1.5
    return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


def search(given, name, model, title):
    """The first search of the process, the best of the next, and as many fits of the log loss."""
    warnings.simplefilter("ignore")
    X, y = data(given.size(5_000))
    model.fit(X, y)  # compile

    def searched():
        return LossSearchCV(model, "tailored", fp_cost=1, fn_cost=9).fit(X, y)

    def fitted():
        for _ in range(FITS):
            model.fit(X, y)

    first, _ = seconds_of(searched)
    best, results = best_of(
        {"the search again": searched, f"{FITS} fits of the log loss": fitted}, given.times(3)
    )
    rows = [["the first search of a process", first], *([what, seconds] for what, seconds in best.items())]
    rows = [[what, seconds, seconds / best["the search again"]] for what, seconds in rows]
    columns = ["what", SECONDS, Column("÷ the search again", format=".2f")]
    note = f"Verdict: {results['the search again'].verdict_}"
    goals = {f"search {name}": best["the search again"]}
    yield Table(name, f"{title}, {len(y):,} × 20", columns, rows, note, goals)


def linear(given):
    yield from search(given, "linear", LinearClassifier(alpha=1e-3), "A search over linear models")


def boosting(given):
    yield from search(
        given, "boosting", BoostingClassifier(max_iter=100), "A search over boosting of 100 rounds"
    )


PART = Part(__doc__, {"linear": linear, "boosting": boosting})

if __name__ == "__main__":
    PART.main()
