"""Does the loss matter? Boosting, linear models and trees with several losses, on real data with costs.

Every model is judged on rows it was not fitted to (three folds of every data set of `quality_data`, at most
2,000 rows) at the costs c = 0.05, 0.1, 0.2 and 0.5 of a false alarm, a miss costing 1 − c:

    python benchmarks/quality.py                    # go on where the last run stopped, to the end
    python benchmarks/quality.py --seconds 3600     # or for an hour
    python benchmarks/quality.py --seconds 0        # the tables of what has been measured

One line is added to ``--results`` for each data set, so a run can be stopped and taken up again. Ours are
fitted with the log loss, with Tailored(c) and with the loss that LossSearchCV chooses; peers are LightGBM and
scikit-learn's logistic regression decided at c, as they are and recalibrated (isotonic, Platt), and empulse's
cost-sensitive models, which decide by themselves.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import quality_data
from measuring import Column, Part, Table, add_line, read_lines
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from propriety import BoostingClassifier, LinearClassifier, LossSearchCV, TreeClassifier, losses
from propriety.evaluation import calibration_error, compare, mean_loss
from propriety.evaluation.comparison import holm

COSTS = (0.05, 0.1, 0.2, 0.5)
FOLDS, INNER = 3, 3
FOCUS = (2, 5, 10)  # that searches try beside the log loss
CLIP = 1e-6  # probabilities are kept this far from 0 and 1 in the log loss
ROUNDS, LEAVES = 100, 31
RESULTS = Path(tempfile.gettempdir()) / "propriety-quality.jsonl"
warnings.filterwarnings("ignore")


# --- models ---------------------------------------------------------------------------------------


def numbers():
    """One-hot categories, medians for missing numbers, unit variance."""
    categories = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False, min_frequency=2),
    )
    plain = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    return make_column_transformer(
        (categories, make_column_selector(dtype_include="category")),
        (plain, make_column_selector(dtype_include="number")),
    )


def ours(n):
    """Unfitted models of this library; linear ones shrink like scikit-learn's with C = 1."""
    return {
        "boosting": (
            BoostingClassifier(max_iter=ROUNDS, max_leaf_nodes=LEAVES, n_jobs=1, random_state=0),
            True,
        ),
        "linear": (LinearClassifier(alpha=1 / n, tol=1e-5, n_jobs=1), False),
        "tree": (TreeClassifier(max_leaf_nodes=LEAVES, n_jobs=1, random_state=0), True),
    }


def peers():
    """Models that know no costs, and whether they read the table as it is."""
    from lightgbm import LGBMClassifier

    light = LGBMClassifier(n_estimators=ROUNDS, num_leaves=LEAVES, n_jobs=1, verbose=-1, random_state=0)
    logistic = LogisticRegression(max_iter=1000)
    found = {}
    for name, model, table in (("LightGBM", light, True), ("logistic regression", logistic, False)):
        found[name] = (model, table)
        for words, method in (("isotonic", "isotonic"), ("Platt", "sigmoid")):
            found[f"{name}, {words}"] = (CalibratedClassifierCV(model, method=method, cv=INNER), table)
    return found


def sensitive(c):
    """Empulse's models for the cost c of a false alarm and 1 − c of a miss."""
    from empulse.models import CSBoostClassifier, CSLogitClassifier, CSTreeClassifier
    from lightgbm import LGBMClassifier

    costs = {"fp_cost": c, "fn_cost": 1 - c}
    light = LGBMClassifier(n_estimators=ROUNDS, num_leaves=LEAVES, n_jobs=1, verbose=-1, random_state=0)
    return {
        "empulse CSBoost (LightGBM)": CSBoostClassifier(light, **costs),
        "empulse CSLogit": CSLogitClassifier(**costs),
        "empulse CSTree": CSTreeClassifier(
            max_leaf_nodes=LEAVES, min_samples_leaf=20, random_state=0, **costs
        ),
    }


# --- one data set ---------------------------------------------------------------------------------


