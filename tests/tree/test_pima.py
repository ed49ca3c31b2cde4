"""The trees of [B §18] on the Pima Indians' diabetes data."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from propriety import TreeClassifier

NAMES = ["pregnant", "plasma", "pressure", "skin", "insulin", "b.mass", "pedigree", "age"]
PLACES = [
    parent / folder / "pima-indians-diabetes.data"
    for parent in Path(__file__).resolve().parents
    for folder in ("data", "shared/data")
]


@pytest.fixture(scope="module")
def pima():
    source = next((place for place in PLACES if place.exists()), None)
    if source is None:
        pytest.skip("pima-indians-diabetes.data is not in a folder 'data' here or above")
    rows = np.loadtxt(source, delimiter=",")
    rows = rows[(rows[:, 1] > 0) & (rows[:, 5] > 0)]
    assert len(rows) == 752  # as in the paper's figures
    return pd.DataFrame(rows[:, :8], columns=NAMES), rows[:, 8].astype(int)


def grow(loss, pima):
    return TreeClassifier(loss, min_samples_leaf=46, max_leaf_nodes=None, smoothing=None).fit(*pima)


def layers(model):
    """Shares of the leaves in the order in which they are peeled off, and how many lie on the way itself."""
    tree, found, alone, node = model.tree_, [], 0, 0
    inner = np.bincount(np.concatenate([tree.path(leaf) for leaf in tree.leaves]), minlength=len(tree.nodes))
    while tree.feature[node] >= 0:
        pair = [int(tree.left[node]), int(tree.left[node]) + 1]
        peeled, node = sorted(pair, key=lambda child: inner[child])
        below = [leaf for leaf in tree.leaves if peeled in tree.path(leaf)]
        alone += len(below) == 1
        found.append(tree.sums[below].sum(axis=0))
    shares = np.array([s[1] / s.sum() for s in [*found, tree.sums[node]]])
    return shares, alone / len(found)


def test_the_cascade_from_above_peels_off_the_highest_probabilities(pima):
    model = grow("CascadeUp(16)", pima)
    first = model.rules()[-1]
    assert str(first) == "plasma > 166.5"  # the paper's initial leaf, "plasma > 166", q = 0.86
    assert first.probabilities[1] == pytest.approx(0.86, abs=0.005)
    shares, alone = layers(model)
    assert alone > 0.8
    assert spearmanr(shares[:-1], np.arange(len(shares) - 1)).statistic < -0.95
    assert shares[0] == shares.max()


def test_the_cascade_from_below_peels_off_the_lowest_probabilities(pima):
    model = grow("CascadeDown(31)", pima)
    shares, alone = layers(model)
    assert alone > 0.8
    assert spearmanr(shares[:-1], np.arange(len(shares) - 1)).statistic > 0.95
    assert shares[0] == shares.min() == 0
    # The highest leaf: ten tests deep, four conditions, nearly the paper's.
    best = max(model.rules(), key=lambda rule: rule.probabilities[1])
    assert len(model.tree_.path(best.node)) - 1 == 10
    assert {str(c) for c in best.conditions} == {
        "plasma > 155.5",
        "pedigree > 0.31",
        "b.mass > 28.85",
        "age > 24.5",
    }
    assert best.probabilities[1] == pytest.approx(0.91, abs=0.01)


def test_the_gini_tree_is_balanced_and_no_cascade(pima):
    model = grow("Squared", pima)
    assert str(model.rules()[0].conditions[0]).startswith("plasma ≤")
    assert layers(model)[1] < 0.8
    assert model.get_depth() < grow("CascadeUp(16)", pima).get_depth()
