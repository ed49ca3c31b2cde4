"""The design matrix against NumPy: coordinates, products, and sparse beside dense."""

import numpy as np
import pytest
from scipy import sparse

from propriety.linear.design import Design
from propriety.linear.moments import moments

FORMS = [np.asarray, sparse.csr_array]


@pytest.fixture(scope="module")
def columns():
    """Columns of several scales, one constant and one far from 0; the last of them mostly zeros."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 5)) * [1.0, 1e4, 1e-3, 0.0, 1.0] + [0.0, 0.0, 0.0, 7.0, 1e3]
    X = np.column_stack([X, np.where(rng.random(700) < 0.1, 3.0, 0.0)])
    return X, rng.uniform(0.1, 2, 700)


def standardized(X, design):
    """The columns as the coefficients θ see them, made by NumPy."""
    centre = 0.0 if design.centre is None else design.centre
    Z = (X - centre) * design.inverse_scale
    return np.column_stack([Z, np.ones(len(X))]) if design.intercept else Z


def designs(columns, intercept=True, n_jobs=None):
    X, weight = columns
    return [Design(form(X), intercept, n_jobs, moments(form(X), weight)) for form in FORMS]


@pytest.mark.parametrize("form", FORMS)
def test_moments(columns, form):
    X, weight = columns
    result = moments(form(X), weight)
    mean = np.average(X, weights=weight, axis=0)
    np.testing.assert_allclose(result.mean, mean, rtol=1e-10, atol=1e-12)
    spread = np.sqrt(np.average((X - mean) ** 2, weights=weight, axis=0))
    # A sparse column has the second moment about 0 to work with: a far one loses its digits, a constant all.
    near = [0, 1, 2, 5] if form is sparse.csr_array else slice(None)
    np.testing.assert_allclose(result.spread[near], spread[near], rtol=1e-9, atol=1e-12)


def test_moments_of_very_many_rows_come_from_a_sample():
    X = np.random.default_rng(0).standard_normal((100_000, 2))
    result = moments(X, np.ones(len(X)))
    np.testing.assert_allclose(result.mean, X[::5].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(result.spread, X[::5].std(axis=0), rtol=1e-12)


def test_moments_of_columns_whose_range_is_no_float_are_finite():
    X = np.array([[1.7e308, 1.0], [-1.7e308, 3.0]])
    result = moments(X, np.ones(2))
    np.testing.assert_array_equal(result.mean, [0, 2])
    np.testing.assert_array_equal(result.spread, [1.7e308, 1])


def test_columns_are_standardized(columns):
    X, weight = columns
    Z = standardized(X, designs(columns)[0])[:, :-1]
    np.testing.assert_allclose(np.average(Z[:, [0, 1, 2, 4]] ** 2, weights=weight, axis=0), 1, atol=0.02)
    assert np.all(Z[:, 3] == 0)  # it says what the intercept says
    assert abs(np.average(Z[:, 4], weights=weight)) < 1e-10


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [0, 1])
def test_unpack_undoes_pack_and_leaves_the_scores(columns, form, intercept):
    X, _ = columns
    design = designs(columns, intercept)[form]
    rng = np.random.default_rng(1)
    theta = rng.standard_normal((design.p, 2))
    theta[: design.d][design.inverse_scale == 0] = 0.0
    coef, intercepts = design.unpack(theta)
    scores = standardized(X, design) @ theta
    np.testing.assert_allclose(X @ coef.T + intercepts, scores, atol=1e-9)
    np.testing.assert_allclose(design.scores(theta), scores, atol=1e-9)
    np.testing.assert_allclose(design.pack(coef, intercepts), theta, atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [0, 1])
def test_forward_and_backward_are_products(columns, form, intercept):
    X, _ = columns
    design = designs(columns, intercept)[form]
    Z = standardized(X, design)
    rng = np.random.default_rng(2)
    theta, g = rng.standard_normal((design.p, 3)), rng.standard_normal((50, 3))
    out = np.full((50, 3), np.nan)
    design.forward(100, 150, design.scaled(theta), theta, out)
    np.testing.assert_allclose(out, Z[100:150] @ theta, atol=1e-9)
    partial = np.zeros((2, design.p, 3))
    design.backward(100, 150, g, partial[0])
    design.backward(150, 200, g, partial[1])
    expected = Z[100:150].T @ g + Z[150:200].T @ g
    np.testing.assert_allclose(design.finish(partial), expected, atol=1e-8)


@pytest.mark.parametrize("sign", ["positive", "mixed"])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("chosen", [None, [0, 2, 5, 6]])
def test_gram(columns, sign, stride, chosen):
    X, _ = columns
    h = np.random.default_rng(3).uniform(0.1 if sign == "positive" else -1, 1, len(X[::stride]))
    for design in designs(columns):
        Z = standardized(X, design)[::stride][:, slice(None) if chosen is None else chosen]
        found = design.gram(h, slice(None, None, stride), chosen)
        np.testing.assert_allclose(found, Z.T @ (Z * h[:, None]), rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("stride", [1, 3])
def test_grams_are_those_of_each_weighting(columns, stride):
    X, _ = columns
    H = np.random.default_rng(3).uniform(-1, 1, (3, len(X)))
    for design in designs(columns):
        found = design.grams(lambda rows: H[:, rows], 3, stride)
        expected = [design.gram(h[::stride], slice(None, None, stride)) for h in H]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-7)


def test_grams_in_parts_are_the_same_for_any_number_of_threads():
    X = np.random.default_rng(4).standard_normal((60_000, 3))
    H = np.linspace(0.1, 1, 2 * len(X)).reshape(2, -1)
    one, two = (
        Design(X, True, k, moments(X, np.ones(len(X)))).grams(lambda rows: H[:, rows], 2) for k in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_gram_in_parts_is_the_same_for_any_number_of_threads():
    X = np.random.default_rng(4).standard_normal((60_000, 6))
    h, weight = np.linspace(0.1, 1, len(X)), np.ones(len(X))
    one, two = (Design(X, True, k, moments(X, weight)).gram(h) for k in (1, 2))
    np.testing.assert_array_equal(one, two)
    Z = standardized(X, Design(X, True, 1, moments(X, weight)))
    np.testing.assert_allclose(one, Z.T @ (Z * h[:, None]), rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("form", [0, 1])
def test_restrict_and_sample_are_rows_and_columns(columns, form):
    X, _ = columns
    design = designs(columns)[form]
    kept = np.array([1, 4])
    theta = np.random.default_rng(5).standard_normal((3, 1))
    expected = standardized(X, design)[:, [1, 4, 6]] @ theta
    np.testing.assert_allclose(design.restrict(kept).scores(theta), expected, atol=1e-9)
    np.testing.assert_allclose(design.restrict(kept).sample(7).scores(theta), expected[::7], atol=1e-9)


def test_without_moments_the_columns_are_used_as_they_are(columns):
    X, _ = columns
    theta = np.random.default_rng(6).standard_normal((X.shape[1] + 1, 2))
    for form in FORMS:
        np.testing.assert_allclose(
            Design(form(X), True).scores(theta), X @ theta[:-1] + theta[-1], rtol=1e-12
        )
