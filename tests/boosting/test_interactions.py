"""Shapley interaction values against their definition."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

from propriety import BoostingClassifier
from propriety.boosting import Algorithm
from propriety.trees.predictor import TREE_NODE, Forest, TreeNodes
from propriety.trees.shap import contributions, interactions


def tree():
    """Three features, one of them asked twice."""
    nodes = np.zeros(9, dtype=TREE_NODE)
    nodes["feature"] = [0, 1, 2, -1, -1, 0, -1, -1, -1]
    nodes["left"] = [1, 3, 5, -1, -1, 7, -1, -1, -1]
    nodes["weight"] = [10, 6, 4, 1, 5, 3, 1, 2, 1]
    nodes["value"] = [0, 0, 0, 1.0, -2.0, 0, 4.0, 0.5, 3.0]
    nodes["threshold"] = [0, 0.5, 0, 0, 0, 1.0, 0, 0, 0]
    nodes["depth"] = [0, 1, 1, 2, 2, 2, 2, 3, 3]
    nodes["set"] = -1
    return nodes


def worth(nodes, x, known, at=0):
    """Mean value when these features are known."""
    node = nodes[at]
    if node["feature"] < 0:
        return node["value"]
    left = int(node["left"])
    if node["feature"] in known:
        return worth(nodes, x, known, left + int(x[node["feature"]] > node["threshold"]))
    parts = [nodes["weight"][c] * worth(nodes, x, known, c) for c in (left, left + 1)]
    return sum(parts) / node["weight"]


def brute_force(nodes, x, d=3):
    """½ Σ_S |S|!(d − |S| − 2)!/(d − 1)! · (v(S∪ij) − v(S∪i) − v(S∪j) + v(S)) for i ≠ j."""
    result = np.zeros((d, d))
    for i, j in combinations(range(d), 2):
        others = [f for f in range(d) if f not in (i, j)]
        for size in range(len(others) + 1):
            for S in combinations(others, size):
                factor = factorial(size) * factorial(d - size - 2) / (2 * factorial(d - 1))
                both = worth(nodes, x, {*S, i, j}) + worth(nodes, x, set(S))
                result[i, j] += factor * (both - worth(nodes, x, {*S, i}) - worth(nodes, x, {*S, j}))
        result[j, i] = result[i, j]
    return result


def test_interactions_are_those_of_the_definition():
    nodes = tree()
    forest = Forest.join([TreeNodes(nodes, np.zeros((0, 8), dtype=np.uint32))], 1)
    X = np.random.default_rng(0).normal(size=(20, 3))
    pairs = interactions(forest, X, 1)[:, 0]
    off = ~np.eye(3, dtype=bool)
    for x, found in zip(X, pairs, strict=True):
        np.testing.assert_allclose(found[off], brute_force(nodes, x)[off], atol=1e-12)
    np.testing.assert_allclose(pairs.sum(axis=-1), contributions(forest, X, 1)[:, 0], atol=1e-12)


@pytest.mark.parametrize("learner", ["stump", "histogram"])
def test_an_additive_model_has_none(learner):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    model = BoostingClassifier(max_iter=5, algorithm=Algorithm(weak_learner=learner), min_samples_leaf=5).fit(
        X, X[:, 0] + X[:, 1] > 0
    )
    pairs = model.predict_interactions(X)
    assert pairs.shape == (60, 3, 3)
    np.testing.assert_allclose(pairs[:, ~np.eye(3, dtype=bool)], 0, atol=1e-12)
    np.testing.assert_allclose(pairs.sum(axis=2), model.predict_contributions(X)[:, :-1], atol=1e-12)
