"""How fast a linear model's objective fell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.losses import Composite
from propriety.plots.faces import _STYLE, Array, _colours, _import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MANY = 100  # iterations from which their axis is logarithmic
_FEW = 30  # iterations up to which each is marked
_DASHES = ("-", "--", "-.", ":")


def convergence(
    *models: Any,
    labels: Sequence[str] | None = None,
    colors: Sequence[Any] | None = None,
    minimum: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the objective of fitted models above its final value, iteration by iteration.

    The vertical axis is logarithmic: a straight line is a linear rate, a line that bends down a
    superlinear one. With more than 100 iterations the horizontal axis is logarithmic too, but for its first
    step, which begins at 0.

    Parameters
    ----------
    *models : fitted models with a `trace_`
        Such as LinearClassifier.
    labels : sequence of str, optional
        Names in the legend; by default the solvers, with the losses where these differ.
    colors : sequence of colours, optional
        One for each model. By default colours that any eye can tell apart; the lines' dashes differ too.
    minimum : float, optional
        The value above which to draw all models. By default each model's own last value, which flatters a
        model that stopped early; give the least value known to compare models of the same loss and rows.
    ax : matplotlib Axes, optional
        Where to draw; by default the axes of a new figure of pyplot.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from propriety import plots
    >>> from propriety.linear import LinearClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    >>> models = [LinearClassifier(solver=solver).fit(X, y) for solver in ("fisher", "lbfgs")]
    >>> ax = plots.convergence(*models, ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['fisher', 'lbfgs']
    """
    if len(models) == 1 and isinstance(models[0], (list, tuple)):
        models = tuple(models[0])
    traces = _traces(models)
    for name, values in (("labels", labels), ("colors", colors)):
        if values is not None and (isinstance(values, str) or len(values) != len(models)):
            raise ValueError(f"{name} must be a list with one entry for each of the {len(models)} models")
    lowest = min(float(trace.min()) for trace in traces)
    if minimum is not None and not minimum <= lowest + 1e-12 * abs(lowest):
        raise ValueError(
            f"minimum must be at most the least value of the models, {lowest!r}, got {minimum!r}"
        )
    matplotlib = _import_matplotlib()
    labels = _labels(models) if labels is None else [str(label) for label in labels]
    colors = _colours(len(models)) if colors is None else colors
    with matplotlib.rc_context(_STYLE):
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure(figsize=(4.6, 3.2), layout="constrained").subplots()
        for i, (trace, label, color) in enumerate(zip(traces, labels, colors, strict=True)):
            ax.plot(
                np.arange(len(trace)),
                _above(trace, minimum),
                _DASHES[i % len(_DASHES)],
                color=color,
                label=label,
                marker="o" if len(trace) <= _FEW else None,
                markersize=3,
            )
        _dress(ax, max(map(len, traces)), "its final value" if minimum is None else "the minimum")
    return ax


def _traces(models: Sequence[Any]) -> list[Array]:
    if not models:
        raise TypeError("convergence needs a fitted model: convergence(LinearClassifier().fit(X, y))")
    traces = []
    for model in models:
        trace = getattr(model, "trace_", None)
        if trace is None:
            raise ValueError(
                f"{type(model).__name__} has no trace of its objective: give a fitted LinearClassifier"
            )
        traces.append(np.asarray(trace, dtype=np.float64))
    return traces


def _above(trace: Array, minimum: float | None) -> Array:
    """The trace less its last value, or less `minimum`; nan where rounding leaves nothing to draw."""
    above = trace - (trace[-1] if minimum is None else minimum)
    return np.where(above > 0, above, np.nan)


def _labels(models: Sequence[Any]) -> list[str]:
    """The solver, the loss or both: what tells the models apart."""
    names = [str(getattr(model, "solver", type(model).__name__)) for model in models]
    fitted = [model.loss_ for model in models]
    losses = [repr(loss.loss if isinstance(loss, Composite) else loss) for loss in fitted]
    if len(set(losses)) == 1:
        return names
    if len(set(names)) == 1:
        return losses
    return [f"{name}, {loss}" for name, loss in zip(names, losses, strict=True)]


def _dress(ax: Any, longest: int, over: str) -> None:
    ax.set(xlabel="iteration", ylabel=f"objective above {over}")
    if any(np.isfinite(line.get_ydata()).any() for line in ax.lines):
        ax.set_yscale("log")
    if longest > _MANY:
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xlim(left=0)
    else:
        ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(frameon=False)
