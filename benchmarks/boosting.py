"""BoostingClassifier beside LightGBM, XGBoost, CatBoost and scikit-learn.

One run, alternating, the best of several repetitions, two threads, equal rounds, leaves, bins and rate:

    python benchmarks/boosting.py                 # every case
    python benchmarks/boosting.py large small     # some of them
    python benchmarks/boosting.py --list

Tables of seconds, the ratio to ours (above 1: we are faster), held-out log loss.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from functools import partial

import numpy as np
from measuring import LOSS, MEMORY, RATIO, SECONDS, Column, Part, Table, alternate

from propriety import losses
from propriety.boosting import BoostingClassifier

THREADS, ROUNDS, LEAVES, RATE, BINS = 2, 100, 31, 0.1, 255
warnings.filterwarnings("ignore")


# --- data -----------------------------------------------------------------------------------------


def smooth(n, d, seed=0):
    """Probabilities that depend on all columns, smoothly and by interactions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    W = np.random.default_rng(99).normal(size=(d, 8)) / np.sqrt(d / 3)
    F = np.tanh(X @ W) @ np.array([1.5, -1, 1, 2, -1, 0.5, -1.5, 1]) + X[:, 0] * (X[:, 1] > 0)
    return X, (rng.random(n) < 1 / (1 + np.exp(-F))).astype(np.int32), F


def several(n, d, classes, seed=0):
    X, _, _ = smooth(n, d, seed)
    scores = np.tanh(X @ np.random.default_rng(7).normal(size=(d, classes)) / 2) * 2
    noise = np.random.default_rng(seed + 1).gumbel(size=(n, classes))
    return X, np.argmax(scores + noise, axis=1)


def mixed(n, d, categorical, seed=0):
    """Columns of small integers, and a tenth of all values missing."""
    X, y, _ = smooth(n, d, seed)
    rng = np.random.default_rng(seed + 2)
    for f in range(categorical):
        X[:, f] = np.floor((np.clip(X[:, f], -2, 2) + 2) * rng.integers(2, 20))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def categories(n, d, categorical, seed=0):
    """A data frame whose first columns are categories, of 4 to 200 levels, in no order."""
    import pandas as pd

    X, y, _ = smooth(n, d, seed)
    rng = np.random.default_rng(seed + 3)
    frame = pd.DataFrame(X, columns=[f"x{f}" for f in range(d)])
    for f in range(categorical):
        levels = (4, 12, 40, 200)[f % 4]
        edges = np.quantile(X[:100_000, f], np.arange(1, levels) / levels)
        codes = rng.permutation(levels)[np.searchsorted(edges, X[:, f])]
        frame[f"x{f}"] = pd.Categorical.from_codes(codes, categories=[f"c{k}" for k in range(levels)])
    return frame, y


# --- models ---------------------------------------------------------------------------------------


def ours(**changes):
    return BoostingClassifier(min_samples_leaf=20, n_jobs=THREADS, max_iter=ROUNDS, **changes)


def lightgbm(**changes):
    import lightgbm as lgb

    common = {"n_estimators": ROUNDS, "num_leaves": LEAVES, "learning_rate": RATE, "max_bin": BINS}
    return lgb.LGBMClassifier(n_jobs=THREADS, verbose=-1, **common | changes)


def xgboost(**changes):
    import xgboost as xgb

    common = {"n_estimators": ROUNDS, "max_leaves": LEAVES, "learning_rate": RATE, "max_bin": BINS}
    common |= {"grow_policy": "lossguide", "max_depth": 0, "tree_method": "hist"}
    return xgb.XGBClassifier(n_jobs=THREADS, **common | changes)


def catboost():
    import catboost

    return catboost.CatBoostClassifier(
        iterations=ROUNDS,
        max_leaves=LEAVES,
        grow_policy="Lossguide",
        learning_rate=RATE,
        border_count=254,
        thread_count=THREADS,
        verbose=False,
        allow_writing_files=False,
    )


def catboost_oblivious():
    import catboost

    return catboost.CatBoostClassifier(
        iterations=ROUNDS,
        depth=5,
        learning_rate=RATE,
        border_count=254,
        thread_count=THREADS,
        verbose=False,
        allow_writing_files=False,
    )


