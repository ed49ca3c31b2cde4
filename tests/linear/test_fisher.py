import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from propriety import losses
from propriety.linear import LinearClassifier
from propriety.linear.objective import SimplexRows

L = sm.families.links
LINKS = {"Logit()": L.Logit(), "Probit()": L.Probit(), "CLogLog()": L.CLogLog(), "Cauchit()": L.Cauchy()}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("solver", ["fisher", "newton", "lbfgs"])
def test_agrees_with_statsmodels(problem, link, solver):
    X, y = problem
    model = LinearClassifier("Log", link=link, solver=solver, tol=1e-11).fit(X, y)
    family = sm.families.Binomial(link=LINKS[link])
    oracle = sm.GLM(y, sm.add_constant(X, prepend=False), family=family).fit(tol=1e-15, maxiter=500)
    # The oracle stops by its deviance; one Newton step on its score equation shows what it leaves.
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), oracle.params, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.summary().columns["se"], oracle.bse, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], oracle.predict(), atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["fisher", "newton", "lbfgs"])
def test_ridge_agrees_with_scikit_learn(problem, solver, fit_intercept):
    X, y = problem
    alpha = 0.05
    model = LinearClassifier(alpha=alpha, solver=solver, fit_intercept=fit_intercept).fit(X, y)
    C = 1 / (alpha * len(y))
    oracle = LogisticRegression(C=C, tol=1e-10, max_iter=10_000, fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_, oracle.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, oracle.intercept_, atol=1e-6)


@pytest.mark.parametrize("solver", ["fisher", "newton", "lbfgs"])
def test_several_classes_agree_with_scikit_learn(three_classes, solver):
    X, y = three_classes
    model = LinearClassifier(alpha=0.02, solver=solver).fit(X, y)
    oracle = LogisticRegression(C=1 / (0.02 * len(y)), tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), oracle.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(model.coef_, oracle.coef_, atol=1e-6)


@pytest.mark.parametrize(
    "loss", [losses.simplex.Log(), losses.simplex.Brier(), losses.simplex.Power(3)], ids=repr
)
def test_hessian_of_several_classes_is_that_of_the_value(loss):
    rng = np.random.default_rng(1)
    F, y = rng.standard_normal((5, 3)), np.array([0, 1, 2, 1, 0])
    found = SimplexRows(loss, y, 3).curvatures(slice(None), F, "newton")
    h = 1e-4 * np.eye(3)
    oracle = np.empty_like(found)
    for a in range(3):
        for b in range(3):
            corners = [s * loss.value(y, F + s * h[a] + t * h[b]) * t for s in (1, -1) for t in (1, -1)]
            oracle[:, a, b] = np.sum(corners, axis=0) / 4e-8
    np.testing.assert_allclose(found, oracle, atol=2e-6)


def test_newton_and_fisher_reach_one_minimum_off_the_canonical_link(three_classes):
    X, y = three_classes
    models = [
        LinearClassifier(losses.simplex.Brier(), alpha=0.02, solver=s).fit(X, y) for s in ("fisher", "newton")
    ]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-6)


def test_wide_problem_by_conjugate_gradients():
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 3000), density=0.02, rng=rng, format="csr")
    y = (rng.random(600) < 0.5).astype(int)
    alpha = 1e-2
    model = LinearClassifier(alpha=alpha).fit(X, y)
    oracle = LogisticRegression(C=1 / (alpha * 600), tol=1e-11, max_iter=10_000).fit(X, y)
    assert model.converged_
    np.testing.assert_allclose(model.coef_, oracle.coef_, atol=1e-6)


def test_many_rows_use_a_sample_and_reach_the_same_minimum(make):
    X, y = make(n=100_000, d=5, seed=2)
    model = LinearClassifier().fit(X, y)
    F = model.decision_function(X)
    residual = 1 / (1 + np.exp(-F)) - y
    assert np.abs(X.T @ residual).max() / len(y) < 2e-8
    assert abs(residual.mean()) < 2e-8


@pytest.mark.parametrize(
    "name", ["Log", "Exponential", "Squared", "Beta(-0.3, 0.4)", "GLaplace(1)", "Matsushita"]
)
def test_gradient_is_zero_at_the_solution(problem, name):
    X, y = problem
    model = LinearClassifier(name).fit(X, y)
    c = losses.as_composite(name, None)
    g = c.gradient(y.astype(float), model.decision_function(X))
    assert model.converged_
    np.testing.assert_allclose(X.T @ g / len(y), 0, atol=3e-8)
    np.testing.assert_allclose(g.mean(), 0, atol=3e-8)


def test_many_columns_begin_with_quasi_newton_steps_and_end_at_the_minimum():
    """2,600 columns are too many for a matrix; ill-conditioned ones need Fisher's steps after."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2600))
    X[:, 1:] += 0.95 * X[:, :-1]
    y = (X[:, :5].sum(axis=1) + rng.standard_normal(300) > 0).astype(int)
    easy = LinearClassifier(alpha=0.1, tol=1e-9).fit(X, y)
    quasi = LinearClassifier(alpha=0.1, tol=1e-9, solver="lbfgs").fit(X, y)
    np.testing.assert_array_equal(easy.coef_, quasi.coef_)
    mixed = LinearClassifier(alpha=0.1, tol=1e-9, max_iter=30).fit(X, y)
    assert mixed.converged_
    assert quasi.n_iter_ > 30 > mixed.n_iter_ > 15
    assert len(mixed.trace_) == mixed.n_iter_ + 1
    assert np.all(np.diff(mixed.trace_) <= 1e-15)
    np.testing.assert_allclose(mixed.coef_, easy.coef_, atol=1e-7)


@pytest.mark.parametrize("loss", ["Tailored(0.3, 5)", "Squared()", "DensityPower(0.5)"])
def test_steps_off_the_canonical_link_end_like_newtons(problem, loss):
    X, y = problem
    model = LinearClassifier(loss, alpha=1e-3).fit(X, y)
    assert model.converged_
    assert model.n_iter_ <= 7  # by Fisher's weights alone 8 to 21
