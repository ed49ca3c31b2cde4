"""Random forests and extra trees beside scikit-learn's.

One run, alternating, the best of several repetitions, two threads and 100 trees on both sides:

    python benchmarks/forest.py                # every case
    python benchmarks/forest.py speed          # one of them
    python benchmarks/forest.py --list
    python benchmarks/forest.py speed --trees 20 --repeats 1

Tables of seconds, the ratio to the peer (above 1: we are faster), held-out log losses. Threads of a busy
machine wait for each other; ``--clock processor`` says what the work was.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import quality_data
from boosting import smooth
from measuring import Column, Part, Table, alternate
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

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


def compared(name, calls, repeats):
    theirs, ours = alternate(dict(enumerate(calls)), repeats).values()
    return [name, theirs, ours, theirs / ours]


def speed(options):
    """Fits and predictions of tables of 28 columns."""
    seconds = [Column(f"{program}, s", "s", ".3f") for program in ("scikit-learn", "propriety")]
    columns = ["", *seconds, Column("scikit-learn ÷ propriety", "peer ÷ ours", ".1f")]
    fits, predictions = [], []
    trees = options.size(options.trees) if options.quick else options.trees
    for n in map(options.size, options.rows):
        X, y, _ = smooth(n, 28)
        repeats = options.times(3 if n >= 100_000 else 5)
        for kind, pair in forests(trees).items():
            pair[1].fit(X[:100], y[:100]).predict_proba(X[:100])  # compiled, or read from the disk
            calls = [lambda m=m, X=X, y=y: m.fit(X, y) for m in pair]
            fits.append(compared(f"{kind}, {n:,} × 28, {trees} trees", calls, repeats))
            calls = [lambda m=m, X=X: m.predict_proba(X[:10_000]) for m in pair]
            rows = min(n, 10_000)
            name = f"{kind} of {n:,} rows, {trees} trees, {rows:,} rows"
            predictions.append(compared(name, calls, options.times(5)))
    yield Table("fits", "Fits", columns, fits)
    yield Table("predictions", "predict_proba", columns, predictions)


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


def available(options):
    """Names of real tables; one at toy size."""
    names = [name for name in SETS if name in quality_data.names()] or quality_data.names()
    return names[:1] if options.quick else names


def quality(options):
    """Held-out log loss by five folds on real tables of at most 2,000 rows."""
    rows, wins = [], dict.fromkeys(("random forest", "extra trees"), 0)
    for name in available(options):
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
        cells = [value for kind in wins for value in means[kind]]
        rows.append([f"{name}, {len(y):,} × {X.shape[1]}", *cells, means["out of bag"][0]])
    heads = [f"{whose} {kind}" for kind in ("forest", "extra trees") for whose in ("scikit-learn", "our")]
    columns = ["data", *(Column(head, "loss", ".4f") for head in [*heads, "our forest's `oob_score_`"])]
    note = "No worse: " + ", ".join(f"{kind} on {n} of {len(rows)}" for kind, n in wins.items()) + "."
    yield Table("quality", "Held-out log loss", columns, rows, note)


def entropies(options):
    """Held-out log loss of forests grown by several losses, and of boosting with its defaults."""
    names, rows = ("Log()", "Squared()", "Matsushita()", "CostWeighted(0.3)"), []
    for name in available(options):
        X, y = quality_data.load(name)
        losses: dict[str, list[float]] = {}
        for seed, (train, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)):
            shared = {"n_jobs": THREADS, "random_state": seed}
            models = {loss: ForestClassifier(loss, n_estimators=options.trees, **shared) for loss in names}
            for loss, model in (models | {"boosting": BoostingClassifier(**shared)}).items():
                P = model.fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
                losses.setdefault(loss, []).append(log_loss(P, y[test]))
        rows.append([name, *(np.mean(found) for found in losses.values())])
    columns = ["data", *(Column(head, "loss", ".4f") for head in [*names, "boosting, log loss"])]
    yield Table("entropies", "Held-out log loss by the loss that splits", columns, rows)


def arguments(parser):
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="of fits timed")


PART = Part(__doc__, {"speed": speed, "quality": quality, "entropies": entropies}, arguments=arguments)

if __name__ == "__main__":
    PART.main()
