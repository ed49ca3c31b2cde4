"""KernelClassifier in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.kernel.features import LIMIT, Landmarks
from propriety.losses import Composite
from propriety.losses.simplex import SimplexLoss
from propriety.model.numbers_state import read_numbers, write_numbers
from propriety.storage.checks import Arrays, require, take

if TYPE_CHECKING:
    from propriety.kernel.classifier import KernelClassifier


def state_of(model: KernelClassifier) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a fitted model has learned, as values and as arrays."""
    landmarks = model._landmarks
    state = {
        "width": model.width_,
        "alpha": model.alpha_,
        "scale": landmarks.scale,
        "numbers": write_numbers(landmarks.numbers),
    }
    arrays = {
        "landmarks": landmarks.points,
        "landmark_weight": landmarks.weight,
        "dual_coef": model.dual_coef_,
        "intercept": model.intercept_,
    }
    if hasattr(model, "cv_loss_"):
        arrays |= {"widths": model.widths_, "alphas": model.alphas_, "cv_loss": model.cv_loss_}
    return state, arrays


def restore(model: KernelClassifier, state: dict[str, Any], arrays: Arrays) -> None:
    """Set it again, each part checked."""
    n_classes = len(model.classes_)
    n_scores = 1 if n_classes == 2 else n_classes
    kind = Composite if n_classes == 2 else SimplexLoss
    require(isinstance(getattr(model, "loss_", None), kind), "it has no loss of a score")
    model.width_, model.alpha_, scale = (
        float(take(state, name, (int, float))) for name in ("width", "alpha", "scale")
    )
    sizes = np.array([model.width_, model.alpha_, scale])
    require(np.all(np.isfinite(sizes)) and np.all(sizes > 0), "its width or its ridge is not positive")
    numbers = read_numbers(state.pop("numbers", None), model._schema)
    points = arrays.take("landmarks", "f8", (None, len(numbers.owners)), finite=True)
    require(len(points) and np.all(np.abs(points) <= LIMIT), "it has no landmarks")
    weight = arrays.take("landmark_weight", "f8", (len(points),), finite=True)
    require(np.all(weight >= 0) and weight.sum() > 0, "its landmarks have no weight")
    model._landmarks = Landmarks(numbers, points, weight, scale)
    model.dual_coef_ = arrays.take("dual_coef", "f8", (n_scores, len(points)), finite=True)
    model.intercept_ = arrays.take("intercept", "f8", (n_scores,), finite=True)
    if "cv_loss" in arrays or "widths" in arrays or "alphas" in arrays:
        model.widths_ = arrays.take("widths", "f8", (None,), finite=True)
        model.alphas_ = arrays.take("alphas", "f8", (None,), finite=True)
        model.cv_loss_ = arrays.take("cv_loss", "f8", (len(model.widths_), len(model.alphas_)))