class OutOfFold:
    """Probabilities and decisions of every model at every cost, filled fold by fold."""

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.found, self.chosen = {}, {}

    def start(self, train, test):
        """Go to another fold: the table as it is, and as numbers."""
        self.train, self.test = train, test
        encode = numbers().fit(self.X.iloc[train])
        rows = [self.X.iloc[part] for part in (train, test)]
        self.tables = {True: rows, False: [encode.transform(part) for part in rows]}

    def fit(self, model, table):
        """Fit a model to the training rows."""
        return model.fit(self.tables[table][0], self.y[self.train])

    def keep(self, name, c, model, table, own=False):
        """Note what a fitted model says at cost c, deciding at c or by its own decisions."""
        X = self.tables[table][1]
        p = model.predict_proba(X)[:, 1]
        n = len(self.y)
        at = self.found.setdefault(name, {}).setdefault(c, (np.empty(n), np.empty(n, dtype=bool)))
        at[0][self.test], at[1][self.test] = p, model.predict(X) == 1 if own else p >= c

    def add_ours(self):
        """Every learner with the log loss, the tailored loss and the chosen loss."""
        for kind, (model, table) in ours(len(self.train)).items():
            plain = self.fit(model.set_params(loss="Log"), table)
            for c in COSTS:
                self.keep(f"{kind}, log loss", c, plain, table)
            for c in COSTS:
                model.set_params(loss=losses.Tailored(c), fp_cost=c, fn_cost=1 - c)
                self.keep(f"{kind}, tailored", c, self.fit(model, table), table)
                tried = [losses.Tailored(c, focus) for focus in FOCUS]
                search = self.fit(LossSearchCV(model, tried, rule="one_se", cv=INNER), table)
                self.keep(f"{kind}, chosen", c, search, table)
                self.chosen.setdefault(f"{kind}, chosen", []).append(repr(search.best_loss_))

    def add_peers(self):
        """Every other model."""
        for name, (model, table) in peers().items():
            self.fit(model, table)
            for c in COSTS:
                self.keep(name, c, model, table)
        for c in COSTS:
            for name, model in sensitive(c).items():
                self.keep(name, c, self.fit(model, False), False, own=True)


def predictions(X, y):
    """Out-of-fold predictions {model: {cost: (p, decision)}}, and what the searches chose."""
    out = OutOfFold(X, y)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        out.start(train, test)
        out.add_ours()
        out.add_peers()
    return out.found, out.chosen


def measure(name):
    """Numbers of one data set: cost per 1,000 decisions, log loss, Brier score, calibration error."""
    X, y = quality_data.load(name)
    started = time.perf_counter()
    found, chosen = predictions(X, y)
    rows = {}
    for model, costs in found.items():
        for c, (p, decision) in costs.items():
            alarms, misses = np.mean(decision & (y == 0)), np.mean(~decision & (y == 1))
            rows[f"{model}|{c}"] = {
                "cost": 1000 * (c * alarms + (1 - c) * misses),
                "log loss": mean_loss(y, p, "Log", clip=CLIP),
                "Brier": mean_loss(y, p, "Squared"),
                "calibration": calibration_error(y, p),
            }
    return {
        "name": name,
        "rows": len(y),
        "columns": X.shape[1],
        "positive": float(y.mean()),
        "seconds": time.perf_counter() - started,
        "chosen": chosen,
        "results": rows,
    }


# --- tables ---------------------------------------------------------------------------------------

#: The log loss of the same kind of learner, with which a model is compared.
BASE = {
    "boosting": "boosting, log loss",
    "linear": "linear, log loss",
    "tree": "tree, log loss",
    "LightGBM": "LightGBM",
    "logistic regression": "logistic regression",
    "empulse CSBoost (LightGBM)": "LightGBM",
    "empulse CSLogit": "logistic regression",
    "empulse CSTree": "tree, log loss",
}


