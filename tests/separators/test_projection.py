"""The Bregman projection, against the primal problem itself and the theorem of its duality."""

import numpy as np
import pytest
from scipy.optimize import minimize

from propriety import LinearClassifier, losses
from propriety.linear import bregman_projection
from propriety.linear.updates import Uls

LOSSES = ["Exponential()", "Log()", "Matsushita()", "GLog(2)"]


def problem(loss, seed=0):
    """Constraints that some weights meet, and weights of the loss's range to project."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((12, 3))
    composite = losses.as_composite(loss)
    q, inside = (np.asarray(composite.example_weight(rng.uniform(-1, 1, 12))) for _ in range(2))
    return composite, M, q, inside


@pytest.mark.parametrize("loss", LOSSES)
def test_no_weights_that_meet_the_constraints_are_closer(loss):
    composite, M, q, inside = problem(loss)
    found = bregman_projection(loss, q, M, M.T @ inside)
    np.testing.assert_allclose(M.T @ found.weights, M.T @ inside, atol=1e-8)
    constraint = {"type": "eq", "fun": lambda p: M.T @ (p - inside), "jac": lambda p: M.T}
    top = 1e-9 + float(composite.example_weight(-40.0))
    primal = minimize(
        lambda p: np.sum(composite.bregman(p, q)), inside, constraints=constraint, method="SLSQP",
        bounds=[(1e-9, min(top, 50.0) * (1 - 1e-9))] * 12, options={"maxiter": 500, "ftol": 1e-13},
    )  # fmt: skip
    np.testing.assert_allclose(found.weights, primal.x, atol=1e-4)
    assert found.distance <= primal.fun + 1e-9


@pytest.mark.parametrize("loss", LOSSES)
def test_the_theorem_of_duality(loss):
    """p = q ⋄ Mλ, and B(r ‖ q) = B(r ‖ p) + B(p ‖ q) for every r that meets the constraints."""
    composite, M, q, inside = problem(loss, seed=1)
    found = bregman_projection(loss, q, M, M.T @ inside)
    np.testing.assert_allclose(composite.legendre(q, M @ found.multipliers), found.weights, rtol=1e-7)
    parts = composite.bregman(inside, found.weights).sum() + found.distance
    assert composite.bregman(inside, q).sum() == pytest.approx(parts, rel=1e-7)


@pytest.mark.parametrize("loss", ["Exponential()", "Log()"])
def test_boosting_is_the_projection_of_the_first_weights(loss):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] + rng.standard_normal(60) > 0).astype(int)
    M = X * (2 * y - 1)[:, None]
    composite = losses.as_composite(loss)
    found = bregman_projection(loss, composite.example_weight(0.0), M)
    model = LinearClassifier(loss, solver=Uls("all"), fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(found.multipliers, model.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(M.T @ found.weights, 0, atol=1e-8)


def test_what_cannot_be_projected_is_an_error():
    M = np.ones((4, 1))
    with pytest.raises(ValueError, match="no weights were found that meet the constraints"):
        bregman_projection("Log", 0.5, M, [5.0])  # weights of the log loss are at most 1
    with pytest.raises(ValueError, match="q must be weights that examples have"):
        bregman_projection("Log", 1.5, M)
    with pytest.raises(ValueError, match="a number for each of the 1 columns"):
        bregman_projection("Log", 0.5, M, [1.0, 2.0])
    with pytest.raises(ValueError, match="needs a convex margin loss"):
        bregman_projection("Tailored(0.2)", 0.5, M)
