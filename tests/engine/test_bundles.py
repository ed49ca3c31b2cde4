"""Columns of few bins are counted together, to the same bits as one by one."""

import numpy as np
import pytest

from propriety.boosting import BoostingClassifier
from propriety.engine import grower
from propriety.engine.bundles import NO_BUNDLES, assign, bundle
from propriety.engine.layout import BINS, Binned

MANY = 8192


def binned_of(sizes, n, seed=0):
    """Columns of so many bins, the last of which is the bin of missing values."""
    rng = np.random.default_rng(seed)
    columns = np.array([rng.integers(0, size, n) for size in sizes]).astype(np.uint8)
    d = len(sizes)
    n_bins = np.array(sizes) - 1
    return Binned(
        np.ascontiguousarray(columns.T),
        columns,
        n_bins,
        np.zeros(d, np.uint8),
        np.zeros((d, BINS)),
        np.ones(d),
    )


@pytest.mark.parametrize("sizes", [[2] * 20, [4, 12, 40, 200] * 5, [256, 1, 256, 1], [16, 16, 17, 16], [3]])
def test_bundles_are_no_larger_than_a_column(sizes):
    of, strides, combinations = assign(np.array(sizes))
    for b, size in enumerate(combinations):
        members = np.flatnonzero(of == b)
        assert np.prod(np.array(sizes)[members]) == size <= BINS
        for f in members:
            assert size % (strides[f] * sizes[f]) == 0
    assert sorted(set(of)) == list(range(len(combinations)))


def test_bins_are_found_again():
    binned = binned_of([4, 12, 40, 200, 256, 2, 2, 2, 1, 5], MANY + 100)
    bundles = bundle(binned, 2, MANY)
    assert bundles.rows.shape[1] == 5  # 256; 200; 40 · 5; 12 · 4 · 2 · 2; 2 with room to spare
    for f, column in enumerate(binned.columns):
        np.testing.assert_array_equal(bundles.bins[f, bundles.rows[:, bundles.of[f]]], column)


@pytest.mark.parametrize(
    ("sizes", "n"), [([255] * 10, MANY), ([2] * 10, MANY - 1), ([255] * 19 + [2, 2], MANY), ([2], MANY)]
)
def test_where_nothing_is_gained_there_are_none(sizes, n):
    assert bundle(binned_of(sizes, n), 2, MANY) is NO_BUNDLES


def table(n=40_000):
    """Columns of few values, two of many, missing values, and labels that depend on several of them."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.integers(0, k, n) for k in (2, 3, 5, 20, 7, 2, 2, 4)] + [rng.normal(size=(n, 2))]
    )
    X[rng.random(n) < 0.1, 2] = np.nan
    t = 0.5 * X[:, 3] / 20 + X[:, 8] * (X[:, 0] > 0) - np.nan_to_num(X[:, 2]) / 5
    return X, (rng.random(n) < 1 / (1 + np.exp(-t))).astype(int), rng.integers(1, 4, n)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_models_are_the_same(monkeypatch, n_jobs, weighted):
    X, y, weights = table()
    model = BoostingClassifier(max_iter=4, max_leaf_nodes=12, n_jobs=n_jobs, categorical_features=[3])
    made = []
    monkeypatch.setattr(grower, "bundle", lambda *a: made.append(bundle(*a)) or made[-1])
    with_bundles = model.fit(X, y, weights if weighted else None).predict_proba(X)
    assert made[0].rows.shape[1] == 5
    monkeypatch.setattr(grower, "bundle", lambda *a: NO_BUNDLES)
    without = model.fit(X, y, weights if weighted else None).predict_proba(X)
    np.testing.assert_array_equal(with_bundles, without)
