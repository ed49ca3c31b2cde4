"""Displays: scikit-learn's conventions, and that what is drawn is what was computed."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from propriety import evaluation, plots

mpl.use("Agg")
CURVES = [
    plots.MurphyDisplay,
    plots.ReliabilityDisplay,
    plots.DecompositionDisplay,
    plots.CostCurveDisplay,
    plots.DecisionCurveDisplay,
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.where(X[:, 0] + rng.normal(size=150) > 0.5, "yes", "no")
    return X, y, LogisticRegression().fit(X, y), GaussianNB().fit(X, y)


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    pyplot.close("all")


def quick(display):
    return {"n_resamples": 20} if display is plots.ReliabilityDisplay else {}


@pytest.mark.parametrize("display", CURVES)
def test_conventions(display, data, ax):
    X, y, model, _ = data
    shown = display.from_estimator(model, X, y, ax=ax, **quick(display))
    assert isinstance(shown, display)
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert any("LogisticRegression" in t.get_text() for t in ax.get_legend().get_texts())
    p = model.predict_proba(X)
    same = display.from_predictions(y, p, ax=Figure().subplots(), **quick(display))
    for one, two in zip(shown.ax_.lines, same.ax_.lines, strict=True):
        np.testing.assert_allclose(np.ravel(one.get_ydata()), np.ravel(two.get_ydata()))
    again = shown.plot()  # on a new figure of pyplot
    assert again is shown
    assert again.ax_ is not ax
    assert again.figure_ is pyplot.gcf()


@pytest.mark.parametrize("display", CURVES)
def test_class_one_is_named_by_pos_label(display, data, ax):
    X, y, model, _ = data
    shown = display.from_estimator(model, X, y, pos_label="no", ax=ax, **quick(display))
    p = model.predict_proba(X)[:, 0]
    same = display.from_predictions(y, p, pos_label="no", ax=Figure().subplots(), **quick(display))
    for one, two in zip(shown.ax_.lines, same.ax_.lines, strict=True):
        np.testing.assert_allclose(np.ravel(one.get_ydata()), np.ravel(two.get_ydata()))
    with pytest.raises(ValueError, match="is not one of the classes"):
        display.from_estimator(model, X, y, pos_label="maybe")


@pytest.mark.parametrize("display", CURVES)
def test_bad_estimators_are_named(display, data):
    X, y, _, _ = data
    with pytest.raises(NotFittedError, match="LogisticRegression instance is not fitted"):
        display.from_estimator(LogisticRegression(), X, y)
    with pytest.raises(TypeError, match="no predict_proba"):
        display.from_estimator(LinearSVC().fit(X, y), X, y)
    three = GaussianNB().fit(X, np.arange(150) % 3)
    with pytest.raises(ValueError, match="two classes"):
        display.from_estimator(three, X, np.arange(150) % 3)


@pytest.mark.parametrize("display", [d for d in CURVES if d is not plots.DecompositionDisplay])
def test_a_second_model_joins_with_its_own_colour(display, data, ax):
    X, y, one, two = data
    first = display.from_estimator(one, X, y, ax=ax, **quick(display))
    second = display.from_estimator(two, X, y, name="Bayes", ax=first.ax_, **quick(display))
    assert second.ax_ is ax
    assert to_hex(first.line_.get_color()) != to_hex(second.line_.get_color())
    assert first.line_.get_linestyle() != second.line_.get_linestyle()
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    assert len(texts) == len(set(texts))
    assert any("Bayes" in text for text in texts)
    given = display.from_estimator(one, X, y, ax=ax, color="red", linewidth=3, **quick(display))
    assert given.line_.get_color() == "red"
    assert given.line_.get_linewidth() == 3


def test_murphy_draws_the_exact_curve_and_its_band(data, ax):
    X, y, model, other = data
    shown = plots.MurphyDisplay.from_estimator(model, X, y, band="simultaneous", recalibrated=True, ax=ax)
    c, value = shown.line_.get_data()
    inside = slice(1, None, 2)  # right ends of pieces, where the curve is continuous from the left
    np.testing.assert_allclose(shown.curve(c[inside]), value[inside], atol=1e-14)
    least = ax.lines[-1]  # of the recalibrated probabilities
    assert np.interp(0.55, *least.get_data()) <= shown.curve(0.55) + 1e-12
    wide = shown.band_.get_paths()[0].get_extents().height
    narrow = shown.plot(Figure().subplots()).band_.get_paths()[0].get_extents().height
    assert wide == narrow
    point = plots.MurphyDisplay(shown.curve, band="pointwise").plot(Figure().subplots())
    assert point.band_.get_paths()[0].get_extents().height < wide
    difference = plots.MurphyDisplay.from_estimator(model, X, y, other=other, ax=Figure().subplots())
    assert "difference" in difference.ax_.get_ylabel()
    assert difference.name == "LogisticRegression − GaussianNB"
    with pytest.raises(ValueError, match="band must be"):
        plots.MurphyDisplay(shown.curve, band="wide")


def test_murphy_of_one_row_has_no_band(ax):
    shown = plots.MurphyDisplay.from_predictions([1], [0.3], ax=ax)
    assert shown.band_ is None


def test_reliability_shows_curve_band_histogram_and_parts(data, ax):
    X, y, model, other = data
    shown = plots.ReliabilityDisplay.from_estimator(model, X, y, loss="Squared", n_resamples=20, ax=ax)
    np.testing.assert_array_equal(shown.line_.get_ydata(), shown.reliability.curve.rate)
    assert len(shown.bars_) == 25
    parts = evaluation.decomposition(y, model.predict_proba(X), "Squared")
    assert f"{parts.miscalibration:.2g} MCB" in ax.get_title(loc="left")
    plots.ReliabilityDisplay.from_estimator(other, X, y, n_resamples=20, ax=ax)
    assert ax.get_title(loc="left") == ""
    bare = plots.ReliabilityDisplay(shown.reliability).plot(Figure().subplots(), histogram=False)
    assert not bare.ax_.patches


def test_decomposition_of_several_models(data, ax):
    X, y, one, two = data
    shown = plots.DecompositionDisplay.from_estimator({"A": one, "B": two}, X, y, loss="Squared", ax=ax)
    for point, part in zip(shown.points_, shown.parts.values(), strict=True):
        assert point.get_xdata()[0] == part.miscalibration
        assert point.get_ydata()[0] == part.discrimination
    # A line of equal loss through a point would have its score: DSC = MCB + UNC − score.
    part = shown.parts["A"]
    assert part.miscalibration + part.uncertainty - part.score == pytest.approx(part.discrimination)
    with pytest.raises(ValueError, match="one loss"):
        plots.DecompositionDisplay({"A": part, "B": evaluation.decomposition(y, one.predict_proba(X), "Log")})
    with pytest.raises(ValueError, match="one or more"):
        plots.DecompositionDisplay.from_estimator({}, X, y)


def test_cost_curve_draws_the_steps(data, ax):
    X, y, model, _ = data
    shown = plots.CostCurveDisplay.from_estimator(model, X, y, fp_cost=1, fn_cost=4, unit="€", ax=ax)
    t, cost = shown.line_.get_data()
    middle = (t[::2] + t[1::2]) / 2
    np.testing.assert_allclose(cost[::2], shown.curve(middle))
    assert shown.point_.get_ydata()[0] == shown.curve.best.cost
    assert ax.get_ylabel() == "mean cost a decision (€)"


def test_decision_curve_draws_net_benefit(data, ax):
    X, y, model, _ = data
    shown = plots.DecisionCurveDisplay.from_estimator(model, X, y, high=0.8, ax=ax)
    c, value = shown.line_.get_data()
    assert np.all(np.diff(c) >= 0)
    middle = (c[1:] + c[:-1])[np.diff(c) > 0] / 2
    np.testing.assert_allclose(np.interp(middle, c, value), shown.curve(middle), atol=1e-4)
    few = plots.DecisionCurveDisplay.from_predictions([0, 1], [0.4, 0.8], ax=Figure().subplots())
    everyone, _, line = few.ax_.lines
    inside = np.linspace(0.01, 0.39, 20)  # where the model decides class 1 for everyone
    np.testing.assert_allclose(np.interp(inside, *line.get_data()), np.interp(inside, *everyone.get_data()))
    labels = [line.get_label() for line in ax.lines]
    assert labels[:2] == ["everyone", "no one"]


def test_critical_differences(ax):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20, 5)) + np.arange(5)
    shown = plots.CriticalDifferenceDisplay.from_scores(scores, list("abcde"), ax=ax)
    groups = shown.comparison.cliques(0.05)
    assert len(shown.bars_) == len(groups)
    for bar, group in zip(shown.bars_, groups, strict=True):
        ranks = shown.comparison.average_ranks[list(group)]
        assert bar.get_xdata()[0] <= ranks.min()
        assert bar.get_xdata()[1] >= ranks.max()
    texts = " ".join(t.get_text() for t in ax.texts)
    for m, name in enumerate("abcde"):
        assert f"{shown.comparison.average_ranks[m]:.2f}" in texts
        assert name in texts
    assert "1 is best" in texts


def test_traces(ax):
    rng = np.random.default_rng(0)
    shown = plots.QQDisplay.from_samples(
        rng.normal(size=50), rng.normal(size=50), names=("A", "B"), n_permutations=30, title="c = 0.9", ax=ax
    )
    np.testing.assert_array_equal(shown.line_.get_xdata(), shown.trace.x)
    assert len(shown.null_.get_segments()) == 30
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("A", "B", "c = 0.9")
