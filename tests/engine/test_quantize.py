"""Fixed point: sums that do not depend on order, weights that are copies."""

import numpy as np
import pytest

from propriety.engine.fixed_point import BLOCK, LEVELS, MAX_COPIES, row_weights
from propriety.engine.quantize import Quantizer
from propriety.weights import Weights


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def quantize(g, h, w=None, n_jobs=1):
    return Quantizer(len(g), row_weights(Weights.read(w, len(g))))(g, h, n_jobs)


def unpack(packed):
    """Gradient and curvature, each m · 4ᵉ written as 4 m + e in 16 bits."""
    shorts = packed.astype(np.int64) >> 16, packed.astype(np.int64) & 0xFFFF
    return tuple((short >> 2) * 4 ** (short & 3) for short in shorts)


def test_a_block_of_the_largest_values_does_not_overflow():
    n = BLOCK
    signal = quantize(np.full(n, -3.0), np.full(n, 2.0))
    g, h = (x.sum() for x in unpack(signal.packed))
    assert -(2**31) <= g < 2**31
    assert 0 <= h < 2**32
    assert g * signal.gradient_unit == pytest.approx(-3.0 * n, rel=1.3e-4)
    assert h * signal.curvature_unit == pytest.approx(2.0 * n, rel=1.3e-4)


def test_rounding_is_below_one_level_or_12_bits(rng):
    g, h = rng.normal(size=5_000) * 10.0 ** rng.integers(-5, 1, 5_000), rng.random(5_000) ** 9
    signal = quantize(g, h, n_jobs=2)
    got_g, got_h = unpack(signal.packed)
    for got, unit, x in ((got_g, signal.gradient_unit, g), (got_h, signal.curvature_unit, h)):
        level = np.maximum(np.abs(x).max() / LEVELS, np.abs(x) / 2047)
        assert np.all(np.abs(got * unit - x) <= 0.5001 * level)
        assert np.unique(got).size > 1_000


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
