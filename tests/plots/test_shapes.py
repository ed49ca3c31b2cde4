import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from propriety import BoostingClassifier, plots
from propriety.boosting import Algorithm

mpl.use("Agg")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, 300),
            "dose": np.where(rng.random(300) < 0.1, np.nan, rng.exponential(size=300)),
            "site": pd.Categorical(rng.choice(list("abc"), 300)),
        }
    )
    return X, (X["age"] > 52) ^ (rng.random(300) < 0.2)


def test_curves_are_drawn_as_they_are(frame):
    X, y = frame
    model = BoostingClassifier(algorithm="additive", max_iter=20).fit(X, y)
    shapes = model.shape_functions()
    fig = plots.shape_functions(model, features=["dose", "age", "site"], fig=Figure())
    axes = {ax.get_label(): ax for ax in fig.axes}
    assert list(axes) == ["dose", "dose density", "age", "age density", "site", "site density"]
    stairs = axes["age"].patches[0].get_data()
    np.testing.assert_array_equal(stairs.values, shapes["age"].values[:-1])
    assert stairs.edges[0] == X["age"].min()
    assert stairs.edges[-1] == X["age"].max()
    assert axes["age density"].get_xlabel() == "age"
    density = axes["dose density"].patches[0].get_data()
    assert np.sum(density.values * np.diff(density.edges)) == pytest.approx(X["dose"].notna().sum())
    assert [t.get_text() for t in axes["dose"].get_legend().get_texts()] == ["missing"]
    assert axes["age"].get_legend() is None
    np.testing.assert_array_equal(axes["site"].lines[1].get_ydata(), shapes["site"].values[:-1])
    assert [t.get_text() for t in axes["site density"].get_xticklabels()] == ["a", "b", "c"]


def test_pairs_and_classes(frame):
    X, y = frame
    model = BoostingClassifier(interaction_cst="pairwise", max_leaf_nodes=4, max_iter=20).fit(X, y)
    fig = plots.shape_functions(model.shape_functions(), surfaces=1, fig=Figure())
    strongest = max(model.shape_functions().surfaces, key=lambda s: s.importance)
    assert " × ".join(a.name for a in strongest.axes) in [ax.get_label() for ax in fig.axes]
    several = BoostingClassifier(algorithm=Algorithm(weak_learner="stump"), max_iter=5).fit(
        X, y + 1 * (X["site"] == "a")
    )
    ax = plots.shape_functions(several, features=["age"], fig=Figure()).axes[0]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["0", "1", "2"]
