"""A rank that holds: what decisions cost, by model, as each comes out of the box.

Every model with its defaults on every set of `quality_data`, at most ``--rows`` rows, three folds; costs
c = 0.01 to 0.5 of a false alarm, 1 − c of a miss. Choices about this library were made on one half of the
sets, a fixed list by a seed; both halves are reported.

    python benchmarks/quality_ranks.py --seconds 3600                # go on where the last run stopped
    python benchmarks/quality_ranks.py --seconds 0                   # the tables of what has been measured
    python benchmarks/quality_ranks.py --again --models "propriety boosting"

Seconds are processor time of the fits, to be compared with ``--threads 1``: threads that wait for each other
count too. One line is added to ``--results`` for each data set and model, smaller sets first; the lines are
kept beside the tables, since the peers take an hour of processor time. ``--again`` measures models anew that
are there. The peers are in the extra "bench".
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections import defaultdict
from functools import lru_cache
from pathlib import Path

import numpy as np
import quality_data
from measuring import RESULTS, Column, Part, Table, add_line, read_lines
from quality import CLIP, numbers
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from propriety import AutoClassifier, BoostingClassifier, ForestClassifier, LinearClassifier
from propriety.evaluation import calibration_slope, compare, mean_loss
from propriety.evaluation.comparison import holm

COSTS = (0.01, 0.05, 0.1, 0.2, 0.5)
FOLDS = 3
ENOUGH = 20  # sets from which two models are compared by tests
KEPT = RESULTS / "quality_ranks.jsonl"
OURS = ("propriety auto", "propriety boosting")
warnings.filterwarnings("ignore")

#: What a model reads: the table, the table with categories as numbers, categories as text, or numbers alone.
TABLE, TEXT, NUMBERS = "table", "text", "numbers"


def lightgbm(n_jobs):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, random_state=0, n_jobs=n_jobs)


def xgboost(n_jobs):
    from xgboost import XGBClassifier

    return XGBClassifier(enable_categorical=True, random_state=0, n_jobs=n_jobs)


def catboost(n_jobs):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(verbose=0, random_state=0, thread_count=n_jobs, allow_writing_files=False)


def ebm(n_jobs, **changes):
    from interpret.glassbox import ExplainableBoostingClassifier

    # Its own limit of 50,000 takes minutes for a hundred rows where classes can be told apart.
    return ExplainableBoostingClassifier(max_rounds=1000, random_state=0, n_jobs=n_jobs, **changes)


MODELS = {
    "propriety auto": (lambda n_jobs: AutoClassifier(random_state=0, n_jobs=n_jobs), TABLE),
    "propriety boosting": (lambda n_jobs: BoostingClassifier(random_state=0, n_jobs=n_jobs), TABLE),
    "propriety boosting, 100 rounds": (
        lambda n_jobs: BoostingClassifier(max_iter=100, random_state=0, n_jobs=n_jobs),
        TABLE,
    ),
    "propriety forest": (
        lambda n_jobs: ForestClassifier(n_estimators=300, random_state=0, n_jobs=n_jobs),
        TABLE,
    ),
    "propriety linear, alpha by folds": (lambda _: LinearClassifier("Log", alpha="cv"), NUMBERS),
    "LightGBM": (lightgbm, TABLE),
    "XGBoost": (xgboost, TABLE),
    "CatBoost": (catboost, TEXT),
    "scikit-learn boosting": (lambda _: HistGradientBoostingClassifier(random_state=0), TABLE),
    "EBM, main effects": (lambda n_jobs: ebm(n_jobs, interactions=0), TABLE),
    "EBM": (ebm, TABLE),
    "random forest 300": (lambda n_jobs: RandomForestClassifier(300, random_state=0, n_jobs=n_jobs), NUMBERS),
    "extra trees 300": (lambda n_jobs: ExtraTreesClassifier(300, random_state=0, n_jobs=n_jobs), NUMBERS),
    "logistic regression, C by folds": (lambda _: LogisticRegressionCV(max_iter=1000, n_jobs=1), NUMBERS),
}


def halves(names):
    """The sets that choices were made on, and the others."""
    order = np.random.default_rng(7).permutation(sorted(names))
    return sorted(order[::2].tolist()), sorted(order[1::2].tolist())


# --- one model on one set ---------------------------------------------------------------------------


def read_as(reads, X, train, test):
    """Training and judging rows, and what else goes to the fit."""
    X = X.loc[:, X.iloc[train].notna().any()]  # scikit-learn's boosting stops at a column without a value
    rows = [X.iloc[train], X.iloc[test]]
    if reads == NUMBERS:
        encode = numbers().fit(rows[0])
        return [encode.transform(part) for part in rows], {}
    if reads == TEXT:
        columns = [name for name in X if X[name].dtype == "category"]
        X = X.assign(**{name: X[name].astype(object).fillna("missing") for name in columns})
        rows = [X.iloc[train], X.iloc[test]]
        return rows, {"cat_features": columns}
    return rows, {}


@lru_cache(maxsize=1)
def load(name, n_rows):
    """A set of at most so many rows."""
    quality_data.ROWS = n_rows
    return quality_data.load(name)


def measure(name, model, n_rows, n_jobs):
    """Cost of 1,000 decisions at each cost, log loss, slope of the calibration and processor seconds."""
    make, reads = MODELS[model]
    X, y = load(name, n_rows)
    p, seconds = np.empty(len(y)), 0.0
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        (learn, judge), given = read_as(reads, X, train, test)
        started = time.process_time()
        fitted = make(n_jobs).fit(learn, y[train], **given)
        seconds += time.process_time() - started
        p[test] = fitted.predict_proba(judge)[:, 1]
    p = np.clip(p, CLIP, 1 - CLIP)
    mean = {c: np.mean(np.where(y == 1, (1 - c) * (p < c), c * (p >= c))) for c in COSTS}
    cost = {str(c): round(1000 * value, 6) for c, value in mean.items()}
    slope = calibration_slope(y, p).value
    return {
        "name": name,
        "model": model,
        "rows": len(y),
        "cost": cost,
        "log loss": round(mean_loss(y, p, "Log"), 9),
        "slope": round(slope, 4) if np.isfinite(slope) else None,
        "seconds": round(seconds, 3),
    }


# --- tables -----------------------------------------------------------------------------------------


def tables(results):
    """Ranks and means on either half, and whether the first is ahead of each.

    Models that were not run on all sets, for want of time, have a table of the sets on which they were.
    """
    found = defaultdict(dict)
    for r in results:
        found[r["name"]][r["model"]] = r
    count = {m: sum(m in of_set for of_set in found.values()) for m in MODELS}
    models = [m for m in MODELS if count[m] == max(count.values())]
    complete = _complete(found, models)
    for words, names in zip(("chosen on", "kept apart"), halves(quality_data.names()), strict=True):
        half = [name for name in names if name in complete]
        if half:
            title = f"The {len(half)} sets {words}: cost of 1,000 decisions and mean rank"
            yield _table(words, title, [found[name] for name in half], models)
    some = [m for m in MODELS if count[m] > 0]
    both = _complete(found, some)
    if some != models and len(both) > 1:
        title = f"The {len(both)} sets on which all models were run"
        yield _table("all models", title, [found[name] for name in both], some)


def _complete(found, models):
    """The sets on which these models were run."""
    return [name for name, of_set in found.items() if all(m in of_set for m in models)]


def _table(name, title, rows, models):
    scores = {c: np.array([[r[m]["cost"][str(c)] for m in models] for r in rows]) for c in COSTS}
    scores["log loss"] = np.array([[r[m]["log loss"] for m in models] for r in rows])
    ranked = {kind: compare(values, models) for kind, values in scores.items()}
    ours = models.index(OURS[0])
    columns = ["model", *(f"c = {c}" for c in COSTS), "log loss"]
    columns += [Column("slope", format=".2f"), Column("seconds", "s", ".0f")]
    lines = []
    for m, model in enumerate(models):
        cells = [f"{scores[c][:, m].mean():.2f} ({ranked[c].average_ranks[m]:.1f})" for c in COSTS]
        cells.append(f"{scores['log loss'][:, m].mean():.4f} ({ranked['log loss'].average_ranks[m]:.1f})")
        slope = np.median([r[model]["slope"] or np.inf for r in rows])
        lines.append([model, *cells, slope, sum(r[model]["seconds"] for r in rows)])
    worst = max(t.friedman.pvalue for t in ranked.values())
    note = f"Friedman's p is at most {worst:.1g}."
    if len(rows) < ENOUGH:
        return Table(name, title, columns, lines, note)
    others = [m for m in range(len(models)) if m != ours]
    tested = [ranked[kind].wilcoxon[ours] for kind in scores]  # once for each: exact tests take their time
    pvalues = holm(np.array([of_kind[m] for of_kind in tested for m in others]))
    pairs = [(kind, models[m]) for kind in scores for m in others]
    same = [f"{model} ({kind})" for (kind, model), p in zip(pairs, pvalues, strict=True) if p > 0.05]
    if len(same) > len(pairs) / 2:
        same = [f"{len(same)} of {len(pairs)} comparisons"]
    note += f" Not different from {OURS[0]} (Wilcoxon, Holm, 5 %): {'; '.join(same) or 'none'}."
    return Table(name, title, columns, lines, note)


# --- the run ----------------------------------------------------------------------------------------


def sets(given):
    """Measure what is not yet in the file, until the time is over, smaller sets first; then the tables."""
    path = Path(tempfile.mkdtemp()) / "quick.jsonl" if given.quick else given.results
    started = time.perf_counter()
    models = [m for m in MODELS if not given.models or m in given.models]
    if given.again:
        lines = [r for r in read_lines(path) if r["model"] not in models]
        path.unlink(missing_ok=True)
        for line in lines:
            add_line(path, line)
    done = {(r["name"], r["model"]) for r in read_lines(path)}
    names = sorted(given.sets or quality_data.names(), key=quality_data.rows)
    for name in names[:4] if given.quick else names:
        for model in models[-3:] + models[:1] if given.quick else models:
            if (name, model) in done or time.perf_counter() - started > given.seconds:
                continue
            with threadpool_limits(given.threads):
                add_line(path, measure(name, model, given.rows, given.threads))
        print(name, flush=True)
    yield from tables(read_lines(path))


def arguments(parser):
    parser.add_argument("--sets", nargs="+", help="data sets; all by default")
    parser.add_argument("--models", nargs="*")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--results", type=Path, default=KEPT)
    parser.add_argument("--again", action="store_true", help="measure models anew that are in the file")
    parser.add_argument("--seconds", type=float, default=np.inf)
    parser.add_argument("--threads", type=int, default=2)


PART = Part(__doc__, {"sets": sets}, arguments=arguments)

if __name__ == "__main__":
    PART.main()
