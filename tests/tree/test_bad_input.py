"""Bad input is refused with the reason, and leaves no half-fitted model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from propriety import TreeClassifier
from propriety.losses import simplex


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("splits", "random"),
        ("growth", "breadth"),
        ("max_leaf_nodes", 1),
        ("max_leaf_nodes", 2.5),
        ("max_depth", 0),
        ("min_samples_leaf", -1),
        ("min_samples_leaf", "some"),
        ("min_split_gain", float("nan")),
        ("ccp_alpha", -0.1),
        ("ccp_alpha", "best"),
        ("cv", 1),
        ("smoothing", -1),
        ("smoothing", "lidstone"),
        ("max_bins", 256),
        ("multiclass", "ovo"),
        ("monotonic_cst", [2, 0, 0]),
        ("monotonic_cst", [1, 0]),
        ("fn_cost", 0),
        ("n_jobs", 0),
    ],
)
def test_parameters(data, name, value):
    with pytest.raises(ValueError, match=name):
        TreeClassifier(**{name: value}).fit(*data)


@pytest.mark.parametrize("loss", ["Hinge()", "Beta(", "Nonsense", "Logg"])
def test_losses_by_name(data, loss):
    with pytest.raises(ValueError, match=r"proper|cannot read|unknown"):
        TreeClassifier(loss).fit(*data)


def test_losses_and_links(data):
    with pytest.raises(TypeError, match="loss"):
        TreeClassifier(3.0).fit(*data)
    with pytest.raises(ValueError, match="link already"):
        TreeClassifier("Log().with_link(Probit())", link="Logit").fit(*data)
    with pytest.raises(ValueError, match="link already"):
        TreeClassifier(simplex.Brier(), link="Logit").fit(*data)


def test_labels(data):
    X, y = data
    for labels in (np.zeros(60), None, y[:-1], np.where(y, np.nan, 0.0), np.linspace(0, 1, 60)):
        with pytest.raises(ValueError, match=r"class|y|samples|label"):
            TreeClassifier().fit(X, labels)
    with pytest.raises(ValueError, match="at most 256"):
        TreeClassifier().fit(np.zeros((600, 1)), np.arange(600) // 2)


@pytest.mark.parametrize("weights", [np.zeros(60), np.full(60, -1.0), np.full(60, np.nan), np.ones(59)])
def test_weights(data, weights):
    with pytest.raises(ValueError, match=r"sample_weight|weight"):
        TreeClassifier().fit(*data, sample_weight=weights)
    with pytest.raises(ValueError, match="two classes"):
        TreeClassifier().fit(*data, sample_weight=(data[1] == 1).astype(float))


def test_several_classes_have_no_costs_and_no_monotone_columns(data):
    X, y = data
    with pytest.raises(ValueError, match="fp_cost"):
        TreeClassifier(fn_cost=2).fit(X, y + (X[:, 1] > 0))
    with pytest.raises(ValueError, match="monotonic_cst"):
        TreeClassifier(monotonic_cst=[1, 0, 0]).fit(X, y + (X[:, 1] > 0))


def test_tables(data):
    X, y = data
    frame = pd.DataFrame({"a": X[:, 0], "b": ["1.5"] * 60})
    with pytest.raises(ValueError, match="'b'"):
        TreeClassifier().fit(frame, y)
    with pytest.raises(ValueError, match="categorical"):
        TreeClassifier(categorical_features=[0], monotonic_cst=[1, 0, 0]).fit(X, y)
    model = TreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])


def test_a_refused_fit_leaves_nothing(data):
    X, y = data
    model = TreeClassifier(ccp_alpha=-1)
    with pytest.raises(ValueError, match="ccp_alpha"):
        model.fit(X, y)
    for use in (
        model.predict,
        model.predict_proba,
        model.apply,
        lambda _: model.rules(),
        lambda _: model.to_linear(),
    ):
        with pytest.raises(NotFittedError):
            use(X)
