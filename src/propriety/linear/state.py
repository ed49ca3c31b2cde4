"""LinearClassifier in a file. Not kept: the training rows and ``report_``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.losses import Composite
from propriety.losses.simplex import SimplexLoss
from propriety.storage.checks import Arrays, require, take

if TYPE_CHECKING:
    from propriety.linear.classifier import LinearClassifier


def state_of(model: LinearClassifier) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a fitted model has learned, as values and as arrays."""
    state = {
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "separated": model._separated,
        "alpha": float(model.alpha_),
    }
    arrays = {
        "coef": model.coef_,
        "intercept": model.intercept_,
        "trace": model.trace_,
        "centre": model._centre,
        "spread": model._spread,
    }
    if hasattr(model, "alphas_"):
        arrays |= {"alphas": model.alphas_, "cv_loss": model.cv_loss_}
    return state, arrays


def restore(model: LinearClassifier, state: dict[str, Any], arrays: Arrays) -> None:
    """Set it again, each part checked."""
    d, n_classes = model.n_features_in_, len(model.classes_)
    n_scores = 1 if n_classes == 2 else n_classes
    kind = Composite if n_classes == 2 else SimplexLoss
    require(isinstance(getattr(model, "loss_", None), kind), "it has no loss of a score")
    model.coef_ = arrays.take("coef", "f8", (n_scores, d), finite=True)
    model.intercept_ = arrays.take("intercept", "f8", (n_scores,), finite=True)
    model.trace_ = arrays.take("trace", "f8", (None,))
    model.n_iter_, model.converged_ = take(state, "n_iter", int), take(state, "converged", bool)
    model._separated = take(state, "separated", (str, type(None)))
    model.report_ = None
    # Files of 0.1.0 do not say the strength of the penalty, which then is the parameter.
    model.alpha_ = take(state, "alpha", float) if "alpha" in state else float(model.alpha)
    require(0 <= model.alpha_ < np.inf, "its penalty is not a number")
    if "alphas" in arrays or "cv_loss" in arrays:
        model.alphas_ = arrays.take("alphas", "f8", (None,), finite=True)
        model.cv_loss_ = arrays.take("cv_loss", "f8", (len(model.alphas_),))
    # Files of 0.1.0 do not say where the columns lie.
    model._centre, model._spread = np.zeros(d), np.ones(d)
    if "centre" in arrays or "spread" in arrays:
        model._centre = arrays.take("centre", "f8", (d,), finite=True)
        model._spread = arrays.take("spread", "f8", (d,), finite=True)
        require(np.all(model._spread >= 0), "a spread is negative")
