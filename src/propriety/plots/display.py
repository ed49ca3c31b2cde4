"""What the displays share: scikit-learn's conventions, colours, and reading a fitted classifier.

A display holds what was computed, ``from_estimator`` and ``from_predictions`` compute it, ``plot`` draws it
and sets ``ax_``, ``figure_`` and the artists, so that it can be drawn again elsewhere without computing
anything. Drawn on the axes of another display of its kind, it takes the next colour and dashes and joins
the legend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from propriety.aliases import Label, MatrixLike
from propriety.evaluation.scores import class_index
from propriety.plots.faces import _COLOURS, _STYLE, _import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

GREY = "0.45"
DASHES = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1.5, 1.2)))
_SIZE = (4.6, 3.4)
_MARK = "propriety model"


@contextmanager
def canvas(ax: Any, size: tuple[float, float] = _SIZE) -> Iterator[Any]:
    """The axes to draw on, those of a new figure if none are given, in the style of this package."""
    matplotlib = _import_matplotlib()
    with matplotlib.rc_context(_STYLE):
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure(figsize=size, layout="constrained").subplots()
        yield ax


def look(ax: Axes, given: dict[str, Any] | None = None) -> dict[str, Any]:
    """Colour and dashes of the next model on these axes, under what the caller gives."""
    drawn = sum(line.get_gid() == _MARK for line in ax.lines)
    style = {
        "color": _COLOURS[drawn % len(_COLOURS)],
        "linestyle": DASHES[drawn % len(DASHES)],
        "linewidth": 1.5,
        "gid": _MARK,
    }
    return style | (given or {})


def is_first(ax: Axes) -> bool:
    """Whether no model has been drawn on these axes yet."""
    return not any(line.get_gid() == _MARK for line in ax.lines)


def legend(ax: Any, **where: Any) -> None:
    """A legend of everything that has a name."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        style = {"frameon": True, "edgecolor": "none", "framealpha": 0.85, "borderpad": 0.2}
        ax.legend(handles, labels, **(style | where))


def respond(
    estimator: BaseEstimator, X: MatrixLike, y: ArrayLike, pos_label: Label | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes 0 and 1 and probabilities of class 1 of a fitted classifier of two classes."""
    check_is_fitted(estimator)
    name = type(estimator).__name__
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(f"{name} has no predict_proba; wrap it in sklearn.calibration.CalibratedClassifierCV")
    classes = np.asarray(estimator.classes_)
    if len(classes) != 2:
        raise ValueError(f"these pictures are for two classes, and {name} has {len(classes)}")
    positive = 1
    if pos_label is not None:
        places = np.flatnonzero(classes == pos_label)
        if not len(places):
            raise ValueError(f"pos_label={pos_label!r} is not one of the classes {classes.tolist()}")
        positive = int(places[0])
    return (class_index(y, classes) == positive).astype(int), estimator.predict_proba(X)[:, positive]


class PredictionsDisplay(ABC):
    """A picture of the probabilities of one model for two classes: of its predictions, or of the model."""

    @classmethod
    @abstractmethod
    def from_predictions(cls, y: ArrayLike, p: ArrayLike, **kwargs: Any) -> Self:
        """Draw it for labels and probabilities of class 1."""

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        pos_label: Label | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw it for a fitted classifier on the rows given; other keywords as in ``from_predictions``."""
        outcomes, p = respond(estimator, X, y, pos_label)
        return cls.from_predictions(outcomes, p, pos_label=1, name=name_of(estimator, name), **kwargs)


def name_of(estimator: BaseEstimator, name: str | None) -> str:
    """The given name, or the estimator's."""
    return type(estimator).__name__ if name is None else name
