"""Every face of a loss in one figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.losses import Composite, Loss
from propriety.plots.panels import PANELS, Array, Panel, Subject, probabilities, step_height

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colours, told apart with any colour vision; yellow is left out, being too light for a line.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_STYLE = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.solid_capstyle": "butt",
}
_GREY = "0.55"
_COLUMNS, _WIDTH, _ROW_HEIGHT = 3, 7.2, 2.05
_P = probabilities(401)


def loss_faces(
    *losses: Loss | Composite | str,
    labels: Sequence[str] | None = None,
    colors: Sequence[Any] | None = None,
    normalize: bool = False,
    margin: float = 4.0,
    fig: Figure | None = None,
) -> Figure:
    """Draw every face of one loss or more in one figure.

    The panels are the weight, the entropy, the partial losses, the link, the margin loss over the 0/1 step,
    the example weight and the regularization strength. A loss without a margin form has two curves in the
    margin panels, one for each label. A loss without a weight function has no score; it is drawn where it
    has a face, and the legend says so. Panels that no loss has a face for are left out.

    Parameters
    ----------
    *losses : loss, composite or str
        What to compare; text as in ``losses.parse``. A loss is drawn with its default link.
    labels : sequence of str, optional
        Names in the legend; by default what the losses print as.
    colors : sequence of colours, optional
        One for each loss. By default seven colours that any eye can tell apart; more losses than that are
        coloured in order, from dark to light.
    normalize : bool, default=False
        Divide each loss by its largest entropy. A loss is fixed only up to a factor, and this makes shapes
        comparable.
    margin : float, default=4.0
        Margins and scores are drawn from −margin to margin.
    fig : matplotlib Figure or SubFigure, optional
        Where to draw; by default a new figure of pyplot.

    Returns
    -------
    Figure
        The figure, or `fig`. Its axes are labelled "weight", "entropy", "partial losses", "link", "margin
        loss", "example weight" and "regularization strength" (``ax.get_label()``).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from propriety import losses, plots
    >>> fig = plots.loss_faces(losses.Log(), "Exponential", "Tailored(0.3, 20)", fig=Figure())
    >>> [ax.get_label() for ax in fig.axes][:4]
    ['weight', 'entropy', 'partial losses', 'link']
    """
    if len(losses) == 1 and isinstance(losses[0], (list, tuple)):
        losses = tuple(losses[0])
    subjects = _subjects(losses, labels, colors, normalize)
    if not (np.isfinite(margin) and margin > 0):
        raise ValueError(f"margin must be a positive number, got {margin!r}")
    matplotlib = _import_matplotlib()
    at = {"p": _P, "v": np.linspace(-margin, margin, 401)}
    panels = [panel for panel in PANELS if any(panel.has(s) for s in subjects)]
    with matplotlib.rc_context(_STYLE):
        rows = -(-(len(panels) + 1) // _COLUMNS)
        if fig is None:
            from matplotlib import pyplot

            fig = pyplot.figure(figsize=(_WIDTH, _ROW_HEIGHT * rows + 0.2), layout="constrained")
        grid = fig.add_gridspec(rows, _COLUMNS)
        step = None
        for i, panel in enumerate(panels):
            ax = fig.add_subplot(grid[divmod(i, _COLUMNS)], label=panel.name)
            _draw_panel(ax, panel, subjects, at[panel.x])
            if panel.name == "margin loss":
                step = str(ax.lines[-1].get_label())
        row, column = divmod(len(panels), _COLUMNS)
        _draw_legend(fig.add_subplot(grid[row, column:], label="legend"), step, subjects)
    return fig


def _subjects(
    given: Sequence[Any], labels: Sequence[str] | None, colors: Sequence[Any] | None, normalize: bool
) -> list[Subject]:
    if not given:
        raise TypeError("loss_faces needs a loss: loss_faces(losses.Log()), or loss_faces('Beta(6, 14)')")
    for name, values in (("labels", labels), ("colors", colors)):
        if values is not None and (isinstance(values, str) or len(values) != len(given)):
            raise ValueError(f"{name} must be a list with one entry for each of the {len(given)} losses")
    subjects = [Subject.of(loss) for loss in given]
    if normalize:
        subjects = [_normalized(s) for s in subjects]
    colors = _colours(len(given)) if colors is None else colors
    labels = [s.label for s in subjects] if labels is None else [str(label) for label in labels]
    return [
        replace(s, label=label, color=color) for s, label, color in zip(subjects, labels, colors, strict=True)
    ]


def _normalized(subject: Subject) -> Subject:
    largest = float(np.max(subject.loss.entropy(_P)))
    if not 1 / np.finfo(np.float64).max < largest < np.inf:
        raise ValueError(f"{subject.label} cannot be normalized: its largest entropy is {largest:g}")
    loss = (1 / largest) * subject.loss
    composite = None if subject.composite is None else loss.with_link(subject.composite.link)
    return replace(subject, loss=loss, composite=composite)


def _colours(count: int) -> Sequence[Any]:
    if count <= len(_COLOURS):
        return _COLOURS[:count]
    viridis = _import_matplotlib().colormaps["viridis"]
    return [viridis(x) for x in np.linspace(0, 0.92, count)]


def _import_matplotlib() -> Any:
    try:
        import matplotlib as mpl
    except ImportError as error:  # pragma: no cover
        raise ImportError('plots need matplotlib: pip install "propriety[plot]"') from error
    return mpl


def _draw_panel(ax: Axes, panel: Panel, subjects: Sequence[Subject], x: Array) -> None:
    from matplotlib.ticker import FuncFormatter

    ys: list[Array] = []
    # Curves often coincide: each is thinner than the one before, so that both are seen.
    widths = np.linspace(1.2 + min(0.8 * (len(subjects) - 1), 2.4), 1.2, len(subjects))
    for s, width in zip(subjects, widths, strict=True):
        for y, dashed in panel.curves(s, x) if panel.has(s) else ():
            ax.plot(x, y, color=s.color, linestyle="--" if dashed else "-", linewidth=width)
            ys.append(y)
    ax.set_xlim((0, 1) if panel.x == "p" else (x[0], x[-1]))
    if panel.x == "p":
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    ax.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel)
    axis = panel.axis(x, ys)
    if axis.low < 0:
        ax.axhline(0, color=_GREY, linewidth=0.6, zorder=0)
    if panel.name == "margin loss":
        _draw_step(ax, step_height(axis.high))
    ax.set_ylim(axis.low, axis.high)
    if axis.log:
        ax.set_yscale("log")
    else:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))


def _draw_step(ax: Axes, height: float) -> None:
    """The 0/1 loss of the sign of the margin, lowered or raised where its height 1 would hide the losses."""
    low, high = ax.get_xlim()
    label = "0/1 step" if height == 1 else f"0/1 step × {height:.2g}"
    ax.plot([low, 0, 0, high], [height, height, 0, 0], color="0.3", linestyle=":", linewidth=1.2, label=label)


def _draw_legend(ax: Axes, step: str | None, subjects: Sequence[Subject]) -> None:
    from matplotlib.lines import Line2D

    ax.set_axis_off()
    handles = [
        Line2D(
            [], [], color=s.color, linewidth=1.8, label=textwrap.fill(s.described, 44, subsequent_indent="  ")
        )
        for s in subjects
    ]
    handles.append(Line2D([], [], color=_GREY, label="y = 1 (or both, where alike)"))
    handles.append(Line2D([], [], color=_GREY, linestyle="--", label="y = 0"))
    if step is not None:
        handles.append(Line2D([], [], color="0.3", linestyle=":", linewidth=1.2, label=step))
    ax.legend(handles=handles, loc="center left", frameon=False, borderaxespad=0)
