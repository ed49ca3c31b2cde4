import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from propriety.linear import LinearClassifier


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_agrees_with_scikit_learn(make, ratio, form):
    X, y = make(n=300, d=8, seed=1)
    alpha = 0.03
    model = LinearClassifier(alpha=alpha, l1_ratio=ratio, tol=1e-9).fit(form(X), y)
    oracle = LogisticRegression(
        C=1 / (alpha * len(y)), l1_ratio=ratio, solver="saga", tol=1e-12, max_iter=100_000, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, oracle.coef_, atol=1e-6)
    np.testing.assert_array_equal(model.coef_ == 0, oracle.coef_ == 0)
    np.testing.assert_allclose(model.intercept_, oracle.intercept_, atol=1e-6)


def test_several_classes(three_classes):
    X, y = three_classes
    model = LinearClassifier(alpha=0.03, l1_ratio=1.0, tol=1e-9).fit(X, y)
    oracle = LogisticRegression(
        C=1 / (0.03 * len(y)), l1_ratio=1.0, solver="saga", tol=1e-12, max_iter=100_000, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, oracle.coef_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), oracle.predict_proba(X), atol=1e-6)


def test_optimality_conditions_with_more_features_than_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 300)) * rng.uniform(0.1, 10, 300)
    y = (X[:, 0] / np.abs(X[:, 0]).max() + 0.1 * rng.standard_normal(80) > 0).astype(int)
    alpha = 0.05
    model = LinearClassifier(alpha=alpha, l1_ratio=1.0).fit(X, y)
    g = X.T @ (model.predict_proba(X)[:, 1] - y) / len(y)
    b = model.coef_[0]
    scale = X.std(axis=0)
    assert 0 < np.count_nonzero(b) < 80
    assert np.all((np.abs(g[b == 0]) - alpha) / scale[b == 0] <= 2e-8)
    np.testing.assert_allclose((g + alpha * np.sign(b))[b != 0] / scale[b != 0], 0, atol=2e-8)


@pytest.mark.parametrize("loss", ["Tailored(0.3, 8)", "Exponential"])
def test_other_losses(make, loss):
    X, y = make(n=300, d=6, seed=4)
    model = LinearClassifier(loss, alpha=0.02, l1_ratio=1.0).fit(X, y)
    assert model.converged_
    assert np.all(np.diff(model.trace_) <= 1e-15)


def test_large_alpha_leaves_the_base_rate(problem):
    X, y = problem
    model = LinearClassifier(alpha=10.0, l1_ratio=1.0).fit(X, y)
    assert np.all(model.coef_ == 0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), atol=1e-8)
