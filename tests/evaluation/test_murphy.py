"""Exact Murphy curves, their bands, and dominance."""

from itertools import pairwise

import numpy as np
import pytest
from model_diagnostics.scoring import ElementaryScore
from scipy import integrate, stats

from propriety import evaluation, losses
from propriety.evaluation.dominance import dominance


def by_hand(y, p, weight, c):
    return np.average(np.where(y == 1, (1 - c) * (p < c), c * (p >= c)), weights=weight)


def test_curve_is_the_mean_cost_weighted_loss_everywhere(rows):
    y, p, weight, _ = rows
    curve = evaluation.murphy_curve(y, p, weight)
    grid = np.concatenate([np.linspace(0, 1, 41), np.unique(p), np.nextafter(np.unique(p), 1)])
    expected = [by_hand(y, p, weight, c) for c in grid]
    np.testing.assert_allclose(curve(grid), expected, atol=1e-14)
    unweighted = evaluation.murphy_curve(y, p)
    peer = [ElementaryScore(c, functional="mean")(y, p) for c in grid]
    np.testing.assert_allclose(unweighted(grid), peer, atol=1e-12)


@pytest.mark.parametrize("loss", losses.examples(), ids=repr)
def test_area_under_any_weight_is_the_mean_loss(loss, rows):
    y, p, weight, _ = rows
    curve = evaluation.murphy_curve(y, p, weight)
    floor = loss.entropy(0.0)  # of Mu, which charges certainty
    expected = evaluation.mean_loss(y, p, loss, sample_weight=weight) - floor
    assert curve.area(loss) == pytest.approx(expected, rel=1e-10)
    assert curve.area(loss, 0, 0.3) + curve.area(loss, 0.3, 1) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("loss", ["Log", "Squared", "Beta(6, 14)"])
def test_area_by_quadrature_of_the_curve(loss, rows):
    """The same by an integral that knows the curve and the weight only."""
    y, p, weight, _ = rows
    curve = evaluation.murphy_curve(y, p, weight)
    edges = np.concatenate([[0], curve.knots, [1]])
    weight_function = losses.parse(loss).weight
    total = sum(
        integrate.quad(lambda c: curve(c) * weight_function(c), a, b, epsabs=1e-13, epsrel=1e-11)[0]
        for a, b in pairwise(edges)
    )
    assert total == pytest.approx(evaluation.mean_loss(y, p, loss, sample_weight=weight), rel=1e-9)


def test_area_of_a_weight_given_as_a_function(rows):
    y, p, _, _ = rows
    curve = evaluation.murphy_curve(y, p)
    assert curve.area(lambda c: 6 * c * (1 - c)) == pytest.approx(curve.area(6 * losses.Beta(2, 2)), rel=1e-8)


def test_tails():
    curve = evaluation.murphy_curve([0, 1, 1, 0], [0.0, 1e-12, 1.0, 1 - 1e-12])
    assert curve.area("Log") == pytest.approx(
        evaluation.mean_loss([0, 1, 1, 0], [0.0, 1e-12, 1.0, 1 - 1e-12], "Log"), rel=1e-12
    )
    assert evaluation.murphy_curve([1], [0.0]).area("Log") == np.inf
    assert evaluation.murphy_curve([0], [0.3], pos_label=1).standard_error(0.2) == np.inf


def test_difference_is_the_difference(rows):
    y, p, weight, eta = rows
    d = evaluation.murphy_difference(y, p, eta, weight)
    c = np.linspace(0, 1, 77)
    one, two = evaluation.murphy_curve(y, p, weight), evaluation.murphy_curve(y, eta, weight)
    np.testing.assert_allclose(d(c), one(c) - two(c), atol=1e-14)
    for loss in ("Log", "Squared", "CostWeighted(0.3)"):
        assert d.area(loss) == pytest.approx(one.area(loss) - two.area(loss), abs=1e-12)


def test_standard_errors_of_rows(rows):
    y, p, weight, eta = rows
    kept = weight > 0
    for c in (0.1, 0.35, 0.8):
        for other in (None, eta):
            value = np.where(y == 1, (1 - c) * (p < c), c * (p >= c))
            if other is not None:
                value = value - np.where(y == 1, (1 - c) * (other < c), c * (other >= c))
                curve = evaluation.murphy_difference(y, p, other)
                weighted = evaluation.murphy_difference(y, p, other, weight)
            else:
                curve, weighted = evaluation.murphy_curve(y, p), evaluation.murphy_curve(y, p, weight)
            plain = np.std(value, ddof=1) / np.sqrt(len(y))
            assert curve.standard_error(c) == pytest.approx(plain, rel=1e-10)
            w, v = weight[kept], value[kept]
            spread = np.sum(w**2 * (v - np.average(v, weights=w)) ** 2) * len(w) / (len(w) - 1)
            assert weighted.standard_error(c) == pytest.approx(np.sqrt(spread) / w.sum(), rel=1e-10)