def scikit_learn(**changes):
    from sklearn.ensemble import HistGradientBoostingClassifier

    common = {"max_iter": ROUNDS, "max_leaf_nodes": LEAVES, "learning_rate": RATE, "max_bins": BINS}
    return HistGradientBoostingClassifier(early_stopping=False, **common | changes)


def of_rounds(rounds, make):
    """A model of other than the usual number of rounds."""
    model = make()
    name = "max_iter" if "max_iter" in model.get_params() else "n_estimators"
    return model.set_params(**{name: rounds})


PEERS = {
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost (lossguide)": catboost,
    "scikit-learn HGB": scikit_learn,
}


# --- measuring ------------------------------------------------------------------------------------


class Memory:
    """The largest resident memory while the block runs, beyond what there was before, in bytes."""

    def __enter__(self):
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what earlier fits have freed counts anew
        self._before, self.peak, self._stop = self._now(), 0, False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop = True
        self._thread.join()

    def _watch(self):
        while not self._stop:
            self.peak = max(self.peak, self._now() - self._before)
            time.sleep(0.005)

    @staticmethod
    def _now():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def loss_of(model, X, y):
    p = np.clip(model.predict_proba(X).astype(np.float64), 1e-15, 1)
    return -np.mean(np.log(p[np.arange(len(y)), y]))


def compare(name, title, makers, train, test, repetitions, goal=None):
    """Fit all models in turns: a table of time, ratio, memory and held-out loss, and the goal it measures."""
    X, y = train
    models, memory = {}, {}
    for model, make in makers.items():
        make().fit(X[:2000], y[:2000])  # imports, compilation, threads
        with Memory() as used:
            models[model] = make().fit(X, y)
        memory[model] = used.peak
    found = {model: loss_of(fitted, *test) for model, fitted in models.items()}
    best = alternate(
        {model: (lambda make=make: make().fit(X, y)) for model, make in makers.items()}, repetitions
    )
    ours_best, *peers = best.values()
    rows = [[m, best[m], best[m] / ours_best, memory[m] / 1e6, found[m]] for m in makers]
    reached = {} if goal is None else {goal: min(peers) / ours_best}
    return Table(name, title, ["model", SECONDS, RATIO, MEMORY, LOSS], rows, goals=reached)


# --- parts ----------------------------------------------------------------------------------------


def large(given):
    n = given.size(1_000_000)
    X, y, _ = smooth(n + n // 5, 28)
    makers = {"propriety": ours, **PEERS}
    train, test = (X[:n], y[:n]), (X[n:], y[n:])
    yield compare("large", f"{n:,} × 28, log loss", makers, train, test, given.times(3), "boosting")


def own_losses(given):
    n = given.size(1_000_000)
    X, y, _ = smooth(n, 28)
    tailored = losses.as_composite("Tailored(0.1, 20)")
    weight = losses.from_weight(lambda p: 1.0 / (p * (1.0 - p)))

    def callback(y_true, F):
        """The tailored loss as one writes it for other libraries, in NumPy, its largest weight 1."""
        p = 1 / (1 + np.exp(-F))
        w = (p / 0.1) ** 2 * ((1 - p) / 0.9) ** 18
        return (p - y_true) * w, p * (1 - p) * w

    free = {"min_child_weight": 1e-9}  # else the small curvatures of this loss stop the peers' trees early
    calls = {
        "propriety, log": lambda: ours().fit(X[:n], y[:n]),
        "propriety, Tailored(0.1, 20)": lambda: ours(loss=tailored).fit(X[:n], y[:n]),
        "propriety, a user's weight function": lambda: ours(loss=weight, link="Logit()").fit(X[:n], y[:n]),
        "LightGBM, NumPy callback": lambda: lightgbm(objective=callback, **free).fit(X[:n], y[:n]),
        "XGBoost, NumPy callback": lambda: xgboost(objective=callback, **free).fit(X[:n], y[:n]),
    }
    calls["propriety, Tailored(0.1, 20)"]()
    calls["propriety, a user's weight function"]()
    best = alternate(calls, given.times(3))
    log = best["propriety, log"]
    rows = [[name, seconds, seconds / log] for name, seconds in best.items()]
    slowest = max(seconds for name, seconds in best.items() if name.startswith("propriety")) / log
    columns = ["model", SECONDS, Column("time ÷ ours with log loss", format=".2f")]
    yield Table("losses", f"{n:,} × 28, other losses", columns, rows, goals={"boosting losses": slowest})


def small(given):
    for n, d, repetitions in ((10_000, 28, 5), (1_000, 10, 10)):
        X, y, _ = smooth(n + 50_000, d)
        makers = {"propriety": ours, **PEERS}
        train, test = (X[:n], y[:n]), (X[n:], y[n:])
        title, times = f"{n:,} × {d}, log loss", given.times(repetitions)
        yield compare(f"small, {n:,}", title, makers, train, test, times, f"boosting {n:,}")


def first_call(given):
    """Least seconds of the first fit with an empty cache, and of the first fit in a later process."""
    code = (
        "import numpy as np, time; t = time.perf_counter();"
        "from propriety.boosting import BoostingClassifier; r = np.random.default_rng(0);"
        "X = r.normal(size=(1000, 10)); y = (X[:, 0] > 0).astype(int);"
        "s = time.perf_counter(); BoostingClassifier(n_jobs=2).fit(X, y).predict(X); e = time.perf_counter();"
        "print(s - t, e - s)"
    )
    best = dict.fromkeys(("empty cache", "later process"), (np.inf, np.inf))
    for _ in range(given.times(5)):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"NUMBA_CACHE_DIR": folder}
            for name in best:
                run = subprocess.run(
                    [sys.executable, "-c", code], env=environment, capture_output=True, check=True
                )
                best[name] = tuple(map(min, best[name], map(float, run.stdout.split())))
    rows = [[name, *seconds] for name, seconds in best.items()]
    columns = ["", Column("import, s", "s", ".2f"), Column("first fit and predict, s", "s", ".2f")]
    yield Table("first", "First call (1,000 × 10)", columns, rows, goals={"first fit": rows[0][2]})


