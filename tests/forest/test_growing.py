"""Trees of a forest against other ways to the same trees."""

import numpy as np
import pandas as pd
import pytest
from tests.inside import grown_of, read_by

from propriety import ForestClassifier, TreeClassifier, losses
from propriety.forest import joining, spread
from propriety.trees import layout

#: One tree on every row that looks at every column: nothing is random.
WHOLE = {"n_estimators": 1, "bootstrap": False, "max_features": None, "random_state": 0}


def data(n, n_classes, missing=False, categories=False):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4))
    kind = rng.integers(0, 9, n)
    score = X[:, 0] - X[:, 1] * X[:, 2] + (kind % 4) * categories + 0.5 * rng.normal(size=n)
    if missing:
        X[rng.random(n) < 0.2, 0] = np.nan
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    frame = pd.DataFrame(X, columns=list("abcd"))
    return (frame.assign(kind=pd.Categorical(kind)) if categories else frame), y


def shares_of(model, X):
    """What the only tree says, without the smoothing."""
    return model.predict_proba(X) * 1.5 - 0.5 * grown_of(model).base_rates


@pytest.mark.parametrize("n", [150, 700], ids=["few rows", "many rows"])
@pytest.mark.parametrize(
    ("loss", "n_classes", "missing", "categories"),
    [
        ("Log()", 2, False, False),
        ("Log()", 2, True, True),
        ("Squared()", 2, True, False),
        ("Tailored(0.3, 5)", 2, False, True),
        ("Log()", 3, True, False),
        ("Squared()", 3, False, False),
        ("Beta(2, 1)", 3, False, False),
    ],
)
def test_one_tree_on_all_rows_and_columns_is_that_of_the_tree_classifier(
    n, loss, n_classes, missing, categories
):
    X, y = data(n, n_classes, missing, categories)
    # Of three classes, the tree judges fewer cuts where a least weight forbids some.
    limits = {"max_leaf_nodes": 9, "min_samples_leaf": 5 if n_classes == 2 else 1}
    forest = ForestClassifier(loss, **WHOLE, **limits).fit(X, y)
    tree = TreeClassifier(loss, splits="histogram", smoothing=None, **limits).fit(X, y)
    np.testing.assert_allclose(shares_of(forest, X), tree.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("weights", ["relative", "copies"])
def test_weights_count_in_a_split(weights):
    X, y = data(300, 2)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.2, 2, 300) if weights == "relative" else rng.integers(0, 4, 300)
    limits = {"max_leaf_nodes": 7, "min_samples_leaf": 5}
    forest = ForestClassifier(**WHOLE, **limits).fit(X, y, weight)
    tree = TreeClassifier(splits="histogram", smoothing=None, **limits).fit(X, y, weight)
    kept = weight > 0  # rows without weight may lie between the last on the left and the first on the right
    np.testing.assert_allclose(shares_of(forest, X[kept]), tree.predict_proba(X[kept]), atol=1e-9)


@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_tree_without_limits_knows_its_rows(splitter, n_classes):
    X, y = data(200, n_classes, missing=True, categories=True)
    model = ForestClassifier(**{**WHOLE, "splitter": splitter}).fit(X, y)
    np.testing.assert_allclose(shares_of(model, X), np.eye(n_classes)[y], atol=1e-12)


