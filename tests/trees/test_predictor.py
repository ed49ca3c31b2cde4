"""Forests against a walk in NumPy."""

import numpy as np
import pytest

from propriety.trees.binned import SET_WORDS, Binned
from propriety.trees.predictor import TREE_NODE, Forest, TreeNodes, unseen_drift

D, CATEGORIES = 4, 40  # the last feature is categorical


def random_tree(rng, n_leaves):
    """Split a random leaf until there are enough; edges are 0.5, 1.5, … so that a value is its bin."""
    nodes, sets = np.zeros(2 * n_leaves - 1, dtype=TREE_NODE), []
    nodes["feature"], nodes["set"], leaves, used = -1, -1, [0], 1
    while used < len(nodes):
        at = leaves.pop(rng.integers(len(leaves)))
        node = nodes[at]
        node["feature"], node["missing_left"] = rng.integers(D), rng.integers(2)
        if node["feature"] == D - 1:
            members = rng.random(CATEGORIES) < 0.5
            words = np.zeros(SET_WORDS, dtype=np.uint32)
            for b in np.flatnonzero(members):
                words[b >> 5] |= np.uint32(1 << (b & 31))
            node["set"] = len(sets)
            sets.append(words)
        else:
            node["bin"] = rng.integers(CATEGORIES)
            node["threshold"] = node["bin"] + 0.5
        node["left"] = used
        nodes["depth"][used : used + 2] = node["depth"] + 1
        leaves += [used, used + 1]
        used += 2
    # Children are numbered by their splits, sets by their nodes.
    order = np.flatnonzero(nodes["set"] >= 0)
    sets = np.array([sets[nodes["set"][i]] for i in order], dtype=np.uint32).reshape(-1, SET_WORDS)
    nodes["set"][order] = np.arange(len(order))
    nodes["value"] = np.where(nodes["feature"] < 0, rng.normal(size=len(nodes)), 0.0)
    return TreeNodes(nodes, sets)


def walk(tree, x):
    at = 0
    while tree.nodes["feature"][at] >= 0:
        node = tree.nodes[at]
        value = x[node["feature"]]
        if np.isnan(value):
            left = bool(node["missing_left"])
        elif node["set"] >= 0:
            left = bool(tree.sets[node["set"], int(value) >> 5] >> (int(value) & 31) & 1)
        else:
            left = value <= node["threshold"]
        at = node["left"] + (0 if left else 1)
    return tree.nodes["value"][at]


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(20)
    X = rng.integers(0, CATEGORIES, (301, D)).astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    trees = [random_tree(rng, leaves) for leaves in (9, 1, 30, 2, 17, 9)]
    values = np.array([[walk(tree, x) for tree in trees] for x in X])
    return X, trees, values


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_are_those_of_a_walk(case, n_scores, dtype):
    X, trees, values = case
    forest = Forest.join(trees, n_scores)
    scores = np.zeros((len(X), n_scores))
    forest.add_scores(X.astype(dtype), scores, 2)
    np.testing.assert_allclose(scores, values.reshape(len(X), -1, n_scores).sum(axis=1), atol=1e-14)
    some = np.zeros((len(X), n_scores))
    forest.add_scores(X.astype(dtype), some, 1, first=n_scores, last=2 * n_scores)
    np.testing.assert_array_equal(some, values[:, n_scores : 2 * n_scores])


def test_binned_rows_have_the_same_scores(case):
    X, trees, _ = case
    rows = np.where(np.isnan(X), CATEGORIES, X).astype(np.uint8)
    n_bins, categorical = np.full(D, CATEGORIES), np.array([0] * (D - 1) + [1], dtype=np.uint8)
    binned = Binned(
        rows,
        np.ascontiguousarray(rows.T),
        n_bins,
        categorical,
        np.zeros((len(n_bins), 256)),
        np.ones(len(n_bins)),
    )
    forest = Forest.join(trees, 2)
    by_bin, by_value = np.zeros((len(X), 2)), np.zeros((len(X), 2))
    forest.add_binned_scores(binned, by_bin, 1)
    forest.add_scores(X, by_value, 1)
    np.testing.assert_array_equal(by_bin, by_value)


def test_a_forest_splits_into_its_trees(case):
    _, trees, _ = case
    for one, other in zip(Forest.join(trees, 1).split(), trees, strict=True):
        assert one.n_leaves == other.n_leaves
        np.testing.assert_array_equal(one.sets, other.sets)
        inner = other.nodes["feature"] >= 0
        np.testing.assert_array_equal(one.nodes[inner], other.nodes[inner])


def test_the_drift_of_unseen_categories_is_what_they_get_beyond_the_mean():
    nodes = np.zeros(5, dtype=TREE_NODE)
    nodes["feature"], nodes["set"], nodes["left"] = (
        [1, -1, 0, -1, -1],
        [0, -1, -1, -1, -1],
        [1, -1, 3, -1, -1],
    )
    nodes["weight"], nodes["value"] = [10, 4, 6, 2, 4], [0, 1.0, 0, 3.0, -3.0]
    mean = (4 * 1.0 + 2 * 3.0 - 4 * 3.0) / 10
    for missing_left, value in ((1, 1.0), (0, -1.0)):
        nodes["missing_left"][0] = missing_left
        drift = unseen_drift(TreeNodes(nodes, np.zeros((1, 8), dtype=np.uint32)), 3)
        np.testing.assert_allclose(drift, [0, 10 * (value - mean), 0])
