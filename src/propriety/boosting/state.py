"""BoostingClassifier in a file: trees, or curves of one feature each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.boosting.curves import Curves
from propriety.boosting.shapes import Marginals
from propriety.losses import Composite
from propriety.losses.simplex import SimplexLoss
from propriety.model.adapt import Adaptation
from propriety.storage.checks import Arrays, require, take
from propriety.trees.binned import BINS
from propriety.trees.predictor import Forest
from propriety.trees.stored import LARGEST, binner_arrays, forest_arrays, read_binner, read_forest

if TYPE_CHECKING:
    from propriety.boosting.classifier import BoostingClassifier


def write_state(model: BoostingClassifier) -> tuple[dict[str, Any], dict[str, Any]]:
    """What boosting has learned, as plain values and as arrays."""
    ensemble, marginals = model._forest, model._marginals
    trees = isinstance(ensemble, Forest)
    state = {
        "seed": int(model._seed),
        "learners": "trees" if trees else "curves",
    }
    arrays = {
        **(forest_arrays(ensemble) if trees else _curve_arrays(ensemble)),
        **binner_arrays(model._binner),
        "start": model._start_score,
        "train_score": model.train_score_,
        "validation_score": model.validation_score_,
    }
    if marginals is not None:
        arrays |= {
            "marginals.weights": marginals.weights,
            "marginals.low": marginals.low,
            "marginals.high": marginals.high,
        }
    return state, arrays


def read_state(model: BoostingClassifier, state: dict[str, Any], arrays: Arrays) -> None:
    """Take that out of a file again, and check it."""
    k, d = len(model.classes_), model.n_features_in_
    n_scores = 1 if k == 2 else k
    kind = Composite if k == 2 else SimplexLoss
    require(isinstance(getattr(model, "loss_", None), kind), "it has no loss of a score")
    model._binner = read_binner(arrays, model._schema.n_categories)
    learners = take(state, "learners", str)
    require(learners in ("trees", "curves"), f"it is made of {learners[:40]!r}")
    if learners == "trees":
        model._forest = read_forest(arrays, n_scores, [c is not None for c in model._schema.categories])
        count = len(model._forest.roots) - 1
    else:
        model._forest = _read_curves(arrays, n_scores, model._binner)
        count = len(model._forest)
    model.n_iter_ = count // n_scores
    model._start_score = arrays.take("start", "f8", (n_scores,), finite=True)
    model.train_score_ = arrays.take("train_score", "f8", (None,))
    model.validation_score_ = arrays.take("validation_score", "f8", (None,))
    divided = state.pop("divided", True)  # as an old file says
    if "class_factors" in arrays:  # of 0.1 and 0.2, whose weights of classes were taken back so
        factors = arrays.take("class_factors", "f8", (k,), finite=True)
        require(np.all((factors > 1 / LARGEST) & (factors < LARGEST)), "a class has no weight, or too much")
        if divided:
            model.adaptation_ = Adaptation(
                1.0, tuple((-np.log(factors)).tolist()), None, text="class weights"
            )
    model._marginals = _marginals(arrays, d)
    model._seed = take(state, "seed", int)
    require(0 <= model._seed < 2**32, "its seed is out of range")


def _curve_arrays(curves: Any) -> dict[str, Any]:
    return {"curves.feature": curves.features, "curves.values": curves.values, "curves.gain": curves.gains}


def _read_curves(arrays: Arrays, n_scores: int, binner: Any) -> Curves:
    features = arrays.take("curves.feature", "i8", (None,))
    values = arrays.take("curves.values", "f8", (len(features), BINS))
    gains = arrays.take("curves.gain", "f8", (len(features),))
    require(len(features) % n_scores == 0, f"{len(features)} curves are no whole rounds of {n_scores}")
    require(np.all((features >= 0) & (features < len(binner.n_bins))), "no such feature")
    for name, numbers in (("value", values), ("gain", gains)):
        require(np.all(np.abs(numbers) < LARGEST), f"a curve's {name} is not finite, or too large")
    return Curves(features, values, gains, binner, n_scores)


def _marginals(arrays: Arrays, d: int) -> Marginals | None:
    if "marginals.weights" not in arrays:
        return None
    weights = arrays.take("marginals.weights", "f8", (d, BINS), finite=True)
    require(np.all(weights >= 0), "a bin has a negative weight")
    return Marginals(
        weights, arrays.take("marginals.low", "f8", (d,)), arrays.take("marginals.high", "f8", (d,))
    )