def sums_of_nodes(forest, X, y, weight):
    """Weight and share of class 1 of the rows that pass each node, by walking down."""
    weights, ones = np.zeros(len(forest.nodes)), np.zeros(len(forest.nodes))
    for root in forest.roots[:-1]:
        here = [(root, np.arange(len(X)))]
        while here:
            at, rows = here.pop()
            node = forest.nodes[at]
            weights[at], ones[at] = weight[rows].sum(), weight[rows] @ (y[rows] == 1)
            if node["feature"] >= 0:
                x = X[rows, node["feature"]]
                left = x <= node["threshold"]
                if node["set"] >= 0:
                    bits = np.unpackbits(forest.sets[node["set"]].view(np.uint8), bitorder="little")
                    left = bits[np.nan_to_num(x).astype(int)] == 1
                left = np.where(np.isnan(x), node["missing_left"] == 1, left)
                here += [(node["left"], rows[left]), (node["left"] + 1, rows[~left])]
    return weights, ones / weights


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", ["copies", "many copies", "relative"])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_nodes_hold_the_rows_that_pass_them(splitter, weights, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0] - X[:, 38]), [-0.5, 0.5][: n_classes - 1])
    weight = rng.integers(1, 3, 400).astype(float)
    weight[7] = {"copies": 2, "many copies": 300, "relative": 0.7}[weights]
    given = {"n_estimators": 3, "bootstrap": False, "random_state": 0, "splitter": splitter}
    forest = grown_of(ForestClassifier(**given, max_features=8, max_depth=6).fit(X, y, weight)).forest
    held, share = sums_of_nodes(forest, X, y, weight)
    assert len(held) > 60
    assert np.any(forest.nodes["feature"] >= 32)
    unit = 1.0 if weights != "relative" else 400 / weight.sum()
    np.testing.assert_allclose(forest.nodes["weight"], held * unit, rtol=1e-6)
    np.testing.assert_allclose(forest.nodes["value"], share, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_missing_categories_go_where_their_split_says(splitter):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, (400, 4))
    score = (kinds == [0, 1, 2, 0]).sum(axis=1) + rng.normal(size=400)
    frame = pd.DataFrame(rng.normal(size=(400, 3)) + score[:, None] / 2, columns=list("abc"))
    for k in range(4):
        frame[f"kind {k}"] = pd.Categorical(np.where(rng.random(400) < 0.2, None, kinds[:, k].astype(str)))
    y = (score > 1.5).astype(int)
    given = {"n_estimators": 5, "bootstrap": False, "random_state": 0, "splitter": splitter}
    model = ForestClassifier(**given).fit(frame, y)
    forest = grown_of(model).forest
    ((_, _, values),) = read_by(model, frame).chunks(grown_of(model).encoders())
    held, share = sums_of_nodes(forest, values, y, np.ones(400))
    assert len(forest.sets) > 20
    np.testing.assert_allclose(forest.nodes["weight"], held)
    np.testing.assert_allclose(forest.nodes["value"], share)


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_limits_hold(splitter):
    X, y = data(300, 2)
    given = {"n_estimators": 5, "random_state": 0, "splitter": splitter}
    assert grown_of(ForestClassifier(max_depth=3, **given).fit(X, y)).forest.nodes["depth"].max() == 3
    forest = grown_of(ForestClassifier(max_leaf_nodes=6, **given).fit(X, y)).forest
    leaves = np.add.reduceat(forest.nodes["feature"] < 0, forest.roots[:-1])
    np.testing.assert_array_equal(leaves, 6)
    nodes = grown_of(ForestClassifier(min_samples_leaf=12, **given).fit(X, y)).forest.nodes
    assert nodes["weight"].min() >= 12
    assert len(nodes) > 20


def test_a_split_looks_at_as_many_columns_as_it_may():
    X, y = data(300, 2)
    given = {"n_estimators": 40, "random_state": 0, "max_depth": 1, "bootstrap": False}

    def roots(max_features):
        nodes = grown_of(ForestClassifier(max_features=max_features, **given).fit(X, y)).forest
        return np.bincount(nodes.nodes["feature"][nodes.roots[:-1]], minlength=4)

    assert np.count_nonzero(roots(None)) == 1
    assert np.all(roots(1) > 0)
    best = np.argmax(roots(None))
    # Two of four columns: the best one is among them in half of the draws.
    assert 10 <= roots(2)[best] <= 30
    np.testing.assert_array_equal(roots("sqrt"), roots(2))
    np.testing.assert_array_equal(roots(0.5), roots("log2"))


def test_random_cuts_differ_from_tree_to_tree():
    X, y = data(300, 2)
    given = {"n_estimators": 20, "max_features": None, "max_depth": 1, "bootstrap": False, "random_state": 0}
    nodes = grown_of(ForestClassifier(splitter="random", **given).fit(X, y)).forest.nodes
    assert len(np.unique(nodes["threshold"][nodes["feature"] >= 0])) > 10


@pytest.mark.parametrize("name", ["Log()", "Brier()", "Power(2)"])
def test_entropies_on_the_simplex_are_sums_of_their_terms(name):
    from propriety.losses import simplex

    loss = losses.parse(f"simplex.{name}")
    P = np.random.default_rng(0).dirichlet(np.ones(4), 20)
    np.testing.assert_allclose(loss.entropy_term(P).sum(axis=1), loss.entropy(P))
    assert simplex.PairwiseExponential().entropy_term(P) is None


