"""The reliability diagram drawn: recalibrated against stated probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import Label, RandomState
from propriety.evaluation.calibration import Reliability, reliability
from propriety.evaluation.decomposition import Decomposition, decomposition
from propriety.plots.display import GREY, PredictionsDisplay, canvas, is_first, legend, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from propriety.losses.registry import LossLike


class ReliabilityDisplay(PredictionsDisplay):
    """Isotonic reliability curve with the band of what chance allows, and the histogram of probabilities.

    Parameters
    ----------
    reliability : Reliability
    parts : Decomposition, optional
        Miscalibration, discrimination and uncertainty, told in the figure.
    name : str, optional

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_, band_, bars_ : curve, band and histogram

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from propriety import plots
    >>> display = plots.ReliabilityDisplay.from_predictions(
    ...     [0, 1, 1, 0], [0.2, 0.6, 0.9, 0.4], ax=Figure().subplots()
    ... )
    >>> display.ax_.get_xlabel()
    'stated probability'
    """

    def __init__(
        self, reliability: Reliability, parts: Decomposition | None = None, *, name: str | None = None
    ):
        self.reliability, self.parts, self.name = reliability, parts, name

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        loss: LossLike = "Log()",
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        level: float = 0.9,
        n_resamples: int = 500,
        random_state: RandomState = 0,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of probabilities; the parts told are those of `loss`."""
        curve = reliability(
            y,
            p,
            sample_weight=sample_weight,
            pos_label=pos_label,
            level=level,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        parts = decomposition(y, p, loss, sample_weight=sample_weight, pos_label=pos_label)
        return cls(curve, parts, name=name).plot(ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        histogram: bool = True,
        n_bins: int = 25,
        **kwargs: Any,
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        name : str, optional
            Name in the legend.
        histogram : bool
            Draw where the stated probabilities lie, along the bottom; of the first model on the axes only.
        n_bins : int
            Bars of the histogram.
        **kwargs
            For the line.

        Returns
        -------
        self
        """
        r, name = self.reliability, self.name if name is None else name
        with canvas(ax, (3.6, 3.6)) as axes:
            first = is_first(axes)
            style = look(axes, kwargs)
            if first:
                axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=1)
                if histogram:
                    self.bars_ = self._histogram(axes, n_bins)
            self.band_ = axes.fill_between(
                r.at,
                r.low,
                r.high,
                color=style["color"],
                alpha=0.18,
                linewidth=0,
                label=f"{r.level:.0%} band if calibrated" if first else None,
            )
            (self.line_,) = axes.plot(r.curve.p, r.curve.rate, label=name, **style)
            # With one model its parts are told; with more, each would need a title of its own.
            axes.set_title(self._told() if first else "", fontsize=7.5, loc="left")
            axes.set(xlabel="stated probability", ylabel="recalibrated probability")
            axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
            # A curve high above the diagonal leaves the lower right free, any other the upper left.
            high = np.interp(0.55, r.curve.p, r.curve.rate) > 0.75
            place = {"loc": "lower right", "bbox_to_anchor": (1, 0.17)} if high else {"loc": "upper left"}
            legend(axes, **place)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _histogram(self, ax: Any, n_bins: int) -> Any:
        rows = self.reliability.rows
        height, edges = np.histogram(rows.p, np.linspace(0, 1, n_bins + 1), weights=rows.weight)
        share = 0.16 * height / height.max()
        return ax.bar(
            edges[:-1], share, np.diff(edges), align="edge", color="0.8", edgecolor="white", linewidth=0.5
        )

    def _told(self) -> str:
        parts = self.parts
        if parts is None:
            return ""
        return (
            f"{parts.loss.removesuffix('()')} loss {parts.score:.3g} = {parts.miscalibration:.2g} MCB "
            f"− {parts.discrimination:.2g} DSC + {parts.uncertainty:.2g} UNC"
        )
