"""Every solver finds the minimum of a user's margin loss itself, as a general optimizer does."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from surrogates import SURROGATES

from propriety import LinearClassifier, losses

RNG = np.random.default_rng(0)
X = RNG.standard_normal((70, 2))
y = (X @ [1.0, -0.7] + 0.4 + 1.3 * RNG.standard_normal(70) > 0).astype(int)
X[5] *= 6  # an outlier that is wrong by much, and rows that are right by much
y[5] = X[5] @ [1.0, -0.7] < 0
M = np.column_stack([X, np.ones(len(y))]) * (2 * y - 1)[:, None]


def minimum(s):
    """The least mean of φ over linear scores, by SciPy."""
    start = minimize(
        lambda b: np.mean(s.phi(M @ b)),
        np.zeros(3),
        jac=lambda b: M.T @ s.slope(M @ b) / len(y),
        options={"gtol": 1e-9},
    )
    polish = {"xatol": 1e-11, "fatol": 1e-15, "maxiter": 4000}
    return minimize(lambda b: np.mean(s.phi(M @ b)), start.x, method="Nelder-Mead", options=polish)


@pytest.mark.parametrize("name", SURROGATES)
def test_all_solvers_find_the_minimum_of_phi(name):
    s = SURROGATES[name]
    best = minimum(s)
    loss = losses.from_margin_loss(s.phi)
    for solver in ("fisher", "newton", "lbfgs", "uls"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = LinearClassifier(loss, solver=solver).fit(X, y)
        b = np.append(model.coef_[0], model.intercept_[0])
        assert np.mean(s.phi(M @ b)) <= best.fun + 1e-12 * (1 + abs(best.fun)), solver
        np.testing.assert_allclose(b, best.x, rtol=2e-6, atol=2e-6, err_msg=solver)
        p = np.clip(loss.composite().inverse(model.decision_function(X)), 0, 1)
        np.testing.assert_array_equal(model.predict_proba(X)[:, 1], p)


@pytest.mark.parametrize("solver", ["fisher", "newton", "lbfgs", "uls"])
def test_the_squared_loss_with_its_canonical_link_is_least_squares(solver):
    loss = losses.Squared()
    model = LinearClassifier(loss.with_link(loss.canonical_link), solver=solver).fit(X, y)
    A = np.column_stack([X, np.ones(len(y))])
    b = np.linalg.lstsq(A, 2.0 * y - 1, rcond=None)[0]
    assert np.any(np.abs(A @ b) > 1)
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_[0]), b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["squared", "squared hinge", "logistic plus a ridge"])
def test_separated_classes_have_a_finite_minimum_where_phi_has(name):
    s = SURROGATES[name]
    x = np.array([[-2.0], [-1.0], [1.5], [3.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearClassifier(losses.from_margin_loss(s.phi)).fit(x, [0, 0, 1, 1])
    v = np.array([-1, -1, 1, 1]) * model.decision_function(x)
    assert abs(np.sum(s.slope(v) * np.array([-1, -1, 1, 1]) * x[:, 0])) < 1e-6
