"""BoostingClassifier beside LightGBM, XGBoost, CatBoost and scikit-learn.

One run, alternating, the best of several repetitions, two threads, equal rounds, leaves, bins and rate:

    python benchmarks/boosting.py                 # every part
    python benchmarks/boosting.py large small     # some of them
    python benchmarks/boosting.py --list

Prints Markdown tables: seconds, the ratio to ours (above 1: we are faster), held-out log loss.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import numpy as np

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


# --- models ---------------------------------------------------------------------------------------


def ours(**changes):
    return BoostingClassifier(min_samples_leaf=20, n_jobs=THREADS, max_iter=ROUNDS, **changes)


def lightgbm(**changes):
    import lightgbm as lgb

    common = {"n_estimators": ROUNDS, "num_leaves": LEAVES, "learning_rate": RATE, "max_bin": BINS}
    return lgb.LGBMClassifier(n_jobs=THREADS, verbose=-1, **common, **changes)


def xgboost(**changes):
    import xgboost as xgb

    common = {"n_estimators": ROUNDS, "max_leaves": LEAVES, "learning_rate": RATE, "max_bin": BINS}
    return xgb.XGBClassifier(
        n_jobs=THREADS, grow_policy="lossguide", max_depth=0, tree_method="hist", **common, **changes
    )


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


def scikit_learn():
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=RATE, max_bins=BINS, early_stopping=False
    )


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


def alternate(calls, repetitions):
    """Best seconds of each call, the calls taking turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(repetitions):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def loss_of(model, X, y):
    p = np.clip(model.predict_proba(X).astype(np.float64), 1e-15, 1)
    return -np.mean(np.log(p[np.arange(len(y)), y]))


def table(title, rows, head):
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    sys.stdout.flush()


def compare(title, makers, train, test, repetitions):
    """Fit all models in turns and print time, ratio, memory and held-out loss."""
    X, y = train
    models, memory = {}, {}
    for name, make in makers.items():
        make().fit(X[:2000], y[:2000])  # imports, compilation, threads
        with Memory() as used:
            models[name] = make().fit(X, y)
        memory[name] = used.peak
    found = {name: loss_of(model, *test) for name, model in models.items()}
    best = alternate(
        {name: (lambda make=make: make().fit(X, y)) for name, make in makers.items()}, repetitions
    )
    first = next(iter(makers))
    rows = [
        [
            name,
            f"{best[name]:.3f}",
            f"{best[name] / best[first]:.2f}",
            f"{memory[name] / 1e6:.0f}",
            f"{found[name]:.5f}",
        ]
        for name in makers
    ]
    table(title, rows, ["model", "seconds", "time ÷ ours", "MB beyond X", "held-out log loss"])
    return models


# --- parts ----------------------------------------------------------------------------------------


def large():
    X, y, _ = smooth(1_200_000, 28)
    makers = {"propriety": ours, **PEERS}
    n = 1_000_000
    compare("1,000,000 × 28, log loss", makers, (X[:n], y[:n]), (X[n:], y[n:]), 3)
    print(f"\nMemory's bound, 2.2 B/cell + 64 B/row: {(2.2 * n * 28 + 64 * n) / 1e6:.1f} MB")


def own_losses():
    X, y, _ = smooth(1_200_000, 28)
    n = 1_000_000
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
    best = alternate(calls, 3)
    log = best["propriety, log"]
    rows = [[name, f"{seconds:.3f}", f"{seconds / log:.2f}"] for name, seconds in best.items()]
    table("1,000,000 × 28, other losses", rows, ["model", "seconds", "time ÷ ours with log loss"])


def small():
    for n, d, repetitions in ((10_000, 28, 5), (1_000, 10, 10)):
        X, y, _ = smooth(n + 50_000, d)
        makers = {"propriety": ours, **PEERS}
        compare(f"{n:,} × {d}, log loss", makers, (X[:n], y[:n]), (X[n:], y[n:]), repetitions)


