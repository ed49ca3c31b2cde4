"""LinearClassifier in a file. Not kept: the training rows and ``report_``."""

from __future__ import annotations

from typing import Any

from propriety.storage.checks import Arrays, take
from propriety.storage.estimators import Arrayed, estimator_kind, read_loss, read_shared, shared_state
from propriety.storage.values import encode


def _write(model: Any) -> tuple[dict[str, Any], Arrayed]:
    state = {
        **shared_state(model),
        "loss": encode(model.loss_, "the loss"),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "separated": model._separated,
    }
    return state, {"coef": model.coef_, "intercept": model.intercept_, "trace": model.trace_}


def _fill(model: Any, state: dict[str, Any], arrays: Arrays) -> None:
    k, d = read_shared(model, state)
    n_scores = 1 if k == 2 else k
    model.loss_ = read_loss(state.pop("loss", None), k)
    model.coef_ = arrays.take("coef", "f8", (n_scores, d), finite=True)
    model.intercept_ = arrays.take("intercept", "f8", (n_scores,), finite=True)
    model.trace_ = arrays.take("trace", "f8", (None,))
    model.n_iter_, model.converged_ = take(state, "n_iter", int), take(state, "converged", bool)
    model._separated = take(state, "separated", (str, type(None)))
    model.report_ = None


LINEAR = estimator_kind("propriety.linear", "LinearClassifier", _write, _fill)
