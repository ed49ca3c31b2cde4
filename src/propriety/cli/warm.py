"""``propriety warm``: compile every kernel once, so that no fit has to."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import numpy as np

from propriety import parallel
from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import UsageError


@command
def warm_command(*, jobs: o.JobsOption = None, telling: o.Telling) -> None:
    """Compile all kernels in advance, for a container image or a new machine.

    The first fit on a machine compiles for some seconds otherwise. Kernels are kept in the folder that
    NUMBA_CACHE_DIR names, or beside the package.

    \b
    Examples:
      propriety warm
      NUMBA_CACHE_DIR=/opt/kernels propriety warm
    """  # noqa: D301
    from propriety.caching import CACHE

    if not CACHE:
        raise UsageError(
            "there is nowhere to keep kernels: set NUMBA_CACHE_DIR to a folder that can be written"
        )
    out, began = telling.output, time.perf_counter()
    seconds: dict[str, float] = {}
    # Numba compiles one function at a time in a process, whatever its threads; so processes, and fresh ones.
    workers = min(parallel.n_threads(jobs), len(PARTS))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(run, name): name for name in PARTS}
        for done in as_completed(running):
            seconds[running[done]] = done.result()
            out.say(f"{running[done]:<10} {seconds[running[done]]:6.1f} s")
    total = time.perf_counter() - began
    out.say(f"Every kernel is compiled and kept: {total:.1f} s")
    out.result({"command": "warm", "seconds": total, "parts": seconds})


def run(part: str) -> float:
    """Compile the kernels of a part by using it on a small table; returns the seconds it took."""
    began = time.perf_counter()
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.normal(size=(60, 2)), np.arange(60) % 4))
    PARTS[part](X, X[:, 0] + rng.normal(size=60))
    return time.perf_counter() - began


def _boosting(X: Any, score: Any) -> None:
    from propriety.boosting import BoostingClassifier

    model = BoostingClassifier(max_iter=2, max_leaf_nodes=4, min_samples_leaf=2)
    for labels in (score > 0, np.digitize(score, [-0.5, 0.5])):
        model.fit(X, labels)
        model.predict_proba(X)
        model.contributions(X[:2])
    weighted = BoostingClassifier(
        "Squared", max_iter=2, max_leaf_nodes=4, min_samples_leaf=2, categorical_features=[2], subsample=0.8
    )
    weighted.fit(X, score > 0, np.linspace(0.5, 2, len(X)))
    # As many rows as are shared by threads, with a loss that is looked up in a table.
    rows = np.repeat(np.arange(len(X)), 200)
    weighted.fit(X[rows], score[rows] > 0)
    # As many rows and trees as are scored by masks of leaves.
    model = BoostingClassifier(max_iter=8, max_leaf_nodes=4, min_samples_leaf=2).fit(X, score > 0)
    for dtype in (np.float32, np.float64):
        model.predict_proba(X[rows].astype(dtype))
    many = _many_rows()
    once = BoostingClassifier(max_iter=1, max_leaf_nodes=4, early_stopping=False)
    for dtype in (np.float32, np.float64):
        once.fit(many.astype(dtype), many[:, 0] > 0)


def _many_rows() -> Any:
    """As many rows as have their edges selected or sorted by digits."""
    from propriety.trees.sorting import MANY

    x = np.random.default_rng(0).normal(size=MANY)
    # Edges of different values are selected; equal ones are sorted.
    return np.column_stack((x, np.round(x, 2)))


def _forest(X: Any, score: Any) -> None:
    from propriety.forest import ForestClassifier

    for labels in (score > 0, np.digitize(score, [-0.5, 0.5])):
        for splitter in ("best", "random"):
            model = ForestClassifier(n_estimators=2, splitter=splitter, categorical_features=[2])
            model.fit(X, labels).predict_proba(X)


def _readable(X: Any, score: Any) -> None:
    from propriety.rules import RuleClassifier
    from propriety.tree import TreeClassifier

    for labels in (score > 0, np.digitize(score, [-0.5, 0.5])):
        TreeClassifier(max_leaf_nodes=4, categorical_features=[2]).fit(X, labels).predict_proba(X)
        RuleClassifier(n_rules=2).fit(X, labels).predict_proba(X)


def _linear(X: Any, score: Any) -> None:
    from scipy import sparse

    from propriety.linear import LinearClassifier

    for table in (X, sparse.csr_array(X)):
        for l1_ratio in (0.0, 1.0):
            LinearClassifier(alpha=0.1, l1_ratio=l1_ratio).fit(table, score > 0).predict_proba(table)
    LinearClassifier(alpha=0.1).fit(X, np.digitize(score, [-0.5, 0.5]))
    rows = np.repeat(np.arange(len(X)), 50)
    LinearClassifier("Squared", alpha=0.1).fit(X[rows], score[rows] > 0)


#: What is compiled in a process of its own.
PARTS: dict[str, Callable[[Any, Any], None]] = {
    "boosting": _boosting,
    "forest": _forest,
    "readable": _readable,
    "linear": _linear,
}
