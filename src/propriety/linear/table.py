"""A table as a linear model reads it: numbers in every cell, or an error that says what to do."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples, validate_data

from propriety.frames import is_frame

_ABSENT = "no_validation"  # for scikit-learn: there is no y
_SHOWN = 5  # columns that an error names
_ENCODE = (
    "a linear model needs numbers: encode them first, for example with sklearn.preprocessing.OneHotEncoder "
    "in a pipeline, or drop them"
)


def read(model: Any, X: Any, y: Any = _ABSENT, *, reset: bool = True) -> Any:
    """X as floats (and y), checked; dates, categories, text, NaN and infinity raise and name the column."""
    settings = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "ensure_all_finite": False}
    _refuse([name for name, dtype in _schema(X).items() if _is_strange(dtype)], _ENCODE)
    try:
        if isinstance(y, str) and y == _ABSENT:
            result = (validate_data(model, X, reset=reset, **settings),)
        else:
            result = validate_data(model, X, y, reset=reset, multi_output=False, **settings)
    except ValueError as error:
        text = _text_columns(X)
        if text:
            _refuse(text, _ENCODE, error)
        raise
    table, *labels = result
    _check_finite(model, table)
    if sparse.issparse(table):
        table = sparse.csr_array(table)
    return (table, *labels) if labels else table


def _schema(X: Any) -> dict[str, Any]:
    """Names and types of a data frame's columns; empty for other tables."""
    return dict(nw.from_native(X).schema) if is_frame(X) else {}


def _is_strange(dtype: Any) -> bool:
    return not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown))


def _text_columns(X: Any) -> list[Any]:
    """Columns of a table, not sparse, that have a value which is no number."""
    if sparse.issparse(X) or not hasattr(X, "__len__") or _num_samples(X) == 0:
        return []
    named = list(_schema(X))
    values = np.asarray(X, dtype=object)
    if values.ndim != 2:
        return []
    positions = [j for j in range(values.shape[1]) if not all(map(_is_number, values[:, j]))]
    return [named[j] if named else j for j in positions]


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


def _check_finite(model: Any, X: Any) -> None:
    values = X.data if sparse.issparse(X) else X
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
            columns = np.unique(X.indices[bad]) if sparse.issparse(X) else np.flatnonzero(bad.any(axis=0))
            names = getattr(model, "feature_names_in_", None)
            shown = _listed([int(j) if names is None else names[j] for j in columns])
            raise ValueError(f"Input X contains {what} in {shown}; {advice}")


def _refuse(columns: list[Any], advice: str, cause: Exception | None = None) -> None:
    if columns:
        verb = "holds" if len(columns) == 1 else "hold"
        raise ValueError(f"{_listed(columns)} {verb} text, categories or dates, and {advice}") from cause


def _listed(columns: list[Any]) -> str:
    """The columns by name or position, the first few of many."""
    shown = ", ".join(repr(c) if isinstance(c, str) else str(c) for c in columns[:_SHOWN])
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    return f"{'column' if len(columns) == 1 else 'columns'} {shown}{more}"
