"""Pipelines with an estimator of the library, converted by skl2onnx."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import propriety
from propriety import BoostingClassifier, ForestClassifier, LinearClassifier, TreeClassifier

pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, (X[:, 0] + rng.normal(size=120) > 0).astype(int)


def converted(model, X, **options):
    from skl2onnx import to_onnx

    propriety.register_skl2onnx()
    return to_onnx(model, X[:1], **{"target_opset": 18, "options": {"zipmap": False}, **options})


def run(model, X):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]], ids=["numbers", "text"])
@pytest.mark.parametrize("last", [LinearClassifier(alpha=0.1, fn_cost=3), BoostingClassifier(max_iter=5)])
def test_a_pipeline_says_and_decides_the_same(rows, last, labels):
    X, y = rows[0], np.array(labels)[rows[1]]
    if labels[0] == "no":
        last.set_params(pos_label="yes")
    model = make_pipeline(StandardScaler(), last).fit(X, y)
    label, P = run(converted(model, X), X)
    last.set_params(pos_label=None)
    np.testing.assert_allclose(P, model.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(label, model.predict(X))


def test_trees_of_every_kind_walk_by_plain_operators():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.choice([3.0, 7.0, 8.5, 20.0], 150), rng.normal(size=(150, 2))])
    y = (np.isin(X[:, 0], [7.0, 20.0]) + (X[:, 1] > 0)).astype(int)
    X[::9] = np.nan
    for model in (
        BoostingClassifier(max_iter=5, categorical_features=[0], min_samples_leaf=5),
        BoostingClassifier(max_iter=5, categorical_features=[0], algorithm="additive"),
        ForestClassifier(n_estimators=5, categorical_features=[0], random_state=0),
        TreeClassifier(categorical_features=[0], max_leaf_nodes=2),
    ):
        label, P = run(converted(model.fit(X, y), X), X)
        np.testing.assert_allclose(P, model.predict_proba(X), rtol=0, atol=1e-12)
        np.testing.assert_array_equal(label, model.predict(X))


def test_float32_goes_in_and_comes_out(rows):
    X, y = rows
    model = BoostingClassifier(max_iter=5).fit(X, y)
    single = X.astype(np.float32)
    label, P = run(converted(model, single), single)
    assert P.dtype == np.float32
    np.testing.assert_allclose(P, model.predict_proba(single), atol=1e-7)
    np.testing.assert_array_equal(label, model.predict(single))


def test_probabilities_come_by_name_as_skl2onnx_does(rows):
    X, y = rows
    model = make_pipeline(StandardScaler(), LinearClassifier(alpha=0.1)).fit(X, y)
    _, by_name = run(converted(model, X.astype(np.float32), options=None), X.astype(np.float32))
    assert set(by_name[0]) == {0, 1}


def test_what_it_cannot_do_it_says(rows):
    X, y = rows
    model = LinearClassifier(alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="opset 13 at least"):
        converted(model, X, target_opset=12)
    by_row = LinearClassifier(alpha=0.1).fit(X, y, fn_cost=1 + X[:, 0] ** 2)
    with pytest.raises(ValueError, match="differ by row"):
        converted(by_row, X)
