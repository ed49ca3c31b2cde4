"""Edges of sorted values, against the walk over distinct ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from propriety.trees.quantiles import distinct_values, quantile_edges, sorted_edges


def same_edges(values, max_bins):
    edges = sorted_edges(np.sort(values), max_bins)
    np.testing.assert_array_equal(edges, quantile_edges(distinct_values(values, None), max_bins))
    return edges


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.0, 2.5, -3.0, 7.0, np.nan, np.inf]) | st.floats(-9, 9), st.integers(1, 30)
        )
    ),
    st.integers(2, 12),
)
def test_the_same_bins(pairs, max_bins):
    values = np.array([value for value, _ in pairs], dtype=float)
    same_edges(np.repeat(values, [count for _, count in pairs]), max_bins)


def test_many_kinds_of_columns():
    rng = np.random.default_rng(0)
    for seed in range(300):
        n, max_bins = rng.integers(1, 900), [255, 64, 17, 3][seed % 4]
        x = rng.normal(size=n)
        often = np.where(rng.random(n) < rng.random(), 0.5, x)
        for values in (x, np.round(x, 1), often, rng.geometric(0.05, n).astype(np.float32), np.float32(x)):
            same_edges(values, max_bins)


def test_infinities_and_nothing():
    assert len(same_edges(np.array([]), 5)) == 0
    assert len(same_edges(np.full(3, np.nan), 5)) == 0
    assert len(same_edges(np.array([-np.inf, 1.0, np.inf, np.inf]), 5)) == 2
