import os
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from propriety import losses, plots

mpl.use("Agg")

PANELS = [
    "weight",
    "entropy",
    "partial losses",
    "link",
    "margin loss",
    "example weight",
    "regularization strength",
]


def draw(*args, **kwargs):
    fig = plots.loss_faces(*args, fig=Figure(layout="constrained"), **kwargs)
    return {ax.get_label(): ax for ax in fig.axes}


def curves(ax):
    """Lines of the losses: those without a name of their own."""
    return [line for line in ax.lines if line.get_label().startswith("_") and len(line.get_xdata()) > 2]


def legend_texts(axes):
    return [text.get_text() for text in axes["legend"].get_legend().get_texts()]


def test_a_smooth_loss_has_every_panel_with_labelled_axes():
    axes = draw(losses.Log())
    assert list(axes) == [*PANELS, "legend"]
    for name in PANELS:
        assert axes[name].get_xlabel()
        assert axes[name].get_ylabel()
        assert axes[name].get_title()


@pytest.mark.parametrize("name", losses.names())
def test_lines_carry_the_numbers_of_the_loss(name):
    for loss in losses.examples(name):
        axes = draw(loss)
        p = curves(axes["entropy"])[0].get_xdata()
        expected = {"entropy": [loss.entropy(p)], "partial losses": [loss.loss(1, p), loss.loss(0, p)]}
        if isinstance(loss, losses.SmoothLoss):
            c = loss.composite()
            v = curves(axes["margin loss"])[0].get_xdata()
            expected |= {"weight": [loss.weight(p)], "link": [c.link(p)]}
            expected |= {"regularization strength": [c.regularization_strength(v)]}
            if c.has_margin_form:
                expected |= {"margin loss": [c.margin_loss(v)], "example weight": [c.example_weight(v)]}
            else:
                expected["margin loss"] = [c.value(1, v), c.value(0, -v)]
                expected["example weight"] = [-c.gradient(1, v), c.gradient(0, -v)]
        assert set(axes) == {*expected, "legend"}
        for panel, values in expected.items():
            lines = [line for line in curves(axes[panel]) if len(line.get_xdata()) == len(p)]
            assert len(lines) == len(values), panel
            for line, value in zip(lines, values, strict=True):
                np.testing.assert_array_equal(line.get_ydata(), value)


def test_the_margin_panel_has_the_zero_one_step():
    ax = draw("Log")["margin loss"]
    (step,) = [line for line in ax.lines if line.get_label() == "0/1 step"]
    assert list(step.get_ydata()) == [1, 1, 0, 0]
    assert list(step.get_xdata())[1:3] == [0, 0]


def test_the_step_is_rescaled_in_view_of_a_small_loss_and_says_so():
    axes = draw(1e-6 * losses.Log())
    step = axes["margin loss"].lines[-1]
    assert step.get_label().startswith("0/1 step × ")
    assert max(step.get_ydata()) < axes["margin loss"].get_ylim()[1]
    assert step.get_label() in legend_texts(axes)


def test_several_losses_share_the_panels_and_one_legend():
    given = [losses.Log(), "Exponential", "Tailored(0.3, 20)", losses.Squared().with_link("Probit")]
    axes = draw(*given)
    assert len(curves(axes["weight"])) == 4
    assert len(curves(axes["partial losses"])) == 8
    assert len(curves(axes["margin loss"])) == 5  # Tailored has no margin form: one curve a label
    names = ["Log()", "Exponential()", "Tailored(0.3, 20)", "Squared().with_link(Probit())"]
    assert legend_texts(axes)[:4] == names
    assert sum(ax.get_legend() is not None for ax in axes.values()) == 1
    assert len({line.get_color() for line in curves(axes["weight"])}) == 4


def test_more_losses_than_colours_are_still_told_apart():
    axes = draw(*(losses.Tailored(0.3, k) for k in range(1, 12)))
    assert len({line.get_color() for line in curves(axes["weight"])}) == 11


def test_a_loss_without_a_weight_function_keeps_the_panels_it_has_a_face_for():
    axes = draw(losses.CostWeighted(0.1))
    assert list(axes) == ["entropy", "partial losses", "legend"]
    assert legend_texts(axes)[0] == "CostWeighted(0.1): no weight function"


def test_a_loss_without_a_weight_function_beside_one_that_has_it():
    axes = draw("CostWeighted(0.1)", "Log")
    assert list(axes) == [*PANELS, "legend"]
    assert len(curves(axes["weight"])) == 1
    assert len(curves(axes["entropy"])) == 2


