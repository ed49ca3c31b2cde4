"""Columns that are no features: weights of rows, groups that belong together, and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from propriety.tables import conversion
from propriety.tables.errors import TableError, no_such_column
from propriety.tables.inference import Findings, Overrides, try_date, try_number

Floats = NDArray[np.float64]


def weights_of(table: pa.Table, name: str, rows: NDArray[np.intp]) -> Floats:
    """The column of weights; `rows` are the places of the table's rows in the file, for errors."""
    array = _column(table, name)
    try:
        values = conversion.as_number(array, ("",)).to_numpy()
    except pa.ArrowInvalid:
        raise TableError(f"the weights in column {name!r} are not all numbers") from None
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise TableError(
            f"the weight in row {rows[np.argmax(bad)] + 1} of column {name!r} is missing or negative"
        )
    if not values.any():
        raise TableError(f"the weights in column {name!r} are zero everywhere")
    return np.asarray(values, dtype=np.float64)


def groups_of(table: pa.Table, name: str, rows: NDArray[np.intp], missing: Sequence[str]) -> NDArray[np.intp]:
    """The group of each row, as a number."""
    array = _column(table, name)
    conversion.check_usable(name, array.type)
    text = conversion.text_or_missing(array, missing)
    known = conversion.as_numpy(pc.is_valid(text)).astype(bool)
    if not known.all():
        raise TableError(
            f"the group in row {rows[np.argmin(known)] + 1} of column {name!r} is missing",
            "every row needs a group; give those that are alone a name of their own",
        )
    _, codes = np.unique(np.array(text.to_pylist(), dtype=object).astype(str), return_inverse=True)
    if codes.max() == 0:
        raise TableError(f"column {name!r} has one group only, so that no other group can be tested on")
    return codes.astype(np.intp)


def times_of(
    table: pa.Table, name: str, rows: NDArray[np.intp], overrides: Overrides, findings: Findings
) -> Floats:
    """When each row was, as a number that grows with time; the column has numbers or dates."""
    array = _column(table, name)
    conversion.check_usable(name, array.type)
    missing, decimal = findings.columns.missing, findings.columns.decimal
    numbers = try_number(array, missing, decimal)
    if numbers is not None:
        values = conversion.as_numpy(numbers).astype(np.float64)
    else:
        column = try_date(name, array, missing, overrides.dates.get(name), findings)
        if column is None:
            raise TableError(
                f"column {name!r} has neither numbers nor dates, so rows cannot be ordered by time",
                f"say how dates are written by --date '{name}=FORMAT'",
            )
        when = conversion.as_date(array, missing, column.form)
        values = conversion.as_numpy(pc.cast(pc.cast(when, pa.int64()), pa.float64(), safe=False))
    known = np.isfinite(values.astype(np.float64))
    if not known.all():
        raise TableError(
            f"the time in row {rows[np.argmin(known)] + 1} of column {name!r} is missing",
            "every row needs its time: fix the table, or leave such rows out",
        )
    if values.min() == values.max():
        raise TableError(f"column {name!r} has one time only, so no rows come after others")
    return np.asarray(values, dtype=np.float64)


def _column(table: Any, name: str) -> Any:
    if name not in table.column_names:
        raise no_such_column(name, table.column_names)
    return table.column(name)
