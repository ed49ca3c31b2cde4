"""Trees beside scikit-learn's; boosted rules are in trees_rules.py.

One run, alternating, the best of several repetitions, two threads:

    python benchmarks/trees.py                 # every case
    python benchmarks/trees.py trees           # one of them
    python benchmarks/trees.py --list

Tables of seconds, the ratio to the peer (above 1: we are faster), losses.
"""

from __future__ import annotations

import warnings

import numpy as np
from boosting import smooth
from measuring import LOSS, Column, Part, Table, alternate
from sklearn.tree import DecisionTreeClassifier

from propriety import TreeClassifier, losses

THREADS, LEAVES, LEAST = 2, 31, 20
warnings.filterwarnings("ignore")


def ours(loss, splits="histogram", **changes):
    limits = {"max_leaf_nodes": LEAVES, "min_samples_leaf": LEAST, "n_jobs": THREADS} | changes
    return TreeClassifier(loss, splits=splits, **limits)


def theirs(criterion="gini", **changes):
    limits = {"max_leaf_nodes": LEAVES, "min_samples_leaf": LEAST} | changes
    return DecisionTreeClassifier(criterion=criterion, random_state=0, **limits)


def log_loss(model, X, y):
    p = np.clip(model.predict_proba(X), 1e-15, 1)
    return -np.mean(np.log(p[np.arange(len(y)), y]))


# --- cases ----------------------------------------------------------------------------------------


def trees(given):
    """A tree of 31 leaves on 100,000 × 28, its entropies, and its predictions."""
    n = given.size(100_000)
    X, y, _ = smooth(n + n // 2, 28)
    train, test = (X[:n], y[:n]), (X[n:], y[n:])
    own = losses.from_entropy(lambda p: np.sin(np.pi * p))
    models = {
        "scikit-learn, gini": theirs(),
        "scikit-learn, entropy": theirs("entropy"),
        "Squared(), histogram": ours("Squared()"),
        "Log(), histogram": ours("Log()"),
        "CascadeUp(16), histogram": ours("CascadeUp(16)"),
        "CascadeDown(31), histogram": ours("CascadeDown(31)"),
        "a user's entropy, histogram": ours(own),
        "Squared(), exact": ours("Squared()", "exact"),
        "Log(), exact": ours("Log()", "exact"),
        "CascadeUp(16), exact": ours("CascadeUp(16)", "exact"),
    }
    found = {name: log_loss(model.fit(*train), *test) for name, model in models.items()}
    best = alternate({name: (lambda m=m: m.fit(*train)) for name, m in models.items()}, given.times(7))
    peer, gini = best["scikit-learn, gini"], {s: best[f"Squared(), {s}"] for s in ("histogram", "exact")}
    rows = []
    for name, seconds in best.items():
        same = gini.get(name.split(", ")[-1])
        against = None if same is None else seconds / same
        rows.append([name, seconds, peer / seconds, against, found[name]])
    ratio = Column("scikit-learn gini ÷ it", "peer ÷ ours", ".1f")
    columns = ["tree", Column("fit, s", "s", ".4f"), ratio, Column("÷ Gini", format=".2f"), LOSS]
    goals = {"tree": peer / gini["histogram"]}
    yield Table("trees", f"{n:,} × 28, {LEAVES} leaves", columns, rows, goals=goals)
    pair = {"scikit-learn": models["scikit-learn, entropy"], "propriety": models["Log(), histogram"]}
    best = alternate({name: (lambda m=m: m.predict_proba(X[:n])) for name, m in pair.items()}, given.times(7))
    one = alternate({name: (lambda m=m: m.predict_proba(X[:1])) for name, m in pair.items()}, given.times(50))
    rows = [[name, best[name] * 1e3, one[name] * 1e6] for name in pair]
    columns = ["tree", Column(f"{n:,} rows, ms", "ms", ".2f"), Column("1 row, µs", "µs", ".0f")]
    yield Table("prediction", "predict_proba", columns, rows)


def sizes(given):
    """Other sizes, and trees grown until every leaf is pure."""
    rows, goals = [], {}
    for n, d, changes in (
        (500, 8, {}),
        (10_000, 28, {}),
        (given.size(1_000_000), 28, {}),
        (20_000, 28, {"max_leaf_nodes": None, "min_samples_leaf": 1}),
    ):
        X, y, _ = smooth(n, d)
        calls = {
            "scikit-learn": lambda X=X, y=y, c=changes: theirs("entropy", **c).fit(X, y),
            "auto": lambda X=X, y=y, c=changes: ours("Log()", "auto", **c).fit(X, y),
        }
        calls["auto"]()
        best = alternate(calls, given.times(1 if n >= 1_000_000 else 5))
        kind = "pure leaves" if changes else f"{LEAVES} leaves"
        ratio = best["scikit-learn"] / best["auto"]
        rows.append([f"{n:,} × {d}, {kind}", *(best[k] for k in calls), ratio])
        goals |= {"tree 500": ratio} if n == 500 else {}
    seconds = [Column(f"{program}, s", "s", ".4f") for program in ("scikit-learn", "propriety")]
    columns = ["data", *seconds, Column("scikit-learn ÷ propriety", "peer ÷ ours", ".2f")]
    yield Table("sizes", "Other sizes", columns, rows, goals=goals)


PART = Part(__doc__, {"trees": trees, "sizes": sizes})

if __name__ == "__main__":
    PART.main()
