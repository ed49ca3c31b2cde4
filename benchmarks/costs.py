"""What decisions cost when each row has costs of its own: our models beside empulse's.

    python benchmarks/costs.py                  # go on where the last run stopped, to the end
    python benchmarks/costs.py --seconds 0      # the table of what has been measured

Data: the four sets inside empulse, with the costs that it states for their rows (two of credit, one of
churn, one of telemarketing), and UCI sets of `quality_data`, if they are there, with costs drawn for each row
(log-normal, a miss five times a false alarm in the median). Each set is cut to ``ROWS`` random rows and
halved ``REPEATS`` times, classes in proportion; every model is fitted to one half and judged on the other by
the cost of its decisions. Ours decide by the costs of each row; empulse's as they are made to: by a half, or
CSThreshold by the costs of each row. All have their default parameters but for the number of threads, and the
ridge of our linear models, which is that of scikit-learn's C = 1 unless the row says alpha="cv".
"""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import quality_data
from measuring import Column, Part, Table, add_line, read_lines
from quality import numbers
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit

from propriety import AutoClassifier, BoostingClassifier, Costs, LinearClassifier
from propriety.costs import ResolvedCosts

ROWS, REPEATS = 2000, 5
DRAWN = ("german", "pima", "adult", "spambase")
RESULTS = Path(tempfile.gettempdir()) / "propriety-costs.jsonl"
#: What of the data's formulas is no cost of a row: loss given default; price of a call, share of the balance
#: that is deposited, and interest, as in empulse's documentation.
CONSTANTS = {"lgd": 0.75, "c": 1.0, "d": 0.25, "r": 0.02463333}
warnings.filterwarnings("ignore")


# --- data -----------------------------------------------------------------------------------------


def empulse_set(name):
    """Columns, labels and the four costs of each row, of a set inside empulse."""
    from empulse import datasets

    loaded = getattr(datasets, name)(backend="pandas")
    of_rows, n = loaded.instance_costs, len(loaded.target)
    if "balance" in of_rows:
        gain = of_rows["balance"] * CONSTANTS["d"] * CONSTANTS["r"]
        costs = {"tp": CONSTANTS["c"], "fp": CONSTANTS["c"], "fn": np.maximum(CONSTANTS["c"], gain)}
    elif "cl" in of_rows:
        costs = {"fp": of_rows["fp_cost"], "fn": of_rows["cl"] * CONSTANTS["lgd"]}
    else:
        costs = {key: of_rows[f"{key}_cost"] for key in ("tp", "tn", "fp", "fn")}
    full = {key: np.broadcast_to(costs.get(key, 0.0), n).astype(float) for key in ("tp", "tn", "fp", "fn")}
    X = loaded.data.copy()
    for column in X.columns:
        plain = pd.api.types.is_numeric_dtype(X[column])
        X[column] = X[column].astype("float64" if plain else "category")
    return X, np.asarray(loaded.target).astype(int), full


def drawn_set(name):
    """A UCI set with costs drawn for each row."""
    X, y = quality_data.load(name)
    rng = np.random.default_rng(0)
    fp, fn = rng.lognormal(0, 0.5, len(y)), 5 * rng.lognormal(0, 1, len(y))
    return X, np.asarray(y).astype(int), {"tp": np.zeros(len(y)), "tn": np.zeros(len(y)), "fp": fp, "fn": fn}


def sets():
    """Names and loaders."""
    inside = ("churn_tv_subscriptions", "credit_scoring_pakdd", "upsell_bank_telemarketing")
    found = {name: lambda name=name: empulse_set(f"load_{name}") for name in (*inside, "vub_credit_scoring")}
    there = quality_data.names()
    return found | {f"{name}, drawn": lambda name=name: drawn_set(name) for name in DRAWN if name in there}


# --- models ---------------------------------------------------------------------------------------


def ours(n):
    """Models of this library, and whether they read the table as it is; linear ones shrink as with C = 1."""
    boosting, staked = {"n_jobs": 1, "random_state": 0}, Costs(weight_by_stakes=True)
    linear = {"n_jobs": 1, "tol": 1e-5, "alpha": 1 / n}
    return {
        "auto": (AutoClassifier(n_jobs=1, random_state=0), True),
        "boosting": (BoostingClassifier(**boosting), True),
        "boosting, stakes": (BoostingClassifier(costs=staked, **boosting), True),
        "linear": (LinearClassifier(**linear), False),
        'linear, alpha="cv"': (LinearClassifier(**linear | {"alpha": "cv"}), False),
        "linear, stakes": (LinearClassifier(costs=staked, **linear), False),
        "linear, tailored to rows": (LinearClassifier("tailored", **linear), False),
        "linear, tailored to rows, stakes": (
            LinearClassifier("tailored", costs=staked, **linear),
            False,
        ),
    }


