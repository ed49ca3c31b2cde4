"""A linear model, a tree and boosting fitted to a loss, and judged beside the same model of the log loss."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import evaluation, losses
from propriety.data.numbers import Numbers
from propriety.explore.answers import rounded
from propriety.explore.datasets import DataSet
from propriety.model.catalogue import entry

Floats = NDArray[np.float64]
Loss = Any  # a loss or a composite

#: What is fitted, by the key of the catalogue: a name, and settings that take tenths of a second.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": ("Linear model", {"alpha": 1e-3}),
    "tree": ("Tree", {"max_leaf_nodes": 8}),
    "boosting": ("Boosting", {"max_iter": 60, "max_leaf_nodes": 8, "n_jobs": 1, "random_state": 0}),
}
CELLS = 41  # of the picture of a plane, either way
_PER = 1000  # cases that costs are counted for


@dataclass(frozen=True, eq=False)
class Fitted:
    """One model: what it says of the test rows, and of the plane if the rows lie in one."""

    p: Floats
    plane: Floats | None
    warnings: tuple[str, ...]


@lru_cache(maxsize=256)
def fitted(data: DataSet, key: str, loss: Loss, cells: int = CELLS, n_jobs: int | None = None) -> Fitted:
    """Fit one model; the same question is answered from memory."""
    rows, judged = data.split
    estimator = entry(key).type(loss=loss, **{"n_jobs": n_jobs, **MODELS[key][1]})
    read = _reader(data, rows, estimator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(read(data.take(rows)), data.y[rows])
    p = estimator.predict_proba(read(data.take(judged)))[:, 1]
    told = tuple(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)))
    plane = estimator.predict_proba(_cells(data, cells))[:, 1] if data.plane else None
    return Fitted(p, plane, told)


def _reader(data: DataSet, rows: NDArray[np.intp], estimator: Any) -> Callable[[Any], Any]:
    if estimator.reads_numbers and not isinstance(data.X, np.ndarray):
        return Numbers.fit(data.take(rows))
    return lambda X: X


def _cells(data: DataSet, cells: int) -> Floats:
    """The points of the picture, row by row from below."""
    low, high = data.frame
    across, up = (np.linspace(low[k], high[k], cells) for k in (0, 1))
    return np.column_stack([np.tile(across, cells), np.repeat(up, cells)])


def judged(
    data: DataSet, loss: Loss, thresholds: Floats, cells: int = CELLS, n_jobs: int | None = None
) -> dict[str, Any]:
    """The models of a loss, as the page shows them, fitted by so many threads."""
    began = time.perf_counter()
    models = [_judged(data, key, loss, thresholds, cells, n_jobs) for key in MODELS]
    return {
        "data": data.name,
        "loss": repr(loss),
        "models": models,
        "seconds": round(time.perf_counter() - began, 3),
    }


def _judged(
    data: DataSet, key: str, loss: Loss, thresholds: Floats, cells: int, n_jobs: int | None
) -> dict[str, Any]:
    told: dict[str, Any] = {"name": key, "title": MODELS[key][0]}
    try:
        model, log = (fitted(data, key, of, cells, n_jobs) for of in (loss, losses.Log()))
    except (ValueError, TypeError, ArithmeticError) as error:
        return told | {"error": str(error)}
    y = data.y[data.split[1]]
    curve = evaluation.murphy_curve(y, model.p)
    difference = evaluation.murphy_difference(y, model.p, log.p)
    # A Murphy curve charges c for a false alarm; here a false alarm is the unit.
    unit = _PER / thresholds
    low, high = difference.band(thresholds)
    rate, at, _ = evaluation.recalibrate(y, model.p).blocks
    told |= {
        "cost": rounded(unit * curve(thresholds), 5),
        "difference": rounded(unit * difference(thresholds), 4),
        "verdict": [-1 if h < 0 else 1 if l > 0 else 0 for l, h in zip(low, high, strict=True)],
        "log_loss": rounded([evaluation.mean_loss(y, model.p, clip=1e-15)], 4)[0],
        "reliability": {"p": rounded(at, 4), "rate": rounded(rate, 4)},
        "warnings": list(model.warnings),
    }
    if model.plane is not None:
        told["plane"] = {"cells": cells, "p": rounded(model.plane, 4)}
    return told
