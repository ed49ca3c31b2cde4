"""Columns of a study's table: as numbers or text by name, and as a table of the same kind again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from propriety.aliases import MatrixLike
from propriety.data.table import Rows, is_frame, is_sparse


@dataclass(frozen=True)
class ColumnFacts:
    """A column of the table: its kind, the share of missing values, and its values in a few words."""

    name: str
    kind: str
    missing: float = 0.0
    values: str = ""


@dataclass(frozen=True)
class TableFacts:
    """What is known of a table besides its rows; whoever read it may know more than its columns say.

    Attributes
    ----------
    target : str
        What is predicted.
    columns : sequence of ColumnFacts
    owners : dict
        Columns of the file by their features, where a column has several, as a date has.
    left_out, notes, warnings : what was worked out when it was read
    about : dict
        More facts, such as its name.
    places : array of shape (n,), or None
        The number of each row in the file, from 0.
    command : str
        What does all of this again.
    """

    target: str = "class"
    columns: Sequence[ColumnFacts] = ()
    owners: Mapping[str, Sequence[str]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    places: NDArray[np.intp] | None = None
    command: str = ""

    def owner(self, feature: str) -> str:
        """The column that a feature is made of."""
        return next((name for name, features in self.owners.items() if feature in features), feature)


def names_of_columns(X: Any) -> list[str]:
    """Names of the columns; of an array x0, x1, …"""
    if is_frame(X):
        return list(map(str, nw.from_native(X, eager_only=True).columns))
    return [f"x{j}" for j in range(X.shape[1])]


def columns_of(X: Any) -> dict[str, Any]:
    """Columns by name: floats, or text for everything else.

    >>> import pandas as pd
    >>> columns_of(pd.DataFrame({"x": [1, 2], "kind": ["a", None]}))
    {'x': array([1., 2.]), 'kind': array(['a', 'missing'], dtype='<U7')}
    """
    X = X.taken() if isinstance(X, Rows) else X
    if is_sparse(X):
        X = X.toarray()
    if isinstance(X, pa.Table):
        return {name: _arrow_values(X.column(name)) for name in X.column_names}
    if not is_frame(X):
        values = np.asarray(X)
        return {f"x{j}": as_column(values[:, j]) for j in range(values.shape[1])}
    frame = nw.from_native(X, eager_only=True)
    return {str(name): as_column(frame[name].to_numpy()) for name in frame.columns}


def as_column(values: Any) -> Any:
    """Numbers as floats, anything else as text."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return values.astype(float)
    return np.array(
        ["missing" if v is None or isinstance(v, float) else str(v) for v in values.tolist()], dtype=str
    )


def _arrow_values(column: Any) -> Any:
    if not pa.types.is_dictionary(column.type):
        return as_column(column.to_numpy())
    whole = column.combine_chunks()
    names = np.array([*whole.dictionary.to_pylist(), "missing"], dtype=str)
    return names[pc.fill_null(whole.indices, len(names) - 1).to_numpy()]


def table_of(X: Any, columns: Mapping[str, Any]) -> Any:
    """Rows by column as a table of the kind of X."""
    X = X.frame if isinstance(X, Rows) else X
    if isinstance(X, pa.Table):
        return pa.table({field.name: _arrow_column(columns[field.name], field) for field in X.schema})
    if not is_frame(X):
        return np.column_stack([np.asarray(values, dtype=float) for values in columns.values()])
    frame = nw.from_native(X, eager_only=True)
    made = []
    for name, values in columns.items():
        kind, plain = frame.schema[name], values.tolist()
        if not kind.is_numeric():
            plain = [None if value == "missing" else value for value in plain]
        series = nw.new_series(name, plain, backend=frame.implementation)
        made.append(series if kind.is_temporal() else series.cast(kind))
    return nw.DataFrame.from_dict({series.name: series for series in made}).to_native()


def _arrow_column(values: NDArray[Any], field: Any) -> Any:
    """Values as an encoded table has them."""
    if pa.types.is_dictionary(field.type):
        text = [None if v == "missing" else str(v) for v in values.tolist()]
        return pa.array(text, pa.string()).dictionary_encode()
    return pa.array(values.astype(float))


def number_columns(X: Any) -> Iterator[tuple[str, Any]]:
    """Columns of numbers by name, each as a sequence that can be cut: the rows of X, not of its parts."""
    if is_sparse(X):
        return
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        for name in frame.columns:
            if frame.schema[name].is_numeric() or frame.schema[name] == nw.Boolean:
                yield str(name), frame[name]
    else:
        values = np.asarray(X)
        if values.dtype.kind in "biuf":
            yield from ((f"x{j}", values[:, j]) for j in range(values.shape[1]))


def with_categories(X: Any) -> Any:
    """The same table with text as categories, which our models read."""
    if X is None or isinstance(X, Rows | pa.Table) or not is_frame(X):
        return X
    frame = nw.from_native(X, eager_only=True)
    text = [name for name in frame.columns if frame.schema[name] == nw.String]
    if not text:
        return X
    return frame.with_columns(nw.col(name).cast(nw.Categorical) for name in text).to_native()


def with_column(X: Any, name: str, values: NDArray[Any]) -> Any:
    """The same table with one column of numbers more, the last."""
    X = X.taken() if isinstance(X, Rows) else X
    if not is_frame(X):
        return np.column_stack([X.toarray() if is_sparse(X) else X, values])
    frame = nw.from_native(X, eager_only=True)
    return frame.with_columns(nw.new_series(name, values, backend=frame.implementation)).to_native()


def without_last(X: Any) -> tuple[Any, NDArray[Any]]:
    """The table without its last column, and that column: the other way round than `with_column`."""
    if not is_frame(X):
        return X[:, :-1], np.asarray(X[:, -1], dtype=np.float64)
    frame = nw.from_native(X, eager_only=True)
    name = frame.columns[-1]
    return frame.drop(name).to_native(), frame[name].to_numpy().astype(np.float64)


def facts_of_columns(X: MatrixLike, columns: Mapping[str, Any]) -> list[ColumnFacts]:
    """What the columns themselves say; `columns` are those of `columns_of`."""
    found = []
    for name, values in columns.items():
        if values.dtype.kind == "f":
            found.append(ColumnFacts(name, "number", float(np.mean(np.isnan(values))), range_of(values)))
        else:
            levels = [str(v) for v in np.unique(values) if v != "missing"]
            shown = f"{len(levels)}: {', '.join(levels[:4])}{', …' if len(levels) > 4 else ''}"
            found.append(ColumnFacts(name, "category", float(np.mean(values == "missing")), shown))
    return found


def range_of(values: Any) -> str:
    """The least and the largest number.

    >>> range_of(np.array([2.0, np.nan, 0.5]))
    '0.5 to 2'
    """
    known = values[np.isfinite(values)]
    return f"{known.min():.4g} to {known.max():.4g}" if len(known) else ""
