"""Bins by a grid against a search among the edges."""

import numpy as np
import pytest

from propriety.engine.placing import lay_grids, place_rows

D, N = 4, 700


def edges_of(values, count):
    """Quantiles, as edges of ``count`` + 1 bins, padded."""
    edges = np.full((D, 255), np.inf)
    edges[:, :count] = np.quantile(values, np.arange(1, count + 1) / (count + 1), axis=0).T
    return edges, np.full(D, count + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 2, 60, 254])
def test_values_are_placed_as_by_a_search(dtype, count):
    rng = np.random.default_rng(count)
    X = rng.normal(size=(N, D)).astype(dtype)
    edges, n_bins = edges_of(X.astype(np.float64), count)
    X[:count] = edges[:, :count].T  # a value at an edge belongs below it
    X[-5:] = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30])[:, None]
    grids = lay_grids(edges, n_bins)
    assert grids.fine.any()
    features = np.flatnonzero(grids.fine)
    columns, rows = np.zeros((D, N + 3), dtype=np.uint8), np.zeros((N + 3, D), dtype=np.uint8)
    place_rows(X, features, edges, n_bins, grids, 0, N, 3, columns, rows)
    for f in features:
        expected = np.searchsorted(edges[f], X[:, f].astype(np.float64), side="left")
        expected[np.isnan(X[:, f])] = n_bins[f]
        np.testing.assert_array_equal(columns[f, 3:], expected)
    np.testing.assert_array_equal(rows, columns.T)


@pytest.mark.parametrize(
    ("edges", "fine"),
    [
        ([0.0, 1.0, 2.0], True),
        ([5.0], True),
        ([], True),
        ([0.0, 1e-6, 1.0], False),  # two edges in a cell
        ([-np.inf, 0.0, 1.0], False),  # no cell has a width
        ([-1.7e308, 0.0, 1.7e308], False),
    ],
)
def test_a_grid_is_fine_if_no_cell_holds_two_edges(edges, fine):
    table = np.full((1, 255), np.inf)
    table[0, : len(edges)] = edges
    assert lay_grids(table, np.array([len(edges) + 1])).fine[0] == fine
