"""ONNX models against the models they were made of, run by onnxruntime."""

import sys

import numpy as np
import pandas as pd
import pytest
from tests.inside import formula_of

from propriety import (
    AutoClassifier,
    BoostingClassifier,
    Costs,
    ForestClassifier,
    LinearClassifier,
    RuleClassifier,
    TreeClassifier,
    links,
)
from propriety.costs import ResolvedCosts
from propriety.data.conditions import Interval, Membership
from propriety.data.table import Schema
from propriety.export.columns import read_columns
from propriety.export.formula import Linked, Trees, readout_of
from propriety.losses import simplex
from propriety.model import catalogue
from propriety.model.adapt import Adaptation
from propriety.rules.as_trees import rule_tree

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from propriety.export import writing  # noqa: E402
from propriety.export.graph import ML, ML_OPSET, OPSET, Graph  # noqa: E402
from propriety.export.links import error_of, write_inverse, write_link  # noqa: E402
from propriety.export.trees import _attributes  # noqa: E402

SMALL = {
    "auto": {"members": ("linear", "forest", "boosting", "kernel"), "n_estimators": 10, "random_state": 0},
    "boosting": {"max_iter": 10, "min_samples_leaf": 3},
    "forest": {"n_estimators": 10, "random_state": 0},
    "kernel": {"n_landmarks": 40, "width": 1.0, "alpha": 0.01},
    "linear": {"alpha": 0.01},
    "tree": {"min_samples_leaf": 3},
    "rules": {"n_rules": 4},
    "scorecard": {},
}


