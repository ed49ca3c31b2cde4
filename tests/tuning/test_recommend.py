"""recommend: the Beta weight with the moments of the costs; and costs spread over a range as a criterion."""

import numpy as np
import pytest
from scipy import integrate, stats

from propriety import losses, recommend
from propriety.costs import ResolvedCosts
from propriety.tuning.criteria import CostSpread, read


def sampled(fp, fn, n=400_000):
    """Mean and standard deviation of c under the weight: density times stakes."""
    rng = np.random.default_rng(0)
    x = fp.rvs(n, random_state=rng) if hasattr(fp, "rvs") else np.full(n, float(fp))
    y = fn.rvs(n, random_state=rng) if hasattr(fn, "rvs") else np.full(n, float(fn))
    c = x / (x + y)
    mean = np.average(c, weights=x + y)
    return mean, np.sqrt(np.average((c - mean) ** 2, weights=x + y))


@pytest.mark.parametrize(
    ("fp", "fn"),
    [(1, (5, 20)), ((0.5, 3), (2, 4)), (stats.gamma(3), stats.gamma(5, scale=2)), (2, stats.uniform(1, 9))],
)
def test_the_weight_has_the_moments_of_the_costs(fp, fn):
    advice = recommend(fp, fn)
    made = [stats.loguniform(*cost) if isinstance(cost, tuple) else cost for cost in (fp, fn)]
    mean, spread = sampled(*made)
    beta = advice.loss.core
    assert beta.alpha / (beta.alpha + beta.beta) == pytest.approx(mean, rel=0.01)
    assert np.sqrt(stats.beta(beta.alpha, beta.beta).var()) == pytest.approx(spread, rel=0.02)
    means = [cost if np.isscalar(cost) else cost.mean() for cost in made]
    assert advice.threshold == pytest.approx(means[0] / sum(means), rel=1e-4)


def test_more_uncertainty_spreads_the_weight_and_leaves_the_threshold():
    advice = [recommend(1, 9, uncertainty=u) for u in (1.5, 3, 10)]
    assert [a.threshold for a in advice] == pytest.approx([0.1] * 3, rel=1e-6)
    assert advice[0].loss.focus > advice[1].loss.focus > advice[2].loss.focus > 0
    assert advice[0].low > advice[1].low > advice[2].low
    assert advice[1].low == pytest.approx(1 / 28)  # the ratio 9 three times as high: 27 to 1


def test_swapping_the_classes_mirrors_the_advice():
    one, other = recommend((1, 3), (4, 20)), recommend((4, 20), (1, 3))
    assert one.loss.cost == pytest.approx(1 - other.loss.cost, rel=1e-3)
    assert one.loss.focus == other.loss.focus


def test_known_costs_are_explained_as_known():
    advice = recommend(1, 4)
    assert advice.known
    assert advice.loss == losses.Tailored(0.2)
    assert "from probability 0.2 on" in str(advice)
    assert recommend(1, 4, uncertainty=1) == advice
    assert recommend((1, 1), (4, 4)) == advice


def test_uncertain_costs_are_explained_with_range_threshold_and_loss():
    advice = recommend(1, (5, 20))
    text = advice.explain()
    assert text == str(advice)
    assert "between 0.0476 and 0.167" in text
    assert repr(advice.loss) in text
    assert "gamma(3)" in str(recommend(stats.gamma(3), 2))


@pytest.mark.parametrize(
    ("args", "uncertainty", "said"),
    [
        ((0, 1), None, "fp_cost must be a finite number"),
        ((1, (3, 2)), None, "no range: give .low, high."),
        ((1, (1, 2, 3)), None, "fn_cost must be a number, a pair"),
        ((1, (1, 2)), 2, "uncertainty is for costs given as numbers"),
        ((1, 2), 0.5, "uncertainty must be a finite number"),
        ((stats.norm(), 2), None, "fp_cost must have a distribution on positive numbers"),
    ],
)
def test_bad_costs_are_named(args, uncertainty, said):
    with pytest.raises(ValueError, match=said):
        recommend(*args, uncertainty=uncertainty)


@pytest.mark.parametrize("distribution", [stats.uniform(0.05, 0.3), stats.beta(2, 18), stats.beta(0.5, 0.5)])
def test_a_spread_of_costs_is_the_mean_of_cost_weighted_losses(distribution):
    spread = CostSpread(distribution)
    for p in (0.0, 0.02, 0.13, 0.3, 0.7, 1.0):
        zero, _ = integrate.quad(lambda c: c * distribution.pdf(c), 0, p, limit=500)
        one, _ = integrate.quad(lambda c: (1 - c) * distribution.pdf(c), p, 1, limit=500)
        assert spread.loss(0, p) == pytest.approx(zero, abs=1e-6)
        assert spread.loss(1, p) == pytest.approx(one, abs=1e-6)


def test_a_spread_of_costs_is_proper():
    spread, p = CostSpread(stats.beta(3, 9)), np.linspace(0.001, 0.999, 999)
    for eta in (0.05, 0.2, 0.5):
        assert p[np.argmin(spread.risk(eta, p))] == pytest.approx(eta, abs=0.002)


def test_a_distribution_beyond_the_unit_interval_is_no_criterion():
    with pytest.raises(ValueError, match=r"within \[0, 1\]; gamma\(2\) is one on \[0, inf\]"):
        read(stats.gamma(2), ResolvedCosts.equal(2))
