"""The picture of a tree says what the tree says."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

from propriety import TreeClassifier, plots

mpl.use("Agg")


def texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.fixture(scope="module")
def staircase():
    """Class 1 grows likelier step by step, so that a cascade peels off one step after the other."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (2_000, 2))
    y = (rng.random(2_000) < np.floor(X[:, 0]) / 5 + 0.05).astype(int)
    return X, y


def test_a_cascade_has_one_row_for_each_leaf_in_the_order_of_the_splits(staircase):
    model = TreeClassifier("CascadeDown(31)", max_leaf_nodes=5, min_samples_leaf=250).fit(*staircase)
    ax = plots.tree(model, ax=Figure((7, 4)).subplots())
    boxes = [t for t in ax.texts if "n=" in t.get_text()]
    assert len(boxes) == 9
    leaves = [t for t in boxes if "·" in t.get_text()]
    heights = [t.get_position()[1] for t in leaves]
    assert len(set(heights)) == 5
    shown = [float(t.get_text().split()[0]) for t in sorted(leaves, key=lambda t: t.get_position()[1])]
    assert shown == sorted(shown)
    arms = [t for t in texts(ax) if "x0" in t]
    assert len(arms) == 4


def test_a_tree_names_its_tests_in_the_boxes_and_colours_by_probability(staircase):
    model = TreeClassifier(max_leaf_nodes=4).fit(*staircase)
    ax = plots.tree(model, layout="tree", legend=False)
    assert sum("≤" in t for t in texts(ax)) == 3
    assert {"yes", "no"} <= set(texts(ax))
    fills = {
        t.get_text(): t.get_bbox_patch().get_facecolor() for t in ax.texts if t.get_bbox_patch() is not None
    }
    redness = sorted((float(k.split("\n")[-1].split()[0]), f[0] - f[2]) for k, f in fills.items())
    assert [r for _, r in redness] == sorted(r for _, r in redness)


def test_three_classes_and_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = TreeClassifier(max_leaf_nodes=3).fit(X, y)
    figure = Figure((8, 4), layout="constrained")
    ax = plots.tree(model, class_names=["setosa", "versicolor", "virginica"], ax=figure.subplots())
    assert any(t.startswith("setosa 0.") for t in texts(ax))
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["setosa", "versicolor", "virginica"]


def test_one_leaf():
    model = TreeClassifier().fit(np.zeros((4, 1)), [0, 0, 0, 1])
    ax = plots.tree(model, ax=Figure().subplots())
    assert texts(ax) == ["0.25  n=4 · 100%"]


def test_what_cannot_be_drawn(staircase):
    with pytest.raises(ValueError, match="TreeClassifier instance is not fitted"):
        plots.tree(TreeClassifier())
    model = TreeClassifier(max_leaf_nodes=2).fit(*staircase)
    with pytest.raises(ValueError, match="layout"):
        plots.tree(model, layout="round")
    with pytest.raises(ValueError, match="class_names"):
        plots.tree(model, class_names=["one"])