def first_call():
    """Seconds of the first fit with an empty cache, and of the first fit in a later process."""
    code = (
        "import numpy as np, time; t = time.perf_counter();"
        "from propriety.boosting import BoostingClassifier; r = np.random.default_rng(0);"
        "X = r.normal(size=(1000, 10)); y = (X[:, 0] > 0).astype(int);"
        "s = time.perf_counter(); BoostingClassifier(n_jobs=2).fit(X, y).predict(X); e = time.perf_counter();"
        "print(s - t, e - s)"
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("empty cache", "later process"):
            environment = os.environ | {"NUMBA_CACHE_DIR": folder}
            run = subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, check=True
            )
            imported, fitted = map(float, run.stdout.split())
            rows.append([name, f"{imported:.2f}", f"{fitted:.2f}"])
    table("First call (1,000 × 10)", rows, ["", "import, s", "first fit and predict, s"])


# CatBoost takes minutes on these, and its order of magnitude is known from the others.
FAST_PEERS = {name: make for name, make in PEERS.items() if name != "CatBoost (lossguide)"}


def small_integers():
    X, y = mixed(250_000, 28, 20)
    train, test = (X[:200_000], y[:200_000]), (X[200_000:], y[200_000:])
    title = "200,000 × 28, 20 columns of small integers, 10 % missing"
    compare(title, {"propriety": ours, **FAST_PEERS}, train, test, 3)


def wide():
    X, y, _ = smooth(1_050_000, 100)
    n = 1_000_000
    compare("1,000,000 × 100", {"propriety": ours, **FAST_PEERS}, (X[:n], y[:n]), (X[n:], y[n:]), 2)


def classes():
    X, y = several(120_000, 28, 10)
    n = 100_000
    makers = {"propriety": ours, **FAST_PEERS}
    compare("100,000 × 28, 10 classes", makers, (X[:n], y[:n]), (X[n:], y[n:]), 2)


def prediction():
    X, y, _ = smooth(200_000, 28)
    makers = {"propriety": ours, **PEERS, "CatBoost (oblivious)": catboost_oblivious}
    models = {name: make().fit(X[:100_000], y[:100_000]) for name, make in makers.items()}
    many, one = X[100_000:], X[:1]
    rows = []
    for m in models.values():
        m.predict_proba(many), m.predict_proba(one)
    best = alternate({name: (lambda m=m: m.predict_proba(many)) for name, m in models.items()}, 5)
    single = alternate(
        {name: (lambda m=m: [m.predict_proba(one) for _ in range(50)]) for name, m in models.items()}, 5
    )
    for name in models:
        ratio, ratio_one = best[name] / best["propriety"], single[name] / single["propriety"]
        rows.append(
            [name, f"{best[name]:.4f}", f"{ratio:.2f}", f"{single[name] / 50 * 1e6:.0f}", f"{ratio_one:.2f}"]
        )
    table(
        "Prediction",
        rows,
        ["model", "100,000 rows, s", "time ÷ ours", "1 row, µs", "time ÷ ours"],
    )


def growth():
    rows, base = [], None
    for n in (100_000, 1_000_000, 10_000_000):
        X, y, _ = smooth(n, 10)
        ours().fit(X[:1000], y[:1000])
        best = alternate({"fit": lambda X=X, y=y: ours().fit(X, y)}, 3 if n <= 1_000_000 else 2)["fit"]
        base = base or best / n
        rows.append([f"{n:,}", f"{best:.2f}", f"{best / n * 1e9:.0f}", f"{best / n / base:.2f}"])
    table("Growth, 10 columns", rows, ["rows", "seconds", "ns per row", "÷ at 100,000"])


PARTS = {
    "large": large,
    "losses": own_losses,
    "small": small,
    "first": first_call,
    "integers": small_integers,
    "wide": wide,
    "classes": classes,
    "prediction": prediction,
    "growth": growth,
}

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
