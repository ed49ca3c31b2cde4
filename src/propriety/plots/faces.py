"""Every face of a loss in one figure."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import losses as loss_algebra
from propriety.losses import Composite, Loss, SmoothLoss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

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
# Between the ends probabilities are dense where faces bend: equally spaced angles, p = sin²(angle).
_P = np.sin(np.linspace(np.arcsin(0.05), np.arccos(0.05), 401)) ** 2
_DECADES = 4  # that a logarithmic axis shows below the largest value
_LOG_FROM = 30.0  # ratio of the largest to the smallest value from which an axis is logarithmic


def loss_faces(
    *losses: Loss | Composite | str,
    labels: Sequence[str] | None = None,
    colors: Sequence[Any] | None = None,
    normalize: bool = False,
    margin: float = 4.0,
    fig: Any = None,
) -> Any:
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
    at = _Grid(_P, np.linspace(-margin, margin, 401))
    panels = [panel for panel in _PANELS if any(panel.has(s) for s in subjects)]
    with matplotlib.rc_context(_STYLE):
        rows = -(-(len(panels) + 1) // _COLUMNS)
        if fig is None:
            from matplotlib import pyplot

            fig = pyplot.figure(figsize=(_WIDTH, _ROW_HEIGHT * rows + 0.2), layout="constrained")
        grid = fig.add_gridspec(rows, _COLUMNS)
        step = None
        for i, panel in enumerate(panels):
            ax = fig.add_subplot(grid[divmod(i, _COLUMNS)], label=panel.name)
            _draw_panel(ax, panel, subjects, at)
            if panel.name == "margin loss":
                step = str(ax.lines[-1].get_label())
        row, column = divmod(len(panels), _COLUMNS)
        _draw_legend(fig.add_subplot(grid[row, column:], label="legend"), step, subjects)
    return fig


class _Grid(NamedTuple):
    p: Array
    v: Array


@dataclass(frozen=True)
class _Subject:
    """A loss to draw, with its composite if it has one."""

    loss: Loss
    composite: Composite | None
    label: str
    color: Any = None

    @property
    def described(self) -> str:
        return self.label if self.composite is not None else f"{self.label}: no weight function"


class _Curve(NamedTuple):
    y: Array
    dashed: bool = False  # the curve of label 0


@dataclass(frozen=True)
class _Panel:
    name: str
    title: str
    x: str  # "p" or "v": what runs along the axis
    xlabel: str
    ylabel: str
    needs: type  # of the loss
    curves: Callable[[_Subject, Array], list[_Curve]]
    finish: Callable[[Axes, list[Array]], None] = lambda ax, ys: None

    def has(self, subject: _Subject) -> bool:
        return isinstance(subject.loss, self.needs)


def _subjects(
    given: Sequence[Any], labels: Sequence[str] | None, colors: Sequence[Any] | None, normalize: bool
) -> list[_Subject]:
    if not given:
        raise TypeError("loss_faces needs a loss: loss_faces(losses.Log()), or loss_faces('Beta(6, 14)')")
    for name, values in (("labels", labels), ("colors", colors)):
        if values is not None and (isinstance(values, str) or len(values) != len(given)):
            raise ValueError(f"{name} must be a list with one entry for each of the {len(given)} losses")
    subjects = [_subject(loss) for loss in given]
    if normalize:
        subjects = [_normalized(s) for s in subjects]
    colors = _colours(len(given)) if colors is None else colors
    labels = [s.label for s in subjects] if labels is None else [str(label) for label in labels]
    return [
        replace(s, label=label, color=color) for s, label, color in zip(subjects, labels, colors, strict=True)
    ]


def _subject(given: Any) -> _Subject:
    if isinstance(given, str):
        given = loss_algebra.parse(given)
    if isinstance(given, Composite):
        usual = given.link == given.loss.default_link
        return _Subject(given.loss, given, repr(given.loss if usual else given))
    loss = loss_algebra.as_loss(given)
    return _Subject(loss, loss.composite() if isinstance(loss, SmoothLoss) else None, repr(loss))


def _normalized(subject: _Subject) -> _Subject:
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


# -- the curves ----------------------------------------------------------------------------------------


def _weight(s: _Subject, p: Array) -> list[_Curve]:
    return [_Curve(s.loss.weight(p))]  # type: ignore[attr-defined]


def _entropy(s: _Subject, p: Array) -> list[_Curve]:
    return [_Curve(s.loss.entropy(p))]


def _partial_losses(s: _Subject, p: Array) -> list[_Curve]:
    return [_Curve(s.loss.loss(1, p)), _Curve(s.loss.loss(0, p), dashed=True)]


def _link(s: _Subject, p: Array) -> list[_Curve]:
    return [_Curve(_composite(s).link(p))]


def _margin_loss(s: _Subject, v: Array) -> list[_Curve]:
    c = _composite(s)
    if c.has_margin_form:
        return [_Curve(c.margin_loss(v))]
    return [_Curve(c.value(1, v)), _Curve(c.value(0, -v), dashed=True)]


def _example_weight(s: _Subject, v: Array) -> list[_Curve]:
    c = _composite(s)
    if c.has_margin_form:
        return [_Curve(c.example_weight(v))]
    return [_Curve(-c.gradient(1, v)), _Curve(c.gradient(0, -v), dashed=True)]


def _regularization_strength(s: _Subject, v: Array) -> list[_Curve]:
    return [_Curve(_composite(s).regularization_strength(v))]


def _composite(s: _Subject) -> Composite:
    assert s.composite is not None
    return s.composite


# -- the axes ------------------------------------------------------------------------------------------


def _scaled(ax: Axes, ys: list[Array], keep: str) -> None:
    """Logarithmic where values span more than a decade and a half, else from zero.

    Of more decades than an axis can show, it shows those at the largest or at the smallest value.
    """
    values = np.concatenate(ys)
    values = values[np.isfinite(values) & (values > 0)]
    low, high = (values.min(), values.max()) if len(values) else (1.0, 1.0)
    if high <= _LOG_FROM * low:
        ax.set_ylim(bottom=0)
        return
    if keep == "largest":
        low = max(low, high / 10**_DECADES)
    else:
        high = min(high, low * 10**_DECADES)
    ax.set_ylim(low / 1.5, high * 1.5)
    ax.set_yscale("log")


def _weight_scale(ax: Axes, ys: list[Array]) -> None:
    _scaled(ax, ys, keep="largest")


def _strength_scale(ax: Axes, ys: list[Array]) -> None:
    _scaled(ax, ys, keep="smallest")


def _from_zero(ax: Axes, ys: list[Array]) -> None:
    ax.set_ylim(bottom=0)


def _capped(ax: Axes, ys: list[Array]) -> None:
    ax.set_ylim(0, 1.05 * max(_height(y) for y in ys) or 1.0)


def _height(y: Array) -> float:
    """The largest value of a curve; of one that runs away at an end, what leaves its middle visible."""
    y = np.where(np.isfinite(y), y, np.inf)
    if y[-1] > y[0]:
        y = y[::-1]
    eighth, middle = y[len(y) // 8], y[len(y) // 2]
    if np.argmax(y) == 0 and y[0] > 2 * eighth:
        return float(min(y[0], 6 * middle if 30 * middle > eighth else eighth))
    return float(np.max(y[np.isfinite(y)], initial=0.0))


def _score_scale(ax: Axes, ys: list[Array]) -> None:
    """Scores of p between 0.03 and 0.97 fit, the tails may leave."""
    inner = (_P > 0.03) & (_P < 0.97)
    reach = max(float(np.max(np.abs(y[inner]))) for y in ys)
    ax.set_ylim(-1.15 * reach, 1.15 * reach)
    ax.axhline(0, color=_GREY, linewidth=0.6, zorder=0)


def _step(ax: Axes, ys: list[Array]) -> None:
    """The 0/1 loss of the sign of the margin, lowered or raised where its height 1 would hide the losses."""
    _capped(ax, ys)
    top = ax.get_ylim()[1]
    height = 1.0 if 0.5 < top < 25 else top / 4
    low, high = ax.get_xlim()
    label = "0/1 step" if height == 1 else f"0/1 step × {height:.2g}"
    ax.plot([low, 0, 0, high], [height, height, 0, 0], color="0.3", linestyle=":", linewidth=1.2, label=label)
    ax.set_ylim(0, max(top, 1.05 * height))


_PANELS = (
    _Panel("weight", "Weight", "p", "probability p", "ω(p)", SmoothLoss, _weight, _weight_scale),
    _Panel("entropy", "Entropy", "p", "probability p", "H(p)", Loss, _entropy, _from_zero),
    _Panel(
        "partial losses", "Partial losses", "p", "probability p", "ℓ(y, p)", Loss, _partial_losses, _capped
    ),
    _Panel("link", "Link", "p", "probability p", "score F", SmoothLoss, _link, _score_scale),
    _Panel(
        "margin loss", "Margin loss", "v", "margin v = (2y − 1) F", "φ(v)", SmoothLoss, _margin_loss, _step
    ),
    _Panel(
        "example weight",
        "Example weight",
        "v",
        "margin v = (2y − 1) F",
        "−φ′(v)",
        SmoothLoss,
        _example_weight,
        _capped,
    ),
    _Panel(
        "regularization strength",
        "Regularization strength",
        "v",
        "score F",
        "1 / p′(F)",
        SmoothLoss,
        _regularization_strength,
        _strength_scale,
    ),
)


def _draw_panel(ax: Axes, panel: _Panel, subjects: Sequence[_Subject], at: _Grid) -> None:
    from matplotlib.ticker import FuncFormatter

    x = at.p if panel.x == "p" else at.v
    ys: list[Array] = []
    # Curves often coincide: each is thinner than the one before, so that both are seen.
    widths = np.linspace(1.2 + min(0.8 * (len(subjects) - 1), 2.4), 1.2, len(subjects))
    for s, width in zip(subjects, widths, strict=True):
        if panel.has(s):
            with np.errstate(
                all="ignore"
            ):  # far scores may leave the range of doubles; their curves end there
                curves = panel.curves(s, x)
            for y, dashed in curves:
                ax.plot(x, y, color=s.color, linestyle="--" if dashed else "-", linewidth=width)
                ys.append(y)
    ax.set_xlim((0, 1) if panel.x == "p" else (x[0], x[-1]))
    if panel.x == "p":
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    ax.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel)
    panel.finish(ax, ys)
    if ax.get_yscale() == "linear":
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))


def _draw_legend(ax: Axes, step: str | None, subjects: Sequence[_Subject]) -> None:
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
