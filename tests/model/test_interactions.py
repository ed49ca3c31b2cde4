"""Interaction values of trees and forests, on the scale of the probability."""

from itertools import combinations

import numpy as np
import pytest

from propriety import ForestClassifier, TreeClassifier

MODELS = [
    TreeClassifier(min_samples_leaf=4, categorical_features=[1]),
    ForestClassifier(n_estimators=3, random_state=0, categorical_features=[1]),
]


def table(n_classes):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=120), rng.integers(4, size=120), rng.normal(size=120)])
    score = X[:, 0] + np.where(X[:, 1] % 2, 2, X[:, 2]) + rng.normal(size=120) / 3
    return X, np.digitize(score, [1.0, 2.0][: n_classes - 1])


def others(X):
    """Rows with values that are missing, and categories that were not in training."""
    Z = X[:24].copy()
    Z[::4, 1], Z[::7, 0] = 9, np.nan
    return Z


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_they_add_up_to_the_probability_beyond_its_mean(model, n_classes):
    X, y = table(n_classes)
    Z = others(X)
    pairs = model.fit(X, y).predict_interactions(Z)
    P = model.predict_proba(Z)[:, 1] if n_classes == 2 else model.predict_proba(Z)
    assert pairs.shape == (*P.shape, 3, 3)
    np.testing.assert_allclose(pairs, np.swapaxes(pairs, -1, -2), atol=1e-12)
    means = P - pairs.sum(axis=(-2, -1))
    np.testing.assert_allclose(means, np.broadcast_to(means[:1], means.shape), atol=1e-12)
    assert np.abs(pairs[..., 1, 2]).max() > 0.01


def worth(model, known, x):
    """The mean probability of a row of which some columns are known, over a tree, by the definition."""
    tree, P = model.tree_, model.node_probabilities_[:, 1]

    def mean(node):
        f, left = tree.feature[node], tree.left[node]
        if f < 0:
            return P[node]
        share = tree.weight[left] / tree.weight[node]
        if f in known and not (f == 1 and x[1] not in range(4)):
            if f == 1:
                share = float(x[1] in tree.left_bins(node))
            else:
                missing = float(tree.nodes["missing_left"][node])
                share = missing if np.isnan(x[f]) else float(x[f] <= tree.nodes["threshold"][node])
        return share * mean(left) + (1 - share) * mean(left + 1)

    return mean(0)


def test_they_are_those_of_the_definition():
    X, y = table(2)
    model = MODELS[0].fit(X, y)
    by_set = model.tree_.nodes["set"] >= 0
    assert by_set.any()
    assert not np.any(model.tree_.missing_seen[by_set])
    Z = others(X)
    pairs = model.predict_interactions(Z)
    for i, x in enumerate(Z):
        for a, b in combinations(range(3), 2):
            (rest,) = {0, 1, 2} - {a, b}
            # Without and with the third feature, 1/2 each; and each of the pair has half.
            expected = sum(
                worth(model, {*s, a, b}, x)
                - worth(model, {*s, a}, x)
                - worth(model, {*s, b}, x)
                + worth(model, set(s), x)
                for s in ((), (rest,))
            )
            assert pairs[i, a, b] == pytest.approx(expected / 4, abs=1e-12)
