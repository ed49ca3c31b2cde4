"""Bins are a function of the weighted distribution alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propriety.boosting import BoostingClassifier
from propriety.data.table import Schema, Stacked
from propriety.trees import binning
from propriety.trees.binning import (
    Binner,
    merge_categories,
    sample_rows,
)
from propriety.trees.quantiles import distinct_values, quantile_edges
from propriety.weights import Weights


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def table_of(X, categorical=None):
    return Schema.fit(X, categorical)


def bins_of(X, weights=None, max_bins=255, n_jobs=1):
    schema, table = table_of(X)
    weights = Weights.read(weights, len(X))
    binner = Binner.fit(table, weights, np.zeros(len(X)), schema.n_categories, max_bins, n_jobs)
    return binner, binner.transform(table, n_jobs)


@given(st.lists(st.lists(st.integers(-9, 9), max_size=12), min_size=1, max_size=5), st.booleans())
def test_distinct_values_of_parts_are_merged(parts, weighted):
    values = [np.array(part, dtype=float) for part in parts]
    weights = [1.0 + np.arange(len(part)) if weighted else np.ones(len(part)) for part in parts]
    merged = binning._merged([distinct_values(*pair) for pair in zip(values, weights, strict=True)])
    whole = distinct_values(np.concatenate(values), np.concatenate(weights))
    np.testing.assert_array_equal(merged.values, whole.values)
    np.testing.assert_array_equal(merged.mass, whole.mass)


def test_sampled_rows_of_stacked_arrays_are_those_of_one(rng):
    X = rng.normal(size=(50, 6)).astype(np.float32)
    one, stacked = table_of(X)[1], table_of(Stacked([X[:20], X[20:21], X[21:]]))[1]
    rows = np.array([0, 3, 19, 20, 21, 49])
    for table in (one, stacked):
        ((where, column),) = table.parts([1, 4], rows)
        assert where is rows
        for f in (1, 4):
            np.testing.assert_array_equal(column(f), X[rows, f])


@pytest.mark.parametrize("sampled", [False, True])
def test_columns_side_by_side_are_those_of_the_table(rng, sampled):
    n = binning._COPIED + 200
    X, Y = rng.normal(size=(n, 6)).astype(np.float32), rng.normal(size=(300, 6))
    for parts in ([X], [X, Y], [np.asfortranarray(X)]):
        table = table_of(Stacked(parts))[1]
        rows = np.flatnonzero(rng.random(table.n_rows) < 0.99) if sampled else None
        ((where, column),) = binning._side_by_side(table, [1, 4], rows, 2)
        ((expected, other),) = table.parts([1, 4], rows)
        assert where is rows if sampled else where == expected
        for f in (1, 4):
            np.testing.assert_array_equal(column(f), other(f))
            assert column(f).dtype == other(f).dtype


def test_few_distinct_values_get_a_bin_each():
    binner, binned = bins_of(np.array([[3.0], [1.0], [1.0], [7.0]]))
    assert binned.rows[:, 0].tolist() == [1, 0, 0, 2]
    assert binner.n_bins.tolist() == [3]


@pytest.mark.parametrize("max_bins", [2, 7, 64, 255])
def test_bins_have_about_equal_weight(rng, max_bins):
    _, binned = bins_of(rng.normal(size=(20_000, 1)), max_bins=max_bins)
    counts = np.bincount(binned.rows[:, 0])
    assert len(counts) == max_bins
    assert counts.max() <= 1.05 * 20_000 / max_bins + 1


def test_a_frequent_value_does_not_eat_the_bins_of_the_others(rng):
    x = np.concatenate([np.zeros(15_000), rng.normal(size=5_000)])[:, None]
    binner, binned = bins_of(x, max_bins=64)
    assert binner.n_bins[0] == 64
    zero = binned.rows[0, 0]
    others = np.bincount(binned.rows[:, 0])[np.arange(64) != zero]
    assert others.max() < 3 * 5_000 / 63


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=60), st.integers(2, 8))
def test_weights_are_copies(pairs, max_bins):
    values = np.array([float(v) for v, _ in pairs])
    weights = np.array([float(w) for _, w in pairs])
    copies = np.repeat(values, weights.astype(int))
    np.testing.assert_array_equal(
        quantile_edges(distinct_values(values, weights), max_bins),
        quantile_edges(distinct_values(copies, None), max_bins),
    )


def test_bin_agrees_with_its_edges(rng):
    X = rng.normal(size=(5_000, 3)).astype(np.float32)
    binner, binned = bins_of(X, max_bins=100, n_jobs=2)
    for f in range(3):
        edges = binner.edges[f, : binner.n_bins[f] - 1]
        expected = np.searchsorted(edges, X[:, f].astype(np.float64), side="left")
        np.testing.assert_array_equal(binned.rows[:, f], expected)
    np.testing.assert_array_equal(binned.columns.T, binned.rows)


def test_missing_and_infinite_values():
    X = np.array([[np.nan], [-np.inf], [0.0], [np.inf], [1.0]])
    binner, binned = bins_of(X)
    assert binned.rows[:, 0].tolist() == [4, 0, 1, 3, 2]
    assert np.all(np.isfinite(binner.edges[0, 1:3]))


def test_neighbouring_floats_are_told_apart():
    a = 1.0
    b = np.nextafter(a, 2.0)
    _, binned = bins_of(np.array([[a], [b]]))
    assert binned.rows[:, 0].tolist() == [0, 1]


def test_sample_holds_copies_together_and_ignores_order(monkeypatch, rng):
    monkeypatch.setattr(binning, "SAMPLE", 200)
    X = rng.normal(size=(1_000, 4))
    chosen = {tuple(r) for r in X[sample_rows(table_of(X)[1], None, 1)]}
    assert len(chosen) == 200
    order = rng.permutation(3_000)
    copies = np.repeat(X, 3, axis=0)[order][:, [2, 0, 1, 3]]
    rows = copies[sample_rows(table_of(copies)[1], None, 2)][:, [1, 2, 0, 3]]
    assert {tuple(r) for r in rows} == chosen
    assert len(rows) == 600


def test_few_distinct_rows_are_all_sampled(monkeypatch, rng):
    monkeypatch.setattr(binning, "SAMPLE", 200)
    X = np.repeat(rng.normal(size=(50, 2)), 100, axis=0)
    assert sample_rows(table_of(X)[1], None, 1) is None


def test_columns_of_a_frame_are_binned_like_an_array(rng):
    pd = pytest.importorskip("pandas")
    X = rng.normal(size=(300, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    np.testing.assert_array_equal(bins_of(X)[1].rows, bins_of(pd.DataFrame(X, columns=list("abc")))[1].rows)


def test_categories_beyond_the_bins_are_merged_with_those_of_nearest_mean(rng):
    codes = rng.integers(0, 600, 60_000).astype(float)
    target = (rng.random(60_000) < (codes % 10) / 10).astype(float)
    bins = merge_categories(codes, None, target, 600, 255)
    assert 250 <= len(np.unique(bins)) <= 255
    means = np.array([target[codes == c].mean() for c in range(600)])
    order = np.argsort(bins, kind="stable")
    assert np.corrcoef(bins[order], means[order])[0, 1] > 0.95
    mass = np.bincount(bins[codes.astype(int)].astype(int))
    assert mass.max() < 4 * 60_000 / 255


def test_merged_categories_do_not_depend_on_copies(rng):
    codes, target = rng.integers(0, 400, 3_000).astype(float), rng.integers(0, 2, 3_000).astype(float)
    w = rng.integers(1, 5, 3_000)
    copies = rng.permutation(np.repeat(np.arange(3_000), w))
    np.testing.assert_array_equal(
        merge_categories(codes, w.astype(float), target, 400, 255),
        merge_categories(codes[copies], None, target[copies], 400, 255),
    )


def test_contents_are_hashed_once_by_a_fit(monkeypatch, rng):
    """To hold out rows, and to sample those that edges are chosen by."""
    hashed, finish = [], binning._finish_hashes
    monkeypatch.setattr(binning, "SAMPLE", 500)
    monkeypatch.setattr(
        binning, "_finish_hashes", lambda hashes: (hashed.append(len(hashes)), finish(hashes))
    )
    X = rng.normal(size=(2000, 2))
    BoostingClassifier(max_iter=2, early_stopping=True).fit(X, X[:, 0] > 0)
    assert hashed == [2000]
