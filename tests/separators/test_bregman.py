import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from propriety import losses
from propriety.linear import LinearClassifier
from propriety.linear.updates import Norm
from propriety.separators import bregman, margins


@pytest.fixture(scope="module")
def small(make):
    return make(n=120, d=3, seed=5)


@pytest.fixture(scope="module")
def small_three(make):
    return make(n=90, d=2, seed=6, classes=3)


def test_first_parallel_step_is_the_papers(small):
    X, y = small
    weight = np.full(len(y), 1 / len(y))
    problem = margins.binary(X, y, losses.Log().composite(), weight)
    updates = bregman.Updates.make(problem, "parallel")
    M = X * (2 * y - 1)[:, None]
    M = M / np.abs(M).sum(axis=1).max()
    q = np.full(len(y), 0.5)
    plus, minus = q @ np.maximum(M, 0), q @ np.maximum(-M, 0)
    expected = 0.5 * np.log(plus / minus) * (M[0, 0] / (X * (2 * y - 1)[:, None])[0, 0])
    np.testing.assert_allclose(updates.step(updates.start(np.zeros(3))).coef, expected, rtol=1e-9)


def test_iterative_scaling_reaches_the_minimum(small, small_three):
    for X, y in (small, small_three):
        best = LinearClassifier(tol=1e-10).fit(X, y).trace_[-1]
        model = LinearClassifier(solver="gis", tol=1e-5).fit(X, y)
        assert abs(model.trace_[-1] - best) < 1e-8
        assert np.all(np.diff(model.trace_) <= 0)
        assert model.n_iter_ > 5 * LinearClassifier(solver="parallel", tol=1e-5).fit(X, y).n_iter_


def test_improved_scaling_reaches_the_minimum_in_fewer_rounds(small, small_three):
    for X, y in (small, small_three, (small[0] + 5, small[1])):
        best = LinearClassifier(tol=1e-10, fit_intercept=False).fit(X, y).trace_[-1]
        kinds = {}
        for solver in ("gis", "iis"):
            kinds[solver] = LinearClassifier(
                solver=solver, tol=1e-5, fit_intercept=False, max_iter=100_000
            ).fit(X, y)
        assert abs(kinds["iis"].trace_[-1] - best) < 1e-8
        assert np.all(np.diff(kinds["iis"].trace_) <= 0)
        assert kinds["iis"].n_iter_ < kinds["gis"].n_iter_


@pytest.mark.parametrize("classes", [2, 3])
def test_a_step_of_improved_scaling_solves_its_equation(make, classes):
    """Feature by feature, with h_j and h# written out, by bisection. [Della Pietra et al. 1997, section 4]"""
    X, y = make(n=60, d=3, seed=7, classes=classes)
    weight = np.random.default_rng(0).random(len(y))
    scaling = bregman.IterativeScaling.make(X, y, classes, weight, improved=True)
    owners = np.array([1]) if classes == 2 else np.arange(3)
    coef = np.linspace(-0.5, 0.4, 3 * len(owners))
    state = scaling.start(coef)
    P = np.exp(state.margins) / np.exp(state.margins).sum(axis=1)[:, None]
    shift = np.maximum(-X.min(axis=0), 0)
    # h[i, l, (c, f)] = x_if 1[l = c] + shift_f
    h = np.array([[[x * (label == c) + shift for c in owners] for label in range(classes)] for x in X])
    h = h.reshape(len(X), classes, -1)
    total = h.sum(axis=2)
    seen = np.einsum("i,ij->j", weight, h[np.arange(len(y)), y])

    def excess(delta, j):
        return np.sum(weight[:, None] * P * h[:, :, j] * np.exp(delta * total)) - seen[j]

    expected = [optimize.brentq(excess, -1, 1, args=(j,), xtol=1e-14) for j in range(h.shape[2])]
    np.testing.assert_allclose(scaling.step(state).coef - coef, expected, atol=1e-9)


