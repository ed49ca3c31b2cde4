"""A table for learners that need a number in every cell, or an error that names the column and what to do."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples

from propriety.aliases import MatrixLike
from propriety.data.table import Stacked, as_array, is_frame, is_sparse

_SHOWN = 5  # columns that an error names
_ENCODE = (
    "a linear model needs numbers: encode them first, for example with sklearn.preprocessing.OneHotEncoder "
    "in a pipeline, or drop them"
)


def as_numbers(X: MatrixLike) -> Any:
    """X as a float array or a CSR matrix; dates, categories, text, NaN and infinity raise, naming the column.

    >>> as_numbers([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    if isinstance(X, Stacked):
        parts = [as_numbers(part) for part in X.parts]
        return sparse.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)
    names = _types(X)
    _refuse([name for name, dtype in names.items() if _is_strange(dtype)])
    try:
        table: Any = as_array(X, ("csr",))
    except ValueError as error:
        _refuse(_text_columns(X), error)
        raise
    packed = is_sparse(table)
    _check_finite(table.data if packed else table, table.indices if packed else None, list(names))
    return sparse.csr_array(table) if packed else table


def _types(X: Any) -> dict[str, Any]:
    """Names and types of a data frame's columns; empty for other tables."""
    return dict(nw.from_native(X).schema) if is_frame(X) else {}


def _is_strange(dtype: Any) -> bool:
    return not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown))


def _text_columns(X: Any) -> list[Any]:
    """Columns of a table, not sparse, that have a value which is not a number."""
    if is_sparse(X) or not hasattr(X, "__len__") or _num_samples(X) == 0:
        return []
    names = list(_types(X))
    values = np.asarray(X, dtype=object)
    if values.ndim != 2:
        return []
    positions = [j for j in range(values.shape[1]) if not all(map(_is_number, values[:, j]))]
    return [names[j] if names else j for j in positions]


def _is_number(value: Any) -> bool:
    if value is None:
        return True
    try:
        float(value)
    except ValueError:
        return False
    except TypeError:
        return True  # the error of the conversion says more
    return True


def _check_finite(values: Any, indices: Any, names: list[str]) -> None:
    """Refuse NaN and infinity; `indices` are the columns of the values of a sparse matrix."""
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    for is_bad, what, advice in (
        (
            np.isnan,
            "NaN",
            "a linear model needs a number in every cell: impute the missing ones (for example with "
            "sklearn.impute.SimpleImputer in a pipeline, with add_indicator=True if being missing may mean "
            "something) or drop the rows",
        ),
        (np.isinf, "an infinite value (inf)", "clip or transform the values"),
    ):
        bad = is_bad(values)
        if np.any(bad):
            columns = np.flatnonzero(bad.any(axis=0)) if indices is None else np.unique(indices[bad])
            shown = _listed([names[j] if names else int(j) for j in columns])
            raise ValueError(f"Input X contains {what} in {shown}; {advice}")


def _refuse(columns: list[Any], cause: Exception | None = None) -> None:
    if columns:
        verb = "holds" if len(columns) == 1 else "hold"
        raise ValueError(f"{_listed(columns)} {verb} text, categories or dates, and {_ENCODE}") from cause


def _listed(columns: list[Any]) -> str:
    """The columns by name or position, the first few of many."""
    shown = ", ".join(repr(c) if isinstance(c, str) else str(c) for c in columns[:_SHOWN])
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    return f"{'column' if len(columns) == 1 else 'columns'} {shown}{more}"
