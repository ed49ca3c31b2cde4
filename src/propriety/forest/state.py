"""ForestClassifier in a file: the trees as arrays, and the probabilities out of bag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.forest.trees import StoredTrees
from propriety.forest.votes import GrownForest
from propriety.model.measure import measure_of
from propriety.storage.checks import Arrays, require, take
from propriety.storage.values import check_links
from propriety.trees.stored import binner_arrays, forest_arrays, read_binner, read_forest

if TYPE_CHECKING:
    from propriety.forest.classifier import ForestClassifier


def write_state(model: ForestClassifier) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a forest has learned, as plain values and as arrays."""
    grown = model._grown
    arrays = {
        **forest_arrays(grown.forest),
        **binner_arrays(grown.binner),
        "base_rates": grown.base_rates,
    }
    if grown.shares is not None:
        arrays["nodes.shares"] = grown.shares
    if hasattr(model, "oob_decision_function_"):
        arrays["out_of_bag"] = model.oob_decision_function_
    return {"smoothing": float(grown.smoothing), "oob_score": getattr(model, "oob_score_", None)}, arrays


def read_state(model: ForestClassifier, state: dict[str, Any], arrays: Arrays) -> None:
    """Take that out of a file again, and check it."""
    k = len(model.classes_)
    model._measure = measure_of(model.loss, model.link, k, model.multiclass)
    model.loss_ = model._measure.fitted
    check_links(model.loss_)
    forest = read_forest(arrays, 1, [c is not None for c in model._schema.categories])
    require(len(forest.roots) > 1, "it has no tree")
    value = forest.nodes["value"]
    require(np.all((value >= 0) & (value <= 1)), "a share of a node is not between 0 and 1")
    shares = np.ascontiguousarray(value)[:, None]
    if k > 2:
        shares = arrays.take("nodes.shares", "f8", (len(value), k), finite=True)
        _check_sums(shares, "class shares of a node do not add up to one")
    base_rates = arrays.take("base_rates", "f8", (k,), finite=True)
    _check_sums(base_rates[None, :], "base rates do not add up to one")
    require(np.all(base_rates > 0), "a class has no base rate")
    smoothing = take(state, "smoothing", (int, float))
    require(0 < smoothing < np.inf, "its smoothing is not positive")
    binner = read_binner(arrays, model._schema.n_categories)
    cuts = forest.nodes[(forest.nodes["feature"] >= 0) & (forest.nodes["set"] < 0)]
    require(np.all(cuts["bin"] < binner.n_bins[cuts["feature"]]), "a split has a bin that its column has not")
    edges = binner.edges[cuts["feature"], cuts["bin"]]
    require(np.array_equal(cuts["threshold"], edges), "a threshold is not the end of its bin")
    model._grown = GrownForest(StoredTrees(forest, shares), base_rates, binner, float(smoothing))
    score = take(state, "oob_score", (int, float, type(None)))
    if score is not None:
        model.oob_score_ = float(score)
        model.oob_decision_function_ = arrays.take("out_of_bag", "f8", (None, k), finite=True)
        _check_sums(model.oob_decision_function_, "probabilities out of bag do not add up to one")


def _check_sums(shares: Any, message: str) -> None:
    require(np.all((shares >= 0) & (shares <= 1)) and np.all(np.abs(shares.sum(axis=1) - 1) < 1e-9), message)