def rows(n_classes, missing=True):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    score = X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.normal(size=150)
    y = np.array(["a", "b", "c"])[np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))]
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def run(model, feeds):
    """The outputs by name."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))


def by_column(frame, dtype=np.float64):
    """Feeds of a data frame; a missing category is any text."""
    return {
        name: (
            frame[[name]].to_numpy(dtype=dtype)
            if frame[name].dtype.kind in "fiu"
            else np.array([[v if isinstance(v, str) else "missing"] for v in frame[name]], dtype=object)
        )
        for name in frame
    }


def assert_same(model, X, feeds=None, given=None):
    got = run(model.to_onnx(), {"X": X} if feeds is None else feeds)
    np.testing.assert_allclose(got["probabilities"], model.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(got["label"], model.predict(X) if given is None else given)


def graph_of(write, *inputs):
    """Run what `write` makes of inputs of shape (n, 1)."""
    graph = Graph()
    values = [graph.input(f"x{i}", np.float64, x.shape[1]) for i, x in enumerate(inputs)]
    graph.apply("Identity", write(graph, *values), name="y")
    helper = onnx.helper
    out = helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, [None, None])
    model = helper.make_model(
        helper.make_graph(graph.nodes, "test", graph.inputs, [out], graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
        ir_version=10,
    )
    return run(model, {f"x{i}": x for i, x in enumerate(inputs)})["y"]


# --- every estimator ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("row", catalogue.ESTIMATORS, ids=lambda row: row.key)
def test_every_estimator_says_and_decides_the_same(row, n_classes):
    X, y = rows(n_classes, missing=row.key != "linear")
    costs = (
        {"fn_cost": 3.0, "pos_label": "b"}
        if n_classes == 2
        else {"costs": Costs(matrix=[[0, 1, 5], [2, 0, 1], [9, 1, 0]])}
    )
    model = row.type(**SMALL[row.key], **costs).fit(X, y)
    assert_same(model, X)
    single = X.astype(np.float32)
    got = run(model.to_onnx(dtype="float32"), {"X": single})
    assert got["probabilities"].dtype == np.float32
    np.testing.assert_allclose(got["probabilities"], model.predict_proba(single), atol=1e-7)
    np.testing.assert_array_equal(got["label"], model.predict(single))


def test_float32_rows_at_a_threshold_go_where_predict_sends_them():
    X = np.array([[0.1], [0.1], [0.3], [0.3]] * 10)
    model = TreeClassifier(min_samples_leaf=1, smoothing=0).fit(X, [0, 0, 1, 1] * 10)
    t = model.tree_.nodes["threshold"][0]
    near = np.float32(t)
    single = np.array([[np.nextafter(near, np.float32(-1))], [near], [np.nextafter(near, np.float32(1))]])
    assert float(near) != t
    np.testing.assert_array_equal(
        run(model.to_onnx(dtype="float32"), {"X": single})["label"], model.predict(single)
    )


# --- columns --------------------------------------------------------------------------------------


def table(n=200):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "town": pd.Categorical(rng.choice(["Bonn", "Rome", "Oslo", "Bern", "Lund"], n)),
            "grade": pd.Categorical(rng.choice(["a", "b", "c"], n)),
        }
    )
    y = (
        frame["town"].isin(["Rome", "Lund"]).to_numpy() + 0.5 * frame["size"] + rng.normal(size=n) > 0.5
    ).astype(int)
    frame.loc[::11, "town"] = np.nan
    frame.loc[::13, "size"] = np.nan
    return frame, y


@pytest.mark.parametrize(
    "model",
    [
        BoostingClassifier(max_iter=10, min_samples_leaf=5),
        BoostingClassifier(max_iter=5, min_samples_leaf=5, algorithm="additive"),
        ForestClassifier(n_estimators=5, random_state=0),
        TreeClassifier(min_samples_leaf=5),
        RuleClassifier(n_rules=4),
        AutoClassifier(members=("linear", "forest"), n_estimators=5, random_state=0),
    ],
    ids=["boosting", "curves", "forest", "tree", "rules", "auto"],
)
def test_categories_are_text_and_what_is_none_is_missing(model):
    frame, y = table()
    model.fit(frame, y)
    strange = frame.astype({"town": object})
    strange.loc[3, "town"] = "Paris"
    assert_same(model, strange.assign(town=strange["town"].astype("category")), by_column(strange))
    names = [entry.name for entry in model.to_onnx().graph.input]
    assert names == ["size", "town", "grade"]


def test_categories_that_are_numbers_stay_in_the_matrix():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.choice([3.0, 7.0, 8.5, 20.0], 200), rng.normal(size=200)])
    y = np.isin(X[:, 0], [7.0, 20.0]).astype(int)
    X[::9, 0] = np.nan
    model = TreeClassifier(categorical_features=[0], min_samples_leaf=5).fit(X, y)
    assert np.any(model.tree_.nodes["set"] >= 0)
    assert_same(model, np.vstack([X, [[99.0, 0.0]]]))
    odd = TreeClassifier(categorical_features=[0]).fit(np.where(X == 3.0, 0.1, X), y)
    with pytest.raises(ValueError, match=r"0\.1.*float32"):
        odd.to_onnx(dtype="float32")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        TreeClassifier(min_samples_leaf=3, categorical_features=[1, 2]),
        RuleClassifier(n_rules=6, categorical_features=[1, 2]),
        AutoClassifier(interpretable=True, categorical_features=[1, 2], random_state=0),
        ForestClassifier(n_estimators=5, categorical_features=[1, 2], random_state=0),
        BoostingClassifier(max_iter=5, categorical_features=[1, 2]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_categories_that_were_not_seen_go_where_predict_sends_them(model, n_classes):
    # No missing values in training, so that trees and rules send other categories both ways.
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=200), rng.integers(4, size=200), rng.integers(5, size=200)])
    score = X[:, 0] + np.array([1, -1, 1, 0])[X[:, 1].astype(int)] * (X[:, 2] % 2) + rng.normal(size=200) / 3
    model.fit(X, np.digitize(score, [0.0, 0.8][: n_classes - 1]))
    others = X[:60].copy()
    others[::2, 1], others[::3, 2], others[::5, 1] = 9, 7, np.nan
    said = run(model.to_onnx(), {"X": others})
    np.testing.assert_allclose(said["probabilities"], model.predict_proba(others), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(said["label"], model.predict(others))
    if type(model) in (TreeClassifier, RuleClassifier):
        assert formula_of(model).scores.goes_both_ways


def test_categories_of_two_kinds_are_refused():
    frame = pd.DataFrame({"x": pd.Categorical(["a", 1, "a", 1] * 5)})
    with pytest.raises(ValueError, match="neither all text nor all numbers"):
        TreeClassifier().fit(frame, [0, 1, 0, 1] * 5).to_onnx()


def test_a_table_of_text_alone_has_rows():
    schema = Schema((("a", "b"),), ("c",))
    graph = Graph()
    read = read_columns(graph, schema, np.float64, by_column=True)
    assert [entry.name for entry in graph.inputs] == ["c"]
    assert set(read.codes) == {0}
    frame = pd.DataFrame({"c": pd.Categorical(["a", "b", "b", "a"] * 10)})
    model = TreeClassifier(min_samples_leaf=2).fit(frame, [0, 1, 1, 0] * 10)
    assert_same(model, frame, by_column(frame))


# --- links and losses -----------------------------------------------------------------------------


@pytest.mark.parametrize("link", links.examples(), ids=repr)
def test_every_link_gives_its_probabilities(link):
    p = np.concatenate([np.geomspace(1e-9, 0.5, 200), 1 - np.geomspace(1e-9, 0.5, 200)])
    F = np.concatenate([link.link(p), [-1e6, -40.0, -1.0, 0.0, 1.0, 40.0, 1e6]])[:, None]
    got = graph_of(lambda graph, x: write_inverse(graph, link, x), F)
    assert error_of(link) < 5e-13
    np.testing.assert_allclose(got, link.inverse(F), rtol=0, atol=1e-12)


@pytest.mark.parametrize("link", [links.Logit(2.0), links.Probit(), links.Identity(-1, 1)], ids=repr)
def test_links_lead_back_to_scores(link):
    least = 1e-5
    p = np.linspace(least, 1 - least, 301)[:, None]
    got = graph_of(lambda graph, x: write_link(graph, link, x, least), p)
    np.testing.assert_allclose(got, link.link(p), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("loss", simplex.examples(), ids=repr)
def test_every_loss_of_several_classes_gives_its_probabilities(loss):
    F = np.random.default_rng(0).normal(scale=5, size=(100, 4))
    got = graph_of(lambda graph, x: writing._read_out(graph, readout_of(loss, 4), x), F)
    np.testing.assert_allclose(got, loss.inverse(F), rtol=0, atol=1e-12)


def test_a_loss_with_probabilities_of_its_own_is_refused():
    class Odd(simplex.Log):
        def inverse(self, F):
            P = np.exp(-(np.asarray(F) ** 2))
            return P / P.sum(axis=-1, keepdims=True)

    with pytest.raises(ValueError, match="cannot be written as operators"):
        readout_of(Odd(), 3)


@pytest.mark.parametrize("kind", ["platt", "beta"])
def test_calibration_for_several_classes_is_in_the_model(kind):
    X, y = rows(3, missing=False)
    model = BoostingClassifier(max_iter=5, min_samples_leaf=5, calibrate=kind, random_state=0).fit(X, y)
    assert isinstance(model.loss_, simplex.Recalibrated)
    assert_same(model, X, {"X": X})


def test_a_calibrated_link_is_in_the_model():
    X, y = rows(2)
    model = BoostingClassifier(max_iter=5, calibrate="beta", fn_cost=2.0, pos_label="b").fit(X, y)
    assert isinstance(formula_of(model).readout, Linked)
    assert_same(model, X)


@pytest.mark.parametrize("k", [2, 3])
def test_class_weights_of_files_of_0_2_are_in_the_model(k):
    X, y = rows(k)
    model = BoostingClassifier(max_iter=5).fit(X, y)
    model.adaptation_ = Adaptation(1.0, tuple(-np.log([1.0, 4.0, 0.5])[:k]), None)
    assert_same(model, X)


@pytest.mark.parametrize("estimator", [LinearClassifier, BoostingClassifier])
def test_ordered_classes(estimator):
    X, y = rows(3, missing=estimator is BoostingClassifier)
    small = SMALL["linear" if estimator is LinearClassifier else "boosting"]
    assert_same(estimator(multiclass="ordinal", **small).fit(X, y), X)


@pytest.mark.parametrize("row", catalogue.ESTIMATORS, ids=lambda row: row.key)
def test_an_adapted_model_is_written_as_it_is(row):
    X, y = rows(3, missing=row.key != "linear")
    model = row.type(**SMALL[row.key]).fit(X, y)
    assert_same(model.adapt(X[:40], y[:40]).adapt(prevalence=[0.9, 0.05, 0.05]), X)


def test_the_file_says_how_far_a_table_is_off():
    X, y = rows(2, missing=False)
    model = LinearClassifier("Log", link="Probit", alpha=0.01).fit(X, y).to_onnx()
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert facts["estimator"] == "LinearClassifier"
    assert facts["loss"] == "Log().with_link(Probit())"
    assert 0 < float(facts["error of links"]) < 1e-13


# --- trees and rules ------------------------------------------------------------------------------


def test_a_model_without_splits_is_its_base_rate():
    X, y = rows(2)
    for model in (BoostingClassifier(max_iter=3, min_samples_leaf=150), TreeClassifier(min_samples_leaf=150)):
        assert_same(model.fit(X, y), X)
    assert_same(RuleClassifier().fit(np.zeros_like(X), y), X)


def test_one_column_keeps_its_digits():
    """Optimizers keep the scale of a single number in single precision where it follows a product."""
    X, y = rows(3, missing=False)
    X = 100 * X[:, :1] + 7
    model = AutoClassifier(members=["linear"]).fit(X, y)
    got = run(model.to_onnx(), {"X": X})
    np.testing.assert_allclose(got["probabilities"], model.predict_proba(X), rtol=0, atol=1e-13)


def test_no_split_and_leaf_below_a_node_have_one_number():
    """Else onnxruntime up to 1.23 says something wrong."""
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = TreeClassifier().fit(np.round(X), X[:, 0] > 0)
    trees = formula_of(model).scores
    nodes = trees.nodes
    given = _attributes(trees, np.array([True]), nodes["feature"].astype(np.int64), nodes["threshold"])
    mixed = np.not_equal(given["nodes_trueleafs"], given["nodes_falseleafs"])
    assert mixed.any()
    assert np.all(np.not_equal(given["nodes_truenodeids"], given["nodes_falsenodeids"])[mixed])
    assert given["leaf_targetids"][0] == 0
    assert len(given["leaf_targetids"]) > 2 * np.sum(nodes["feature"] < 0)  # a leaf of no tree
    assert_same(model, np.round(X))


LITERALS = [
    Interval("x", 0, low=-0.5),
    Interval("x", 0, high=0.5, missing=True),
    Interval("x", 0, low=-0.5, high=0.5, missing=True),
    Interval("x", 0, low=-0.5, high=0.5),
    Interval("x", 0, nothing=True, missing=True),
    Interval("x", 0, nothing=True),
    Interval("x", 0),
    Interval("x", 0, missing=True),
    Membership("x", 0, codes=(0, 2), categories=("a", "c")),
    Membership("x", 0, codes=(1,), categories=("b",), missing=True),
]


@pytest.mark.parametrize("literal", LITERALS, ids=str)
def test_a_rule_as_a_tree_decides_as_its_condition(literal):
    member = isinstance(literal, Membership)
    x = np.array([0.0, 1, 2, np.nan]) if member else np.array([-np.inf, -1, -0.5, 0, 0.5, 1, np.inf, np.nan])
    mask = np.zeros((1, 256), dtype=np.uint8)
    mask[0, list(literal.codes) if member else []] = 1
    tree = rule_tree([literal], mask, 1.0)
    bins = (np.arange(3.0),) if member else (None,)
    values = tree.nodes["value"][:, None]
    roots, target = np.array([0, len(tree.nodes)]), np.zeros(1, dtype=np.int64)
    trees = Trees(tree.nodes, roots, tree.sets, values, target, np.zeros(1), bins)

    def write(graph, value):
        schema = Schema(((0.0, 1.0, 2.0),) if member else (None,), None)
        from propriety.export.columns import read_matrix

        return writing.write_scores(read_matrix(value, schema, np.float64), trees)

    np.testing.assert_array_equal(graph_of(write, x[:, None])[:, 0] > 0, literal.holds(x))


# --- decisions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "costs",
    [
        ResolvedCosts.of_mistakes(1, 3),
        ResolvedCosts.of_mistakes(1, 3, positive=0),
        ResolvedCosts.equal(3),
        ResolvedCosts.of_matrix([[0, 1, 5], [2, 0, 1], [9, 1, 0]]),
        ResolvedCosts.of_matrix([[0, 1, 0.2], [1, 0, 0.2]]),
    ],
    ids=["two", "first positive", "plain", "matrix", "abstain"],
)
def test_decisions_follow_the_costs_at_ties_too(costs):
    grid = np.linspace(0, 1, 17)  # sums of sixteenths are exact
    P = (
        np.column_stack([1 - grid, grid])
        if costs.n_classes == 2
        else np.array([[a, b, 1 - a - b] for a in grid for b in grid if a + b <= 1])
    )
    got = graph_of(lambda graph, x: writing.write_decision(graph, costs, x).cast(np.float64), P)
    np.testing.assert_array_equal(got, costs.decide(P))


def test_labels_of_every_type_and_abstaining_come_out():
    X, y = rows(2)
    for labels in (y == "b", (y == "b") + 3, np.where(y == "b", 2.0, 1.0), y):
        assert_same(TreeClassifier().fit(X, labels), X)
    abstaining = TreeClassifier(costs=Costs(matrix=[[0, 1, 0.05], [1, 0, 0.05]], abstain_label="ask")).fit(
        X, y
    )
    assert "ask" in abstaining.predict(X)
    assert_same(abstaining, X)


def test_costs_of_rows_leave_the_probabilities():
    X, y = rows(2, missing=False)
    model = LinearClassifier(fn_cost=lambda X: 1 + X[:, 0] ** 2, pos_label="b", alpha=0.1).fit(X, y)
    assert list(run(model.to_onnx(), {"X": X})) == ["probabilities"]


# --- what is refused, and the file ----------------------------------------------------------------


def test_what_cannot_be_written_is_refused(tmp_path):
    X, y = rows(2, missing=False)
    with pytest.raises(ValueError, match="offset"):
        LinearClassifier(alpha=0.1).fit(X, y, offset=np.ones(150)).to_onnx()
    model = LinearClassifier(alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="dtype must be"):
        model.to_onnx(dtype="float16")
    model.to_onnx(tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == model.to_onnx()


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    X, y = rows(2, missing=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"propriety\[onnx\]"):
        LinearClassifier(alpha=0.1).fit(X, y).to_onnx()
