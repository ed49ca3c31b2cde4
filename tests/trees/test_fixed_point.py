"""One rule for weights, and sums that depend on no order."""

import math

import numpy as np
import pytest

from propriety.trees.fixed_point import (
    MAX_COPIES,
    fixed_point,
    largest,
    narrow_scale,
    row_weights,
    sum_cells,
    weighted_sum,
    wide_scale,
)
from propriety.weights import Weights


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def read(w, n):
    return row_weights(Weights.read(w, n))


def sums_of(cell_of, g, h, weights, start=0):
    scale = wide_scale(*largest(g, h, 1), weights.total)
    sums = np.zeros((int(cell_of.max()) + 1, 2), dtype=np.int64)
    sum_cells(cell_of, g, h, weights, scale, start, len(g), sums)
    return sums, scale


@pytest.mark.parametrize(
    ("w", "weighted", "folded"),
    [
        (None, False, False),
        ([1, 0, 1], False, False),
        ([0.3, 0.3, 0.3], False, False),
        ([0.3, 0.0, 0.3], False, False),
        ([1, 2, 0], True, False),
        ([1, MAX_COPIES, 0], True, False),
        ([1, MAX_COPIES + 1, 0], True, True),
        ([1, 2.5, 0], True, True),
        ([1, 2.0**60, 0], True, True),
    ],
)
def test_three_kinds_of_weights(w, weighted, folded):
    weights = read(w, 3)
    assert (weights.values.size > 0, weights.folded) == (weighted, folded)
    assert weights.total == pytest.approx(Weights.read(w, 3).total, rel=1e-15)


def test_copies_and_weights_have_the_same_sums(rng):
    n = 500
    g, h, cells = rng.normal(size=n), rng.random(n), rng.integers(0, 7, n).astype(np.uint8)
    w = rng.integers(0, 30, n)
    rows = rng.permutation(np.repeat(np.arange(n), w))
    g[w == 0], h[w == 0] = 0.0, 0.0
    weighted, scale = sums_of(cells, g, h, read(w, n))
    copied, same = sums_of(cells[rows], g[rows], h[rows], read(None, len(rows)))
    assert scale == same
    np.testing.assert_array_equal(weighted, copied)


@pytest.mark.parametrize("kind", ["none", "whole", "relative"])
def test_sums_of_cells_are_those_of_floats(rng, kind):
    n = 2_000
    g, h, cells = rng.normal(size=n), rng.random(n), rng.integers(0, 9, n).astype(np.uint16)
    w = {"none": None, "whole": rng.integers(1, 9, n), "relative": rng.random(n)}[kind]
    sums, scale = sums_of(cells, g, h, read(w, n), start=700)
    values = Weights.read(w, n).array
    for column, x, factor in ((0, g, scale.gradient), (1, h, scale.curvature)):
        expected = np.bincount(cells[700:], (x * values)[700:], minlength=9)
        np.testing.assert_allclose(sums[:, column] / factor, expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("w", [None, "relative", "huge"])
def test_a_weighted_sum_has_one_value_in_every_order(rng, w):
    n = 100_000
    x = rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)
    given = {"relative": rng.random(n), "huge": rng.random(n) * 1e300}.get(w)
    weights, order = Weights.read(given, n), rng.permutation(n)
    total = weighted_sum(x, row_weights(weights), 1)
    assert weighted_sum(x[order], row_weights(weights.take(order)), 2) == total
    assert total == pytest.approx(math.fsum(x * weights.array), rel=1e-8)
    top = float(np.abs(x).max())
    assert weighted_sum(x, row_weights(weights), 1, top=top) == total
    squares = weighted_sum(x * x, row_weights(weights), 1)
    assert weighted_sum(x, row_weights(weights), 1, squared=True) == squares
    assert weighted_sum(x, row_weights(weights), 1, squared=True, top=top) == squares


def test_sums_that_are_not_finite_say_so():
    weights = read(None, 2)
    assert weighted_sum(np.array([1.0, np.inf]), weights, 1) == math.inf
    assert math.isnan(weighted_sum(np.array([1.0, np.nan]), weights, 1))
    assert weighted_sum(np.zeros(2), weights, 1) == 0.0
    assert weighted_sum(np.array([1.0, 1e200]), weights, 1, squared=True) == math.inf
    assert math.isnan(weighted_sum(np.array([1.0, np.nan]), weights, 1, squared=True))


@pytest.mark.parametrize("top", [1e-30, 1.0, 1e30])
def test_the_largest_total_fits_in_64_bits(top):
    for total in (0.1, 1.0, 1e10):
        assert fixed_point(top, total) * top * max(total, 1.0) == pytest.approx(2.0**61)
    assert fixed_point(0.0, 10.0) == 1.0


@pytest.mark.parametrize("n", [5, 70_000])
def test_the_largest_values_say_whether_all_are_numbers(rng, n):
    g, h = rng.normal(size=n), rng.random(n)
    assert largest(g, h, 2) == (np.abs(g).max(), h.max())
    g[3], h[4] = np.nan, -0.0
    assert largest(g, h, 2) == (math.inf, h.max())
    h[n - 1] = np.inf
    assert largest(g[:3], h[n - 3 :], 1) == (np.abs(g[:3]).max(), math.inf)


def test_the_narrow_scale_fits_in_32_bits():
    for w in ([1, MAX_COPIES], [0.1, 5.0]):
        weights = read(w, 2)
        scale = narrow_scale(3.0, 2.0, weights)
        for factor, top in ((scale.gradient, 3.0), (scale.curvature, 2.0), (scale.weight, 1.0)):
            assert factor * top * weights.top < 2**31
    assert narrow_scale(0.0, 0.0, read(None, 2)).gradient == 0.0
