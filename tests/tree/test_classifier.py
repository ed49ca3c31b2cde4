"""What TreeClassifier promises, each against an oracle or a law."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import accuracy_score
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from propriety import TreeClassifier, losses
from propriety.losses import simplex

ANY = {"max_leaf_nodes": None, "min_samples_leaf": 1, "smoothing": None}


@pytest.fixture(scope="module")
def data():
    """Whole numbers of float32, so that scikit-learn's thresholds are exact too."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1_500, 5)).astype(np.float32)
    eta = 1 / (1 + np.exp(-(1.5 * X[:, 0] + X[:, 1] * X[:, 2])))
    return X, (rng.random(1_500) < eta).astype(int)


@pytest.fixture(scope="module")
def mixed(data):
    """Few values, missing values and a categorical column."""
    rng = np.random.default_rng(2)
    X, y = np.round(data[0].astype(float), 1), data[1]
    X[:, 4] = rng.integers(0, 9, len(y))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("index", range(2))
@pytest.mark.parametrize(
    "estimator", [TreeClassifier(), TreeClassifier(splits="histogram", ccp_alpha="one_se", cv=3)]
)
def test_scikit_learns_checks(estimator, index):
    for i, (checked, check) in enumerate(estimator_checks_generator(estimator)):
        if i % 2 == index and check.func.__name__ != "check_array_api_input":  # needs an environment variable
            check(checked)


# -- scikit-learn's trees ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("criterion", "loss"), [("gini", "Squared"), ("entropy", "Log")])
@pytest.mark.parametrize(
    "limits", [{"max_leaf_nodes": 20}, {"max_depth": 4}, {"max_leaf_nodes": 40, "min_samples_leaf": 15}]
)
def test_the_splits_and_probabilities_of_scikit_learn(data, criterion, loss, limits):
    X, y = data
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **limits).fit(X, y)
    ours = TreeClassifier(loss, **(ANY | limits), splits="exact").fit(X, y)
    split = theirs.tree_.feature >= 0
    expected = sorted(zip(theirs.tree_.feature[split], theirs.tree_.threshold[split], strict=True))
    own = ours.tree_.nodes[ours.tree_.feature >= 0]
    np.testing.assert_allclose(
        sorted(zip(own["feature"], own["threshold"], strict=True)), expected, rtol=1e-12
    )
    new = np.random.default_rng(3).normal(size=(2_000, 5)).astype(np.float32)
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-12)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)


def test_three_classes_as_scikit_learn():
    X, y = make_classification(600, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    X = X.astype(np.float32)
    for criterion, loss in (("gini", "Squared"), ("entropy", "Log")):
        theirs = DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=12, random_state=0).fit(X, y)
        ours = TreeClassifier(loss, **(ANY | {"max_leaf_nodes": 12})).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


def test_missing_values_as_scikit_learn(data):
    X, y = data[0].copy(), data[1]
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    theirs = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, y)
    ours = TreeClassifier("Squared", **(ANY | {"max_leaf_nodes": 8})).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


# -- promises ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", losses.examples(), ids=repr)
def test_without_splits_the_probability_is_the_base_rate(loss):
    X, y, w = np.zeros((5, 1)), [0, 0, 1, 0, 1], [1, 2, 3, 1, 1]
    P = TreeClassifier(loss).fit(X, y, w).predict_proba(X)
    np.testing.assert_allclose(P, [[0.5, 0.5]] * 5, atol=1e-12)


@pytest.mark.parametrize("loss", ["Log()", "CascadeUp(16)", "CostWeighted(0.3)", "Tailored(0.1, 20)"])
def test_no_split_loses_information(data, loss):
    model = TreeClassifier(loss, **ANY).fit(*data)
    gain = model.tree_.nodes["gain"][model.tree_.feature >= 0]
    assert np.all(gain >= 0)
    tree = model.tree_
    assert tree.losses[0] - tree.losses[tree.leaves].sum() == pytest.approx(gain.sum(), rel=1e-9)


@pytest.mark.parametrize("splits", ["exact", "histogram"])
def test_weights_are_copies(mixed, splits):
    X, y = mixed
    w = np.random.default_rng(0).integers(0, 4, len(y))
    model = TreeClassifier("CascadeDown(8)", splits=splits, categorical_features=[4], min_samples_leaf=10)
    weighted, copied = clone(model).fit(X, y, w), clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_array_equal(weighted.tree_.nodes, copied.tree_.nodes)
    np.testing.assert_array_equal(weighted.tree_.sets, copied.tree_.sets)
    np.testing.assert_array_equal(weighted.node_probabilities_, copied.node_probabilities_)


