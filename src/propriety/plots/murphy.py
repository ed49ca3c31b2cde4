"""The Murphy diagram drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import Label, MatrixLike
from propriety.evaluation import inputs
from propriety.evaluation.decomposition import recalibrate
from propriety.evaluation.murphy import MurphyCurve, murphy_curve, murphy_difference
from propriety.plots.display import GREY, PredictionsDisplay, canvas, is_first, legend, look, respond

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

_SIMULTANEOUS = ("pointwise", "simultaneous", None)


class MurphyDisplay(PredictionsDisplay):
    """Mean cost-weighted loss at every cost, or the difference of two models, with a confidence band.

    Make it by ``from_estimator`` or ``from_predictions``; with ``other=`` it is the difference.

    Parameters
    ----------
    curve : MurphyCurve
    name : str, optional
    band : {"pointwise", "simultaneous"} or None
    level : float
        Confidence of the band.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_, band_ : the curve and its band

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from propriety import plots
    >>> y, p = [0, 1, 1, 0], [0.2, 0.6, 0.9, 0.4]
    >>> display = plots.MurphyDisplay.from_predictions(y, p, name="A", ax=Figure().subplots())
    >>> display.ax_.get_ylabel()
    'mean cost-weighted loss'
    """

    def __init__(
        self,
        curve: MurphyCurve,
        *,
        name: str | None = None,
        band: str | None = "pointwise",
        level: float = 0.95,
    ):
        if band not in _SIMULTANEOUS:
            raise ValueError(f"band must be 'pointwise', 'simultaneous' or None, got {band!r}")
        self.curve, self.name, self.band, self.level = curve, name, band, level

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        other: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of a fitted classifier, or its difference from the classifier `other`.

        Other keywords as in ``from_predictions``.
        """
        if other is not None:
            kwargs["other"] = respond(other, X, y, pos_label)[1]
            name = f"{type(estimator).__name__} − {type(other).__name__}" if name is None else name
        return super().from_estimator(estimator, X, y, pos_label=pos_label, name=name, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        other: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        band: str | None = "pointwise",
        level: float = 0.95,
        recalibrated: bool = False,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of probabilities, or of their difference from the probabilities `other`."""
        if other is None:
            curve = murphy_curve(y, p, sample_weight, pos_label=pos_label)
        else:
            curve = murphy_difference(y, p, other, sample_weight, pos_label=pos_label)
        return cls(curve, name=name, band=band, level=level).plot(ax, recalibrated=recalibrated, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        low: float = 0.0,
        high: float = 1.0,
        reference: bool = True,
        recalibrated: bool = False,
        most: int | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        name : str, optional
            Name in the legend.
        low, high : float
            Range of costs to show.
        reference : bool
            Draw the curve of the constant share of class 1 (of a difference, the line 0).
        recalibrated : bool
            Draw the curve of the recalibrated probabilities: the least that their order can cost.
        most : int, optional
            Points of the line, for a picture that is to stay small; by default all corners of the curve.
        **kwargs
            For the line.

        Returns
        -------
        self
        """
        curve, name = self.curve, self.name if name is None else name
        with canvas(ax) as axes:
            first = is_first(axes)
            style = look(axes, kwargs)
            if reference and first:
                self._reference(axes, low, high)
            c, value, error = curve.corners(low, high, most)
            if self.band is not None:
                self.band_ = self._draw_band(axes, c, value, error, style["color"])
            (self.line_,) = axes.plot(c, value, label=name, **style)
            if recalibrated and curve.other is None:
                best = recalibrate(curve.y, curve.p, curve.weight, pos_label=1)(curve.p)
                least = MurphyCurve(curve.y, best, curve.weight).corners(low, high, most)
                label = "recalibrated" if name is None else f"{name}, recalibrated"
                axes.plot(*least[:2], color=style["color"], linewidth=0.9, linestyle=":", label=label)
            ylabel = (
                "mean cost-weighted loss" if curve.other is None else "difference of cost-weighted losses"
            )
            axes.set(xlabel="cost c of a false alarm (a miss: 1 − c)", ylabel=ylabel, xlim=(low, high))
            if curve.other is None:
                axes.set_ylim(bottom=0)
            legend(axes)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _draw_band(self, ax: Any, c: Any, value: Any, error: Any, color: Any) -> Any:
        if not np.all(np.isfinite(error)):  # of a single row
            return None
        factor = self.curve.factor(self.level, simultaneous=self.band == "simultaneous")
        low, high = value - factor * error, value + factor * error
        if self.curve.other is None:
            low, high = np.maximum(low, 0), np.minimum(high, np.maximum(c, 1 - c))
        return ax.fill_between(c, low, high, color=color, alpha=0.18, linewidth=0)

    def _reference(self, ax: Any, low: float, high: float) -> None:
        if self.curve.other is not None:
            ax.axhline(0, color=GREY, linewidth=0.8)
            return
        rate = inputs.mean(self.curve.y, self.curve.weight)
        c = np.unique(np.clip([low, rate, high], low, high))
        ax.plot(
            c,
            np.minimum((1 - c) * rate, c * (1 - rate)),
            color=GREY,
            linewidth=0.8,
            label="constant probability",
        )