@pytest.mark.parametrize(
    "loss",
    [
        2 * losses.Log() + losses.Tailored(0.1, 20),
        losses.Log() + losses.CostWeighted(0.2),
        losses.from_weight(lambda p, q: 1 + p * q),
        losses.from_margin_loss(lambda v: np.exp(-v)),
        losses.Squared().with_link(losses.Squared().canonical_link),
        losses.Log().with_link("CLogLog"),
        losses.Log().tilted(positive=9),
        losses.Tailored(0.3, 1e5),
        losses.from_weight(lambda p: np.where(p < 1e-4, 1.0, 0.0)),
    ],
    ids=[
        "mixture",
        "with a point mass",
        "weight",
        "margin loss",
        "bounded link",
        "asymmetric link",
        "tilted",
        "underflow",
        "corner",
    ],
)
def test_any_member_of_the_algebra_can_be_drawn(loss):
    fig = plots.loss_faces(loss, fig=Figure(layout="constrained"))
    fig.canvas.draw()
    assert len(fig.axes) >= 3


def test_normalized_losses_have_largest_entropy_one():
    axes = draw("Tailored(0.1, 20)", 7 * losses.Log(), "CostWeighted(0.2)", normalize=True)
    assert [np.max(line.get_ydata()) for line in curves(axes["entropy"])] == pytest.approx(
        [1, 1, 1], rel=1e-3
    )
    assert legend_texts(axes)[1] == "7 * Log()"


def test_what_underflows_cannot_be_normalized():
    with pytest.raises(ValueError, match="cannot be normalized: its largest entropy is 0"):
        draw(losses.Tailored(0.3, 1e5), normalize=True)


def test_scores_beyond_the_range_of_doubles_leave_a_figure():
    fig = plots.loss_faces("Exponential", "Log", "Squared", margin=1000, fig=Figure(layout="constrained"))
    fig.canvas.draw()
    assert np.isfinite([ax.get_ylim() for ax in fig.axes]).all()


def test_weights_over_decades_are_drawn_on_a_logarithmic_axis():
    assert draw("Log")["weight"].get_yscale() == "log"
    assert draw("Squared")["weight"].get_yscale() == "linear"


def test_labels_colours_and_margin_can_be_chosen():
    axes = draw("Log", "Squared", labels=["a", "b"], colors=["red", "blue"], margin=2)
    assert legend_texts(axes)[:2] == ["a", "b"]
    assert [line.get_color() for line in curves(axes["entropy"])] == ["red", "blue"]
    assert axes["margin loss"].get_xlim() == (-2, 2)


def test_without_a_figure_a_new_one_of_pyplot_is_made():
    from matplotlib import pyplot

    fig = plots.loss_faces("Log")
    try:
        assert isinstance(fig, Figure)
        assert fig.number in pyplot.get_fignums()
    finally:
        pyplot.close(fig)


def test_it_draws_into_a_subfigure():
    outer = Figure(figsize=(14, 7), layout="constrained")
    left, right = outer.subfigures(1, 2)
    assert plots.loss_faces("Log", fig=left) is left
    assert len(left.axes) == 8
    assert not right.axes


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((), {}, TypeError, "needs a loss"),
        ((3,), {}, TypeError, "must be a proper loss"),
        (("Logit",), {}, TypeError, "must be a proper loss"),
        (("Hinge",), {}, ValueError, "not a proper loss"),
        (("Lgo",), {}, ValueError, "did you mean 'Log'"),
        (
            ("Log",),
            {"labels": ["a", "b"]},
            ValueError,
            "labels must be a list with one entry for each of the 1",
        ),
        (("Log",), {"labels": "a"}, ValueError, "labels must be a list"),
        (("Log",), {"colors": []}, ValueError, "colors must be a list"),
        (("Log",), {"margin": 0}, ValueError, "margin must be a positive number"),
        (("Log",), {"margin": np.nan}, ValueError, "margin must be a positive number"),
    ],
)
def test_bad_input_is_refused_before_anything_is_drawn(args, kwargs, error, message):
    fig = Figure()
    with pytest.raises(error, match=message):
        plots.loss_faces(*args, fig=fig, **kwargs)
    assert not fig.axes


def test_importing_the_plots_does_not_import_matplotlib():
    code = "import sys, propriety.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})
