"""Boosted rules find the minimum of a user's margin loss itself."""

import numpy as np
import pytest
from scipy.optimize import minimize
from surrogates import SURROGATES

from propriety import RuleClassifier, losses

RNG = np.random.default_rng(1)
X = RNG.integers(0, 3, (90, 2)).astype(float)
y = (X @ [1.0, -0.7] - 0.4 + 1.1 * RNG.standard_normal(90) > 0).astype(int)
SIGN = 2 * y - 1
# Rules of one literal on two columns of three values span these.
H = np.column_stack([np.ones(len(y)), *(X[:, [j]] <= np.array([0.0, 1.0]) for j in range(2))])


def least(s):
    return minimize(
        lambda b: np.mean(s.phi(SIGN * (H @ b))),
        np.zeros(H.shape[1]),
        jac=lambda b: H.T @ (SIGN * s.slope(SIGN * (H @ b))) / len(y),
        options={"gtol": 1e-10},
    ).fun


@pytest.mark.parametrize("name", SURROGATES)
def test_rules_find_the_minimum_of_phi(name):
    s = SURROGATES[name]
    model = RuleClassifier(
        losses.from_margin_loss(s.phi), n_rules=8, max_literals=1, update="corrective"
    ).fit(X, y)
    assert np.mean(s.phi(SIGN * model.decision_function(X))) <= least(s) + 1e-9


def test_rules_of_one_coefficient_a_round_reach_it_too_where_weights_turn_negative():
    s = SURROGATES["squared"]
    model = RuleClassifier(losses.from_margin_loss(s.phi), n_rules=60, max_literals=1).fit(X, y)
    v = SIGN * model.decision_function(X)
    assert np.any(s.slope(v) > 0)
    assert np.mean(s.phi(v)) <= least(s) + 1e-7


def test_a_rule_without_a_mistake_has_the_coefficient_of_least_loss():
    x = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    model = RuleClassifier(
        losses.from_margin_loss(SURROGATES["squared"].phi), n_rules=20, max_literals=1
    ).fit(x, [0, 0, 1, 1, 1])
    np.testing.assert_allclose(model.decision_function(x), [-1, -1, 1, 1, 1], atol=1e-6)
