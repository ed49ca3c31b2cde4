import numpy as np
import pytest

from propriety import losses
from propriety.linear import LinearClassifier, SlopeWarning
from propriety.linear.tailoring import RoughLoss, stations


@pytest.fixture(scope="module")
def spiral():
    """Hand and Vinciotti's ramp: η is the angle, so its level lines are rays from the origin. [B §14]"""
    rng = np.random.default_rng(2005)
    X = rng.random((4000, 2))
    eta = np.arccos(X[:, 0] / np.hypot(X[:, 0], X[:, 1])) / (np.pi / 2)
    return X, (rng.random(4000) < eta).astype(int)


def boundary_angle(model):
    a, b = model.coef_[0]
    return np.degrees(np.arctan2(-a, b))


@pytest.mark.parametrize("loss", ["Beta(6, 14)", "Tailored(0.3, 20)", "HandVinciotti(0.3, 0.1)"])
def test_tailored_boundary_turns_to_the_true_one(spiral, loss):
    X, y = spiral
    logistic, tailored = LinearClassifier().fit(X, y), LinearClassifier(loss, fp_cost=3, fn_cost=7).fit(X, y)
    assert abs(boundary_angle(logistic) - 45) < 2  # parallel to the 0.5 line
    assert abs(boundary_angle(tailored) - 27) < 5  # the true 0.3 line is the ray at 0.3 · 90 degrees
    level = np.log(0.3 / 0.7)
    crossing = (level - tailored.intercept_[0]) / tailored.coef_[0, 1]
    assert abs(crossing) < 0.06
    assert tailored.converged_


def test_the_loss_is_tailored_to_the_costs(spiral):
    X, y = spiral
    model = LinearClassifier("tailored", fp_cost=3, fn_cost=7).fit(X, y)
    assert 20 < boundary_angle(model) < 35


def test_continuation_is_reproducible(spiral):
    X, y = spiral
    order = np.random.default_rng(0).permutation(len(y))
    one = LinearClassifier("Tailored(0.3, 40)").fit(X, y)
    other = LinearClassifier("Tailored(0.3, 40)").fit(X[order], y[order])
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-5)


def test_shrinking_leaves_the_level(spiral):
    """The intercept is not penalized, so that the level can follow the cost. [B §15]"""
    X, y = spiral
    model = LinearClassifier("Tailored(0.3, 20)", alpha=1e4).fit(X, y)
    np.testing.assert_allclose(model.coef_, 0, atol=1e-3)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), atol=1e-3)


def test_slopes_that_run_off_are_said_or_avoided(problem):
    """Beyond a focus of 7.5 a step costs less here than any sloping fit. [B §15]"""
    X, y = problem
    with pytest.warns(SlopeWarning, match="Lower the focus, or set alpha > 0"):
        LinearClassifier("Tailored(0.3, 10)").fit(X, y)
    held = LinearClassifier("Tailored(0.3, 10)", alpha=1e-2).fit(X, y)
    assert np.abs(held.coef_).max() < 10
    by_cost = LinearClassifier("tailored", fp_cost=3, fn_cost=7).fit(X, y)
    assert by_cost.loss_.loss == losses.Tailored(0.3, 4)
    assert np.abs(by_cost.coef_).max() < 2


def test_stations_end_at_the_loss():
    for name in ("Log", "Exponential", "Squared", "Tailored(0.1, 30)", "HandVinciotti(0.3, 0.1)"):
        c = losses.as_composite(name, None)
        route = stations(c)
        assert route[-1] is c
        assert len(route) == 1 or route[0].loss == losses.Log()


@pytest.mark.parametrize("name", ["Tailored(0.2, 12)", "Squared", "Log"])
def test_rough_values_are_the_loss_up_to_a_constant(name):
    c = losses.as_composite(name, None)
    F = np.linspace(-8, 8, 301)
    for label in (0.0, 1.0):
        rough = RoughLoss(c, np.full(301, label)).values(slice(None), F[:, None])
        np.testing.assert_allclose(rough, c.value(label, F), atol=1e-7)
