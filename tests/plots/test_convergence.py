import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from propriety import plots
from propriety.linear import LinearClassifier

mpl.use("Agg")


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = (X[:, 0] + rng.standard_normal(200) > 0).astype(int)
    fits = [LinearClassifier(solver=s, tol=1e-7).fit(X, y) for s in ("fisher", "lbfgs", "gis")]
    return [*fits, LinearClassifier("Exponential").fit(X, y)]


def draw(*models, **kwargs):
    return plots.convergence(*models, ax=Figure().subplots(), **kwargs)


def test_lines_are_the_traces_above_their_ends(models):
    ax = draw(*models)
    for line, model in zip(ax.lines, models, strict=True):
        expected = model.trace_ - model.trace_[-1]
        np.testing.assert_array_equal(line.get_xdata(), np.arange(len(model.trace_)))
        np.testing.assert_array_equal(line.get_ydata(), np.where(expected > 0, expected, np.nan))
    assert ax.get_yscale() == "log"
    assert ax.get_xlabel() == "iteration"
    assert ax.get_ylabel() == "objective above its final value"


def test_a_common_minimum_compares_models(models):
    least = models[0].trace_.min()
    ax = draw(models[0], models[2], minimum=least - 1e-3)
    np.testing.assert_allclose(ax.lines[1].get_ydata()[-1], models[2].trace_[-1] - least + 1e-3, rtol=1e-9)
    assert "minimum" in ax.get_ylabel()
    with pytest.raises(ValueError, match="at most the least value"):
        draw(models[0], minimum=1.0)


def test_few_iterations_are_marked_and_many_on_a_logarithmic_axis(models):
    assert draw(models[0]).get_xscale() == "linear"
    assert draw(models[0]).lines[0].get_marker() == "o"
    assert len(models[2].trace_) > 100
    assert draw(models[2]).get_xscale() == "symlog"
    assert draw(models[2]).lines[0].get_marker() == "None"


def test_the_legend_says_what_differs(models):
    fisher, lbfgs, _, exponential = models
    for drawn, expected in (
        ((fisher, lbfgs), ["fisher", "lbfgs"]),
        ((fisher, exponential), ["Log()", "Exponential()"]),
        ((lbfgs, exponential), ["lbfgs, Log()", "fisher, Exponential()"]),
    ):
        ax = draw(*drawn)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == expected
    assert draw(fisher, labels=["mine"]).lines[0].get_label() == "mine"


def test_lines_differ_in_colour_and_dashes(models):
    lines = draw(*models).lines
    assert len({line.get_color() for line in lines}) == 4
    assert len({line.get_linestyle() for line in lines}) == 4
    assert [line.get_color() for line in draw(*models[:2], colors=["k", "r"]).lines] == ["k", "r"]


def test_a_fit_that_began_at_its_end_is_drawn(models):
    still = LinearClassifier().fit(np.zeros((4, 1)), [0, 1, 0, 1])
    assert len(draw(still).lines) == 1


def test_a_new_figure_is_pyplots(models):
    from matplotlib import pyplot

    ax = plots.convergence(models[:2])
    assert ax.figure is pyplot.gcf()
    pyplot.close(ax.figure)


def test_bad_input_is_said(models):
    with pytest.raises(TypeError, match="needs a fitted model"):
        plots.convergence()
    with pytest.raises(ValueError, match="give a fitted LinearClassifier"):
        plots.convergence(LinearClassifier())
    with pytest.raises(ValueError, match="labels must be a list"):
        draw(*models, labels="abcd")


def test_losses_of_several_classes_are_told_apart_by_their_text():
    X, y = np.arange(24.0)[:, None] % 7, np.arange(24) % 3
    models = [LinearClassifier(loss, alpha=0.1).fit(X, y) for loss in ("Log", "Squared")]
    labels = [text.get_text() for text in plots.convergence(models).get_legend().get_texts()]
    assert labels == ["simplex.Log()", "simplex.Brier()"]
