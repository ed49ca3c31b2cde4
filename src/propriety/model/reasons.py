"""Why rows are decided as they are: the columns that speak most for the decision."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.aliases import MatrixLike
from propriety.data.namespaces import as_numpy
from propriety.data.table import as_array, is_frame, is_sparse

Floats = NDArray[np.float64]
_KINDS = ("pandas", "polars", "pyarrow")


def reasons(model: Any, X: Any, n: int, reference: Any, names: Sequence[str]) -> Any:
    """As `ProperClassifier.reasons` has it; `names` are those of the columns."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a whole number of columns, at least 1, got {n!r}")
    points, decided, _ = points_of(model, X, reference)
    order = np.argsort(-points, axis=1, kind="stable")[:, :n]
    rank, row = (part.ravel() for part in np.meshgrid(np.arange(order.shape[1]), np.arange(len(points))))
    column = order.ravel()
    kept = points[row, column] > 0
    row, rank, column = row[kept], rank[kept], column[kept]
    texts = _texts(X, names)
    given: dict[str, Any] = {
        "row": row,
        "rank": rank + 1,
        "decision": [str(model.classes_[k]) for k in decided[row]],
        "column": [names[f] for f in column.tolist()],
        "value": [texts(int(i), int(f)) for i, f in zip(row, column, strict=True)],
        "points": points[row, column],
    }
    return nw.from_dict(given, backend=frame_kind(X)).to_native()


def points_of(
    model: Any, X: MatrixLike, reference: MatrixLike | None = None
) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
    """What each column adds to the score of the decision on each row, the decisions, and rows compared with.

    With a reference it is against the mean of its rows that are decided otherwise, of all if none is; how
    many these are comes last.
    """
    parts, decided = _parts_and_decisions(model, X)
    base, n_held = np.zeros((len(model.classes_), parts.shape[2])), np.zeros(len(model.classes_), np.intp)
    if reference is not None:
        others, their = _parts_and_decisions(model, reference)
        for k in range(len(base)):
            held = others[:, k][their != k]
            n_held[k] = len(held)
            base[k] = held.mean(axis=0) if len(held) else others[:, k].mean(axis=0)
    return parts[np.arange(len(decided)), decided] - base[decided], decided, n_held[decided]


def _parts_and_decisions(model: Any, X: Any) -> tuple[Floats, NDArray[np.intp]]:
    """What each column adds to the score of each class, (n, K, d), and the class that is decided.

    Of several classes it is what it adds beyond its mean over them. Where a decision is none of the classes,
    it is the likeliest class.
    """
    P = as_numpy(model.predict_proba(X))
    decided = np.asarray(model.costs_for(X).decide(P))
    decided = np.where(decided < P.shape[1], decided, P.argmax(axis=1)).astype(np.intp)
    parts = np.asarray(model.contributions(X))[..., :-1]
    if parts.ndim == 2:
        return np.stack([-parts, parts], axis=1), decided
    return parts - parts.mean(axis=1, keepdims=True), decided


def _texts(X: Any, names: Sequence[str]) -> Any:
    """The text of a cell by row and column."""
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        at = {name: place for place, name in enumerate(map(str, frame.columns))}
        return lambda i, f: _text(frame[i, at[names[f]]])
    array = X if is_sparse(X) else as_array(as_numpy(X))
    array = array.tocsr() if is_sparse(array) else array
    return lambda i, f: _text(array[i, f])


def _text(value: Any) -> str:
    missing = value is None or (isinstance(value, float | np.floating) and np.isnan(value))
    return "missing" if missing else f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def frame_kind(X: Any) -> Any:
    """Of which kind the result is: that of a data frame, else the first that there is."""
    if is_frame(X):
        return nw.from_native(X, eager_only=True).implementation
    found = next((kind for kind in _KINDS if find_spec(kind)), None)
    if found is None:
        raise ImportError("a table about an array is a data frame, and needs pandas, polars or pyarrow")
    return found
