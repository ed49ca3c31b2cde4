"""``propriety bench``: how fast boosting is on this machine, beside what else is installed."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from propriety import losses
from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.study.models import SPECS, FitRequest, ModelSpec, fit, named

_PEERS = ("boosting", "hist", "lightgbm", "xgboost")
_PACKAGES = {"boosting": "propriety", "hist": "scikit-learn", "lightgbm": "lightgbm", "xgboost": "xgboost"}
_SAME: dict[str, dict[str, Any]] = {
    "boosting": {"max_iter": 100, "early_stopping": False},
    "hist": {"max_iter": 100, "early_stopping": False, "max_leaf_nodes": 31},
    "lightgbm": {"n_estimators": 100, "num_leaves": 31},
    "xgboost": {
        "n_estimators": 100,
        "max_leaves": 31,
        "max_depth": 0,
        "grow_policy": "lossguide",
        "learning_rate": 0.1,
    },
}


@command
def bench_command(
    *,
    rows: Annotated[int, typer.Option(min=100, max=10**7, help="Rows of the table.")] = 50_000,
    columns: Annotated[int, typer.Option(min=1, max=1000, help="Columns of numbers.")] = 20,
    repeats: Annotated[
        int, typer.Option(min=1, max=1000, help="How many times each is run; the best counts.")
    ] = 3,
    seed: o.SeedOption = 0,
    jobs: o.JobsOption = None,
    telling: o.Telling,
) -> None:
    """Time boosting beside LightGBM, XGBoost and scikit-learn, if installed: 100 trees of 31 leaves each.

    Runs alternate, after one that is not counted; the best of several counts.

    \b
    Examples:
      propriety bench
      propriety bench --rows 200000 --repeats 5 --json
    """  # noqa: D301
    out = telling.output
    specs = [named(name) for name in _PEERS if SPECS[name].installed]
    frame, y = table(rows, columns, seed)
    train, test = pa.array(np.arange(rows)), pa.array(np.arange(rows, rows + rows // 4))
    parts = frame.take(train), frame.take(test)
    best: dict[str, dict[str, Any]] = {}
    with out.progress("timing", (repeats + 1) * len(specs)) as step:
        for repeat in range(repeats + 1):
            for spec in specs:
                measured = measure(spec, parts, y, rows, seed, jobs)
                if repeat:
                    known = best.setdefault(spec.name, measured)
                    known["fit"] = min(known["fit"], measured["fit"])
                    known["predict"] = min(known["predict"], measured["predict"])
                step(spec.title)
    first = best["boosting"]
    shown = [
        (m["title"], m["version"], m["fit"], m["fit"] / first["fit"], m["predict"], m["log_loss"])
        for m in best.values()
    ]
    out.table(
        f"{rows:,} rows, {columns} columns, 100 trees of 31 leaves, best of {repeats}",
        ("model", "version", "fit, s", "beside ours", "predict, s", "log loss"),
        shown,
    )
    out.say(f"{platform.machine()}, Python {platform.python_version()}, {jobs or 'all'} threads")
    out.result({"command": "bench", "rows": rows, "columns": columns, "repeats": repeats, "models": best})


def table(rows: int, columns: int, seed: int) -> tuple[Any, Any]:
    """A table of numbers with a smooth and a jumpy effect, and a quarter more rows to predict."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows + rows // 4, columns))
    score = X[:, 0] + np.where(X[:, 1 % columns] > 0.5, 1.0, -0.5) + X[:, 2 % columns] * X[:, 3 % columns]
    y = rng.random(len(X)) < 1 / (1 + np.exp(-score))
    return pa.table({f"x{j}": X[:, j] for j in range(columns)}), y


def measure(
    spec: ModelSpec, parts: tuple[Any, Any], y: Any, n: int, seed: int, jobs: int | None
) -> dict[str, Any]:
    """Seconds to fit and to predict, and the log loss of the prediction."""
    request = FitRequest(seed=seed, jobs=jobs, settings=_SAME[spec.name])
    began = time.perf_counter()
    fitted = fit(spec, request, parts[0], y[:n].astype(np.int64))
    between = time.perf_counter()
    p = fitted.probabilities(parts[1])
    ended = time.perf_counter()
    loss = float(np.mean(losses.Log().loss(y[n:].astype(float), np.clip(p, 1e-15, 1 - 1e-15))))
    return {
        "title": spec.title,
        "version": version(_PACKAGES[spec.name]),
        "fit": between - began,
        "predict": ended - between,
        "log_loss": loss,
    }
