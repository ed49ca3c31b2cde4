"""What a fitted linear model promises to its readers."""

import numpy as np
import pytest
from scipy import sparse

import propriety.linear.classifier as module
from propriety.linear import LinearClassifier, LinearPath
from propriety.model.contract import FittedModel
from propriety.model.files import from_bytes, pack, to_bytes
from propriety.storage.checks import Arrays


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("classes", [2, 3])
def test_contributions_add_up_to_the_score(make, form, classes):
    X, y = make(n=200, d=3, seed=1, classes=classes)
    X = np.where(np.abs(X) > 0.7, X + 5, 0.0)
    model = LinearClassifier(alpha=0.01).fit(form(X), y)
    assert isinstance(model, FittedModel)
    parts = model.contributions(form(X))
    assert parts.shape == ((200, 4) if classes == 2 else (200, 3, 4))
    np.testing.assert_allclose(parts.sum(axis=-1), model.decision_function(X), atol=1e-12)
    expected = (X - X.mean(axis=0))[:, None, :] * model.coef_
    np.testing.assert_allclose(parts[..., :3].reshape(expected.shape), expected, atol=1e-9)


def test_contributions_are_centred_by_the_weighted_mean(problem):
    X, y = problem
    weight = np.arange(len(y)) % 4
    parts = LinearClassifier().fit(X, y, sample_weight=weight).contributions(X)
    np.testing.assert_allclose(weight @ parts[:, :-1], 0, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_importances_are_sizes_in_standard_deviations(make, classes):
    X, y = make(n=200, d=3, seed=1, classes=classes)
    X = X * [1.0, 100.0, 0.01]
    model = LinearClassifier().fit(X, y)
    sizes = np.abs(model.coef_).mean(axis=0) * X.std(axis=0)
    np.testing.assert_allclose(model.importances(), sizes / sizes.sum(), rtol=1e-9)
    np.testing.assert_array_equal(model.feature_importances_, model.importances())
    none = LinearClassifier(alpha=100.0, l1_ratio=1.0).fit(X / X.std(axis=0), y)
    np.testing.assert_array_equal(none.importances(), 0)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_file_holds_the_model(make, classes):
    X, y = make(n=200, d=3, seed=1, classes=classes)
    model = LinearClassifier(alpha=0.1).fit(X + 3, y)
    again = from_bytes(to_bytes(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.contributions(X), model.contributions(X))
    np.testing.assert_array_equal(again.importances(), model.importances())
    assert to_bytes(again) == to_bytes(model)


def test_a_file_without_columns_means_is_read(problem):
    """As 0.1.0 wrote them: the columns then lie about 0, with spread 1."""
    X, y = problem
    model = LinearClassifier().fit(X, y)
    document, arrays = pack(model)
    del arrays["centre"], arrays["spread"]
    again = LinearClassifier.from_state(document["parameters"], document["state"], Arrays(arrays))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.contributions(X)[:, -1], model.intercept_[0])
    np.testing.assert_allclose(again.importances(), np.abs(model.coef_[0]) / np.abs(model.coef_).sum())


@pytest.mark.parametrize("estimator", [LinearClassifier(), LinearPath(alphas=3, cv=2)])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_fit_that_fails_leaves_the_model_as_it_was(problem, monkeypatch, estimator, error):
    X, y = problem
    model = estimator.fit(X, y)
    before = dict(vars(model))

    def fails(*arguments):
        raise error("stopped")

    monkeypatch.setattr(module, "learn", fails)
    with pytest.raises(error, match="stopped"):
        model.fit(X[:, :2], 1 - y)
    assert vars(model) == before


def test_rows_of_weight_zero_take_no_part(problem):
    X, y = problem
    weight = np.ones(len(y))
    weight[:50] = 0
    labels = y.astype(object)
    labels[:50] = 7
    with_them = LinearClassifier().fit(X, labels.astype(int), sample_weight=weight)
    without = LinearClassifier().fit(X[50:], y[50:])
    assert with_them.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(with_them.coef_, without.coef_)
    assert with_them.summary().facts["rows"] == len(y) - 50


def test_relative_weights_have_mean_one(problem):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.1, 1, len(y))
    one, other = (LinearClassifier().fit(X, y, sample_weight=w) for w in (weight, 1e6 * weight))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.summary().facts["sum of weights"] == pytest.approx(len(y), rel=1e-12)


def test_warm_start_of_another_shape_begins_anew(problem):
    X, y = problem
    model = LinearClassifier(warm_start=True).fit(X, y).fit(X[:, :2], y)
    np.testing.assert_array_equal(model.coef_, LinearClassifier().fit(X[:, :2], y).coef_)


def test_summary_of_other_rows_needs_the_classes_of_the_fit(problem):
    X, y = problem
    model = LinearClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"classes of the fit, \[0, 1\], got \[0, 2\]"):
        model.summary(X, 2 * y)
    with pytest.raises(ValueError, match="2 features"):
        model.summary(X[:, :2], y)
