"""Boosted stumps beside AdaBoost, rules by cross-validation, and the flavours of boosting of a paper.

python benchmarks/trees_rules.py                 # every case
python benchmarks/trees_rules.py stumps rules    # some of them
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from boosting import smooth
from measuring import SECONDS, Column, Part, Table, alternate, seconds_of
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import cross_val_score

from propriety import RuleClassifier, losses

ROUNDS = 50
EXPONENTIAL = losses.Exponential().composite()


def stumps(given):
    """50 boosted stumps with the exponential loss on 100,000 × 28, beside AdaBoostClassifier."""
    n = given.size(100_000)
    X, y, _ = smooth(n, 28)
    signs = 2.0 * y - 1.0
    common = {"max_literals": 1, "n_rules": ROUNDS, "n_jobs": 2}
    adaboost = RuleClassifier("Exponential()", criterion="edge", fit_intercept=False, **common)
    models = {
        "propriety, by edge, no intercept": adaboost,
        "propriety, by entropy": RuleClassifier("Exponential()", **common),
        "propriety, log loss": RuleClassifier("Log()", **common),
    }
    for model in models.values():
        model.fit(X, y)
    runs = [
        seconds_of(lambda: AdaBoostClassifier(n_estimators=ROUNDS).fit(X, y)) for _ in range(given.times(2))
    ]
    seconds, peer = min(runs, key=lambda run: run[0])
    # AdaBoostClassifier's estimator weights are twice the coefficients of the exponential loss.
    F = sum(0.5 * w * (2.0 * e.predict(X) - 1.0) for w, e in zip(peer.estimator_weights_, peer, strict=True))

    def enough(n):
        scores = clone(adaboost).set_params(n_rules=n).fit(X, y).decision_function(X)
        return np.mean(np.exp(-signs * scores)) <= np.mean(np.exp(-signs * F))

    fewest = bisect_left(range(ROUNDS), True, lo=1, key=enough)
    models[f"propriety, by edge, no intercept, {fewest} stumps"] = (
        clone(adaboost).set_params(n_rules=fewest).fit(X, y)
    )
    best = alternate({name: (lambda m=m: m.fit(X, y)) for name, m in models.items()}, given.times(9))
    rows = [["scikit-learn AdaBoostClassifier", seconds, 1, np.mean(np.exp(-signs * F))]]
    for name, model in models.items():
        p = model.predict_proba(X)[:, 1]
        F = np.asarray(EXPONENTIAL.link(p))
        rows.append([name, best[name], seconds / best[name], np.mean(np.exp(-signs * F))])
    ratio, loss = (
        Column("times faster", "peer ÷ ours", ".0f"),
        Column("training exponential loss", "loss", ".4f"),
    )
    goals = {"stumps": seconds / best["propriety, by edge, no intercept"]}
    columns = ["model", Column("fit, s", "s", ".3f"), ratio, loss]
    yield Table("stumps", f"{ROUNDS} boosted stumps, {n:,} × 28", columns, rows, goals=goals)


def rules(given):
    """10-fold cross-validation of 10 rules of two literals on a table of 700 × 9."""
    X, y = make_classification(700, 9, n_informative=5, flip_y=0.1, random_state=0)
    X = X.round(1)
    models = {
        "log loss": RuleClassifier(n_rules=10, max_literals=2),
        "Matsushita()": RuleClassifier("Matsushita()", n_rules=10, max_literals=2),
        "totally corrective": RuleClassifier(n_rules=10, max_literals=2, update="corrective"),
        "bag 1, by risk": RuleClassifier("bag", n_rules=10, max_literals=2),
    }
    found = {name: cross_val_score(model, X, y, cv=10).mean() for name, model in models.items()}
    calls = {name: (lambda m=m: cross_val_score(m, X, y, cv=10)) for name, m in models.items()}
    best = alternate(calls, given.times(5))
    rows = [[name, best[name], 1 - found[name]] for name in models]
    columns = ["model", SECONDS, Column("held-out error", "loss", ".3f")]
    yield Table("rules", "10-fold cross-validation of 10 rules, 2 literals, 700 × 9", columns, rows)


#: Flavours of [N8 §6], and how their rules are chosen.
FLAVOURS = {
    "Mu(1/3)": {"loss": losses.Mu(1 / 3)},
    "Matsushita()": {"loss": "Matsushita()"},
    "Log()": {"loss": "Log()"},
    "Squared()": {"loss": "Squared()"},
    "Power(0.3)": {"loss": "Power(0.3)"},
    "Exponential()": {"loss": "Exponential()"},
    "F1": {"loss": "bag", "bag": 1},
    "F2": {"loss": "bag", "bag": 2},
    "E1": {"loss": "bag", "bag": 1, "choose": "edge"},
    "E2": {"loss": "bag", "bag": 2, "choose": "edge"},
    "F*": {"loss": "bag", "choose": "once"},
    "Log(), by edge": {"loss": "Log()", "criterion": "edge"},
    "Log(), corrective": {"loss": "Log()", "update": "corrective"},
    "Log(), no intercept": {"loss": "Log()", "fit_intercept": False},
}


def flavours(given, n_rules=10, max_literals=2):
    """The flavours of the paper on every sixth real data set: held-out errors, log losses and ranks."""
    every = 30 if given.quick else 6
    import quality_data
    from scipy.stats import rankdata
    from sklearn.model_selection import StratifiedKFold

    errors, scores = [], []
    for name in quality_data.names()[::every]:
        X, y = quality_data.load(name)
        error, score = np.zeros(len(FLAVOURS)), np.zeros(len(FLAVOURS))
        for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
            for k, parameters in enumerate(FLAVOURS.values()):
                model = RuleClassifier(n_rules=n_rules, max_literals=max_literals, **parameters)
                p = model.fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])[:, 1]
                truth = y[test].astype(float)
                error[k] += np.sum((p >= 0.5) != truth) / len(y)
                score[k] += losses.Squared().loss(truth, p).sum() / len(y)
        errors.append(error)
        scores.append(score)
    ranks = np.mean([rankdata(e) for e in errors], axis=0)
    rows = [
        [name, 100 * e, r, s]
        for name, e, r, s in zip(
            FLAVOURS, np.mean(errors, axis=0), ranks, np.mean(scores, axis=0), strict=True
        )
    ]
    error, loss = Column("held-out error, %", "loss", ".2f"), Column("squared loss", "loss", ".4f")
    columns = ["flavour", error, Column("mean rank", format=".2f"), loss]
    title = f"{n_rules} rules of {max_literals} literals on {len(errors)} data sets"
    yield Table("flavours", title, columns, rows)


PART = Part(__doc__, {"stumps": stumps, "rules": rules, "flavours": flavours})

if __name__ == "__main__":
    PART.main()
