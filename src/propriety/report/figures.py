"""The figures of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety import evaluation, losses, plots
from propriety.evaluation.budgets import BudgetCurve
from propriety.evaluation.judging import CLIP
from propriety.evaluation.ranking import RankingCurve
from propriety.plots.display import GREY, canvas, legend
from propriety.report.svg import blank, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from propriety.losses.registry import LossLike

Floats = NDArray[np.float64]
_WIDE, _SMALL = (5.0, 3.1), (4.4, 4.2)
_BINS = 16  # groups of rows along a column
_LEVELS = 8  # values of a category that are drawn
#: Points of a Murphy curve, so that the picture of many rows stays small.
CORNERS = 3000
_COLUMNS = 2
_POINTS = 500  # of a curve


def _axes(size: tuple[float, float]) -> Any:
    return blank(size).subplots()


def murphy(y: Floats, models: dict[str, Floats], weight: Floats, threshold: float | None) -> Figure:
    """Mean cost-weighted loss of each model at every threshold, the one asked for marked."""
    with drawing():
        ax = _axes(_WIDE)
        _mark(ax, threshold, "stated costs, c = {:.3g}")
        for i, (name, p) in enumerate(models.items()):
            plots.MurphyDisplay(
                evaluation.murphy_curve(y, p, weight, pos_label=1),
                name=name,
                band="pointwise" if i == 0 else None,
            ).plot(ax, most=CORNERS)
    return ax.figure


def _mark(ax: Any, threshold: float | None, label: str) -> None:
    """A line where decisions change, if that is the same place for all rows."""
    if threshold is not None:
        name = label.format(threshold)
        ax.axvline(threshold, color=GREY, linewidth=0.9, linestyle=":", label=name)


def reliability(y: Floats, p: Floats, weight: Floats, label: str | None = None) -> Figure:
    """The reliability diagram, perhaps of one of several classes."""
    with drawing():
        ax = _axes(_SMALL)
        plots.ReliabilityDisplay.from_predictions(
            y,
            np.clip(p, CLIP, 1 - CLIP),
            sample_weight=weight,
            pos_label=1,
            n_resamples=200 if len(y) < 50_000 else 50,
            ax=ax,
        )
        if label is not None:
            ax.set_xlabel(f"predicted probability of {shortened(label, 40)}")
    return ax.figure


def scores(y: Floats, p: Floats, weight: Floats, labels: tuple[str, ...], threshold: float | None) -> Figure:
    """Histograms of the probabilities of either class."""
    with drawing(), canvas(_axes(_SMALL)) as ax:
        edges = np.linspace(0, 1, 26)
        for label, rows, colour, dashes in (
            (labels[0], y < 0.5, "#0072B2", "-"),
            (labels[1], y > 0.5, "#D55E00", "--"),
        ):
            if rows.any():
                height, _ = np.histogram(p[rows], edges, weights=weight[rows] / weight[rows].sum())
                ax.stairs(100 * height, edges, color=colour, linewidth=1.6, linestyle=dashes, label=label)
                ax.stairs(100 * height, edges, color=colour, alpha=0.15, fill=True)
        _mark(ax, threshold, "threshold {:.3g}")
        ax.set(
            xlabel=f"predicted probability of {labels[1]}",
            ylabel="share of class (%)",
            xlim=(0, 1),
        )
        ax.set_ylim(bottom=0)
        legend(ax)
    return ax.figure


def weights(loss: LossLike, threshold: float | None) -> Any | None:
    """Where the loss fitted looks, beside the log loss; None for that itself and for one without a weight."""
    fitted = loss.loss if isinstance(loss, losses.Composite) else loss
    if not isinstance(fitted, losses.SmoothLoss) or fitted == losses.Log():
        return None
    p = np.linspace(0.005, 0.995, 397)
    with drawing(), canvas(_axes((_WIDE[0], 2.5))) as ax:
        shown = {repr(fitted): fitted, "Log()": losses.Log()}
        for (name, one), colour, dashes in zip(
            shown.items(), ("#0072B2", "#D55E00"), ("-", "--"), strict=True
        ):
            # In log-odds, where equal steps are equal factors of the odds.
            height = one.weight(p) * p * (1 - p)
            ax.plot(p, height / height.max(), color=colour, linestyle=dashes, linewidth=1.5, label=name)
        _mark(ax, threshold, "stated costs")
        ax.set(
            xlabel="cost c of a false alarm (a miss: 1 − c)",
            ylabel="relative weight",
            xlim=(0, 1),
            ylim=(0, 1.1),
        )
        legend(ax)
    return ax.figure


def budget(curve: BudgetCurve, right: float, marked: int, given: bool) -> Figure:
    """Total cost against the number of rows acted on; `right` is what right decisions cost."""
    k = _thinned(len(curve.costs))
    with drawing(), canvas(_axes(_SMALL)) as ax:
        label = f"budget: {marked:,}" if given else f"without a budget: {marked:,}"
        ax.axvline(marked, color=GREY, linewidth=0.9, linestyle=":", label=label)
        ends = right + curve.costs[[0, -1]]
        ax.plot(k[[0, -1]], ends, color="#D55E00", linewidth=1.2, linestyle="--", label="random order")
        ax.plot(k, right + curve.costs[k], color="#0072B2", linewidth=1.5, label="best first")
        ax.set(xlabel="rows acted on", ylabel="total cost", xlim=(0, k[-1]))
        legend(ax)
    return ax.figure


def lift(curve: BudgetCurve) -> Figure:
    """Lift against the number of rows acted on."""
    k = _thinned(len(curve.costs))[1:]
    with drawing(), canvas(_axes(_SMALL)) as ax:
        ax.axhline(1, color="#D55E00", linewidth=1.2, linestyle="--", label="random order")
        ax.plot(k, curve.lift(k), color="#0072B2", linewidth=1.5, label="best first")
        ax.set(xlabel="rows acted on", ylabel="lift", xlim=(0, k[-1]))
        ax.set_ylim(bottom=0)
        legend(ax)
    return ax.figure


def gains(curve: RankingCurve, positive: str) -> Figure:
    """The share of positives found against the share of rows checked."""
    at = _thinned(len(curve.checked))
    with drawing(), canvas(_axes(_SMALL)) as ax:
        ax.plot([0, 1], [0, 1], color="#D55E00", linewidth=1.2, linestyle="--", label="random order")
        best = [0, curve.rate, 1], [0, 1, 1]
        ax.plot(*best, color=GREY, linewidth=0.9, linestyle=":", label="perfect order")
        checked, found = curve.checked[at], curve.found[at]
        ax.plot(checked, found, color="#0072B2", linewidth=1.5, label="most probable first")
        ax.set(xlabel="share checked", ylabel=f"recall of {shortened(positive, 30)}")
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        legend(ax, loc="lower right")
    return ax.figure


def precision_recall(curve: RankingCurve) -> Figure:
    """Precision against recall."""
    at = _thinned(len(curve.checked))[1:]
    with drawing(), canvas(_axes(_SMALL)) as ax:
        ax.axhline(curve.rate, color="#D55E00", linewidth=1.2, linestyle="--", label="random order")
        precision = curve.precision(curve.checked[at])
        ax.plot(curve.found[at], precision, color="#0072B2", linewidth=1.5, label="most probable first")
        ax.set(xlabel="recall", ylabel="precision")
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        legend(ax)
    return ax.figure


def parts(names: list[str], values: list[Any], label: str, middle: float | None = None) -> Figure:
    """A number of parts of the rows, one below the other, with whiskers; `middle` is where it should be."""
    places = np.arange(len(names))[::-1]
    with drawing(), canvas(_axes((_SMALL[0], 0.9 + 0.32 * len(names)))) as ax:
        if middle is not None:
            ax.axvline(middle, color=GREY, linewidth=0.9, linestyle="--")
        for place, value in zip(places, values, strict=True):
            ax.plot([value.low, value.high], [place] * 2, color="#0072B2", linewidth=1.5)
            ax.plot([value.value], [place], "o", color="#0072B2", markersize=5)
        ax.set(xlabel=label, ylim=(-0.6, len(names) - 0.4))
        if middle is None:
            ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
        ax.set_yticks(places, [shortened(name, 20) for name in names])
        ax.locator_params(axis="x", nbins=5)
    return ax.figure


def _thinned(n: int) -> Any:
    """At most so many of n places that a picture stays small, the ends among them."""
    return np.unique(np.linspace(0, n - 1, min(n, _POINTS)).astype(np.intp))


def effects(features: dict[str, Any], rows: Any, parts: Floats, chosen: list[str]) -> Figure:
    """What columns add to the score, over their values: mean, and the middle 80% of the rows."""
    names = list(features)
    columns = min(len(chosen), _COLUMNS)
    lines = -(-len(chosen) // columns)
    with drawing():
        figure = blank((2.5 * columns if columns > 1 else 4.0, 2.3 * lines))
        first = None
        for i, name in enumerate(chosen):
            with canvas(figure.add_subplot(lines, columns, i + 1, sharey=first)) as ax:
                first = first or ax
                values, part = np.asarray(features[name])[rows], parts[:, names.index(name)]
                ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
                (_numbers if values.dtype.kind == "f" else _levels)(ax, values, part)
                ax.set_xlabel(shortened(name, 34))
                if i % columns == 0:
                    ax.set_ylabel("contribution to the score")
                else:
                    ax.tick_params(labelleft=False)
    return figure


def _numbers(ax: Any, x: Floats, part: Floats) -> None:
    known = np.isfinite(x)
    if known.any():
        order = np.argsort(x[known], kind="stable")
        x_, part_ = x[known][order], part[known][order]
        # Equal values stay together, so that a group is an interval of the column.
        ends = np.unique(
            np.searchsorted(x_, np.quantile(x_, np.linspace(0, 1, _BINS + 1)[1:-1]), side="right")
        )
        groups = [g for g in np.split(np.arange(len(x_)), ends) if len(g)]
        at = np.array([np.median(x_[g]) for g in groups])
        low, high = (np.array([np.quantile(part_[g], q) for g in groups]) for q in (0.1, 0.9))
        ax.fill_between(at, low, high, color="#0072B2", alpha=0.2, linewidth=0)
        marker = {"marker": "o", "markersize": 3}
        ax.plot(at, [part_[g].mean() for g in groups], color="#0072B2", linewidth=1.5, **marker)
    if not known.all():
        ax.axhline(part[~known].mean(), color="#D55E00", linewidth=1.2, linestyle=":", label="missing")
        legend(ax)


def _levels(ax: Any, x: Any, part: Floats) -> None:
    values, codes, counts = np.unique(x.astype(str), return_inverse=True, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[:_LEVELS]
    for place, k in enumerate(kept):
        mine = part[codes == k]
        ax.plot([place] * 2, np.quantile(mine, [0.1, 0.9]), color="#0072B2", linewidth=4, alpha=0.25)
        ax.plot([place], [mine.mean()], "o", color="#0072B2", markersize=4.5)
    ax.set_xticks(range(len(kept)), [shortened(values[k], 14) for k in kept], rotation=35, ha="right")
    ax.set_xlim(-0.6, len(kept) - 0.4)


def shortened(text: str, most: int) -> str:
    """Text of at most so many letters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def tree(model: Any, labels: tuple[str, ...]) -> Any:
    """A tree."""
    from matplotlib import pyplot

    with drawing():
        drawn = plots.tree(model, class_names=labels).figure
        pyplot.close(drawn)
    return drawn


def shapes(curves: Any) -> Figure:
    """The curves of an additive model."""
    from matplotlib import pyplot

    with drawing():
        drawn = plots.shape_functions(curves)
        pyplot.close(drawn)
    return drawn
