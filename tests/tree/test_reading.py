"""Rules, the linear form, text and graph: what is read is what the tree does."""

import re

import numpy as np
import pandas as pd
import pytest
from tests.inside import schema_of

from propriety import TreeClassifier, losses
from propriety.linear import LinearClassifier
from propriety.tree.conditions import shortest


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 900).astype(float),
            "dose": rng.gamma(2.0, 50.0, 900),
            "ward": pd.Categorical(rng.choice(list("abcdef"), 900)),
        }
    )
    score = (frame["age"] - 50) / 10 + np.where(frame["ward"].isin(["b", "e"]), 2, -1) + frame["dose"] / 200
    y = (rng.random(900) < 1 / (1 + np.exp(-score))).astype(int)
    frame.loc[rng.random(900) < 0.15, "dose"] = np.nan
    frame.loc[rng.random(900) < 0.1, "ward"] = None
    return frame, y


@pytest.fixture(scope="module")
def model(table):
    return TreeClassifier(max_leaf_nodes=25, min_samples_leaf=8).fit(*table)


def test_every_row_obeys_the_one_rule_of_its_leaf(model, table):
    X, _ = table
    leaf, read = model.apply(X), schema_of(model).read(X)
    covered = np.array([rule.covers(read.column, len(X)) for rule in model.rules()])
    assert np.all(covered.sum(axis=0) == 1)
    np.testing.assert_array_equal([model.rules()[k].node for k in covered.argmax(axis=0)], leaf)
    for rule, rows in zip(model.rules(), covered, strict=True):
        assert rule.weight == rows.sum()
        assert len({condition.column for condition in rule.conditions}) == len(rule.conditions)


def test_repeated_tests_become_one():
    X = np.arange(40.0)[:, None]
    y = (np.arange(40) // 5) % 2
    model = TreeClassifier(max_leaf_nodes=None, min_samples_leaf=1).fit(X, y)
    assert model.get_depth() > 2
    texts = [str(rule) for rule in model.rules()]
    assert texts[0] == "x0 ≤ 4.5"
    assert texts[1] == "4.5 < x0 ≤ 9.5"
    assert texts[-1] == "x0 > 34.5"


def test_missing_is_said_where_it_was_seen(model, table):
    words = " ".join(str(rule) for rule in model.rules())
    assert "or missing" in words
    assert "age" in words
    assert not re.search(r"age [≤>] [\d.]+ or missing", words)


@pytest.mark.parametrize("loss", ["Log", "Exponential", "Tailored(0.3, 5)", "CostWeighted(0.4)"])
def test_the_linear_form_has_the_trees_score(table, loss):
    X, y = table
    model = TreeClassifier(loss, max_leaf_nodes=20).fit(X, y)
    linear = model.to_linear()
    np.testing.assert_allclose(linear.decision_function(X), model.decision_function(X), atol=1e-12, rtol=0)
    assert len(linear.rules) == linear.coefficients.shape[0] == 2 * model.get_n_leaves() - 1
    assert str(linear).count("\n") == len(linear.rules) - 1
    np.testing.assert_array_equal(linear.transform(X), model.decision_path(X).toarray())


@pytest.mark.parametrize("loss", ["Squared", "Spherical", "DensityPower(2)"])
def test_the_linear_form_has_the_canonical_link(table, loss):
    # [N9 (50)]: finite at pure leaves, and the tree's probabilities come back through the link.
    X, y = table
    model = TreeClassifier(loss, max_leaf_nodes=20, min_samples_leaf=1, smoothing=None).fit(X, X["age"] > 40)
    linear = model.to_linear()
    assert linear.link == losses.parse(loss).canonical_link
    assert np.all(np.isfinite(linear.coefficients))
    p = linear.link.inverse(linear.decision_function(X))
    np.testing.assert_allclose(p, model.predict_proba(X)[:, 1], atol=1e-9)
    kept = TreeClassifier(loss, link="Probit", max_leaf_nodes=5).fit(X, y)
    np.testing.assert_allclose(kept.to_linear().decision_function(X), kept.decision_function(X), atol=1e-12)


def test_the_linear_form_of_three_classes(table):
    X, y = table
    model = TreeClassifier(max_leaf_nodes=9).fit(X, y + (X["age"] > 60))
    np.testing.assert_allclose(model.to_linear().decision_function(X), model.decision_function(X), atol=1e-12)


def test_a_linear_model_on_the_rules_finds_the_tree_again(table):
    """The leaves' shares minimize the loss over all weights of the rules: UDT and ULS meet. [N9 §4.2]"""
    X, y = table
    model = TreeClassifier(max_leaf_nodes=5, min_samples_leaf=40, smoothing=None).fit(X, y)
    rules = model.to_linear().transform(X)[:, 1:]
    linear = LinearClassifier(alpha=1e-10).fit(rules, y)
    np.testing.assert_allclose(linear.predict_proba(rules), model.predict_proba(X), atol=1e-5)


def test_text_has_a_line_for_each_node(model):
    lines = model.export_text().split("\n")
    assert len(lines) == len(model.tree_.nodes)
    assert lines[0].startswith("all rows")
    assert sum("→" in line for line in lines) == model.get_n_leaves()
    short = model.export_text(max_depth=1).split("\n")
    assert len(short) == 3
    assert short[1].endswith("…")


def test_dot_is_a_graph_of_all_nodes(model):
    dot = model.export_dot()
    n = len(model.tree_.nodes)
    assert dot.startswith("digraph tree {")
    assert dot.endswith("}")
    assert len(re.findall(r"^  \d+ \[label=", dot, re.MULTILINE)) == n
    assert len(re.findall(r"^  \d+ -> \d+ \[label=", dot, re.MULTILINE)) == n - 1
    odd = TreeClassifier(min_samples_leaf=1).fit(pd.DataFrame({'say "x"': [0.0, 1.0]}), [0, 1])
    assert r"say \"x\" ≤ 0.5" in odd.export_dot()


def test_decision_path_leads_to_the_leaf(model, table):
    X, _ = table
    path, leaf = model.decision_path(X[:50]), model.apply(X[:50])
    assert path.shape == (50, len(model.tree_.nodes))
    for i in range(50):
        assert set(path[[i]].indices) == set(model.tree_.path(leaf[i]))


def test_numbers_are_short_and_part_the_same_rows():
    assert shortest(127.5, 127.0, 128.0) == "127.5"
    assert shortest(1e-7, 0.9e-7, 1.1e-7) == "1e-07"
    assert shortest(0.30000000000000004, 0.3, 0.30000000000000009) == "0.30000000000000004"
    rng = np.random.default_rng(0)
    for low, high in np.sort(rng.normal(size=(50, 2)), axis=1):
        assert low <= float(shortest((low + high) / 2, low, high)) < high
