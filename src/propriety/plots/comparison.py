"""Comparisons drawn: critical differences of ranks, and Q–Q traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import RandomState
from propriety.evaluation.comparison import Comparison, compare
from propriety.evaluation.traces import Trace, qq_trace
from propriety.plots.display import GREY, canvas, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CriticalDifferenceDisplay:
    """Average ranks on a line; models joined by a bar do not differ by Nemenyi's test.

    Parameters
    ----------
    comparison : Comparison
    alpha : float
        Level of the test.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    bars_ : list of the bars that join models

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from propriety import plots
    >>> scores = {"A": [0.1, 0.2, 0.3], "B": [0.2, 0.3, 0.4], "C": [0.3, 0.4, 0.2]}
    >>> display = plots.CriticalDifferenceDisplay.from_scores(scores, ax=Figure().subplots())
    >>> len(display.bars_)
    1
    """

    def __init__(self, comparison: Comparison, *, alpha: float = 0.05):
        self.comparison, self.alpha = comparison, alpha

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        names: Any = None,
        *,
        greater_is_better: bool = False,
        alpha: float = 0.05,
        ax: Axes | None = None,
    ) -> CriticalDifferenceDisplay:
        """Compare and draw; arguments as in `evaluation.compare`."""
        return cls(compare(scores, names, greater_is_better=greater_is_better), alpha=alpha).plot(ax)

    def plot(self, ax: Axes | None = None, *, color: Any = "#0072B2") -> CriticalDifferenceDisplay:
        """Draw it. Returns self."""
        c = self.comparison
        order = np.argsort(c.average_ranks, kind="stable")
        ranks, k = c.average_ranks[order], len(order)
        half = -(-k // 2)
        groups = c.cliques(self.alpha)
        reach = c.critical_difference(self.alpha)
        first_name = 0.55 + 0.28 * len(groups)
        height = first_name + 0.5 * (half - 1) + 1.4
        with canvas(ax, (5.6, 0.6 + 0.42 * height)) as axes:
            axes.set(xlim=(1, k), ylim=(first_name + 0.5 * (half - 1) + 0.5, -1.05))
            self._scale(axes, k, reach, len(c.scores))
            for i, m in enumerate(order):
                left = i < half
                y = first_name + 0.5 * (i if left else k - 1 - i)
                end = 1 - 0.04 * (k - 1) if left else k + 0.04 * (k - 1)
                axes.plot([ranks[i], ranks[i], end], [0, y, y], color=GREY, linewidth=0.8, clip_on=False)
                axes.plot([ranks[i]], [0], marker="o", markersize=4, color=color, clip_on=False, zorder=3)
                text = f"{c.names[m]}  {ranks[i]:.2f}" if left else f"{ranks[i]:.2f}  {c.names[m]}"
                axes.text(end, y, f" {text} ", ha="right" if left else "left", va="center", fontsize=8)
            self.bars_ = []
            for g, group in enumerate(groups):
                ends = c.average_ranks[list(group)]
                y, pad = 0.25 + 0.28 * g, 0.012 * (k - 1)
                x = [ends.min() - pad, ends.max() + pad]
                self.bars_ += axes.plot(x, [y, y], color=color, linewidth=3.5, clip_on=False)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _scale(self, ax: Any, k: int, reach: float, n: int) -> None:
        ax.spines[["left", "right", "top"]].set_visible(False)
        ax.spines["bottom"].set_position(("data", 0))
        ax.set_yticks([])
        ax.xaxis.set_ticks(range(1, k + 1))
        ax.tick_params(axis="x", top=True, bottom=False, labeltop=True, labelbottom=False, pad=1)
        for tick in ax.xaxis.get_major_ticks():
            tick.tick1line.set_visible(False)
        ax.spines["top"].set_position(("data", 0))
        ax.spines["top"].set_visible(True)
        ax.spines["bottom"].set_visible(False)
        shown = min(reach, k - 1)
        ax.errorbar([1 + shown / 2], [-0.8], xerr=[[shown / 2]] * 2, color="black", capsize=2.5, linewidth=1)
        text = f"  CD = {reach:.2f} ({self.alpha:.0%})"
        ax.text(1 + shown, -0.8, text, ha="left", va="center", fontsize=7.5)
        text = f"average rank over {n} data sets, 1 is best"
        ax.text((1 + k) / 2, ax.get_ylim()[0], text, ha="center", va="top", fontsize=8)


class QQDisplay:
    """Sorted costs of one learner against another's, over traces of random exchanges. [B §14, Figure 6]

    Parameters
    ----------
    trace : Trace
    names : tuple of two str
        What the samples are.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_, null_ : the trace, and the null traces

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from propriety import plots
    >>> display = plots.QQDisplay.from_samples([1, 2, 3], [2, 3, 4], ax=Figure().subplots())
    >>> len(display.line_.get_xdata())
    3
    """

    def __init__(self, trace: Trace, *, names: tuple[str, str] = ("first sample", "second sample")):
        self.trace, self.names = trace, names

    @classmethod
    def from_samples(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        *,
        names: tuple[str, str] = ("first sample", "second sample"),
        n_permutations: int = 100,
        random_state: RandomState = 0,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> QQDisplay:
        """Compute and draw; arguments as in `propriety.evaluation.theory.qq_trace`."""
        trace = qq_trace(x, y, n_permutations=n_permutations, random_state=random_state)
        return cls(trace, names=names).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, title: str | None = None, **kwargs: Any) -> QQDisplay:
        """Draw it; keywords go to the trace. Returns self."""
        from matplotlib.collections import LineCollection
        from matplotlib.ticker import MaxNLocator

        t = self.trace
        with canvas(ax, (3.4, 3.4)) as axes:
            paths = np.stack([t.null_x, t.null_y], axis=-1)
            self.null_ = LineCollection(
                list(paths), colors="0.72", linewidths=0.4, alpha=0.6, label="random exchanges", zorder=1
            )
            axes.add_collection(self.null_)
            values = np.concatenate([t.x, t.y])
            span = float(np.ptp(values)) or 1.0
            ends = [float(values.min()) - 0.04 * span, float(values.max()) + 0.04 * span]
            axes.plot(ends, ends, color=GREY, linewidth=0.8, zorder=2)
            style = {"color": "#D55E00", "marker": ".", "markersize": 3, "linewidth": 1}
            style |= {"label": f"observed (p = {t.pvalue:.2g})", "zorder": 3}
            (self.line_,) = axes.plot(t.x, t.y, **(style | kwargs))
            axes.set(xlabel=self.names[0], ylabel=self.names[1], xlim=ends, ylim=ends, aspect="equal")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(MaxNLocator(5))
            if title is not None:
                axes.set_title(title)
            legend(axes)
            self.ax_, self.figure_ = axes, axes.figure
        return self
