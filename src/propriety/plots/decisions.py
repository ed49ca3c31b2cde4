"""Costs and benefits of decisions drawn: expected-cost curves and decision curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import Label
from propriety.evaluation.thresholds import CostCurve, DecisionCurve, cost_curve, decision_curve
from propriety.plots.display import GREY, PredictionsDisplay, canvas, is_first, legend, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CostCurveDisplay(PredictionsDisplay):
    """Mean cost of a decision at every threshold, with the cheapest and the theoretical threshold.

    Parameters
    ----------
    curve : CostCurve
    name : str, optional

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_, point_ : the curve, and the point of the cheapest threshold

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from propriety import plots
    >>> display = plots.CostCurveDisplay.from_predictions(
    ...     [0, 1, 1, 0], [0.2, 0.6, 0.9, 0.4], fp_cost=1, fn_cost=4, ax=Figure().subplots()
    ... )
    >>> display.curve.theory
    0.2
    """

    def __init__(self, curve: CostCurve, *, name: str | None = None):
        self.curve, self.name = curve, name

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        fp_cost: Any = 1.0,
        fn_cost: Any = 1.0,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of probabilities."""
        costs = {"fp_cost": fp_cost, "fn_cost": fn_cost}
        curve = cost_curve(y, p, **costs, sample_weight=sample_weight, pos_label=pos_label)
        return cls(curve, name=name).plot(ax, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, unit: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw it; `unit` is that of the costs, such as "€"; other keywords go to the line. Returns self."""
        curve, name = self.curve, self.name if name is None else name
        with canvas(ax) as axes:
            if is_first(axes):
                label = f"theoretical threshold {curve.theory:.3g}"
                axes.axvline(curve.theory, color=GREY, linewidth=0.8, linestyle="--", label=label)
            style = look(axes, kwargs)
            # The cost of (knots[k−1], knots[k]] reaches up to its right end.
            t = np.concatenate([[0.0], np.repeat(curve.knots, 2), [1.0]])
            best = curve.best
            cheapest = f"cheapest at {best.value:.3g}"
            label = cheapest if name is None else f"{name} ({cheapest})"
            (self.line_,) = axes.plot(t, np.repeat(curve.costs, 2), label=label, **style)
            dot = {"marker": "o", "markersize": 5, "linestyle": "none", "color": style["color"]}
            (self.point_,) = axes.plot([best.value], [best.cost], **dot)
            cost = "mean cost a decision" + (f" ({unit})" if unit else "")
            axes.set(xlabel="decision threshold", ylabel=cost, xlim=(0, 1))
            axes.set_ylim(bottom=0)
            legend(axes)
            self.ax_, self.figure_ = axes, axes.figure
        return self


class DecisionCurveDisplay(PredictionsDisplay):
    """Net benefit at every threshold, beside deciding class 1 for everyone and for no one.

    Parameters
    ----------
    curve : DecisionCurve
    name : str, optional

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_, band_ : the curve and its 95 % band

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from propriety import plots
    >>> display = plots.DecisionCurveDisplay.from_predictions(
    ...     [0, 1, 1, 0], [0.2, 0.6, 0.9, 0.4], ax=Figure().subplots()
    ... )
    >>> display.ax_.get_xlabel()
    'threshold probability'
    """

    def __init__(self, curve: DecisionCurve, *, name: str | None = None):
        self.curve, self.name = curve, name

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of probabilities."""
        curve = decision_curve(y, p, sample_weight, pos_label=pos_label)
        return cls(curve, name=name).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        low: float = 0.0,
        high: float = 0.99,
        band: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw it from threshold `low` to `high`; other keywords go to the line. Returns self."""
        curve, name = self.curve, self.name if name is None else name
        with canvas(ax) as axes:
            c, value = curve.points(low, high)
            if is_first(axes):
                grid = np.linspace(low, high, 401)
                axes.plot(grid, curve.all(grid), color=GREY, linewidth=0.9, linestyle="--", label="everyone")
                axes.axhline(0, color=GREY, linewidth=0.9, label="no one")
                axes.set_ylim(-0.12 * curve.rate, 1.08 * curve.rate)
            style = look(axes, kwargs)
            if band:
                grid = np.linspace(low, high, 101)
                middle, error = curve(grid), 1.96 * curve.standard_error(grid)
                self.band_ = axes.fill_between(
                    grid, middle - error, middle + error, color=style["color"], alpha=0.18, linewidth=0
                )
            (self.line_,) = axes.plot(c, value, label=name, **style)
            axes.set(
                xlabel="threshold probability", ylabel="net benefit (true alarms a row)", xlim=(low, high)
            )
            legend(axes)
            self.ax_, self.figure_ = axes, axes.figure
        return self
