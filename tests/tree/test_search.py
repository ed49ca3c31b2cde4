"""The cuts that the search finds include the best one, for every entropy: against trying all of them."""

from itertools import product

import numpy as np
import pytest

from propriety import losses
from propriety.losses import simplex
from propriety.tree import TreeClassifier, growing

LOSSES = [
    "Squared()",
    "Log()",
    "Matsushita()",
    "CascadeUp(16)",
    "CascadeDown(31)",
    "Tailored(0.1, 20)",
    "CostWeighted(0.3)",
    "2 * Log() + CostWeighted(0.2)",
]


def table(seed, n=60):
    """Ties, missing values, few and many values, weights; class 1 depends on the columns."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 6, n), rng.integers(0, 3, n), rng.normal(size=n)]
    )
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0] - (X[:, 1] - 2)))).astype(int)
    X[rng.random(n) < 0.2, 0] = np.nan
    X[rng.random(n) < 0.1, 1] = np.nan
    return X, y, rng.integers(1, 4, n).astype(float)


def all_tests(X, categorical=()):
    """Left sides of every possible split."""
    for f in range(X.shape[1]):
        x, gone = X[:, f], np.isnan(X[:, f])
        values = np.unique(x[~gone])
        if f in categorical:
            parts = [x == v for v in values] + ([gone] if gone.any() else [])
            for keep in product([False, True], repeat=len(parts)):
                yield np.any(
                    [p for p, k in zip(parts, keep, strict=True) if k] or [np.zeros(len(x), bool)], 0
                )
            continue
        for v in values:
            yield np.where(gone, False, x <= v)
            yield np.where(gone, True, x <= v)


def best_gain(X, y, w, entropy, least, categorical=(), classes=2):
    def total(rows):
        sums = np.bincount(y[rows], w[rows], classes)
        return sums.sum() * entropy(sums / sums.sum())

    everything = np.ones(len(y), dtype=bool)
    gains = [
        total(everything) - total(left) - total(~left)
        for left in all_tests(X, categorical)
        if min(w[left].sum(), w[~left].sum()) >= least and left.any() and not left.all()
    ]
    return max(gains)


@pytest.mark.parametrize("splits", ["exact", "histogram"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_first_split_is_the_best_of_all(loss, splits):
    H = losses.parse(loss)
    for seed in range(3):
        X, y, w = table(seed)
        model = TreeClassifier(loss, max_leaf_nodes=2, min_samples_leaf=5, splits=splits)
        found = model.fit(X, y, w).tree_.nodes["gain"][0]
        assert found == pytest.approx(
            best_gain(X, y, w, lambda P: H.entropy(P[1], P[0]), 5), rel=1e-9, abs=1e-12
        )


@pytest.mark.parametrize("loss", ["Log()", "CascadeUp(8)"])
def test_sets_of_categories_are_the_best_partition(loss):
    H = losses.parse(loss)
    for seed in range(3):
        X, y, w = table(seed)
        X = X[:, [1, 2]]
        model = TreeClassifier(loss, max_leaf_nodes=2, min_samples_leaf=1, categorical_features=[0, 1])
        found = model.fit(X, y, w).tree_.nodes["gain"][0]
        best = best_gain(X, y, w, lambda P: H.entropy(P[1], P[0]), 1, categorical=(0, 1))
        assert found == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(
    "loss", [simplex.Log(), simplex.PairwiseExponential(), "Tailored(0.2, 10)", "CostWeighted(0.4)"]
)
@pytest.mark.parametrize("splits", ["exact", "histogram"])
def test_three_classes(loss, splits):
    X, y, w = table(5)
    y = y + (X[:, 2] == 1)
    model = TreeClassifier(loss, max_leaf_nodes=2, min_samples_leaf=4, splits=splits).fit(X, y, w)

    def entropy(P):
        if isinstance(loss, simplex.SimplexLoss):
            return loss.entropy(P[None])[0]
        H = losses.parse(loss)
        return 0.5 * sum(H.entropy(p, 1 - p) for p in P)

    assert model.tree_.nodes["gain"][0] == pytest.approx(best_gain(X, y, w, entropy, 4, classes=3), rel=1e-9)


@pytest.mark.parametrize("loss", ["Squared()", "CascadeUp(16)"])
def test_histogram_and_exact_splits_make_the_same_tree_when_every_value_has_a_bin(loss):
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(900, 5)), 1) * 7
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 4] = rng.integers(0, 12, 900)
    y = (rng.random(900) < 1 / (1 + np.exp(-X[:, 0] / 7 - (X[:, 4] % 3)))).astype(int)
    for limit in ({"max_leaf_nodes": 25}, {"max_leaf_nodes": None, "min_samples_leaf": 1}):
        kinds = [
            TreeClassifier(loss, splits=splits, categorical_features=[4], **limit).fit(X, y).tree_
            for splits in ("exact", "histogram")
        ]
        np.testing.assert_array_equal(kinds[0].nodes, kinds[1].nodes)
        np.testing.assert_array_equal(kinds[0].sets, kinds[1].sets)


def test_many_cuts_are_all_kept():
    """A convex path of class sums: every cut is a vertex, more than the room first made for them."""
    n = 300
    y = np.concatenate([np.repeat([0, 1], [n - i, i]) for i in range(n)])
    x = np.repeat(np.arange(n), n).astype(float)
    X = np.column_stack([x] * 16)
    model = TreeClassifier("Log", splits="exact", max_leaf_nodes=2, n_jobs=1).fit(X, y)
    assert model.tree_.nodes["feature"][0] == 0
    assert model.tree_.nodes["threshold"][0] == pytest.approx(n / 2, abs=2)


@pytest.mark.parametrize("growth", ["best", "depth"])
def test_splits_ahead_of_their_turn_are_those_in_turn(growth, monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 4)).round(1)
    y = rng.random(400) < 1 / (1 + np.exp(-2 * X[:, 0] * X[:, 1]))
    trees = []
    for ahead in (0, 1000):
        monkeypatch.setattr(growing, "_AHEAD", ahead)
        model = TreeClassifier(growth=growth, max_leaf_nodes=9, min_samples_leaf=5).fit(X, y)
        trees.append(model.tree_)
    assert len(trees[0].leaves) == 9
    for name in ("nodes", "sets", "sums", "gap", "missing_seen", "losses", "collapse"):
        np.testing.assert_array_equal(getattr(trees[0], name), getattr(trees[1], name))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["Log()", "CascadeUp(16)"])
def test_columns_of_many_values_are_searched_in_their_order(loss, missing, weighted):
    rng = np.random.default_rng(8)
    x = rng.permutation(800).astype(float) // 2  # too many for bins, each of them twice
    y, w = (rng.random(800) < 0.2 + 0.5 * (x > 190)).astype(int), np.ones(800)
    if missing:
        x[rng.random(800) < 0.1] = np.nan
    if weighted:
        w = rng.integers(1, 4, 800).astype(float)
    model = TreeClassifier(loss, max_leaf_nodes=2, min_samples_leaf=5).fit(x[:, None], y, w)
    H = losses.parse(loss)
    best = best_gain(x[:, None], y, w, lambda P: H.entropy(P[1], P[0]), 5)
    assert model.tree_.nodes["gain"][0] == pytest.approx(best, rel=1e-9)