def tables(results):
    """Costs with ranks, tests against the log loss, probabilities, what was chosen."""
    models = list(dict.fromkeys(key.split("|")[0] for key in results[0]["results"]))
    ranked = {c: compare(scores(results, models, "cost", c), models) for c in COSTS}
    yield _costs(results, models, ranked)
    yield _tests(models, ranked)
    yield _probabilities(results, models)
    rows = []
    for model in results[0]["chosen"]:
        said = [loss for r in results for loss in r["chosen"][model]]
        rows.append([model, len(said), 100 * np.mean([loss == "Log()" for loss in said])])
    columns = ["model", Column("searches", format=".0f"), Column("log loss kept, %", format=".0f")]
    yield Table("chosen", "What searches chose", columns, rows)


def scores(results, models, kind, c):
    return np.array([[r["results"][f"{model}|{c}"][kind] for model in models] for r in results])


def _costs(results, models, ranked):
    rows = [
        [model, *(f"{t.scores[:, m].mean():.2f} ({t.average_ranks[m]:.1f})" for t in ranked.values())]
        for m, model in enumerate(models)
    ]
    largest = max(t.friedman.pvalue for t in ranked.values())
    note = (
        f"{len(results)} data sets, {sum(r['rows'] for r in results):,} rows. Friedman's p is at most "
        f"{largest:.1g} at each cost; ranks that differ by less than "
        f"{ranked[COSTS[0]].critical_difference():.1f} do not differ (Nemenyi, 5 %)."
    )
    title = "Cost of 1,000 decisions, mean over data sets (average rank among all models)"
    return Table("costs", title, ["model", *(f"c = {c}" for c in COSTS)], rows, note)


def _tests(models, ranked):
    pairs = [(m, models.index(BASE[model.split(",")[0]])) for m, model in enumerate(models)]
    pairs = [(i, j) for i, j in pairs if i != j]
    corrected = holm(np.array([ranked[c].wilcoxon[i, j] for i, j in pairs for c in COSTS]))
    corrected = corrected.reshape(len(pairs), len(COSTS))
    rows = []
    for (i, j), row in zip(pairs, corrected, strict=True):
        wins = [(ranked[c].wins[i, j], ranked[c].wins[j, i]) for c in COSTS]
        cells = [f"{w} / {l} (p {p:.2g})" for (w, l), p in zip(wins, row, strict=True)]
        rows.append([models[i], *cells])
    title = (
        "Data sets with a lower / higher cost than the log loss of the same kind of learner, and "
        f"Wilcoxon's p, corrected for all {corrected.size} tests (Holm)"
    )
    return Table("tests", title, ["model", *(f"c = {c}" for c in COSTS)], rows)


def _probabilities(results, models):
    kinds = ("log loss", "Brier", "calibration")
    means = {kind: np.mean([scores(results, models, kind, c) for c in COSTS], axis=0) for kind in kinds}
    ranks = {kind: compare(means[kind], models).average_ranks for kind in kinds}
    rows = [
        [model, *(f"{means[kind][:, m].mean():.4f} ({ranks[kind][m]:.1f})" for kind in kinds)]
        for m, model in enumerate(models)
    ]
    title = "Probabilities, mean over data sets and costs (average rank)"
    return Table("probabilities", title, ["model", "log loss", "Brier score", "calibration error"], rows)


# --- the run --------------------------------------------------------------------------------------


def sets(given):
    """Measure what is not yet in the file, until the time is over; then the tables."""
    path = Path(tempfile.mkdtemp()) / "quick.jsonl" if given.quick else given.results
    started = time.perf_counter()
    done = {r["name"] for r in read_lines(path)}
    for name in quality_data.names()[:2] if given.quick else given.sets or quality_data.names():
        if name in done or time.perf_counter() - started > given.seconds:
            continue
        result = measure(name)
        add_line(path, result)
        print(f"{name}: {result['rows']} rows, {result['seconds']:.1f} s", flush=True)
    measured = {result["name"]: result for result in read_lines(path)}
    yield from tables(list(measured.values()))


def arguments(parser):
    parser.add_argument("--sets", nargs="+", help="data sets; all by default")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--seconds", type=float, default=np.inf)


PART = Part(__doc__, {"sets": sets}, arguments=arguments)

if __name__ == "__main__":
    PART.main()
