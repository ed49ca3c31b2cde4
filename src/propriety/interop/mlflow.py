"""Models and fits in MLflow.

MLflow keeps models by skops, which loads no type that it was not told to trust, and lets no package be
trusted by default. ``save_model`` and ``log_model`` are MLflow's own, with ``propriety.TRUSTED`` told; MLflow
keeps the list beside the model, so that its ``load_model`` needs nothing. Its autologging patches the classes
of scikit-learn itself and no others; ``autolog`` does so with ours.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

import mlflow
import mlflow.sklearn
import numpy as np
from mlflow.entities import Metric

from propriety import evaluation
from propriety.data.costs import OF_ROWS, Costs, abstain_label_of
from propriety.model import catalogue
from propriety.model.trusted import TRUSTED

if TYPE_CHECKING:
    from propriety.model.base import ProperClassifier

#: Whether a fit is being logged in this thread: those inside it, of members or folds, are part of it.
_logging = threading.local()
#: Longest value of a parameter that MLflow takes.
_LONGEST = 6000
_BATCH = 1000  # metrics at once


def save_model(model: ProperClassifier, path: Any, **options: Any) -> None:
    """``mlflow.sklearn.save_model``, of a model or a pipeline that holds one."""
    mlflow.sklearn.save_model(model, path, **({"skops_trusted_types": TRUSTED} | options))


def log_model(model: ProperClassifier, name: str = "model", **options: Any) -> Any:
    """``mlflow.sklearn.log_model``, of a model or a pipeline that holds one."""
    return mlflow.sklearn.log_model(model, name=name, **({"skops_trusted_types": TRUSTED} | options))


def autolog(*, log_models: bool = False, disable: bool = False) -> None:
    """Log every fit of an estimator: parameters, the loss after each round, and what its decisions cost.

    A fit is logged to the active run if that is empty, else to a run of its own (nested, if there is an
    active one). Loss and cost are those of the training rows: ``training_loss``, with a step for each round
    of boosting; ``validation_loss``, of held-out rows, where the fit has some; ``training_cost`` and
    ``training_savings`` of the decisions, and the ``threshold`` where there is one for all rows.

    Parameters
    ----------
    log_models : bool, default=False
        Whether to log the fitted models too.
    disable : bool, default=False
        Stop logging.
    """
    for row in catalogue.ESTIMATORS:
        kind = row.type
        plain = getattr(kind.fit, "_plain", kind.fit)
        kind.fit = plain if disable else _logged(plain, log_models)


def _logged(fit: Callable[..., Any], log_models: bool) -> Callable[..., Any]:
    @wraps(fit)
    def fit_and_log(model: Any, *arguments: Any, **keywords: Any) -> Any:
        if getattr(_logging, "on", False):
            return fit(model, *arguments, **keywords)
        _logging.on = True
        try:
            fit(model, *arguments, **keywords)
        finally:
            _logging.on = False
        given = signature(fit).bind(model, *arguments, **keywords).arguments
        active = mlflow.active_run()
        # A parameter of a run cannot be changed, so a second fit needs a run of its own.
        own = active is None or bool(mlflow.get_run(active.info.run_id).data.params)
        with mlflow.start_run(nested=active is not None) if own else nullcontext():
            _log(model, given)
            if log_models:
                log_model(model)
        return model

    fit_and_log._plain = fit  # type: ignore[attr-defined]
    return fit_and_log


def _log(model: Any, given: dict[str, Any]) -> None:
    """Log a fitted model to the active run; `given` is what ``fit`` was."""
    parameters = {"estimator": type(model).__name__, "fitted_loss": repr(model.loss_)} | model.get_params(
        deep=False
    )
    mlflow.log_params({name: str(value)[:_LONGEST] for name, value in parameters.items()})
    now, run = int(1000 * time.time()), mlflow.active_run().info.run_id
    for name, curve in _curves(model, given).items():
        points = [Metric(name, float(value), now, step) for step, value in enumerate(curve)]
        for first in range(0, len(points), _BATCH):
            mlflow.MlflowClient().log_batch(run, metrics=points[first : first + _BATCH])
    mlflow.log_metrics(_costs(model, given))


def _curves(model: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Losses of the training rows, after each round if there are rounds, and of those held out."""
    offset = {"offset": given["offset"]} if model.needs_offset else {}
    stages = getattr(model, "staged_predict_proba", None)
    X = given["X"]
    probabilities = [model.predict_proba(X, **offset)] if stages is None else stages(X, **offset)
    weight = given.get("sample_weight")
    curves: dict[str, Any] = {
        "training_loss": [
            evaluation.mean_loss(given["y"], p, model.loss_, sample_weight=weight) for p in probabilities
        ]
    }
    held_out = getattr(model, "validation_score_", np.empty(0))
    if held_out.size:
        curves["validation_loss"] = -held_out
    return curves


def _costs(model: Any, given: dict[str, Any]) -> dict[str, float]:
    """What the decisions about the training rows cost, and save."""
    of_rows = {name: given[name] for name in OF_ROWS if given.get(name) is not None}
    offset = {"offset": given["offset"]} if model.needs_offset else {}
    costs = model.costs_for(given["X"], **of_rows)
    decided = model.decide(model.predict_proba(given["X"], **offset), costs)
    summary = evaluation.cost_summary(
        given["y"],
        decided,
        costs=Costs(matrix=costs.matrix, abstain_label=abstain_label_of(model)),
        sample_weight=given.get("sample_weight"),
        labels=model.classes_,
    )
    logged = {"training_cost": summary.mean.value, "training_savings": summary.savings}
    if costs.n_classes == 2 and not costs.by_row and not costs.abstains:
        logged["threshold"] = float(costs.threshold)
    return logged
