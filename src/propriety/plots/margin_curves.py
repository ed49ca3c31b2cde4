"""The cumulative distribution of margins drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import Label, MatrixLike
from propriety.evaluation.margin_curves import MarginDistribution, margin_distribution, normalized_margins
from propriety.plots.display import GREY, canvas, is_first, legend, look, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


class MarginDisplay:
    """Share of the rows whose normalized margin is at most θ, for θ from −1 to 1. [N9 Fig. 8]

    At θ = 0 it is the share of rows decided wrongly at p = ½. A curve that stays low to the left and rises
    late is of a classifier that is right and sure; one made of a few steps, of a classifier that says little
    but 0 and 1.

    Make it by ``from_estimator`` or ``from_predictions``.

    Parameters
    ----------
    distribution : MarginDistribution
    name : str, optional

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    line_ : the curve

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from propriety import plots
    >>> y, p = [0, 1, 1, 0], [0.2, 0.6, 0.9, 0.6]
    >>> display = plots.MarginDisplay.from_predictions(y, p, name="A", ax=Figure().subplots())
    >>> display.distribution(0)
    0.25
    """

    def __init__(self, distribution: MarginDistribution, *, name: str | None = None):
        self.distribution, self.name = distribution, name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> MarginDisplay:
        """Draw the margins of a fitted classifier of two classes or more."""
        margins = normalized_margins(y, estimator.predict_proba(X), classes=estimator.classes_)
        distribution = margin_distribution(margins, sample_weight)
        return cls(distribution, name=name_of(estimator, name)).plot(ax, **kwargs)

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
    ) -> MarginDisplay:
        """Draw the margins of probabilities: those of class 1, or of every class."""
        margins = normalized_margins(y, p, pos_label=pos_label)
        return cls(margin_distribution(margins, sample_weight), name=name).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> MarginDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        name : str, optional
            Name in the legend.
        **kwargs
            For the line.

        Returns
        -------
        self
        """
        name = self.name if name is None else name
        with canvas(ax) as axes:
            if is_first(axes):
                axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)
            theta = np.concatenate(([-1.0], self.distribution.margins, [1.0]))
            share = np.concatenate(([0.0], self.distribution.shares, [1.0]))
            style = look(axes, kwargs)
            (self.line_,) = axes.plot(theta, share, drawstyle="steps-post", label=name, **style)
            axes.set(
                xlabel="normalized margin θ (right above 0)",
                ylabel="share of rows with a margin ≤ θ",
                xlim=(-1, 1),
                ylim=(0, 1),
            )
            legend(axes)
            self.ax_, self.figure_ = axes, axes.figure
        return self
