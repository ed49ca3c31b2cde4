"""Reliability bands, binned errors, cross-entropy, distances to a known truth."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mean_squared_error

from propriety import evaluation
from propriety.evaluation.calibration import calibration_cross_entropy, mean_regret, mse_to_truth


def test_expected_calibration_error_agrees_with_scikit_learns_bins(rows):
    y, p, _, _ = rows
    true, predicted = calibration_curve(y, p, n_bins=7)
    edges = np.linspace(0, 1, 8)
    counts = np.bincount(np.searchsorted(edges[1:-1], p), minlength=7)
    share = counts[counts > 0] / len(y)
    gap = np.abs(true - predicted)
    assert evaluation.calibration_error(y, p, n_bins=7) == pytest.approx(share @ gap, abs=1e-12)
    assert evaluation.calibration_error(y, p, n_bins=7, norm="max") == pytest.approx(gap.max(), abs=1e-12)
    root = np.sqrt(share @ gap**2)
    assert evaluation.calibration_error(y, p, n_bins=7, norm="l2") == pytest.approx(root, abs=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_binned_error_takes_weights_as_copies(rows, strategy):
    y, p, weight, _ = rows
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    error = evaluation.calibration_error(y, p, sample_weight=weight, strategy=strategy)
    assert error == pytest.approx(evaluation.calibration_error(y[copies], p[copies], strategy=strategy))


def test_quantile_bins_have_equal_weight():
    p = np.linspace(0.01, 0.99, 100)
    y = (np.arange(100) % 2).astype(int)
    tenth = np.repeat(np.arange(10), 10)
    by_hand = np.mean([abs(y[tenth == k].mean() - p[tenth == k].mean()) for k in range(10)])
    assert evaluation.calibration_error(y, p, strategy="quantile") == pytest.approx(by_hand, abs=1e-12)


def test_consistency_band_holds_what_is_calibrated_and_not_what_is_not():
    rng = np.random.default_rng(0)
    eta = np.round(rng.uniform(size=2000), 2)
    y = (rng.uniform(size=2000) < eta).astype(int)
    right = evaluation.reliability(y, eta, n_resamples=200)
    wrong = evaluation.reliability(y, eta**2, n_resamples=200)
    assert right.outside < 0.25
    assert wrong.outside > 0.5
    assert np.all(right.low <= right.at + 0.1)
    assert np.all(np.diff(right.low) >= -1e-12)
    same = evaluation.reliability(y, eta, n_resamples=200)
    np.testing.assert_array_equal(right.high, same.high)


def test_cross_entropy_is_least_for_the_true_histogram():
    rng = np.random.default_rng(1)
    eta = rng.beta(2, 2, 4000)
    y = (rng.uniform(size=4000) < eta).astype(int)
    counts = np.histogram(eta, np.linspace(0, 1, 11))[0] / 4000
    entropy = -np.sum(counts * np.log(counts))
    error = calibration_cross_entropy(y, eta, eta=eta, smoothing=0, base=np.e)
    assert error == pytest.approx(entropy, rel=1e-12)
    sure = 1 / (1 + np.exp(-4 * np.log(eta / (1 - eta))))  # a model four times too sure
    for known in (eta, "recalibrated", "uniform"):
        good = calibration_cross_entropy(y, eta, eta=known)
        assert good < calibration_cross_entropy(y, sure, eta=known)
    assert calibration_cross_entropy(y, eta) >= np.log2(10)
    bits = calibration_cross_entropy(y, eta, eta=eta, smoothing=0)
    assert bits == pytest.approx(entropy / np.log(2), rel=1e-12)
    assert calibration_cross_entropy([0, 1], [0.05, 0.95], eta=[0.4, 0.6], smoothing=0) == np.inf


def test_the_measure_of_the_tables_is_the_default():
    """Ten bins, base 2, one row added to each; sure forecasts of 31 and 30 rows of 61, as in [M] Table 4."""
    y = np.arange(61) % 2
    found = calibration_cross_entropy(y, y.astype(float))
    assert found == pytest.approx(-(np.log2(32 / 71) + np.log2(31 / 71) + 8 * np.log2(1 / 71)) / 10)


def test_distance_to_a_known_truth(rows):
    _, p, weight, eta = rows
    expected = mean_squared_error(eta, p, sample_weight=weight)
    assert mse_to_truth(eta, p, sample_weight=weight) == pytest.approx(expected, rel=1e-12)
    divergence = np.mean(eta * np.log(eta / p) + (1 - eta) * np.log((1 - eta) / (1 - p)))
    assert mean_regret(eta, p, "Log") == pytest.approx(divergence, rel=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluation.calibration_error([0, 1], [0.1, 0.9], n_bins=0), "n_bins"),
        (lambda: evaluation.calibration_error([0, 1], [0.1, 0.9], norm="l3"), "norm"),
        (lambda: evaluation.calibration_error([0, 1], [0.1, 0.9], strategy="equal"), "strategy"),
        (lambda: calibration_cross_entropy([0, 1], [0.1, 0.9], eta="flat"), "eta must be"),
        (lambda: calibration_cross_entropy([0, 1], [0.1, 0.9], base=1), "base must be"),
        (lambda: calibration_cross_entropy([0, 1], [0.1, 0.9], eta=[0.5]), "eta has 1"),
        (lambda: mean_regret([0.5], [0.1, 0.9]), "eta has 1"),
        (lambda: evaluation.reliability([0, 1], [0.1, 0.9], level=1), "level"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_slope_is_that_of_a_logistic_regression(rows):
    y, p, weight, _ = rows
    p = np.clip(p, 1e-6, 1 - 1e-6)
    line = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(np.log(p / (1 - p))[:, None], y, weight)
    slope = evaluation.calibration_slope(y, p, sample_weight=weight).value
    assert slope == pytest.approx(line.coef_[0, 0], abs=1e-5)
    turned = evaluation.calibration_slope(1 - y, 1 - p, sample_weight=weight).value
    assert slope == pytest.approx(turned, abs=1e-6)


def test_slope_of_several_classes_shrinks_with_the_sharpness():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3000, 3))
    P = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(["a", "b", "c"], p=row) for row in P])
    sharp = P**2 / np.sum(P**2, axis=1, keepdims=True)
    slope = evaluation.calibration_slope(y, P).value
    assert slope == pytest.approx(1, abs=0.1)
    assert evaluation.calibration_slope(y, sharp).value == pytest.approx(0.5 * slope, 1e-5)


def test_slope_without_mistakes_has_no_bound():
    assert evaluation.calibration_slope([0, 0, 1, 1], [0.2, 0.3, 0.6, 0.7]).value == np.inf
    assert evaluation.calibration_slope([1, 1, 0, 0], [0.2, 0.3, 0.6, 0.7]).value == -np.inf
    with pytest.raises(ValueError, match="one class"):
        evaluation.calibration_slope([1, 1], [0.2, 0.3])
    with pytest.raises(ValueError, match="2 classes"):
        evaluation.calibration_slope([0, 1], np.full((2, 3), 1 / 3))


def test_the_interval_of_the_slope_is_that_of_logistic_regression():
    rng = np.random.default_rng(0)
    score = rng.normal(size=800)
    y = (rng.random(800) < 1 / (1 + np.exp(-score))).astype(int)
    weight = rng.integers(1, 4, 800)
    oracle = sm.GLM(y, sm.add_constant(2 * score), family=sm.families.Binomial(), freq_weights=weight).fit()
    p = 1 / (1 + np.exp(-2 * score))
    found = evaluation.calibration_slope(y, p, sample_weight=weight)
    assert found.value == pytest.approx(oracle.params[1], rel=1e-5)
    np.testing.assert_allclose([found.low, found.high], oracle.conf_int()[1], rtol=1e-4)
    apart = evaluation.calibration_slope([0, 1], [0.2, 0.8])
    assert apart.high == np.inf
