"""Rows to try a loss on: two built-in sets, or the user's table; one part is fitted, the other judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.model_selection import train_test_split

from propriety import demonstration
from propriety.cached_properties import cached_property

Floats = NDArray[np.float64]
#: More rows of a table than this are not read: a fit should not keep the page waiting.
MOST_ROWS = 5000
_POINTS = 300  # that a picture shows


@dataclass(frozen=True, eq=False)
class DataSet:
    """Features and labels of two classes.

    Attributes
    ----------
    X : array of shape (n, 2), or a table
    y : array of shape (n,)
        1 for the class that can be missed.
    plane : bool
        Whether X has two columns of numbers, so that a boundary can be drawn.
    """

    name: str
    title: str
    about: str
    X: Any
    y: NDArray[np.intp]
    positive: str
    columns: tuple[str, ...] = ()
    plane: bool = False

    @cached_property
    def split(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows to fit, and rows to judge by: halves, with the classes in the same shares."""
        rows = np.arange(len(self.y))
        few = np.bincount(self.y, minlength=2).min()
        if few < 2:
            raise ValueError(
                f"{self.title} has fewer than two rows of one class, and both halves need one: give more rows"
            )
        fitted, judged = train_test_split(rows, test_size=0.5, stratify=self.y, random_state=0)
        return np.sort(fitted), np.sort(judged)

    def take(self, rows: NDArray[np.intp]) -> Any:
        """Features of some rows."""
        return self.X[rows] if isinstance(self.X, np.ndarray) else self.X.take(rows)

    def described(self) -> dict[str, Any]:
        """The same for the page."""
        fitted, judged = self.split
        told: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "positive": self.positive,
            "rows": f"{len(fitted):,} rows are fitted, {len(judged):,} others judge.",
        }
        if self.plane:
            shown = fitted[:_POINTS]
            points = np.column_stack([self.X[shown].round(3), self.y[shown]])
            low, high = self.frame
            told["plane"] = {
                "columns": list(self.columns),
                "low": low.tolist(),
                "high": high.tolist(),
                "points": points.tolist(),
            }
        return told

    @property
    def frame(self) -> tuple[Floats, Floats]:
        """The corners of the picture of a plane."""
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        room = 0.02 * np.where(high > low, high - low, 1.0)
        return np.round(low - room, 3), np.round(high + room, 3)


def built_in() -> tuple[DataSet, ...]:
    """The sets that need no table."""
    return (curved(), tumours())


def curved() -> DataSet:
    """Two columns, and a class whose probability bends: no straight line is right at every threshold.

    >>> curved().X.shape, float(curved().y.mean().round(2))
    ((1600, 2), 0.51)
    """
    rng = np.random.default_rng(3)
    X = rng.uniform((-2, -1.5), (2, 2.5), size=(1600, 2))
    truth = special.expit(2.2 * (X[:, 1] - 0.35 * X[:, 0] ** 2 - 0.9 * X[:, 0]))
    y = (rng.uniform(size=len(X)) < truth).astype(np.intp)
    text = "Drawn at random; the probability is a curve that no straight line follows at every threshold."
    return DataSet("curved", "A curved boundary", text, X, y, "1", ("one column", "another"), plane=True)


def tumours() -> DataSet:
    """Five measurements of tumours, of which the malignant must not be missed; ships with scikit-learn.

    >>> len(tumours().y), tumours().positive
    (569, 'malignant')
    """
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = tuple(map(str, data.feature_names[: demonstration.COLUMNS]))
    y = (data.target_names[data.target] == "malignant").astype(np.intp)
    text = "569 tumours by five measurements of their cells, as in propriety demo."
    return DataSet("tumours", "Tumours", text, data.data[:, : demonstration.COLUMNS], y, "malignant", columns)


def of_table(name: str, frame: Any, y: NDArray[np.intp], positive: str) -> DataSet:
    """The user's table, or as many rows of it as a fit may have: `frame` is an Arrow table."""
    about = f"{len(y):,} rows, {frame.num_columns} columns."
    if len(y) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False))
        frame, y = frame.take(rows), y[rows]
        about += f" {MOST_ROWS:,} of them, drawn at random, are used here."
    columns = tuple(map(str, frame.column_names))
    X, plane = _plane(frame)
    return DataSet("table", name, about, X, np.asarray(y, dtype=np.intp), positive, columns, plane)


def _plane(frame: Any) -> tuple[Any, bool]:
    """Two columns of numbers without gaps as an array; any other table as it is."""
    if frame.num_columns != 2 or any(str(column.type) != "double" for column in frame.columns):
        return frame, False
    X = np.column_stack([column.to_numpy() for column in frame.columns])
    return (X, True) if np.all(np.isfinite(X)) else (frame, False)