def test_a_log_loss_of_the_users_own_grows_the_same_trees():
    X, y = data(300, 2)
    given = {"n_estimators": 5, "random_state": 0}
    own = losses.from_weight(lambda p, q: 1 / (p * q))
    one, other = ForestClassifier("Log", **given).fit(X, y), ForestClassifier(own, **given).fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


def test_a_column_of_noise_is_not_memorized():
    """Categories without an effect: out of bag, the forest is about as good as without them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
    y = (X["a"] + rng.normal(size=400) > 0).to_numpy().astype(int)
    settings = {"n_estimators": 40, "min_samples_leaf": 5, "max_features": None, "random_state": 0}
    settings["oob_score"] = True
    without = ForestClassifier(**settings).fit(X, y).oob_score_
    noise = X.assign(code=pd.Categorical(rng.integers(0, 40, 400)))
    assert ForestClassifier(**settings).fit(noise, y).oob_score_ < 1.02 * without


@pytest.mark.parametrize(
    "extra",
    [{}, {"splitter": "random", "bootstrap": False}, {"splitter": "random", "max_features": 30}],
    ids=["best", "random", "random of drawn rows"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_copies_of_lines_change_no_tree(extra, weighted, monkeypatch):
    """Nodes whose lines fit are grown on copies of them; a block of columns follows the other there."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 40)).round(1)
    X[:, 5:9][rng.random((300, 4)) < 0.2] = np.nan
    y = X[:, 0] * X[:, 35] + 0.3 * rng.normal(size=300) > 0
    weight = rng.random(300) if weighted else None
    answers = []
    for size in (64, 64 * 100, 1 << 18):  # no copies of more than one row, of some nodes, of all
        monkeypatch.setattr(layout, "_NEAR", size)
        model = ForestClassifier(n_estimators=3, random_state=0, **extra).fit(X, y, weight)
        answers.append(model.predict_proba(X))
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_random_cuts_are_even_in_the_range_of_their_node(missing, bootstrap):
    """Below the root, bins run over a part of the column only: cuts must lie there, as often anywhere."""
    rng = np.random.default_rng(0)
    x = rng.permutation(400).astype(float)
    X = np.column_stack([x, x % 100 + np.where(x < 200, 0, 100)])  # the second says which half, and more
    y = rng.integers(0, 2, 400)
    if missing:
        X[rng.random(400) < 0.05, 1] = np.nan
    given = {"n_estimators": 4000, "max_features": 1, "max_depth": 2, "random_state": 0}
    forest = grown_of(ForestClassifier(splitter="random", bootstrap=bootstrap, **given).fit(X, y)).forest
    nodes, shares = forest.nodes, []
    for root in forest.roots[:-1]:
        if nodes["feature"][root] == 0:
            for child, half in ((0, x <= nodes["threshold"][root]), (1, x > nodes["threshold"][root])):
                node = nodes[nodes["left"][root] + child]
                if node["feature"] == 1 and node["weight"] > 64:
                    values = np.unique(X[half & ~np.isnan(X[:, 1]), 1])
                    below = np.sum(values <= node["threshold"])
                    assert bootstrap or 0 < below < len(values) or missing
                    shares.append((below - 0.5) / (len(values) - 1))
    assert len(shares) > 1000
    counts = np.histogram(shares, bins=8, range=(0, 1))[0]
    assert np.sum((counts - np.mean(counts)) ** 2 / np.mean(counts)) < 30  # χ² with 7 degrees: 99.99 %


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_are_joined_in_their_order(n_classes, monkeypatch):
    """Whichever is grown first, and whether there is room for all of them at once or not."""
    X, y = data(200, n_classes, missing=True, categories=True)

    def forest():
        grown = grown_of(ForestClassifier(n_estimators=7, random_state=0, n_jobs=1).fit(X, y))
        shares = grown.shares if n_classes > 2 else np.empty(0)
        return grown.forest.nodes, grown.forest.roots, grown.forest.sets, shares

    expected = forest()
    monkeypatch.setattr(spread.parallel, "run", lambda tasks, _: [task() for task in tasks[::-1]])
    reversed_order = forest()
    monkeypatch.setattr(joining, "_MORE", 0.5)
    for parts in (reversed_order, forest()):
        for part, same in zip(parts, expected, strict=True):
            np.testing.assert_array_equal(part, same)