def test_pointwise_and_simultaneous_bands_cover(rows):
    """Labels drawn again and again: limits hold the true curve as often as they say."""
    rng = np.random.default_rng(5)
    eta = np.tile(np.linspace(0.05, 0.95, 19), 30)
    p = eta**1.3
    c = np.linspace(0.1, 0.9, 17)
    truth = np.array([np.mean(eta * (1 - t) * (p < t) + (1 - eta) * t * (p >= t)) for t in c])
    at_half, all_of_them, n = 0, 0, 200
    for _ in range(n):
        # Rows are sampled, so the bands cover the curve of the population they come from.
        drawn = rng.integers(0, len(p), len(p))
        y = (rng.uniform(size=len(p)) < eta[drawn]).astype(int)
        curve = evaluation.murphy_curve(y, p[drawn], pos_label=1)
        low, high = curve.band(c, 0.9)
        at_half += low[8] <= truth[8] <= high[8]
        low, high = curve.band(c, 0.9, simultaneous=True, n_resamples=150, random_state=1)
        all_of_them += np.all((low <= truth) & (truth <= high))
    assert abs(at_half / n - 0.9) < 4 * np.sqrt(0.09 / n)
    assert all_of_them / n > 0.9 - 4 * np.sqrt(0.09 / n)


def test_simultaneous_bands_are_wider(rows):
    y, p, _, _ = rows
    curve = evaluation.murphy_curve(y, p)
    factor = np.quantile(curve.deviations(500), 0.95)
    assert stats.norm.ppf(0.975) < factor < 5
    np.testing.assert_array_equal(curve.deviations(20, 3), curve.deviations(20, 3))


def test_corners_draw_the_curve(rows):
    y, p, weight, _ = rows
    curve = evaluation.murphy_curve(y, p, weight)
    c, value, error = curve.corners(0.1, 0.4)
    assert c[0] == 0.1
    assert c[-1] == 0.4
    middle = (c[::2] + c[1::2]) / 2
    np.testing.assert_allclose(curve(middle), (value[::2] + value[1::2]) / 2, atol=1e-14)
    np.testing.assert_allclose(error[1::2], curve.standard_error(c[1::2]), atol=1e-14)


def test_a_curve_of_many_corners_is_exact_where_it_is_drawn():
    """Near 0 too, where rounded probabilities would miss what the model does not."""
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.uniform(1e-6, 4e-4, 2000), rng.uniform(size=500)])
    y = (rng.uniform(size=len(p)) < np.maximum(p, 0.01)).astype(int)
    curve = evaluation.murphy_curve(y, p)
    c, value, error = curve.corners(most=300)
    assert len(c) <= 300
    assert c[0] == 0
    assert c[-1] == 1
    np.testing.assert_array_equal(value, curve(c))
    np.testing.assert_array_equal(error, curve.standard_error(c))
    assert np.sum(c < 4e-4) > 50
    assert len(curve.corners(most=10**6)[0]) == len(curve.corners()[0])


def test_dominance_of_a_refinement():
    """The truth is at least as good as a coarser version of itself for every cost."""
    rng = np.random.default_rng(0)
    eta = rng.uniform(size=20_000)
    y = (rng.uniform(size=len(eta)) < eta).astype(int)
    coarse = np.where(eta < 0.5, 0.25, 0.75)
    answer = dominance(y, eta, coarse, low=0.35, high=0.45)
    assert answer
    assert answer.shown
    assert "beyond chance" in str(answer)
    back = dominance(y, coarse, eta, low=0.35, high=0.45)
    assert not back
    assert back.refuted
    assert "not so" in str(back)
    assert back.worst == pytest.approx(-answer.best, abs=1e-15)


def test_dominance_undecided_and_equal():
    y, p = [0, 1, 0, 1], [0.1, 0.6, 0.3, 0.8]
    undecided = dominance(y, p, [0.1, 0.6, 0.7, 0.8], low=0.05, high=0.95)
    assert undecided.holds
    assert not undecided.shown
    assert "not beyond chance" in str(undecided)
    worse = dominance(y, [0.1, 0.6, 0.7, 0.8], p)
    assert not worse.holds
    assert not worse.refuted
    assert "may be chance" in str(worse)
    equal = dominance(y, p, p)
    assert equal.holds
    assert equal.worst == equal.best == 0


def test_dominance_holds_for_every_loss_of_the_range(rows):
    """Where one curve lies below another for every cost, so does every score."""
    y, p, _, _ = rows
    better = np.where(y == 1, np.minimum(p + 0.05, 1), np.maximum(p - 0.05, 0))
    assert dominance(y, better, p).holds
    for loss in losses.examples():
        assert evaluation.mean_loss(y, better, loss) <= evaluation.mean_loss(y, p, loss) + 1e-15
