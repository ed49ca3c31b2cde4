"""Miscalibration against discrimination of several models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import Label, MatrixLike
from propriety.evaluation.decomposition import Decomposition, decomposition
from propriety.plots.display import GREY, canvas, legend, respond
from propriety.plots.faces import _COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

    from propriety.losses.registry import LossLike

_MARKERS = "osD^vP*X"


class DecompositionDisplay:
    """Models as points: discrimination up, miscalibration to the right, equal loss along the grey lines.

    Parameters
    ----------
    parts : dict of str to Decomposition
        Of models judged by one loss on the same rows.

    Attributes
    ----------
    ax_, figure_ : where it was drawn
    points_ : list of the points' artists

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from propriety import plots
    >>> models = {"A": [0.2, 0.6, 0.9, 0.4], "B": [0.5, 0.5, 0.6, 0.5]}
    >>> display = plots.DecompositionDisplay.from_predictions([0, 1, 1, 0], models, ax=Figure().subplots())
    >>> len(display.points_)
    2
    """

    def __init__(self, parts: Mapping[str, Decomposition]):
        if not parts:
            raise ValueError("parts must have a model or more")
        if len({p.loss for p in parts.values()}) > 1:
            raise ValueError(
                "parts must be of one loss: " + ", ".join(sorted({p.loss for p in parts.values()}))
            )
        self.parts = dict(parts)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        loss: LossLike = "Log()",
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> DecompositionDisplay:
        """Draw a fitted classifier, or a dict of names to fitted classifiers, on the rows given."""
        models = estimator if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        if not models:
            raise ValueError("estimator must be a classifier or a dict of one or more")
        answers = {name: respond(model, X, y, pos_label) for name, model in models.items()}
        outcomes = next(iter(answers.values()))[0]
        predictions = {name: p for name, (_, p) in answers.items()}
        return cls.from_predictions(
            outcomes, predictions, loss=loss, sample_weight=sample_weight, pos_label=1, ax=ax, **kwargs
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: Any,
        *,
        loss: LossLike = "Log()",
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> DecompositionDisplay:
        """Draw probabilities, or a dict of names to probabilities."""
        models = p if isinstance(p, Mapping) else {name or "model": p}
        parts = {
            key: decomposition(y, value, loss, sample_weight=sample_weight, pos_label=pos_label)
            for key, value in models.items()
        }
        return cls(parts).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> DecompositionDisplay:
        """Draw it; keywords go to the points. Returns self."""
        first = next(iter(self.parts.values()))
        with canvas(ax) as axes:
            self.points_ = []
            for i, (name, part) in enumerate(self.parts.items()):
                style = {
                    "color": _COLOURS[i % len(_COLOURS)],
                    "marker": _MARKERS[i % len(_MARKERS)],
                    "markersize": 6,
                }
                style |= {"linestyle": "none", "label": f"{name} ({part.score:.3g})", "zorder": 3}
                (point,) = axes.plot([part.miscalibration], [part.discrimination], **(style | kwargs))
                self.points_.append(point)
            self._limits(axes)
            self._lines(axes, first.uncertainty)
            kind = f"{first.loss.removesuffix('()')} loss"
            axes.set(xlabel=f"miscalibration ({kind})", ylabel=f"discrimination ({kind})")
            frame = {"title_fontsize": 7.5, "edgecolor": "0.8", "borderpad": 0.5}
            legend(axes, title=f"model (mean {kind})", loc=self._free_corner(axes), **frame)
            self.ax_, self.figure_ = axes, axes.figure
        return self

    def _limits(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        m = [p.miscalibration for p in self.parts.values() if np.isfinite(p.miscalibration)]
        d = [p.discrimination for p in self.parts.values()]
        wide = max(max(m, default=0.0) * 1.25, 1e-9)
        tall = max(max(d) - min(d), 0.15 * max(d), 1e-9)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.set(xlim=(0, wide), ylim=(max(min(d) - 0.5 * tall, 0), max(d) + 0.5 * tall))

    def _free_corner(self, ax: Any) -> str:
        """A corner without a point, where there is one."""
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        for corner in ("lower right", "upper left", "upper right"):
            vertical, horizontal = corner.split()
            taken = False
            for part in self.parts.values():
                x = (part.miscalibration - left) / (right - left)
                y = (part.discrimination - bottom) / (top - bottom)
                beside = x > 0.45 if horizontal == "right" else x < 0.55
                taken |= beside and (y > 0.55 if vertical == "upper" else y < 0.45)
            if not taken:
                return corner
        return "lower left"

    def _lines(self, ax: Any, uncertainty: float) -> None:
        """Lines of equal loss, score = MCB − DSC + UNC, each with its value."""
        from matplotlib.ticker import MaxNLocator

        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        low, high = left - top + uncertainty, right - bottom + uncertainty
        for score in MaxNLocator(8).tick_values(low, high):
            x = np.array([left, right])
            y = x + uncertainty - score
            ax.plot(x, y, color="0.85", linewidth=0.7, zorder=0)
            # The value stands where the line leaves the frame, on the right or at the top.
            end_x, end_y = (right, y[1]) if y[1] <= top else (top - uncertainty + score, top)
            if left < end_x <= right and bottom < end_y <= top:
                ax.annotate(
                    f"{score:.3g}",
                    (end_x, end_y),
                    xytext=(2, 1),
                    textcoords="offset points",
                    fontsize=6.5,
                    color=GREY,
                    annotation_clip=False,
                )
        ax.set(xlim=(left, right), ylim=(bottom, top))