@pytest.mark.parametrize("splits", ["exact", "histogram"])
def test_threads_and_the_order_of_rows_do_not_matter(mixed, splits):
    X, y = np.tile(mixed[0], (8, 1)), np.tile(mixed[1], 8)
    w = np.random.default_rng(0).random(len(y))
    order = np.random.default_rng(1).permutation(len(y))
    first, *others = [
        TreeClassifier(splits=splits, categorical_features=[4], n_jobs=jobs).fit(X[rows], y[rows], w[rows])
        for jobs, rows in ((1, slice(None)), (3, slice(None)), (2, order))
    ]
    for other in others:
        np.testing.assert_array_equal(first.tree_.nodes, other.tree_.nodes)
        np.testing.assert_array_equal(first.node_probabilities_, other.node_probabilities_)


@pytest.mark.parametrize("loss", ["Log()", "Tailored(0.2, 10)", "CostWeighted(0.4)"])
def test_the_scale_of_the_loss_does_not_matter(data, loss):
    plain = TreeClassifier(loss, min_split_gain=1e-3, ccp_alpha=0.002).fit(*data)
    scaled = TreeClassifier(3 * losses.parse(loss), min_split_gain=1e-3, ccp_alpha=0.002).fit(*data)
    np.testing.assert_allclose(plain.predict_proba(data[0]), scaled.predict_proba(data[0]), atol=1e-9)


def test_a_users_entropy_grows_the_trees_of_the_built_in(data):
    X, y = data
    own = losses.from_entropy(lambda p: p * (1 - p))
    a, b = (TreeClassifier(loss).fit(X, y).predict_proba(X) for loss in (own, "Squared"))
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_flipped_labels_give_the_mirrored_tree(data):
    X, y = data
    a, b = (TreeClassifier("Matsushita", max_leaf_nodes=8).fit(X, t).predict_proba(X) for t in (y, 1 - y))
    np.testing.assert_allclose(a, b[:, ::-1], atol=1e-12)


# -- decisions and scores ----------------------------------------------------------------------------------


def test_costs_decide(data):
    X, y = data
    model = TreeClassifier(fp_cost=1, fn_cost=9).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X), (p >= 0.1).astype(int))
    assert model.predict(X).mean() > clone(model).set_params(fn_cost=1).fit(X, y).predict(X).mean()


@pytest.mark.parametrize(
    ("loss", "link", "score"),
    [
        ("Log", None, lambda p: np.log(p / (1 - p))),
        ("Exponential", None, lambda p: 0.5 * np.log(p / (1 - p))),
        ("CostWeighted(0.3)", None, lambda p: np.log(p / (1 - p))),
        ("CostWeighted(0.3)", "Identity", lambda p: p),
    ],
)
def test_the_score_is_the_link_of_the_probability(data, loss, link, score):
    model = TreeClassifier(loss, link=link).fit(*data)
    p = model.predict_proba(data[0])[:, 1]
    np.testing.assert_allclose(model.decision_function(data[0]), score(p), atol=1e-12)


def test_certain_leaves_have_infinite_scores_and_no_warning():
    model = TreeClassifier(**ANY).fit([[0.0], [1.0]], ["no", "yes"])
    assert model.decision_function([[-5.0], [5.0]]).tolist() == [-np.inf, np.inf]
    assert model.to_linear().decision_function([[-5.0], [5.0]]).tolist() == [-np.inf, np.inf]
    assert model.predict([[0.2]]).tolist() == ["no"]


def test_smoothing():
    X, y = np.array([0.0, 0, 0, 1, 1, 1, 1, 1])[:, None], [0, 0, 0, 1, 1, 1, 1, 0]
    limits = {"max_leaf_nodes": 2, "min_samples_leaf": 1}

    def low(smoothing):
        return TreeClassifier(smoothing=smoothing, **limits).fit(X, y).predict_proba([[0.0]])[0, 1]

    assert low(None) == low(0) == 0
    assert low("laplace") == pytest.approx(1 / 5)
    assert low(2.0) == pytest.approx((0 + 2 * 0.5) / (3 + 2))


