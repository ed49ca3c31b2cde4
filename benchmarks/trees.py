"""Trees and boosted rules beside scikit-learn's.

One run, alternating, the best of several repetitions, two threads:

    python benchmarks/trees.py                 # every part
    python benchmarks/trees.py trees           # one of them
    python benchmarks/trees.py --list

Prints Markdown tables: seconds, the ratio to the peer (above 1: we are faster), losses.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).parent))

import trees_rules
from boosting import smooth

from propriety import TreeClassifier, losses

THREADS, LEAVES, LEAST = 2, 31, 20
warnings.filterwarnings("ignore")


# --- measuring ------------------------------------------------------------------------------------


def alternate(calls, repetitions):
    """Best seconds of each call, the calls taking turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(repetitions):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def table(title, rows, head):
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    sys.stdout.flush()


def ours(loss, splits="histogram", **changes):
    limits = {"max_leaf_nodes": LEAVES, "min_samples_leaf": LEAST, "n_jobs": THREADS} | changes
    return TreeClassifier(loss, splits=splits, **limits)


def theirs(criterion="gini", **changes):
    limits = {"max_leaf_nodes": LEAVES, "min_samples_leaf": LEAST} | changes
    return DecisionTreeClassifier(criterion=criterion, random_state=0, **limits)


def log_loss(model, X, y):
    p = np.clip(model.predict_proba(X), 1e-15, 1)
    return -np.mean(np.log(p[np.arange(len(y)), y]))


# --- parts ----------------------------------------------------------------------------------------


def trees():
    """A tree of 31 leaves on 100,000 × 28, its entropies, and its predictions."""
    X, y, _ = smooth(150_000, 28)
    n = 100_000
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
    best = alternate({name: (lambda m=m: m.fit(*train)) for name, m in models.items()}, 7)
    peer, gini = best["scikit-learn, gini"], {s: best[f"Squared(), {s}"] for s in ("histogram", "exact")}
    rows = []
    for name, seconds in best.items():
        same = gini.get(name.split(", ")[-1])
        against = "" if same is None else f"{seconds / same:.2f}"
        rows.append([name, f"{seconds:.4f}", f"{peer / seconds:.1f}", against, f"{found[name]:.4f}"])
    table(
        f"{n:,} × 28, {LEAVES} leaves",
        rows,
        ["tree", "fit, s", "scikit-learn gini ÷ it", "÷ Gini", "held-out log loss"],
    )
    pair = {"scikit-learn": models["scikit-learn, entropy"], "propriety": models["Log(), histogram"]}
    best = alternate({name: (lambda m=m: m.predict_proba(X[:n])) for name, m in pair.items()}, 7)
    one = alternate({name: (lambda m=m: m.predict_proba(X[:1])) for name, m in pair.items()}, 50)
    rows = [[name, f"{best[name] * 1e3:.2f}", f"{one[name] * 1e6:.0f}"] for name in pair]
    table("Prediction", rows, ["tree", "100,000 rows, ms", "1 row, µs"])


def sizes():
    """Other sizes, and trees grown until every leaf is pure."""
    rows = []
    for n, d, changes in (
        (500, 8, {}),
        (10_000, 28, {}),
        (1_000_000, 28, {}),
        (20_000, 28, {"max_leaf_nodes": None, "min_samples_leaf": 1}),
    ):
        X, y, _ = smooth(n, d)
        calls = {
            "scikit-learn": lambda X=X, y=y, c=changes: theirs("entropy", **c).fit(X, y),
            "auto": lambda X=X, y=y, c=changes: ours("Log()", "auto", **c).fit(X, y),
        }
        calls["auto"]()
        best = alternate(calls, 1 if n >= 1_000_000 else 5)
        kind = "pure leaves" if changes else f"{LEAVES} leaves"
        ratio = best["scikit-learn"] / best["auto"]
        rows.append([f"{n:,} × {d}, {kind}", *(f"{best[k]:.4f}" for k in calls), f"{ratio:.2f}"])
    table("Other sizes", rows, ["data", "scikit-learn, s", "propriety, s", "scikit-learn ÷ propriety"])


PARTS = {"trees": trees, "sizes": sizes, **trees_rules.PARTS}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--list", action="store_true", help="list the parts and leave")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(PARTS))
    else:
        for part in arguments.parts or PARTS:
            PARTS[part]()
