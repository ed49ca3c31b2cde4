"""Tensors in, tensors out, under scikit-learn's array API dispatch."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import cross_val_score

from propriety import BoostingClassifier, ForestClassifier, LinearClassifier, TreeClassifier

torch = pytest.importorskip("torch")
ESTIMATORS = [
    LinearClassifier(alpha=0.01),
    BoostingClassifier(max_iter=3, min_samples_leaf=5),
    ForestClassifier(n_estimators=3, random_state=0),
    TreeClassifier(max_leaf_nodes=4),
]


@pytest.fixture
def dispatch(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    with sklearn.config_context(array_api_dispatch=True):
        yield


def table(n_classes=2):
    X = np.random.default_rng(0).normal(size=(90, 3))
    return X, np.digitize(X[:, 0] + X[:, 1] ** 2, [0.5, 1.5][: n_classes - 1])


@pytest.mark.usefixtures("dispatch")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_answers_are_tensors_and_equal(estimator, n_classes):
    X, y = table(n_classes)
    weight = np.linspace(1, 2, len(y))
    model = sklearn.clone(estimator).fit(X, y, weight)
    expected = [method(X) for method in (model.decision_function, model.predict_proba, model.predict)]
    tensors = [torch.from_numpy(array) for array in (X, y, weight)]
    model = sklearn.clone(estimator).fit(*tensors)
    for method, values in zip(("decision_function", "predict_proba", "predict"), expected, strict=True):
        answer = getattr(model, method)(tensors[0])
        assert isinstance(answer, torch.Tensor)
        assert answer.device == tensors[0].device
        np.testing.assert_allclose(answer.numpy(), values, rtol=0, atol=1e-12)
    assert model.score(*tensors) == pytest.approx(model.score(X, y, weight))


@pytest.mark.usefixtures("dispatch")
def test_text_stays_numpys_and_tensors_pass_through_scikit_learn():
    X, y = table()
    model = LinearClassifier().fit(torch.from_numpy(X), np.array(["no", "yes"])[y])
    assert model.predict(torch.from_numpy(X)).dtype == np.dtype("<U3")
    with_tensors = cross_val_score(LinearClassifier(), torch.from_numpy(X), torch.from_numpy(y), cv=3)
    np.testing.assert_allclose(with_tensors, cross_val_score(LinearClassifier(), X, y, cv=3))


def test_without_the_dispatch_answers_are_numpys():
    X, y = table()
    model = LinearClassifier().fit(torch.from_numpy(X), torch.from_numpy(y))
    assert isinstance(model.predict_proba(torch.from_numpy(X)), np.ndarray)
