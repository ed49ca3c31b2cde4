"""Trees and categories that were not in training."""

import numpy as np
import pandas as pd
import pytest
from tests.inside import read_by

import propriety
from propriety import TreeClassifier


def table(n, levels, seed, missing=0.0):
    """Two kinds of levels of strong effect, and a useful number."""
    rng = np.random.default_rng(seed)
    level, x = rng.integers(levels, size=n), rng.normal(size=n)
    score = np.where(level % 3 == 0, -2.0, 1.0) + x
    names = pd.Series([f"L{k}" for k in level])
    names[rng.random(n) < missing] = None
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return pd.DataFrame({"level": pd.Categorical(names), "x": x}), y


@pytest.fixture(scope="module")
def model():
    return TreeClassifier(min_samples_leaf=20).fit(*table(1500, 12, 0))


def new_rows(n=400, seed=1):
    X, y = table(n, 12, seed)
    return X.assign(level=pd.Categorical([f"new{i}" for i in range(n)])), y


def log_loss(model, X, y):
    p = model.predict_proba(X)
    return -np.mean(np.log(p[np.arange(len(y)), y]))


def test_an_unseen_category_is_no_worse_than_no_column(model):
    X, y = table(1500, 12, 0)
    without = TreeClassifier(min_samples_leaf=20).fit(X[["x"]], y)
    new, labels = new_rows()
    known = table(400, 12, 1)
    assert log_loss(model, *known) < log_loss(without, known[0][["x"]], known[1]) - 0.05
    assert log_loss(model, new, labels) < log_loss(without, new[["x"]], labels) + 0.01


@pytest.mark.parametrize("smoothing", [None, 1.0])
def test_at_a_split_of_categories_it_gets_the_mean_of_both_sides(smoothing):
    X, y = table(900, 6, 2)
    model = TreeClassifier(max_leaf_nodes=2, smoothing=smoothing).fit(X[["level"]], y)
    P, weight = model.node_probabilities_, model.tree_.weight
    expected = (weight[1] * P[1] + weight[2] * P[2]) / weight[0]
    found = model.predict_proba(new_rows(1)[0][["level"]])
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    if smoothing is None:  # then the mean is that of the node
        np.testing.assert_allclose(found[0], P[0], rtol=1e-12)


def test_without_training_rows_that_are_missing_nothing_else_is_unseen(model):
    X, _ = table(50, 12, 3)
    reached = model._reached(read_by(model, X))
    assert len(reached.rows) == 0
    np.testing.assert_array_equal(model.predict_proba(X), model.node_probabilities_[model.apply(X)])


def test_missing_values_in_training_decide():
    X, y = table(1500, 6, 4, missing=0.2)
    y[X["level"].isna()] = 1
    model = TreeClassifier(min_samples_leaf=20).fit(X, y)
    missing = X.assign(level=pd.Categorical([None] * len(X), categories=X["level"].cat.categories))[:50]
    new = missing.assign(level=pd.Categorical(["new"] * 50))
    assert model.predict_proba(new)[:, 1].min() > 0.8
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(missing))


def test_contributions_words_and_scores_agree_with_the_probabilities(model):
    new, _ = new_rows(60)
    scores = model.decision_function(new)
    np.testing.assert_allclose(model.loss_.inverse(scores), model.predict_proba(new)[:, 1], atol=1e-12)
    parts = model.contributions(new)
    np.testing.assert_allclose(parts.sum(axis=-1).ravel(), scores, atol=1e-12)
    known, _ = table(60, 12, 1)
    of_level = [np.abs(model.contributions(X).reshape(60, -1)[:, 0]).mean() for X in (new, known)]
    assert of_level[0] < 0.2 * of_level[1]
    assert all(len(rules) > 1 for rules in model.words(new))
    assert all(len(rules) == 1 for rules in model.words(known))


def test_a_file_gives_the_same(model, tmp_path):
    new, _ = new_rows(40)
    model.save(tmp_path / "tree.propriety")
    again = propriety.load(tmp_path / "tree.propriety")
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))


def test_pruning_by_folds_sees_levels_that_a_fold_lacks():
    X, y = table(300, 60, 5)  # about five rows a level
    model = TreeClassifier(ccp_alpha="min", cv=3, min_samples_leaf=10, random_state=0).fit(X, y)
    assert np.isfinite(model.pruning_path_.cv_losses).all()
