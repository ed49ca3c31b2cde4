"""Pruning: the path against all subtrees, the price against scikit-learn's, the choice against its rule."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from propriety import TreeClassifier, losses
from propriety.tree.pruning import PruningPath, collapse_prices


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 4)).astype(np.float32)
    return X, (rng.random(600) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))).astype(int)


def subtrees(left, node=0):
    """Leaves of every subtree that has the root."""
    yield [node]
    if left[node] >= 0:
        for a in subtrees(left, left[node]):
            for b in subtrees(left, left[node] + 1):
                yield a + b


def test_every_subtree_on_the_path_is_the_cheapest_of_all():
    rng = np.random.default_rng(0)
    for seed in range(4):
        X, y = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
        model = TreeClassifier("Log", max_leaf_nodes=8, min_samples_leaf=3).fit(X, y + 0 * seed)
        tree = model.tree_
        every = [(tree.losses[leaves].sum() / tree.losses[0], len(leaves)) for leaves in subtrees(tree.left)]
        for alpha in np.append(model.pruning_path_.alphas, model.pruning_path_.alphas[1:] * 0.999):
            small = tree.pruned(alpha)
            own = small.losses[small.leaves].sum() / tree.losses[0] + alpha * len(small.leaves)
            assert own == pytest.approx(min(loss + alpha * n for loss, n in every), rel=1e-9)
            cheapest = [n for loss, n in every if loss + alpha * n <= own + 1e-9]
            assert len(small.leaves) == min(cheapest)


def test_the_prices_are_scikit_learns_as_shares_of_the_root(data):
    X, y = data
    path = DecisionTreeClassifier(max_leaf_nodes=15, random_state=0).cost_complexity_pruning_path(X, y)
    ours = TreeClassifier("Squared", max_leaf_nodes=15, min_samples_leaf=1)
    alphas = ours.cost_complexity_pruning_path(X, y).alphas
    gini = 2 * y.mean() * (1 - y.mean())
    np.testing.assert_allclose(alphas, np.unique(path.ccp_alphas) / gini, atol=1e-12)


def test_a_path_without_splits_and_one_without_loss():
    assert collapse_prices(np.array([-1]), np.array([3.0])).tolist() == [np.inf]
    assert collapse_prices(np.array([1, -1, -1]), np.zeros(3)).tolist() == [0.0, np.inf, np.inf]


def test_pruned_models_are_nested_and_fit_at_once(data):
    X, y = data
    full = TreeClassifier("Log", min_samples_leaf=5).fit(X, y)
    for alpha in full.pruning_path_.alphas[[3, 8, -1]]:
        later = full.pruned(alpha)
        at_once = TreeClassifier("Log", min_samples_leaf=5, ccp_alpha=alpha).fit(X, y)
        np.testing.assert_array_equal(later.predict_proba(X), at_once.predict_proba(X))
        position = np.searchsorted(full.pruning_path_.alphas, alpha)
        assert later.get_n_leaves() == full.pruning_path_.n_leaves[position]
    assert full.get_n_leaves() == 31


def test_categories_survive_pruning():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (400, 2)).astype(float)
    y = (rng.random(400) < np.where(X[:, 0] % 2, 0.9, 0.1 + 0.2 * (X[:, 1] > 4))).astype(int)
    full = TreeClassifier(categorical_features=[0, 1], min_samples_leaf=5).fit(X, y)
    small = full.pruned(0.05)
    assert full.get_n_leaves() > small.get_n_leaves() == 2
    np.testing.assert_array_equal(small.predict(X), (X[:, 0] % 2).astype(int))


def test_the_rule_of_one_standard_error():
    cv = np.array([0.50, 0.40, 0.41, 0.43, 0.70])
    path = PruningPath(np.arange(5.0), np.arange(5, 0, -1), np.zeros(5), cv, np.full(5, 0.02))
    assert path.choose("min") == 1
    assert path.choose("one_se") == 2
    hopeless = PruningPath(
        np.arange(2.0), np.array([2, 1]), np.zeros(2), np.array([np.inf, 0.7]), np.array([np.inf, 0.1])
    )
    assert hopeless.choose("one_se") == 1


@pytest.mark.parametrize("loss", ["Log()", "CostWeighted(0.2)"])
def test_held_out_losses_are_those_of_the_pruned_models(data, loss):
    X, y = data
    folds = KFold(3)
    model = TreeClassifier(loss, ccp_alpha="min", cv=folds, max_leaf_nodes=10).fit(X, y)
    path = model.pruning_path_
    assert path.alphas[np.argmin(path.cv_losses)] == model.ccp_alpha_
    assert model.get_n_leaves() == path.n_leaves[np.argmin(path.cv_losses)]
    i = len(path.alphas) // 2
    between = np.sqrt(path.alphas[i] * path.alphas[i + 1])
    held_out = np.empty(len(y))
    for train, test in folds.split(X):
        # "auto" depends on the number of rows, so the leaf's least weight is given.
        part = TreeClassifier(loss, max_leaf_nodes=10, min_samples_leaf=20, ccp_alpha=between)
        p = part.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        held_out[test] = losses.parse(loss).loss(y[test].astype(float), p)
    assert path.cv_losses[i] == pytest.approx(held_out.mean(), rel=1e-9)
    assert path.cv_errors[i] == pytest.approx(held_out.std(ddof=1) / np.sqrt(len(y)), rel=1e-6)
    assert "held out" in str(path)


def test_noise_is_pruned_away_and_signal_is_not(data):
    X, y = data
    noise = np.random.default_rng(0).integers(0, 2, len(y))
    assert TreeClassifier(ccp_alpha="one_se", random_state=0).fit(X, noise).get_n_leaves() == 1
    signal = TreeClassifier(ccp_alpha="one_se", random_state=0).fit(X, y)
    assert 2 <= signal.get_n_leaves() < 20
    again = TreeClassifier(ccp_alpha="one_se", random_state=0, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(signal.pruning_path_.cv_losses, again.pruning_path_.cv_losses)
