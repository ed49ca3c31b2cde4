"""Scorecards beside optbinning's: cost, log loss, columns and time on tables of applicants and patients.

Both are fitted to four fifths of the rows and judged on the fifth that is left, twice five times; a miss
costs `MISS` false alarms, and both are decided by that. optbinning is used as its documentation has it: a
binning process of all columns, and logistic regression of the weights of evidence.

    python benchmarks/scorecards.py        # some minutes; needs the folder of `quality_data`, and optbinning
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import quality_data
from optbinning import BinningProcess, Scorecard
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from propriety import ScorecardClassifier

TABLES = {"german": "2", "australian": "1", "credit-a (crx)": "+", "heart-statlog": "2", "adult": ">50K"}
MISS, FOLDS, REPEATS, FEW = 5.0, 5, 2, 10_000


def ours(X, y, rows, others):
    """Probabilities of the other rows, and the number of columns."""
    model = ScorecardClassifier(fn_cost=MISS).fit(X.iloc[rows], y[rows])
    return model.predict_proba(X.iloc[others])[:, 1], len(model.columns_)


def theirs(X, y, rows, others):
    """The same by optbinning."""
    names = list(X.columns)
    text = [name for name in names if X[name].dtype.kind not in "iufb"]
    X = X.assign(**{name: X[name].astype(object) for name in text})
    model = Scorecard(BinningProcess(names, categorical_variables=text), LogisticRegression(max_iter=1000))
    model.fit(X.iloc[rows], y[rows])
    return model.predict_proba(X.iloc[others])[:, 1], int(np.count_nonzero(model.estimator_.coef_))


def judged(p, y):
    """Cost of a row, and log loss."""
    p = np.clip(p, 1e-15, 1 - 1e-15)
    decided = p >= 1 / (1 + MISS)
    cost = np.where(y == 1, MISS * ~decided, decided)
    return cost.mean(), -np.log(np.where(y == 1, p, 1 - p)).mean()


def main():
    """Print a row for each table and program."""
    print("| table | rows | program | cost of a row | log loss | columns | seconds |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for name, positive in TABLES.items():
        X, y = quality_data.read(name, positive)
        for program in (ours, theirs):
            found = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for seed in range(REPEATS if len(y) < FEW else 1):
                    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
                    for rows, others in folds.split(X, y):
                        start = time.perf_counter()
                        p, columns = program(X, y, rows, others)
                        seconds = time.perf_counter() - start
                        found.append([*judged(p, y[others]), columns, seconds])
            cost, loss, columns, _ = np.mean(found, axis=0)
            seconds = np.median([row[-1] for row in found])
            who = "propriety" if program is ours else "optbinning"
            print(f"| {name} | {len(y)} | {who} | {cost:.4f} | {loss:.4f} | {columns:.1f} | {seconds:.2f} |")


if __name__ == "__main__":
    main()
