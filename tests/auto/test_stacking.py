"""The last stage against its formula."""

import numpy as np
import pytest
from scipy.special import expit

from propriety import losses
from propriety.auto.stacking import PRIOR, cross_fitted, fit_stack, on_scale
from propriety.losses import simplex
from propriety.weights import Weights

LOG = losses.Log().composite()


def members(n=200, seed=0):
    rng = np.random.default_rng(seed)
    truth = 2 * rng.normal(size=n)
    y = (rng.random(n) < expit(truth)).astype(np.intp)
    good, noise = truth + 0.3 * rng.normal(size=n), rng.normal(size=n)
    return np.stack([good, -truth, noise])[:, :, None], y


def penalized(theta, scores, y, weight):
    z = scores[:, :, 0].T @ theta[:3] + theta[3]
    mean = np.average(np.logaddexp(0, z) - y * z, weights=weight)
    return mean + PRIOR / (2 * weight.sum()) * (np.sum((theta[:3] - 1 / 3) ** 2) + theta[3] ** 2)


def test_no_other_weights_lose_less():
    scores, y = members()
    weight = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    stack = fit_stack(scores, y, Weights.read(weight, len(y)), LOG)
    theta = np.append(stack.weights, stack.intercept)
    assert stack.weights.min() >= 0
    assert stack.weights[1] == 0  # it says the opposite of what is true
    best = penalized(theta, scores, y, weight)
    for step in 1e-3 * np.vstack([np.eye(4), -np.eye(4)]):
        moved = theta + step
        if moved[:3].min() >= 0:
            assert penalized(moved, scores, y, weight) > best


def test_few_rows_leave_equal_weights():
    scores, y = members(6)
    few = fit_stack(scores[:, :2], np.array([0, 1]), Weights(2), LOG)
    many = fit_stack(np.tile(scores, (1, 50, 1)), np.tile(y, 50), Weights(300), LOG)
    assert np.abs(few.weights - 1 / 3).max() < 0.5
    assert np.abs(many.weights - 1 / 3).max() > np.abs(few.weights - 1 / 3).max()


def test_copies_count_as_weights():
    scores, y = members(60)
    weight = np.arange(60) % 3
    copies = np.repeat(np.arange(60), weight)
    copied = fit_stack(scores[:, copies], y[copies], Weights(len(copies)), LOG)
    weighed = fit_stack(scores, y, Weights.read(weight, 60), LOG)
    np.testing.assert_allclose(copied.weights, weighed.weights, atol=1e-7)


def test_several_classes():
    rng = np.random.default_rng(0)
    truth = 2 * rng.normal(size=(300, 3))
    y = np.array([rng.choice(3, p=p) for p in simplex.of("Log").inverse(truth)])
    scores = np.stack([truth, rng.normal(size=truth.shape)])
    stack = fit_stack(scores, y, Weights(300), simplex.of("Log"))
    assert stack.intercept.shape == (3,)
    assert stack.weights[0] > 0.5
    assert stack.weights[1] < 0.2
    assert stack(scores).shape == (300, 3)


def test_a_row_has_no_part_in_its_own_score():
    scores, y = members(40)
    folds = np.arange(40) % 4
    before = cross_fitted(scores, y, Weights(40), LOG, folds)
    other = y.copy()
    other[folds == 2] = 1 - other[folds == 2]
    after = cross_fitted(scores, other, Weights(40), LOG, folds)
    np.testing.assert_array_equal(before[folds == 2], after[folds == 2])
    assert not np.allclose(before[folds == 1], after[folds == 1])


@pytest.mark.parametrize("link", ["Logit", "Probit"])
def test_scores_are_finite_whatever_members_say(link):
    P = np.array([[0.0, 1.0], [1.0, 0.0], [0.3, 0.7]])
    loss = losses.as_composite("Log", link)
    scores = on_scale(P, loss)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(loss.inverse(scores[2, 0]), 0.7)
