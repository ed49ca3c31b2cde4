"""Trees as ``shap.TreeExplainer`` takes them: a dictionary of arrays, made without that package."""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety.export.formula import Formula, Trees, Votes


def shap_trees(formula: Formula) -> dict[str, Any]:
    """The trees of a model; what they add up to is the score or, for shares, the probability.

    Trees of a model whose splits look at sets of categories, and models that are no trees, are refused.
    """
    trees = formula.scores
    if not isinstance(trees, Trees) or not np.all(trees.nodes["weight"][trees.roots[:-1]] > 0):
        raise TypeError(
            "shap.TreeExplainer takes trees that know the weight of their nodes, which this model is not "
            "made of; shap.Explainer(model, X) takes any model, and predict_contributions needs no shap"
        )
    if np.any(trees.nodes["set"] >= 0):
        raise ValueError(
            "shap.TreeExplainer cannot split by sets of categories, as this model does; shap.Explainer("
            "model, X) takes any model, and predict_contributions has Shapley values of boosted trees"
        )
    readout, values, start = formula.readout, trees.values, trees.start
    if isinstance(readout, Votes):
        last = -trees.values.shape[1]  # of two classes the second alone
        values = values / readout.total
        start = (readout.base + readout.smoothing)[last:] / readout.total
    n_scores = len(start)
    each = []
    for t, (first, end) in enumerate(zip(trees.roots[:-1], trees.roots[1:], strict=True)):
        nodes = trees.nodes[first:end]
        leaf = nodes["feature"] < 0
        left = np.where(leaf, -1, nodes["left"] - first)
        outputs = np.zeros((len(nodes), n_scores))
        target = trees.targets[t]
        outputs[:, target : target + values.shape[1]] = values[first:end]
        each.append(
            {
                "children_left": left,
                "children_right": np.where(leaf, -1, left + 1),
                "children_default": np.where(leaf, -1, left + 1 - nodes["missing_left"]),
                "features": np.where(leaf, -2, nodes["feature"]),
                "thresholds": nodes["threshold"].copy(),
                "values": outputs,
                "node_sample_weight": nodes["weight"].copy(),
            }
        )
    if not each:  # a model without rounds: shap needs a tree
        each.append(_leaf(n_scores))
    return {
        "trees": each,
        "base_offset": float(start[0]) if n_scores == 1 else start.copy(),
        "tree_output": "probability" if isinstance(readout, Votes) else "raw_value",
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
    }


def _leaf(n_scores: int) -> dict[str, Any]:
    """A tree that adds nothing."""
    none = np.full(1, -1)
    return {
        "children_left": none,
        "children_right": none,
        "children_default": none,
        "features": np.full(1, -2),
        "thresholds": np.zeros(1),
        "values": np.zeros((1, n_scores)),
        "node_sample_weight": np.ones(1),
    }