# CatBoost takes minutes on these, and its order of magnitude is known from the others.
FAST_PEERS = {name: make for name, make in PEERS.items() if name != "CatBoost (lossguide)"}


def small_integers(given):
    n = given.size(200_000)
    X, y = mixed(n + n // 4, 28, 20)
    title = f"{n:,} × 28, 20 columns of small integers, 10 % missing"
    makers = {"propriety": ours, **FAST_PEERS}
    yield compare("integers", title, makers, (X[:n], y[:n]), (X[n:], y[n:]), given.times(3))


def wide(given):
    n = given.size(1_000_000)
    X, y, _ = smooth(n + n // 20, 100)
    makers = {"propriety": ours, **FAST_PEERS}
    train, test = (X[:n], y[:n]), (X[n:], y[n:])
    yield compare("wide", f"{n:,} × 100", makers, train, test, given.times(2), "boosting wide")


def larger_trees(given):
    """255 leaves, best first; and all leaves of depth 8, which XGBoost grows level by level."""
    n = given.size(1_000_000)
    X, y, _ = smooth(n + n // 20, 28)
    train, test = (X[:n], y[:n]), (X[n:], y[n:])
    makers = {
        "propriety": lambda: ours(max_leaf_nodes=255),
        "LightGBM": lambda: lightgbm(num_leaves=255),
        "XGBoost": lambda: xgboost(max_leaves=255),
        "scikit-learn HGB": lambda: scikit_learn(max_leaf_nodes=255),
    }
    title, goal = f"{n:,} × 28, 255 leaves", "boosting 255 leaves"
    yield compare("255 leaves", title, makers, train, test, given.times(2), goal)
    makers = {
        "propriety": lambda: ours(max_leaf_nodes=256, max_depth=8),
        "LightGBM": lambda: lightgbm(num_leaves=256, max_depth=8),
        "XGBoost": lambda: xgboost(max_leaves=0, max_depth=8, grow_policy="depthwise"),
        "scikit-learn HGB": lambda: scikit_learn(max_leaf_nodes=256, max_depth=8),
    }
    title, goal = f"{n:,} × 28, depth 8", "boosting depth 8"
    yield compare("depth 8", title, makers, train, test, given.times(2), goal)


def categorical(given):
    n = given.size(1_000_000)
    X, y = categories(n + n // 20, 28, 20)
    makers = {
        "propriety": ours,
        "LightGBM": lightgbm,
        "XGBoost": lambda: xgboost(enable_categorical=True),
        "scikit-learn HGB": lambda: scikit_learn(categorical_features="from_dtype"),
    }
    title, train, test = f"{n:,} × 28, 20 columns of categories", (X[:n], y[:n]), (X[n:], y[n:])
    yield compare("categories", title, makers, train, test, given.times(2), "boosting categories")


def classes(given):
    n = given.size(100_000)
    X, y = several(n + n // 5, 28, 10)
    makers = {"propriety": ours, **FAST_PEERS}
    train, test = (X[:n], y[:n]), (X[n:], y[n:])
    title, goal = f"{n:,} × 28, 10 classes", "boosting 10 classes"
    yield compare("classes", title, makers, train, test, given.times(2), goal)
    n = max(given.size(20_000), 2_000)  # or a class has no row
    X, y = several(n + n // 5, 28, 100)
    makers = {name: partial(of_rounds, 10, make) for name, make in makers.items()}
    train, test = (X[:n], y[:n]), (X[n:], y[n:])
    title, goal = f"{n:,} × 28, 100 classes, 10 rounds", "boosting 100 classes"
    yield compare("many classes", title, makers, train, test, given.times(2), goal)


def prediction(given):
    n = given.size(100_000)
    X, y, _ = smooth(2 * n, 28)
    makers = {"propriety": ours, **PEERS, "CatBoost (oblivious)": catboost_oblivious}
    models = {name: make().fit(X[:n], y[:n]) for name, make in makers.items()}
    many, one = X[n:], X[:1]
    for m in models.values():
        m.predict_proba(many), m.predict_proba(one)
    times = given.times(5)
    best = alternate({name: (lambda m=m: m.predict_proba(many)) for name, m in models.items()}, times)
    single = alternate(
        {name: (lambda m=m: [m.predict_proba(one) for _ in range(50)]) for name, m in models.items()}, times
    )
    rows = []
    for name in models:
        ratio, ratio_one = best[name] / best["propriety"], single[name] / single["propriety"]
        rows.append([name, best[name], ratio, single[name] / 50 * 1e6, ratio_one])
    one_ratio = Column("1 row: time ÷ ours", "peer ÷ ours", ".2f")
    columns = [
        "model",
        Column(f"{n:,} rows, s", "s", ".4f"),
        RATIO,
        Column("1 row, µs", "µs", ".0f"),
        one_ratio,
    ]
    reached = {"prediction": best["CatBoost (oblivious)"] / best["propriety"]}
    yield Table("prediction", "Prediction", columns, rows, goals=reached)


def memory(given):
    """The largest memory beyond the data, which ten rounds reach as well as a hundred."""
    n = given.size(2_000_000)
    X, y, _ = smooth(n, 50)
    used = {}
    for name in ("propriety", "LightGBM", "XGBoost"):
        make = partial(of_rounds, 10, {"propriety": ours, **PEERS}[name])
        make().fit(X[:2000], y[:2000])
        with Memory() as memory:
            make().fit(X, y)
        used[name] = memory.peak / 1e6
    reached = {"boosting memory": used["propriety"]}
    title = f"{n:,} × 50 float32, 10 rounds: memory"
    yield Table("memory", title, ["model", MEMORY], [list(row) for row in used.items()], goals=reached)


def growth(given):
    rows, base = [], None
    for n in map(given.size, (100_000, 1_000_000, 10_000_000)):
        X, y, _ = smooth(n, 10)
        ours().fit(X[:1000], y[:1000])
        times = given.times(3 if n <= 1_000_000 else 2)
        best = alternate({"fit": lambda X=X, y=y: ours().fit(X, y)}, times)["fit"]
        base = base or best / n
        rows.append([f"{n:,}", best, best / n * 1e9, best / n / base])
    each, base_column = Column("ns per row", format=".0f"), Column("÷ at the fewest rows", format=".2f")
    columns = ["rows", Column("seconds", "s", ".2f"), each, base_column]
    yield Table("growth", "Growth, 10 columns", columns, rows)


CASES = {
    "large": large,
    "losses": own_losses,
    "small": small,
    "first": first_call,
    "integers": small_integers,
    "wide": wide,
    "trees": larger_trees,
    "categories": categorical,
    "classes": classes,
    "prediction": prediction,
    "memory": memory,
    "growth": growth,
}

PART = Part(__doc__, CASES)

if __name__ == "__main__":
    PART.main()
