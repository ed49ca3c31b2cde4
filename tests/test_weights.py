"""Weights: copies or relative, exact sums, means and their errors."""

import math

import numpy as np
import pytest
from scipy import stats

from propriety.weights import SampledMean, Weights, exact_sum


def test_whole_weights_are_copies_and_others_have_mean_one(rng):
    assert Weights.read([1, 2, 0], 3).copies
    relative = Weights.read(rng.random(50), 50)
    assert not relative.copies
    assert relative.total == pytest.approx(50, rel=1e-12)


def test_weights_above_two_to_the_fifty_third_are_not_copies():
    assert not Weights.read([2.0**53, 3.0], 2).copies
    assert not Weights.read([2.0**60, 2.0**61], 2).copies
    assert Weights.read([2.0**52, 3.0], 2).copies


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000, 12_345])
@pytest.mark.parametrize("value", [0.1, 1e-200, 1e300, math.pi])
def test_constant_weights_are_none(n, value):
    assert Weights.read(np.full(n, value), n).values is None


@pytest.mark.parametrize("factor", [2.0, 0.5, 2.0**40, 2.0**-40])
def test_a_power_of_two_changes_no_bit(rng, factor):
    w = rng.random(1000)
    np.testing.assert_array_equal(Weights.read(factor * w, 1000).values, Weights.read(w, 1000).values)


@pytest.mark.parametrize("factor", [0.1, 3.3, 1e-7])
def test_any_factor_changes_next_to_nothing(rng, factor):
    w = rng.random(1000)
    np.testing.assert_allclose(
        Weights.read(factor * w, 1000).values, Weights.read(w, 1000).values, rtol=0, atol=2e-12
    )


def test_order_changes_no_bit_and_no_sum(rng):
    w, order = rng.lognormal(0, 3, 5000), rng.permutation(5000)
    one, other = Weights.read(w, 5000), Weights.read(w[order], 5000)
    np.testing.assert_array_equal(one.values[order], other.values)
    assert one.total == other.total == math.fsum(one.values)
    parts = [one.values[i::7].sum() for i in range(7)]
    assert sum(parts) == one.total


def test_every_relative_weight_is_a_whole_multiple_of_the_unit(rng):
    weights = Weights.read(rng.lognormal(0, 5, 300), 300)
    multiples = weights.values / weights.unit
    np.testing.assert_array_equal(multiples, np.rint(multiples))
    assert multiples.min() >= 1


def test_the_exact_sum_is_the_exact_sum(rng):
    for values in (rng.random(1000), rng.lognormal(0, 2, 1000), np.array([1.0, 2.0**-52])):
        assert exact_sum(values) == pytest.approx(math.fsum(values), rel=1e-15)
        assert exact_sum(values) == exact_sum(values[::-1])


def test_the_standard_error_of_copies_is_that_of_the_copies(rng):
    values, k = rng.normal(size=40), rng.integers(0, 5, 40)
    copied = np.repeat(values, k)
    weights = Weights.read(k, 40)
    assert weights.mean(values) == pytest.approx(copied.mean())
    assert weights.standard_error(values) == pytest.approx(copied.std(ddof=1) / np.sqrt(len(copied)))


def test_the_standard_error_of_relative_weights_does_not_know_their_scale(rng):
    values, w = rng.normal(size=60), rng.random(60)
    errors = [Weights.read(c * w, 60).standard_error(values) for c in (1.0, 7.7, 1e-3)]
    assert errors == pytest.approx([errors[0]] * 3)
    # And it is that of a weighted mean: by simulation of the mean itself.
    means = [np.average(rng.normal(size=60), weights=w) for _ in range(4000)]
    assert Weights.read(w, 60).standard_error(values) == pytest.approx(np.std(means), rel=0.35)


def test_groups_are_the_observations(rng):
    values = rng.normal(size=30)
    groups = np.repeat(np.arange(10), 3)
    by_group = values.reshape(10, 3).mean(axis=1)
    expected = by_group.std(ddof=1) / np.sqrt(10)
    assert Weights.read(None, 30).standard_error(values, groups) == pytest.approx(expected)
    interval = Weights.read(None, 30).estimate(values, groups=groups, scale=2)
    assert interval.high - interval.value == pytest.approx(2 * 1.959963984540054 * expected, rel=0.2)


def test_intervals_of_one_event_each_are_those_of_poisson_and_of_many_are_normal(rng):
    for events in (1, 5, 40):
        values = np.zeros(100_000)
        values[:events] = 7.0
        low, _ = SampledMean.of(Weights(100_000), values, None, (0.0, 7.0)).interval()
        assert low == pytest.approx(7e-5 * stats.chi2.ppf(0.025, 2 * events) / 2, rel=1e-3)
    none = Weights(1000).estimate(np.zeros(1000), reach=(0.0, 50.0))
    assert (none.value, none.low) == (0.0, 0.0)
    assert 2.3 < none.high * 1000 / 50 < 3.7  # events that may be, though none was seen
    half = Weights(10_000).estimate(rng.normal(3, 1, 10_000))
    assert (half.low, half.high) == pytest.approx((half.value - 0.0196, half.value + 0.0196), abs=5e-4)


def test_an_interval_ends_at_0_at_the_level_of_the_p_value_and_copies_are_rows(rng):
    values = rng.choice([0.0, 0.0, 0.0, 2.0, -1.0], 60)
    sampled = SampledMean.of(Weights(60), values, None, (-1.0, 2.0))
    assert 0.001 < sampled.p_value < 1
    side = 0 if sampled.value > 0 else 1
    assert sampled.interval(1 - sampled.p_value)[side] == pytest.approx(0, abs=1e-6)
    copies = np.arange(60) % 4
    once = SampledMean.of(Weights.read(copies, 60), values, None, (-1.0, 2.0))
    again = SampledMean.of(Weights(int(copies.sum())), np.repeat(values, copies), None, (-1.0, 2.0))
    assert once.interval() == pytest.approx(again.interval())
    same = Weights.read(0.3 * np.ones(60), 60).estimate(values)
    assert same == Weights(60).estimate(values)


def test_rows_of_weight_zero_take_no_part():
    weights = Weights.read([1, 0, 1], 3)
    assert weights.mean([1.0, np.nan, 3.0]) == 2.0
    assert np.isfinite(weights.standard_error([1.0, np.inf, 3.0]))


def test_factors_keep_the_total(rng):
    weights = Weights.read(rng.integers(1, 4, 20), 20)
    assert weights.times(rng.random(20)).total == pytest.approx(weights.total, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, -1], "must not be negative"),
        ([0, 0], "zero everywhere"),
        ([np.nan, 1], "must be finite"),
        ([1, 2, 3], "one entry for each of 2 rows"),
        (["a", "b"], "must be numbers"),
    ],
)
def test_bad_weights_are_refused_by_name(given, message):
    with pytest.raises(ValueError, match=message):
        Weights.read(given, 2)
    with pytest.raises(ValueError, match="sample_weight_val"):
        Weights.read(given, 2, name="sample_weight_val")