def theirs():
    """Models of empulse; all read numbers."""
    from empulse import models
    from lightgbm import LGBMClassifier

    light = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)
    logistic = LogisticRegression(max_iter=1000)
    return {
        "empulse CSLogit": models.CSLogitClassifier(),
        "empulse CSBoost (LightGBM)": models.CSBoostClassifier(light),
        "empulse CSTree": models.CSTreeClassifier(random_state=0),
        "empulse CSForest": models.CSForestClassifier(random_state=0, n_jobs=1),
        "empulse CSThreshold (logistic)": models.CSThresholdClassifier(logistic),
        "empulse CSThreshold (LightGBM)": models.CSThresholdClassifier(light),
    }


def decide_ours(model, tables, y, costs, train, test):
    """Fit and decide by the costs of the rows."""
    benefits = {"tp_benefit": -costs["tp"], "tn_benefit": -costs["tn"]}
    given = pd.DataFrame({"fp": costs["fp"], "fn": costs["fn"], **benefits})
    model.fit(tables[0], y[train], costs=given.iloc[train])
    return model.predict(tables[1], costs=given.iloc[test])


def decide_theirs(model, tables, y, costs, train, test):
    """Fit with the costs of the rows; CSThreshold takes those of the rows to decide as well."""
    given = {f"{key}_cost": values for key, values in costs.items()}
    late = "Threshold" in type(model).__name__
    fitting = {} if late else {name: values[train] for name, values in given.items()}
    model.fit(tables[0], y[train], **fitting)
    return model.predict(
        tables[1], **({name: values[test] for name, values in given.items()} if late else {})
    )


# --- measuring ------------------------------------------------------------------------------------


def half(X, y, costs, seed):
    """One random half judged by models of the other: cost of a decision of every model."""
    split = StratifiedShuffleSplit(1, test_size=0.5, random_state=seed)
    train, test = next(split.split(X, y))
    encode = numbers().fit(X.iloc[train])
    raw = [X.iloc[part] for part in (train, test)]
    encoded = [encode.transform(part) for part in raw]
    matrix = ResolvedCosts.of_mistakes(
        costs["fp"][test], costs["fn"][test], tp_benefit=-costs["tp"][test], tn_benefit=-costs["tn"][test]
    )
    found, seconds = {}, {}
    for always in (0, 1):
        found[f"always {always}"] = float(matrix.of_rows(y[test], np.full(len(test), always)).mean())
    jobs = [
        (name, decide_ours, model, raw if table else encoded)
        for name, (model, table) in ours(len(train)).items()
    ]
    jobs += [(name, decide_theirs, model, encoded) for name, model in theirs().items()]
    for name, decide, model, tables in jobs:
        started = time.perf_counter()
        decided = decide(model, tables, y, costs, train, test)
        seconds[name] = time.perf_counter() - started
        found[name] = float(matrix.of_rows(y[test], decided).mean())
    return found, seconds


def halves(given):
    """Measure what is not in the results yet, until the time is over; then the table."""
    results = Path(tempfile.mkdtemp()) / "quick.jsonl" if given.quick else given.results
    done = {(row["set"], row["repeat"]) for row in read_lines(results)}
    started = time.perf_counter()
    for repeat in range(1 if given.quick else REPEATS):
        for name, load in list(sets().items())[-1 if given.quick else 0 :]:
            if (name, repeat) in done or time.perf_counter() - started > given.seconds:
                continue
            X, y, costs = load()
            chosen = np.random.default_rng(0).permutation(len(y))[:ROWS]
            cut = {key: values[chosen] for key, values in costs.items()}
            found, took = half(X.iloc[chosen].reset_index(drop=True), y[chosen], cut, repeat)
            add_line(results, {"set": name, "repeat": repeat, "cost": found, "seconds": took})
            print(name, repeat, {key: round(value, 2) for key, value in took.items()}, flush=True)
    yield table(read_lines(results))


def table(rows):
    """Savings of each model on each set, with standard errors, and how it does in all."""
    names = list(dict.fromkeys(row["set"] for row in rows))
    models = [name for name in rows[0]["cost"] if not name.startswith("always")]
    saved = {
        (row["set"], row["repeat"], name): _savings(row["cost"], name) for row in rows for name in models
    }
    lines = []
    for model in models:
        cells, means = [], []
        for name in names:
            values = np.array([v for (s, _, m), v in saved.items() if (s, m) == (name, model)])
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            cells.append(f"{values.mean():.1f} ({error:.1f})")
            means.append(values.mean())
        lines.append([model, *cells, np.mean(means)])
    title = f"{len(names)} sets, {len(rows)} halves. Savings in percent (standard error)"
    return Table("savings", title, ["model", *names, Column("mean", format=".1f")], lines)


def _savings(costs, name):
    """100 (1 − cost/cost of the better of always and never)."""
    constant = min(costs["always 0"], costs["always 1"])
    return 100 * (1 - costs[name] / constant)


def arguments(parser):
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--seconds", type=float, default=np.inf)


PART = Part(__doc__, {"halves": halves}, arguments=arguments)

if __name__ == "__main__":
    PART.main()
