"""Random forests and extra trees beside scikit-learn's.

One run, alternating, the best of several repetitions, two threads and 100 trees on both sides:

    python benchmarks/forest.py                # every part
    python benchmarks/forest.py speed          # one of them
    python benchmarks/forest.py --list
    python benchmarks/forest.py speed --trees 20 --repetitions 1

Prints Markdown tables: seconds, the ratio to the peer (above 1: we are faster), held-out log losses. Threads
of a busy machine wait for each other; the processor's seconds, in brackets, say what the work was.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

sys.path.insert(0, str(Path(__file__).parent))

import quality_data
from boosting import smooth

from propriety import BoostingClassifier, ForestClassifier

THREADS = 2
EXTRA = {"splitter": "random", "bootstrap": False}
#: Sets of numbers, of categories, of both and with missing values.
SETS = (
    "sonar",
    "wdbc",
    "pima",
    "german",
    "credit-a (crx)",
    "tic-tac-toe",
    "spambase",
    "adult",
    "abalone",
    "sick",
)
warnings.filterwarnings("ignore")


def forests(trees, seed=0, threads=THREADS):
    """Pairs of the same kind, theirs first."""
    shared = {"n_estimators": trees, "n_jobs": threads, "random_state": seed}
    return {
        "random forest": (RandomForestClassifier(**shared), ForestClassifier(**shared)),
        "extra trees": (ExtraTreesClassifier(**shared), ForestClassifier(**shared, **EXTRA)),
    }


def table(title, rows, head):
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    sys.stdout.flush()


def alternate(calls, repetitions):
    """Least seconds of each call, of the clock and of the processor, the calls taking turns."""
    best = [[np.inf, np.inf] for _ in calls]
    for _ in range(repetitions):
        for times, call in zip(best, calls, strict=True):
            start, work = time.perf_counter(), time.process_time()
            call()
            times[0] = min(times[0], time.perf_counter() - start)
            times[1] = min(times[1], time.process_time() - work)
    return best


def compared(name, calls, repetitions):
    (theirs, their_work), (ours, our_work) = alternate(calls, repetitions)
    return [
        name,
        f"{theirs:.3f} ({their_work:.3f})",
        f"{ours:.3f} ({our_work:.3f})",
        f"{theirs / ours:.1f} ({their_work / our_work:.1f})",
    ]


def speed(options):
    """Fits and predictions of tables of 28 columns."""
    head = ["", "scikit-learn, s", "propriety, s", "scikit-learn ÷ propriety"]
    fits, predictions = [], []
    for n in options.rows:
        X, y, _ = smooth(n, 28)
        repetitions = max(1, options.repetitions if n == 100_000 else 5)
        for kind, pair in forests(options.trees).items():
            pair[1].fit(X[:100], y[:100]).predict_proba(X[:100])  # compiled, or read from the disk
            calls = [lambda m=m, X=X, y=y: m.fit(X, y) for m in pair]
            fits.append(compared(f"{kind}, {n:,} × 28", calls, repetitions))
            calls = [lambda m=m, X=X: m.predict_proba(X[:10_000]) for m in pair]
            rows = min(n, 10_000)
            predictions.append(compared(f"{kind} of {n:,} rows, {rows:,} rows", calls, 5))
    table(f"Fits, {options.trees} trees", fits, head)
    table("Predictions", predictions, head)


def log_loss(P, y):
    """Mean log loss; scikit-learn's zeros are taken for a thousandth, as generous as its trees allow."""
    return float(-np.mean(np.log(np.clip(P[np.arange(len(y)), y], 1e-3, 1))))


def encoded(model, X):
    """scikit-learn's forests with categories as numbers; missing categories are one more."""
    text = [c for c in X if isinstance(X[c].dtype, pd.CategoricalDtype)]
    numbers = [c for c in X if c not in text]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    return make_pipeline(
        make_column_transformer((encoder, text), (SimpleImputer(strategy="median"), numbers)), model
    )


def quality(options):
    """Held-out log loss by five folds on real tables of at most 2,000 rows."""
    available = [name for name in SETS if name in quality_data.names()] or quality_data.names()
    rows, wins = [], dict.fromkeys(("random forest", "extra trees"), 0)
    for name in available:
        X, y = quality_data.load(name)
        losses: dict[str, list[list[float]]] = {}
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            for kind, (theirs, ours) in forests(options.trees).items():
                ours.set_params(oob_score=kind == "random forest")
                P = encoded(theirs, X).fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
                Q = ours.fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
                found = [log_loss(P, y[test]), log_loss(Q, y[test])]
                losses.setdefault(kind, []).append(found)
                if kind == "random forest":
                    losses.setdefault("out of bag", []).append([ours.oob_score_])
        means = {kind: np.mean(found, axis=0) for kind, found in losses.items()}
        for kind in wins:
            wins[kind] += int(means[kind][1] <= means[kind][0])
        cells = [f"{value:.4f}" for kind in wins for value in means[kind]]
        rows.append([f"{name}, {len(y):,} × {X.shape[1]}", *cells, f"{means['out of bag'][0]:.4f}"])
    head = [
        "",
        "scikit-learn forest",
        "ours",
        "scikit-learn extra trees",
        "ours",
        "our forest's `oob_score_`",
    ]
    table("Held-out log loss", rows, head)
    print("\nNo worse: " + ", ".join(f"{kind} on {n} of {len(rows)}" for kind, n in wins.items()))


def entropies(options):
    """Held-out log loss of forests grown by several losses, and of boosting with its defaults."""
    available = [name for name in SETS if name in quality_data.names()] or quality_data.names()
    names, rows = ("Log()", "Squared()", "Matsushita()", "CostWeighted(0.3)"), []
    for name in available:
        X, y = quality_data.load(name)
        losses: dict[str, list[float]] = {}
        for seed, (train, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)):
            shared = {"n_jobs": THREADS, "random_state": seed}
            models = {loss: ForestClassifier(loss, n_estimators=options.trees, **shared) for loss in names}
            for loss, model in (models | {"boosting": BoostingClassifier(**shared)}).items():
                P = model.fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
                losses.setdefault(loss, []).append(log_loss(P, y[test]))
        rows.append([name, *(f"{np.mean(found):.4f}" for found in losses.values())])
    table("Held-out log loss by the loss that splits", rows, ["", *names, "boosting, log loss"])


PARTS = {"speed": speed, "quality": quality, "entropies": entropies}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--list", action="store_true", help="list the parts and leave")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="of fits timed")
    parser.add_argument("--repetitions", type=int, default=2, help="of fits of 100,000 rows")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(PARTS))
    else:
        for part in arguments.parts or PARTS:
            PARTS[part](arguments)
