"""Edges of numbers that are not sorted, against those of sorted ones."""

from functools import partial

import numpy as np
import pytest

from propriety import parallel
from propriety.trees.quantiles import sorted_edges
from propriety.trees.selection import EdgeFinder
from propriety.trees.sorting import MANY

N = MANY + 1234


def columns(rng):
    x, some = rng.normal(size=N), rng.random(N)
    return {
        "normal": x,
        "far from zero": 1000 + x,
        "even": rng.random(N),
        "skewed": rng.exponential(size=N),
        "missing": np.where(some < 0.3, np.nan, x),
        "infinite": np.where(some < 0.001, np.inf, np.where(some > 0.999, -np.inf, x)),
        "at the end of the range": 1e307 * x,
        "two heaps": np.where(some < 0.5, x, 100 + x),
        "an outlier": np.where(np.arange(N) == 0, 1e30, x),
        "long tails": rng.standard_cauchy(N),
        "two digits": np.round(x, 2),
        "four digits": np.round(x, 4),
        "often zero": np.where(some < 0.3, 0.0, x),
        "few": np.round(x),
        "tiny": 1e-320 * x,
        "one": np.zeros(N),
        "none": np.full(N, np.nan),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_edges_of_sorted_numbers(dtype):
    finder = EdgeFinder()
    for name, x in columns(np.random.default_rng(0)).items():
        with np.errstate(over="ignore"):
            values = x.astype(dtype)
        for max_bins in (255, 64, 2):
            edges = finder.edges(values, max_bins)
            np.testing.assert_array_equal(edges, sorted_edges(np.sort(values), max_bins), err_msg=name)


def found_by_few(x):
    """The edges as found by sorting few of the numbers; None if that does not find them."""
    return EdgeFinder()._selected(x, 255)


@pytest.mark.parametrize("name", ["normal", "far from zero", "even", "skewed", "missing", "infinite"])
def test_numbers_of_which_few_are_sorted(name):
    assert found_by_few(columns(np.random.default_rng(1))[name]) is not None


@pytest.mark.parametrize("name", ["two digits", "often zero", "few", "one", "none", "long tails"])
def test_numbers_that_are_all_sorted(name):
    assert found_by_few(columns(np.random.default_rng(1))[name]) is None


def test_equal_numbers_at_the_end_of_bins():
    x = np.random.default_rng(2).normal(size=N)
    x[::400] = x[1::400][: len(x[::400])]  # pairs, some of which a bin ends with
    edges = found_by_few(x)
    np.testing.assert_array_equal(edges, sorted_edges(np.sort(x), 255))


def test_columns_of_other_lengths_and_types_by_several_threads():
    rng, finder, found = np.random.default_rng(3), EdgeFinder(), {}
    tables = [rng.normal(size=(N + 100 * k, 2)).astype(np.float32 if k % 2 else float) for k in range(6)]

    def find(k):
        found[k] = finder.edges(tables[k][:, 1], 255)

    parallel.run([partial(find, k) for k in range(6)], 3)
    for k, X in enumerate(tables):
        np.testing.assert_array_equal(found[k], sorted_edges(np.sort(X[:, 1]), 255))
