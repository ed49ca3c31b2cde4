"""Shape functions of an additive model, with the data's density beneath."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety.plots.faces import _STYLE, _colours, _import_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

_COLUMNS, _WIDTH, _ROW_HEIGHT = 3, 7.2, 2.4
_GROUPS = 30  # bars of the density at most


def shape_functions(
    model: Any,
    *,
    features: Sequence[Any] | None = None,
    surfaces: int = 3,
    fig: Figure | None = None,
) -> Figure:
    """Draw what each feature adds to the score of an additive model, over the density of the training rows.

    A curve's mean over the training rows is 0, and the score is the intercept and the sum of the curves. A
    dotted line is the value for missing ones, where there were any. For several classes there is a curve for
    each. Pairs of features are drawn as maps, those of largest mean size first.

    Parameters
    ----------
    model : fitted BoostingClassifier or ShapeFunctions
        Additive: see ``BoostingClassifier.shape_functions``.
    features : sequence of names or columns, optional
        What to draw, in this order; by default the twelve features of largest mean size.
    surfaces : int, default=3
        Pairs to draw at most.
    fig : matplotlib Figure or SubFigure, optional
        Where to draw; by default a new figure of pyplot.

    Returns
    -------
    Figure
        The figure, or `fig`. An axes has the feature's name as its label (``ax.get_label()``), its density
        that name followed by " density".

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from propriety import BoostingClassifier, plots
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = BoostingClassifier(algorithm="additive", max_iter=20).fit(X, X[:, 0] > 0)
    >>> fig = plots.shape_functions(model, fig=Figure())
    >>> [ax.get_label() for ax in fig.axes]
    ['x0', 'x0 density', 'x1', 'x1 density']
    """
    from propriety.boosting.shapes import ShapeFunctions

    if isinstance(model, ShapeFunctions):
        shapes, classes = model, None
    else:
        shapes, classes = model.shape_functions(), model.classes_
    if features is None:
        curves = sorted(shapes, key=lambda c: -c.importance)[:12]
    else:
        curves = [shapes[f] for f in features]
    pairs = sorted(shapes.surfaces, key=lambda s: -s.importance)[: surfaces if _binary(shapes) else 0]
    matplotlib = _import_matplotlib()
    with matplotlib.rc_context(_STYLE):
        panels = len(curves) + len(pairs)
        rows, columns = -(-panels // _COLUMNS), min(panels, _COLUMNS)
        if fig is None:
            from matplotlib import pyplot

            size = (_WIDTH * max(columns, 1.5) / _COLUMNS, _ROW_HEIGHT * rows)
            fig = pyplot.figure(figsize=size, layout="constrained")
        grid = fig.add_gridspec(rows, columns)
        first = None
        for i, curve in enumerate(curves):
            cell = grid[divmod(i, columns)].subgridspec(2, 1, height_ratios=(4, 1), hspace=0.05)
            ax = fig.add_subplot(cell[0], label=curve.axis.name, sharey=first)
            below = fig.add_subplot(cell[1], label=f"{curve.axis.name} density", sharex=ax)
            first = ax if first is None else first
            _draw_curve(ax, curve, classes)
            _draw_density(below, curve.axis)
            if i % columns == 0:
                ax.set_ylabel("added to the score")
                below.set_ylabel("rows")
        for i, surface in enumerate(pairs, start=len(curves)):
            _draw_surface(fig, fig.add_subplot(grid[divmod(i, columns)], label=_pair_name(surface)), surface)
    return fig


def _binary(shapes: Any) -> bool:
    return np.ndim(shapes.intercept) == 0


def _pair_name(surface: Any) -> str:
    return " × ".join(axis.name for axis in surface.axes)


def _ends(axis: Any) -> Array:
    """Ends of the bins, the outer ones at the smallest and largest value of the training rows."""
    if axis.categories is not None:
        return np.arange(axis.n_bins + 1) - 0.5
    low = axis.low if np.isfinite(axis.low) else 0.0
    high = axis.high if np.isfinite(axis.high) else 1.0
    inner = np.clip(axis.edges, low, high)
    return np.concatenate(([low], inner, [high if high > low else low + 1.0]))


def _draw_curve(ax: Any, curve: Any, classes: Any) -> None:
    axis, values = curve.axis, np.atleast_2d(curve.values)
    ends, colours = _ends(axis), _colours(len(values))
    ax.axhline(0, color="0.8", lw=0.8, zorder=0)
    for k, (row, colour) in enumerate(zip(values, colours, strict=True)):
        label = None if len(values) == 1 or classes is None else str(classes[k])
        if axis.categories is None:
            ax.stairs(row[:-1], ends, baseline=None, color=colour, lw=1.4, label=label)
        else:
            ax.plot(np.arange(axis.n_bins), row[:-1], "o", color=colour, ms=4, label=label)
        if axis.weights[-1] > 0:
            note = "missing" if k == 0 else None
            ax.axhline(row[-1], color=colour, ls=":", lw=1.1, label=note)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=7)
    ax.tick_params(labelbottom=False)


def _draw_density(ax: Any, axis: Any) -> None:
    ends, weights = _ends(axis), axis.weights[:-1]
    if axis.categories is None:
        ends, weights = _grouped(ends, weights)
        widths = np.diff(ends)
        heights = np.divide(weights, widths, out=np.zeros_like(weights), where=widths > 0)
        ax.stairs(heights, ends, fill=True, color="0.7")
    else:
        ax.bar(np.arange(axis.n_bins), weights, width=0.8, color="0.7")
        names = [
            ", ".join(str(c) for c in group[:2]) + (", …" if len(group) > 2 else "")
            for group in axis.categories
        ]
        ax.set_xticks(np.arange(axis.n_bins), names)
    ax.set(xlabel=axis.name, yticks=[])
    ax.set_ylim(bottom=0)


def _grouped(ends: Array, weights: Array) -> tuple[Array, Array]:
    """Neighbouring bins joined to bars of about equal weight: narrow bins make a ragged density."""
    if len(weights) <= _GROUPS:
        return ends, weights
    total = np.cumsum(weights)
    cuts = np.unique(np.searchsorted(total, np.linspace(0, total[-1], _GROUPS + 1)[1:-1])) + 1
    cuts = cuts[cuts < len(weights)]
    starts = np.concatenate(([0], cuts))
    return ends[np.concatenate((starts, [len(weights)]))], np.add.reduceat(weights, starts)


def _draw_surface(fig: Any, ax: Any, surface: Any) -> None:
    first, second = surface.axes
    values = surface.values[:-1, :-1].T
    top = max(float(np.abs(values).max()), 1e-12)
    mesh = ax.pcolormesh(_ends(first), _ends(second), values, cmap="PuOr_r", vmin=-top, vmax=top)
    bar = fig.colorbar(mesh, ax=ax)
    bar.set_label("added to the score")
    bar.outline.set_visible(False)
    ax.set(xlabel=first.name, ylabel=second.name)
    for axis, ticks in ((first, ax.set_xticks), (second, ax.set_yticks)):
        if axis.categories is not None:
            ticks(np.arange(axis.n_bins), [str(group[0]) for group in axis.categories])
