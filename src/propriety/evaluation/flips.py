"""What would change a decision: the nearest row that differs in allowed columns and is decided otherwise.

Values are those that other rows have, so that no change leads out of the data, column by column; a change is
as far as the share of the rows that lie between the old value and the new one. First one column is changed,
then, if that is not enough, up to three, each the one that takes the score farthest for its distance.

Reference: Wachter, Mittelstadt & Russell (2018), Counterfactual explanations without opening the black box;
Ustun, Spangher & Liu (2019), Actionable recourse in linear classification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.evaluation.inputs import Array

#: Values of a number that are tried, and categories, the most frequent.
_VALUES, _LEVELS, _COLUMNS = 25, 12, 3
#: Of rows by column, probabilities of class 1.
Predict = Callable[[Mapping[str, NDArray[Any]]], Array]


@dataclass(frozen=True)
class Flip:
    """A change that turns a decision; `nearest_flip` finds it.

    Attributes
    ----------
    changes : dict of name to (old, new)
    probability : float
        Of class 1, after the change.
    distance : float
        The share of rows between old and new values, summed over the columns; 1 for another category.
    """

    changes: dict[str, tuple[Any, Any]]
    probability: float
    distance: float


def nearest_flip(
    predict: Predict,
    columns: Mapping[str, NDArray[Any]],
    row: int,
    threshold: float,
    *,
    allowed: Any = None,
) -> Flip | None:
    """The least change of allowed columns that turns the decision on a row; None if none was found.

    Parameters
    ----------
    predict : callable
        From columns to probabilities of class 1.
    columns : mapping of names to arrays of shape (n,)
        Rows whose values may be taken: floats, or text for categories.
    row : int
        The one whose decision is to change.
    threshold : float
        Class 1 is decided from this probability on.
    allowed : names of columns, optional
        Those that may change; by default all.

    Examples
    --------
    >>> columns = {"x": np.arange(10.0), "z": np.zeros(10)}
    >>> flip = nearest_flip(lambda c: c["x"] / 10, columns, 3, 0.55)
    >>> flip.changes, flip.probability
    ({'x': (3.0, 6.0)}, 0.6)
    """
    names = list(columns) if allowed is None else [name for name in columns if name in set(allowed)]
    tried = {name: _values(np.asarray(columns[name])) for name in names}
    current = {name: np.asarray(values)[[row]] for name, values in columns.items()}
    positive = float(predict(current)[0]) >= threshold
    changes: dict[str, tuple[Any, Any]] = {}
    total = 0.0
    for _ in range(_COLUMNS):
        options = _options(current, tried, columns, changes)
        if not options:
            return None
        rows = {name: np.repeat(values, len(options)) for name, values in current.items()}
        for i, (name, value, _) in enumerate(options):
            if rows[name].dtype.kind == "U":
                rows[name] = rows[name].astype(object)
            rows[name][i] = value
        p = np.asarray(predict(rows), dtype=np.float64)
        distance = np.array([far for _, _, far in options])
        turned = (p >= threshold) != positive
        if turned.any():
            best = int(np.flatnonzero(turned)[np.argmin(distance[turned])])
        else:  # the one that goes farthest for what it takes
            start = float(predict(current)[0])
            way = (start - p if positive else p - start) / np.maximum(distance, 1e-3)
            best = int(np.argmax(way))
            if way[best] <= 0:
                return None
        name, value, far = options[best]
        changes[name] = (_plain(columns[name][row]), _plain(value))
        total += far
        current[name] = np.array([value], dtype=object if isinstance(value, str) else float)
        if turned.any():
            return Flip(changes, float(p[best]), total)
    return None


def _options(
    current: Mapping[str, NDArray[Any]],
    tried: Mapping[str, NDArray[Any]],
    columns: Mapping[str, NDArray[Any]],
    changed: Mapping[str, Any],
) -> list[tuple[str, Any, float]]:
    """Columns with a value that they do not have, and how far it is."""
    options = []
    for name, values in tried.items():
        if name not in changed:
            old = current[name][0]
            options += [(name, v, _distance(np.asarray(columns[name]), old, v)) for v in values if v != old]
    return options


def _values(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind == "f":
        known = np.unique(column[np.isfinite(column)])
        if len(known) <= _VALUES:
            return known
        return np.unique(
            np.quantile(column[np.isfinite(column)], np.linspace(0.02, 0.98, _VALUES), method="nearest")
        )
    levels, counts = np.unique(column.astype(str), return_counts=True)
    return levels[np.argsort(-counts, kind="stable")[:_LEVELS]]


def _distance(column: NDArray[Any], old: Any, new: Any) -> float:
    """Share of the rows from the old value to the new; 1 from one category, or from a missing value."""
    if column.dtype.kind != "f" or not np.isfinite(old):
        return 1.0
    low, high = min(old, new), max(old, new)
    return float(np.mean((column >= low) & (column <= high)))


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else float(value)
