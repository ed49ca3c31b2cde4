"""Class sums that are kept: trees with and without them."""

import numpy as np
import pytest

from propriety import TreeClassifier
from propriety.tree import cells
from propriety.tree.cells import KeptCells, NewNode, count_slots
from propriety.tree.growing import Growth
from propriety.tree.search import Sample, SearchColumns

FIELDS = ("nodes", "sets", "sums", "gap", "missing_seen", "losses", "collapse")


def table(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(600, 5))
    y = np.digitize(
        X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=600), np.linspace(-1, 1, n_classes + 1)[1:-1]
    )
    X[::6, 2] = np.nan
    X[:, 4] = rng.integers(0, 9, 600)
    return X, y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("limits", [{"max_leaf_nodes": 12}, {"min_samples_leaf": 3}, {"max_depth": 3}])
@pytest.mark.parametrize("weighted", [False, True])
def test_kept_sums_change_no_tree(n_classes, limits, weighted, monkeypatch):
    X, y = table(n_classes)
    weight = np.random.default_rng(0).random(600) if weighted else None

    def grown(n_jobs=1):
        model = TreeClassifier(splits="histogram", categorical_features=[4], n_jobs=n_jobs, **limits)
        return model.fit(X, y, weight).tree_

    monkeypatch.setattr(Growth, "keeps_cells", False)
    expected = grown()
    monkeypatch.setattr(Growth, "keeps_cells", True)
    for many in (1, 20, 100):
        monkeypatch.setattr(cells, "_MANY", many)
        for tree in (grown(), grown(2)):
            for field in FIELDS:
                np.testing.assert_array_equal(getattr(tree, field), getattr(expected, field))


def test_the_larger_child_is_what_is_left(monkeypatch):
    monkeypatch.setattr(cells, "_MANY", 1)
    codes = np.array([[0, 1, 2, 1, 0, 2]], dtype=np.uint8)
    labels = np.array([0, 1, 1, 0, 1, 1], dtype=np.uint8)
    one = np.zeros(1, dtype=np.int64)
    columns = SearchColumns(one, one, codes, one + 2, np.zeros((0, 6), np.int64), one, np.zeros((1, 256)))
    sample = Sample((labels.astype(np.int64) << 32) + np.arange(6), labels, np.empty(0))
    kept = KeptCells(columns, 2)

    def count(parent, *nodes):
        kept.plan(parent, [NewNode(*node) for node in nodes])
        counts = kept.counts()
        count_slots(columns, sample, counts, 0, 1, kept.places, kept.array)
        return len(counts)

    assert count(None, (0, 0, 6, True)) == 1
    assert count(0, (1, 0, 2, True), (2, 2, 6, True)) == 1
    smaller, larger = kept.slots([1, 2])
    assert kept.array[smaller].tolist() == [[1, 0], [0, 1], [0, 0]]
    assert kept.array[larger].tolist() == [[0, 1], [1, 0], [0, 2]]
    kept.forget([1])
    assert kept.slots([1, 2]).tolist() == [-1, larger]
    assert count(2, (3, 2, 4, False), (4, 4, 6, False)) == 0  # none of them will be searched
    assert kept.slots([2, 3, 4]).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_slots_hold_the_class_sums_of_bins(d, weighted):
    """Columns are counted in pairs; one of them may be left over."""
    rng = np.random.default_rng(d)
    n, K, n_bins = 90, 3, rng.integers(2, 30, d)
    codes = rng.integers(0, n_bins[:, None] + 1, (d, n)).astype(np.uint8)
    labels, order = rng.integers(0, K, n).astype(np.uint8), rng.permutation(n)
    weights = rng.integers(1, 9, n) / 4 if weighted else np.empty(0)
    zeros = np.zeros(d, dtype=np.int64)
    columns = SearchColumns(
        zeros, np.arange(d), codes, n_bins, np.zeros((0, n), np.int64), zeros, np.zeros((d, 256))
    )
    sample = Sample((labels[order].astype(np.int64) << 32) + order, labels, weights)
    kept = KeptCells(columns, K)
    array = np.full((4, kept.array.shape[1], K), 7.0)

    def expected(rows):
        cells = np.zeros(array.shape[1:])
        for f in range(d):
            amounts = weights[rows] if weighted else 1.0
            np.add.at(cells, (kept.places[f] + codes[f, rows], labels[rows]), amounts)
        return cells

    for first, last in ((0, d // 2), (d // 2, d)):
        count_slots(columns, sample, np.array([[0, n, 2, -1]]), first, last, kept.places, array)
    np.testing.assert_array_equal(array[2], expected(order))
    count_slots(columns, sample, np.array([[10, 40, 0, 2], [40, 41, 1, -1]]), 0, d, kept.places, array)
    np.testing.assert_array_equal(array[0], expected(order[10:40]))
    np.testing.assert_array_equal(array[1], expected(order[40:41]))
    np.testing.assert_array_equal(array[2], expected(np.concatenate([order[:10], order[40:]])))
    assert np.all(array[3] == 7.0)


def test_a_node_that_is_not_split_gives_its_slot_back(monkeypatch):
    monkeypatch.setattr(cells, "_MANY", 1)
    made = []
    monkeypatch.setattr(KeptCells, "__init__", _noting(KeptCells.__init__, made))
    rng = np.random.default_rng(0)
    X = np.arange(400.0)[:, None]
    y = (np.arange(400) // 10) % 2  # pure leaves of ten rows, one split off after the other
    TreeClassifier(splits="histogram", max_leaf_nodes=None, min_samples_leaf=1).fit(X, y, rng.random(400))
    (kept,) = made
    assert len(kept.array) > 0
    assert not kept._slots


def _noting(init, made):
    def noting(self, *given):
        init(self, *given)
        made.append(self)

    return noting