@pytest.mark.parametrize(("p", "rule"), [(1, "parallel"), (2, "sphere"), (np.inf, "sequential2")])
@pytest.mark.parametrize("loss", ["Log", "Exponential"])
def test_norms_lead_from_the_parallel_to_the_sequential_rule(small, p, rule, loss):
    X, y = small
    norm = LinearClassifier(loss, solver=Norm(p), max_iter=20, tol=1e-12)
    named = LinearClassifier(loss, solver=rule, max_iter=20, tol=1e-12)
    with pytest.warns(ConvergenceWarning):
        norm.fit(X, y)
    with pytest.warns(ConvergenceWarning):
        named.fit(X, y)
    np.testing.assert_allclose(norm.coef_, named.coef_, rtol=1e-12)


@pytest.mark.parametrize("p", [1.5, 3.0, 8.0])
def test_a_step_of_any_norm_is_the_papers(small, p):
    """Of all a of ‖a‖_q ≤ 1, found by a search, the one of the largest Σ a_j (√W⁺ − √W⁻)². [C §7]"""
    X, y = small
    problem = margins.binary(X, y, losses.Exponential().composite(), np.full(len(y), 1 / len(y)))
    updates = bregman.Updates.make(problem, "norm", p)
    scaled = problem.M / updates.size
    assert np.max(np.sum(np.abs(scaled) ** p, axis=1)) == pytest.approx(1)
    w = problem.weights(np.zeros(len(y)))
    plus, minus = w @ np.maximum(scaled, 0), w @ np.maximum(-scaled, 0)
    gain, d = (np.sqrt(plus) - np.sqrt(minus)) ** 2, np.log(plus / minus) / 2
    q = p / (p - 1)
    best = optimize.minimize(
        lambda a: -gain @ a / gain.max(),
        np.full(3, 0.5),
        bounds=[(0, 1)] * 3,
        constraints={"type": "ineq", "fun": lambda a: 1 - np.sum(np.maximum(a, 0) ** q)},
        options={"ftol": 1e-14},
    ).x
    step = updates.step(updates.start(np.zeros(3))).coef
    np.testing.assert_allclose(step * updates.size * problem.loss.growth / d, best, atol=1e-4)


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_feature_and_step_are_chosen_together(small, sparse_rows):
    """The least of Σ w e^{−αM_ij} over j and α, by a search column by column. [C §6, (26)]"""
    X, y = small
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    given = sparse.csr_array(X) if sparse_rows else X
    problem = margins.binary(given, y, losses.Exponential().composite(), np.full(len(y), 1 / len(y)))
    updates = bregman.Updates.make(problem, "confidence")
    state = updates.start(np.array([0.2, -0.1, 0.3]))
    w, signs = problem.weights(state.margins), np.where(y > 0, 1.0, -1.0)

    found = [
        optimize.minimize_scalar(lambda a, m=X[:, j] * signs: np.sum(w * np.exp(-a * m)), (-1, 1), tol=1e-12)
        for j in range(3)
    ]
    best = int(np.argmin([one.fun for one in found]))
    expected = np.zeros(3)
    expected[best] = found[best].x
    np.testing.assert_allclose(updates.step(state).coef - state.coef, expected, atol=1e-6)
    # With the exponential loss the bound is the loss itself, so no other step on one feature gains more.
    sequential = bregman.Updates.make(problem, "sequential")
    assert updates.step(state).value <= sequential.step(sequential.start(state.coef)).value


def test_a_column_that_separates_takes_a_finite_step():
    X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1, 1, 0])
    problem = margins.binary(X, y, losses.Log().composite(), np.full(3, 1 / 3))
    step = bregman.Updates.make(problem, "confidence")
    assert 1 < step.step(step.start(np.zeros(1))).coef[0] < 100


def test_norms_that_are_none_are_refused(small):
    for p in (0.5, "two", True, None):
        with pytest.raises(ValueError, match="p must be a number of at least 1"):
            LinearClassifier(solver=Norm(p)).fit(*small)
