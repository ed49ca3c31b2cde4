"""Fixed point: sums that do not depend on order, weights that are copies."""

import numpy as np
import pytest

from propriety.trees.fixed_point import BLOCK, LEVELS, MAX_COPIES, row_weights
from propriety.trees.gradients import Quantizer
from propriety.weights import Weights


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def quantize(g, h, w=None, n_jobs=1):
    return Quantizer(len(g), row_weights(Weights.read(w, len(g))))(g, h, n_jobs)


def unpack(packed):
    return packed >> 32, packed & 0xFFFFFFFF


def test_a_block_of_the_largest_values_does_not_overflow():
    n = BLOCK
    signal = quantize(np.full(n, -3.0), np.full(n, 2.0))
    g, h = unpack(int(signal.packed.sum()))
    assert g * signal.gradient_unit == pytest.approx(-3.0 * n, rel=1e-5)
    assert h * signal.curvature_unit == pytest.approx(2.0 * n, rel=1e-5)


def test_rounding_is_below_one_level(rng):
    g, h = rng.normal(size=5_000), rng.random(5_000)
    signal = quantize(g, h, n_jobs=2)
    got_g, got_h = unpack(signal.packed)
    assert np.max(np.abs(got_g * signal.gradient_unit - g)) <= 0.5001 * np.abs(g).max() / LEVELS
    assert np.max(np.abs(got_h * signal.curvature_unit - h)) <= 0.5001 * h.max() / LEVELS


def test_whole_weights_multiply_the_quantized_value(rng):
    g, h, w = rng.normal(size=100), rng.random(100), rng.integers(1, 9, 100).astype(float)
    weighted = quantize(g, h, w)
    plain = quantize(g, h)
    gq, hq = unpack(plain.packed)
    np.testing.assert_array_equal(weighted.parts[:, 0], gq * w)
    np.testing.assert_array_equal(weighted.parts[:, 1], hq * w)
    assert weighted.gradient_unit == plain.gradient_unit
    assert weighted.weight_unit == 1.0


@pytest.mark.parametrize("w", [np.array([0.5, 2.0, 1e-3]), np.array([1.0, MAX_COPIES + 1.0, 3.0])])
def test_other_weights_are_folded_in(w):
    g, h = np.array([1.0, -1.0, 0.5]), np.array([0.25, 0.25, 0.2])
    signal = quantize(g, h, w)
    w = Weights.read(w, 3).values
    np.testing.assert_allclose(signal.parts[:, 0] * signal.gradient_unit, g * w, atol=1e-8 * w.max())
    np.testing.assert_allclose(signal.parts[:, 2] * signal.weight_unit, w, atol=1e-8 * w.max())


def test_scale_of_the_gradient_does_not_matter(rng):
    g, h = rng.normal(size=1_000), rng.random(1_000)
    np.testing.assert_array_equal(quantize(g, h).packed, quantize(3 * g, 3 * h).packed)


def test_zero_gradients():
    signal = quantize(np.zeros(4), np.zeros(4))
    assert not signal.packed.any()
