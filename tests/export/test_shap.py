"""Explanations by shap of models of the library, beside their own."""

import numpy as np
import pytest

from propriety import (
    BoostingClassifier,
    ForestClassifier,
    LinearClassifier,
    RuleClassifier,
    TreeClassifier,
)

shap = pytest.importorskip("shap")


def rows(n_classes=2, n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.2 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shapley_values_of_boosting_are_those_of_shap(n_classes):
    X, y = rows(n_classes)
    X[::7, 0] = np.nan
    model = BoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y)
    explainer = shap.TreeExplainer(model.to_shap())
    parts = np.asarray(model.predict_contributions(X))
    values = explainer.shap_values(X, check_additivity=False)
    ours = parts[:, :-1] if n_classes == 2 else np.moveaxis(parts[:, :, :-1], 1, 2)
    np.testing.assert_allclose(values, ours, atol=1e-9)
    np.testing.assert_allclose(np.ravel(explainer.expected_value), np.ravel(parts[0, ..., -1]), atol=1e-9)
    pairs = explainer.shap_interaction_values(X[:20])
    ours = model.predict_interactions(X[:20])
    np.testing.assert_allclose(pairs, ours if n_classes == 2 else np.moveaxis(ours, 1, 3), atol=1e-9)


@pytest.mark.parametrize(
    "model", [TreeClassifier(min_samples_leaf=5), ForestClassifier(n_estimators=5, random_state=0)]
)
def test_trees_and_forests_are_explained_on_the_scale_of_probabilities(model):
    X, y = rows()
    P = model.fit(X, y).predict_proba(X)
    explainer = shap.TreeExplainer(model.to_shap())
    values = explainer.shap_values(X, check_additivity=False)
    if values.ndim == 2:
        values, P = values[..., None], P[:, 1:]
    np.testing.assert_allclose(values.sum(axis=1) + np.ravel(explainer.expected_value), P, atol=1e-9)
    pairs = explainer.shap_interaction_values(X[:20])
    np.testing.assert_allclose(
        pairs if pairs.ndim == 3 else pairs[..., 1], model.predict_interactions(X[:20]), atol=1e-9
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_without_rounds_is_explained(n_classes):
    X, y = np.zeros((22, 2)), np.repeat([0, 1, 2], [20, 1, 1]) % n_classes
    model = BoostingClassifier().fit(X, y)
    assert model.n_iter_ == 0
    explainer = shap.TreeExplainer(model.to_shap())
    np.testing.assert_array_equal(explainer.shap_values(X, check_additivity=False), 0.0)
    expected = np.ravel(explainer.expected_value)
    np.testing.assert_allclose(expected, np.ravel(model.decision_function(X[:1])))


@pytest.mark.parametrize(
    "model", [RuleClassifier(n_rules=3), BoostingClassifier(max_iter=3), LinearClassifier(alpha=0.1)]
)
def test_shap_explains_any_model(model):
    X, y = rows()
    model.fit(X, y)
    told = shap.Explainer(model, X)(X[:3])
    np.testing.assert_allclose(
        told.values.sum(axis=1) + told.base_values, model.decision_function(X[:3]), atol=1e-6
    )


def test_what_shap_cannot_hold_is_refused():
    X, y = rows()
    X[:, 0] = np.arange(80) % 4
    by_sets = BoostingClassifier(max_iter=3, categorical_features=[0], min_samples_leaf=5).fit(X, X[:, 0] % 2)
    with pytest.raises(ValueError, match="sets of categories"):
        by_sets.to_shap()
    with pytest.raises(TypeError, match=r"shap\.Explainer"):
        RuleClassifier(n_rules=2).fit(X, y).to_shap()
    with pytest.raises(TypeError, match=r"shap\.Explainer"):
        LinearClassifier(alpha=0.1).fit(X, y).to_shap()
