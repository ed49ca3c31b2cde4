"""A long run in one process: random fits and predictions, then a model served to many threads at once.

    python benchmarks/robustness.py                               # 300 seconds of fits, 60 of serving
    python benchmarks/robustness.py --fits 10000 --seconds 600

Memory, threads and open files must stay flat: after a first part, in which kernels are compiled and pools are
filled, each may grow by no more than the allowance below. The script ends with an error if one does, or if a
served model ever answers otherwise than it did alone.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Column, Options, Part, Table
from sklearn.exceptions import ConvergenceWarning

from propriety.model import files
from propriety.model.catalogue import ESTIMATORS

MB = 2**20
SERVERS = 16
#: What a process may grow by after the first part of the run; the pool of threads fills up slowly, to 32.
MEMORY, THREADS, FILES = 64 * MB, 32, 2
LOSSES = ("Log()", "Squared()", "Exponential()", "Matsushita()")
LIMITS = {
    "boosting": {"max_iter": (1, 30), "max_leaf_nodes": (2, 40), "max_bins": (3, 255)},
    "forest": {"n_estimators": (1, 12), "max_bins": (3, 255)},
    "tree": {"max_leaf_nodes": (2, 40), "max_bins": (3, 255)},
    "linear": {"max_iter": (5, 100)},
    "rules": {"n_rules": (1, 6), "max_literals": (1, 3)},
}


@dataclass(frozen=True)
class Usage:
    """What the process holds."""

    memory: int
    threads: int
    files: int

    @classmethod
    def now(cls) -> Usage:
        """Of this process, after what nobody holds is gone."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        open_files = len(os.listdir("/proc/self/fd"))
        return cls(pages * resource.getpagesize(), threading.active_count(), open_files)

    def row(self, stage: str) -> list[str | float]:
        """A line of the table."""
        return [stage, self.memory / MB, self.threads, self.files]

    def growth(self, first: Usage) -> list[str]:
        """What has grown since by more than its allowance."""
        allowed = {"memory": MEMORY, "threads": THREADS, "files": FILES}
        grown = {name: getattr(self, name) - getattr(first, name) for name in allowed}
        return [f"{name} grew by {grown[name]:,}" for name in allowed if grown[name] > allowed[name]]


# --- fitting --------------------------------------------------------------------------------------


def table(rng: np.random.Generator, n_classes: int, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    n, d = int(rng.integers(20, 3_000)), int(rng.integers(1, 12))
    X = rng.normal(size=(n, d))
    score = X[:, 0] + rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def random_fit(rng: np.random.Generator) -> tuple[str, Any, np.ndarray]:
    """A model of random kind, parameters, data and weights, after it was used and sent through its file."""
    row = ESTIMATORS[rng.integers(len(ESTIMATORS))]
    n_classes = int(rng.integers(2, 5))
    X, y = table(rng, n_classes, missing=row.key != "linear" and rng.random() < 0.3)
    limits = LIMITS.get(row.key, {})
    params: dict[str, Any] = {name: int(rng.integers(low, high + 1)) for name, (low, high) in limits.items()}
    params |= {"n_jobs": int(rng.integers(1, 5))}
    if row.key == "linear":
        params["alpha"] = 10 ** rng.uniform(-4, 0)
    if n_classes == 2:
        params |= {"loss": str(rng.choice(LOSSES)), "fn_cost": float(rng.integers(1, 10))}
    weight = [None, rng.integers(1, 4, len(y)), rng.random(len(y)) + 0.01][rng.integers(3)]
    model = row.type(**params).fit(X, y, weight)
    P = model.predict_proba(X)
    if not (np.isfinite(P).all() and np.allclose(P.sum(axis=1), 1)):
        sys.exit(f"{model} gives probabilities that are none")
    again = files.from_bytes(files.to_bytes(model))
    if not np.array_equal(again.predict_proba(X), P):
        sys.exit(f"{model} is another after its file")
    model.predict(X)
    model.contributions(X[:50])
    return row.key, model, X


def fit_many(fits: int | None, seconds: float, seed: int) -> tuple[list[list[str | float]], list[str]]:
    """Fit until there are so many fits, or for some seconds; what the process holds, and what has grown."""
    rows = []
    rng = np.random.default_rng(seed)
    start, first, kinds = time.monotonic(), None, Counter()
    for done in count():
        share = done / fits if fits else (time.monotonic() - start) / seconds
        if share >= 1:
            break
        if first is None and share >= 0.3:
            first = Usage.now()
            rows.append(first.row(f"after {done:,} fits"))
        kinds[random_fit(rng)[0]] += 1
    last = Usage.now()
    what = ", ".join(f"{key} {number:,}" for key, number in sorted(kinds.items()))
    rows.append(last.row(f"after {done:,} fits ({what}) in {time.monotonic() - start:.0f} s"))
    return rows, last.growth(first or last)


# --- serving --------------------------------------------------------------------------------------


def serve(seconds: float, seed: int) -> tuple[list[list[str | float]], list[str]]:
    """Ask one model of each kind from many threads at once; every answer must be the one it gives alone."""
    rng = np.random.default_rng(seed)
    models = []
    for row in ESTIMATORS:
        X, y = table(rng, 2, missing=False)
        model = row.type().fit(X, y)
        models.append((model, X, model.predict_proba(X)))
    stop, first = time.monotonic() + seconds, None

    def ask(number: int) -> int:
        own, answers = np.random.default_rng([seed, number]), 0
        while time.monotonic() < stop:
            model, X, P = models[own.integers(len(models))]
            rows = own.integers(0, len(X), int(own.integers(1, 200)))
            if not np.allclose(model.predict_proba(X[rows]), P[rows], rtol=0, atol=1e-14):
                raise RuntimeError(f"{model} answered otherwise among threads than alone")
            answers += 1
        return answers

    with ThreadPoolExecutor(SERVERS) as pool:
        asked = [pool.submit(ask, number) for number in range(SERVERS)]
        time.sleep(0.3 * seconds)
        first = Usage.now()
        time.sleep(max(0.0, 0.95 * seconds - 0.3 * seconds))
        last = Usage.now()
        answers = sum(future.result() for future in asked)
    rows = [first.row(f"serving {SERVERS} threads")]
    rows.append(last.row(f"after {answers:,} answers in {seconds:.0f} s"))
    return rows, last.growth(first)


def long_run(given: Options) -> Iterator[Table]:
    """Fits, then answers; an error at the end if the process has grown."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    fits, seconds = (30, 3.0) if given.quick else (given.fits, given.seconds)
    fitted, grown = fit_many(fits, 300.0, given.seed)
    served, more = serve(seconds, given.seed)
    columns = [
        "",
        Column("MB", format=".0f"),
        Column("threads", format=".0f"),
        Column("open files", format=".0f"),
    ]
    yield Table("long run", "A long run", columns, [*fitted, *served])
    if grown + more and not given.quick:
        sys.exit("; ".join(grown + more))


def arguments(parser: argparse.ArgumentParser) -> None:
    """How long."""
    parser.add_argument("--fits", type=int, help="number of fits; without it as many as 300 seconds allow")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the models are served")
    parser.add_argument("--seed", type=int, default=0)


PART = Part(__doc__, {"long-run": long_run}, arguments=arguments)

if __name__ == "__main__":
    PART.main()