def test_smoothing_draws_every_node_to_its_parent(data):
    model = TreeClassifier(smoothing=3.0, max_leaf_nodes=40, min_samples_leaf=2).fit(*data)
    tree, P = model.tree_, model.node_probabilities_
    np.testing.assert_array_equal(P[0], tree.shares[0])
    for node in range(1, len(P)):
        above = P[tree.parent[node]]
        expected = (tree.sums[node] + 3.0 * above) / (tree.sums[node].sum() + 3.0)
        np.testing.assert_allclose(P[node], expected, rtol=1e-14)


# -- tables ------------------------------------------------------------------------------------------------


def test_categories_of_data_frames_and_unknown_ones():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", "grey"], 400)
    y = (rng.random(400) < np.where(np.isin(colour, ["red", "blue"]), 0.9, 0.1)).astype(int)
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "x": rng.normal(size=400)})
    model = TreeClassifier(max_leaf_nodes=2).fit(frame, y)
    assert [str(rule) for rule in model.rules()] == ["colour in {green, grey}", "colour in {blue, red}"]
    other = TreeClassifier(max_leaf_nodes=2).fit(
        pl.DataFrame({"colour": pl.Series(colour, dtype=pl.Categorical), "x": frame["x"]}), y
    )
    np.testing.assert_array_equal(model.node_probabilities_, other.node_probabilities_)
    new = pd.DataFrame({"colour": pd.Categorical(["violet", None]), "x": [0.0, 0.0]})
    heavier = model.tree_.left[0] + int(model.tree_.weight[1] < model.tree_.weight[2])
    assert model.apply(new).tolist() == [heavier, heavier]


def test_more_categories_than_bins():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 400, 6_000).astype(float)
    y = (rng.random(6_000) < np.where(code % 2, 0.8, 0.2)).astype(int)
    for splits in ("exact", "histogram"):
        model = TreeClassifier(splits=splits, categorical_features=[0], max_leaf_nodes=2).fit(
            code[:, None], y
        )
        assert accuracy_score(y, model.predict(code[:, None])) > 0.75


def test_being_missing_may_be_all_that_matters():
    X = np.array([[1.0], [2.0], [np.inf], [-np.inf], [np.nan], [np.nan]])
    y = [0, 0, 0, 0, 1, 1]
    for splits in ("exact", "histogram"):
        model = TreeClassifier(splits=splits, **ANY).fit(X, y)
        assert model.predict(X).tolist() == y
        assert [str(rule) for rule in model.rules()] == ["x0 is not missing", "x0 is missing"]


def test_infinite_and_neighbouring_values():
    X = np.array([[-np.inf], [0.0], [np.nextafter(0, 1)], [np.inf]])
    for splits in ("exact", "histogram"):
        model = TreeClassifier(splits=splits, **ANY).fit(X, [0, 1, 0, 1])
        assert model.predict(X).tolist() == [0, 1, 0, 1]
    empty = np.full((4, 1), np.nan)
    assert TreeClassifier(**ANY).fit(empty, [0, 1, 0, 1]).get_n_leaves() == 1


