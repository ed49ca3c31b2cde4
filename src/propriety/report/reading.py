"""What a report can read off a fitted classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.pipeline import Pipeline

from propriety.data.table import is_frame
from propriety.model.contract import FittedModel
from propriety.plots.display import respond
from propriety.report.contents import Effects
from propriety.tuning import LossSearchCV

_SAMPLE = 1000  # rows that effects are worked out for


def facts_of(estimator: Any, X: Any, y: Any, rivals: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a `Report` of a fitted classifier of two classes.

    A model of this library says what it was fitted to, what its decisions cost and how it comes to them, also
    as the best of a search; at the end of a pipeline only the first two, since it reads other columns. Other
    classifiers have the importances of scikit-learn's convention, if any.
    """
    outcomes, p = respond(estimator, X, y)
    features = columns_of(X)
    model = estimator.best_estimator_ if isinstance(estimator, LossSearchCV) else estimator
    facts: dict[str, Any] = {
        "y": outcomes,
        "p": p,
        "name": type(estimator).__name__,
        "negative": str(estimator.classes_[0]),
        "positive": str(estimator.classes_[1]),
        "rivals": {name: respond(rival, X, y)[1] for name, rival in rivals.items()},
        "model": model,
        "features": features,
    }
    last = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(last, FittedModel):
        facts |= {"loss": last.loss_, "fp_cost": last.costs.fp_cost, "fn_cost": last.costs.fn_cost}
    importances: Any = None
    if isinstance(model, FittedModel):
        importances = model.importances()
        rows = sample(len(p))
        few = nw.from_native(X)[rows].to_native() if is_frame(X) else np.asarray(X)[rows]
        facts["effects"] = Effects(rows, model.contributions(few)[:, :-1])
    else:
        importances = getattr(model, "feature_importances_", None)
    if importances is not None:
        facts["importances"] = dict(zip(features, np.asarray(importances, dtype=float).tolist(), strict=True))
    return facts


def sample(n: int) -> Any:
    """Rows, evenly spaced, that stand for all of n."""
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))


def columns_of(X: Any) -> dict[str, Any]:
    """Columns by name: floats, or text for everything else."""
    if not is_frame(X):
        values = np.asarray(X)
        return {f"x{j}": as_column(values[:, j]) for j in range(values.shape[1])}
    frame = nw.from_native(X, eager_only=True)
    return {str(name): as_column(frame[name].to_numpy()) for name in frame.columns}


def as_column(values: Any) -> Any:
    """Numbers as floats, anything else as text."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return values.astype(float)
    return np.array(
        ["missing" if v is None or isinstance(v, float) else str(v) for v in values.tolist()], dtype=str
    )
