"""Scores by masks of leaves: the bits of going down the trees."""

import numpy as np
import pytest
from tests.inside import forest_of

from propriety import BoostingClassifier
from propriety.trees import predictor
from propriety.trees.quickscorer import LeafMasks


def by_steps_and_by_masks(forest, X, monkeypatch, first=0, last=None):
    scores = np.random.default_rng(1).normal(size=(len(X), forest.n_scores))
    both = scores.copy(), scores.copy()
    for many, out in zip((10**9, 1), both, strict=True):
        monkeypatch.setattr(predictor, "_MANY_ROWS", many)
        forest.add_scores(X, out, 2, first, last)
    return both


def fitted(leaves, classes, categorical, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(700, 4))
    X[:, 3] = rng.integers(0, 12, 700)
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 3] % 3 + rng.normal(size=700), np.linspace(0, 2, classes - 1))
    X[rng.random(X.shape) < 0.1] = np.nan
    model = BoostingClassifier(
        max_iter=9,
        max_leaf_nodes=leaves,
        min_samples_leaf=2,
        categorical_features=[3] if categorical else None,
    )
    model.fit(X, y)
    X[rng.random(X.shape) < 0.05] = np.inf
    X[rng.random(X.shape) < 0.05] = -np.inf
    X[:, 3] = rng.integers(0, 12, 700)
    X[rng.random(X.shape) < 0.1] = np.nan
    return forest_of(model), X


@pytest.mark.parametrize(
    ("leaves", "classes", "categorical", "dtype"),
    [
        (31, 2, False, np.float32),
        (31, 3, True, np.float64),
        (64, 2, True, np.float64),
        (2, 2, False, np.float32),
    ],
)
def test_masks_give_the_bits_of_going_down(leaves, classes, categorical, dtype, monkeypatch):
    forest, X = fitted(leaves, classes, categorical)
    steps, masks = by_steps_and_by_masks(forest, X.astype(dtype), monkeypatch)
    assert "_masks" in forest.__dict__
    assert forest._masks.masks.dtype == (np.uint64 if leaves == 64 else np.uint32)
    assert (len(forest.sets) > 0) == categorical
    np.testing.assert_array_equal(masks, steps)
    k = forest.n_scores  # the first round is left out
    steps, masks = by_steps_and_by_masks(forest, X[:131].astype(dtype), monkeypatch, k, 9 * k)
    np.testing.assert_array_equal(masks, steps)


def test_float32_values_at_and_beside_a_threshold_stay_on_their_side(monkeypatch):
    # Thresholds between two float32: rounding them to the nearest would send the value above them left.
    forest, _ = fitted(31, 2, False)
    near = np.unique(forest.nodes["threshold"][forest.nodes["feature"] >= 0])
    near = near[np.isfinite(near)].astype(np.float32)
    sides = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    X = np.ascontiguousarray(np.tile(np.concatenate(sides)[:, None], (1, 4)))
    steps, masks = by_steps_and_by_masks(forest, X, monkeypatch)
    np.testing.assert_array_equal(masks, steps)


def test_trees_of_more_leaves_have_none(monkeypatch):
    forest, X = fitted(65, 2, False)
    assert max(tree.n_leaves for tree in forest.split()) == 65
    assert LeafMasks.of(forest.nodes, forest.roots) is None
    steps, masks = by_steps_and_by_masks(forest, X, monkeypatch)
    np.testing.assert_array_equal(masks, steps)


def test_few_rows_or_trees_make_none():
    forest, X = fitted(4, 2, False)
    forest.add_scores(X, np.zeros((len(X), 1)), 1)
    assert "_masks" not in forest.__dict__