def test_sparse_and_dense_are_one(data):
    X, y = np.where(np.abs(data[0]) < 0.7, 0, data[0]).astype(float), data[1]
    dense, thin = (TreeClassifier().fit(table, y) for table in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(dense.tree_.nodes, thin.tree_.nodes)
    np.testing.assert_array_equal(dense.predict_proba(X), thin.predict_proba(sparse.csc_matrix(X)))


# -- limits ------------------------------------------------------------------------------------------------


def test_limits_hold(data):
    X, y = data
    w = np.random.default_rng(0).integers(1, 5, len(y)).astype(float)
    model = TreeClassifier(max_leaf_nodes=9, min_samples_leaf=40, max_depth=4).fit(X, y, w)
    assert 2 < model.get_n_leaves() <= 9
    assert model.get_depth() <= 4
    leaf = model.apply(X)
    assert min(w[leaf == k].sum() for k in np.unique(leaf)) >= 40
    stingy = TreeClassifier(min_split_gain=0.02, max_leaf_nodes=None).fit(X, y).tree_
    assert np.all(stingy.nodes["gain"][stingy.feature >= 0] >= 0.02 * stingy.losses[0])


def test_best_first_gains_most_and_depth_first_goes_left(data):
    best, deep = (
        TreeClassifier(growth=growth, max_leaf_nodes=6, min_samples_leaf=30).fit(*data).tree_
        for growth in ("best", "depth")
    )
    assert best.losses[best.leaves].sum() < deep.losses[deep.leaves].sum()
    # Depth first: nothing is split to the right of a leaf that could still be split.
    assert deep.feature[2] < 0
    full = [TreeClassifier(growth=g, max_leaf_nodes=None).fit(*data).tree_.nodes for g in ("best", "depth")]
    np.testing.assert_array_equal(*full)


@pytest.mark.parametrize("smoothing", [None, 5.0, "laplace"])
@pytest.mark.parametrize("splits", ["exact", "histogram"])
def test_monotone_constraints(data, smoothing, splits):
    X, y = data
    free = TreeClassifier(max_leaf_nodes=60, min_samples_leaf=3, smoothing=smoothing, splits=splits)
    tied = clone(free).set_params(monotonic_cst={0: 1, 3: -1})
    grid = np.linspace(-3, 3, 80)
    falls = {}
    for name, model in (("free", free), ("tied", tied)):
        model.fit(X, y)
        lines = []
        for f, sign in ((0, 1), (3, -1)):
            rows = np.repeat(X[:100], len(grid), axis=0)
            rows[:, f] = np.tile(grid, 100)
            lines.append(sign * np.diff(model.predict_proba(rows)[:, 1].reshape(100, -1), axis=1))
        falls[name] = np.min(lines)
    assert falls["free"] < -0.01
    assert falls["tied"] >= 0
    assert tied.get_n_leaves() > 5


# -- several classes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["Log", "Matsushita", "CostWeighted(0.3)", simplex.PairwiseExponential()])
def test_several_classes(loss):
    X, y = load_iris(return_X_y=True)
    model = TreeClassifier(loss, min_samples_leaf=2).fit(X, np.array(["s", "c", "v"])[y])
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, np.array(["s", "c", "v"])[y]) > 0.95


def test_a_simplex_loss_for_two_classes_is_its_binary_form(data):
    a, b = (
        TreeClassifier(loss).fit(*data).decision_function(data[0]) for loss in (simplex.Brier(), "Squared")
    )
    np.testing.assert_array_equal(a, b)


def test_pickle_and_clone(data):
    model = TreeClassifier("Tailored(0.2, 10)", max_leaf_nodes=5).fit(*data)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(data[0]), again.predict_proba(data[0]))
    assert clone(model).set_params(loss__cost=0.4).loss == losses.Tailored(0.4, 10)


@pytest.mark.parametrize(("criterion", "sign"), [("highest", 1), ("lowest", -1)])
@pytest.mark.parametrize("splits", ["exact", "histogram"])
def test_one_end_of_the_probabilities(criterion, sign, splits):
    """Buja and Lee's criterion: of all allowed tests that with the most extreme side, leaf by leaf."""
    rng = np.random.default_rng(7)
    X = rng.integers(0, 30, (400, 3)).astype(float)
    y = (rng.random(400) < 0.15 + 0.6 * (X[:, 0] > 24) * (X[:, 1] > 10) + 0.1 * (X[:, 2] > 20)).astype(int)
    weight = rng.integers(1, 4, 400)
    least = 40
    model = TreeClassifier(
        criterion=criterion, splits=splits, min_samples_leaf=least, max_leaf_nodes=None, smoothing=None
    ).fit(X, y, sample_weight=weight)
    tree, inside = model.tree_, model.decision_path(X).toarray().astype(bool)

    def share(rows):
        return np.average(y[rows], weights=weight[rows])

    splits_seen = 0
    for node in np.flatnonzero(tree.feature >= 0):
        rows = inside[:, node]
        best = max(
            sign * share(side)
            for j in range(3)
            for cut in np.unique(X[rows, j])
            if min(weight[rows & (X[:, j] <= cut)].sum(), weight[rows & (X[:, j] > cut)].sum()) >= least
            for side in (rows & (X[:, j] <= cut), rows & (X[:, j] > cut))
        )
        sides = (inside[:, tree.left[node]], inside[:, tree.left[node] + 1])
        assert max(sign * share(side) for side in sides) == pytest.approx(best)
        splits_seen += 1
    assert splits_seen > 3


def test_ends_of_the_probabilities_are_for_two_classes():
    with pytest.raises(ValueError, match="criterion='highest' is for two classes, got 3 classes"):
        TreeClassifier(criterion="highest").fit(*load_iris(return_X_y=True))
