"""Working out what the columns of a table are, what the target means, and what looks wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from propriety.tables import conversion
from propriety.tables.columns import PARTS, Column, Columns, date_part
from propriety.tables.errors import TableError, no_such_column
from propriety.tables.leaks import look_for_leaks
from propriety.tables.targets import Target, find_target, in_order

if TYPE_CHECKING:
    from propriety.tables.conversion import ArrowColumn

_MANY = 1000  # categories from which text is free text
_UNIQUE = 0.9  # share of different values from which text tells rows apart
_FEW_ROWS = 20  # below which nothing is said of unique values
_ID = re.compile(
    r"(^|[\s_.-])(id|uuid|guid|key|index|rownames?|row_?number|nr|no)$|^id[\s_.-]|Id$|ID$", re.ASCII
)


@dataclass(frozen=True)
class Overrides:
    """What the user knows better: kinds of columns, columns to drop or to keep, markers, decimal sign."""

    number: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    date: tuple[str, ...] = ()  # a name, or name=format
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    decimal: str | None = None

    @property
    def dates(self) -> dict[str, str | None]:
        """Formats by name, None if it is to be found."""
        return {name: form or None for name, _, form in (d.partition("=") for d in self.date)}


@dataclass
class Findings:
    """What was worked out: the columns, the target, the rows with a label, and what to tell the user."""

    columns: Columns
    target: Target
    codes: NDArray[np.intp]  # the place of each row's class in target.classes
    rows: NDArray[np.intp]
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    missing_cells: dict[str, int] = field(default_factory=dict)


def infer(
    table: Any,
    target: str,
    *,
    positive: str | None = None,
    overrides: Overrides | None = None,
    apart: Collection[str] = (),
    several: bool = False,
    needs_features: bool = True,
    n_jobs: int | None = None,
) -> Findings:
    """Work out the columns of a training table and the meaning of its target.

    Columns that are set `apart`, such as weights, are no features unless the overrides keep them. With
    `several`, a target of three labels or more has as many classes. Ready scores need no features.

    Raises
    ------
    TableError
        If the table cannot be learned from: no such target, one class, no rows, no usable column.
    """
    overrides = overrides or Overrides()
    names = table.column_names
    for name in (
        target,
        *overrides.number,
        *overrides.category,
        *overrides.dates,
        *overrides.drop,
        *overrides.keep,
    ):
        if name not in names:
            raise no_such_column(name, names)
    missing = conversion.MISSING if overrides.missing is None else ("", *overrides.missing)
    meaning = find_target(table.column(target), target, missing, positive, several=several)
    codes, known = meaning.codes(table.column(target), missing)
    rows = np.flatnonzero(known)
    result = Findings(Columns((), missing), meaning, codes[rows], rows)
    if len(rows) < len(codes):
        result.notes.append(f"{len(codes) - len(rows)} rows without a value of {target!r} were left out")
        table = table.take(pa.array(rows))
    _find_columns(table, {target, *apart} - (set(overrides.keep) - {target}), overrides, missing, result)
    if needs_features and not result.columns.columns:
        reasons = "; ".join(f"{n!r}: {why}" for n, why in list(result.left_out.items())[:5])
        raise TableError(f"no column is left to train on ({reasons})", "keep one by --keep")
    result.warnings += look_for_leaks(table, result.columns, result.codes, n_jobs)
    return result


# --- the columns --------------------------------------------------------------------------------------


def _find_columns(
    table: Any, apart: set[str], overrides: Overrides, missing: Sequence[str], result: Findings
) -> None:
    decimal = overrides.decimal or find_decimal(table, apart, missing)
    if decimal == "," and overrides.decimal is None:
        result.notes.append("numbers are written with a decimal comma")
    columns = []
    for name in table.column_names:
        if name in apart:
            continue
        if name in overrides.drop:
            result.left_out[name] = "dropped as asked"
            continue
        column, reason = _find(name, table.column(name), overrides, missing, decimal, result)
        if column is None or (reason and name not in overrides.keep):
            result.left_out[name] = reason
        else:
            columns.append(column)
    result.columns = Columns(tuple(columns), tuple(missing), decimal)


def _find(
    name: str, array: Any, overrides: Overrides, missing: Sequence[str], decimal: str, result: Findings
) -> tuple[Column | None, str]:
    """The column, and a reason to leave it out, or an empty text."""
    if not conversion.is_usable(array.type):
        return None, f"holds {array.type}"
    forced = _forced(name, overrides)
    if forced in (None, "number"):
        numbers = try_number(array, missing, decimal)
        if numbers is not None:
            result.missing_cells[name] = numbers.null_count
            return Column(name, "number"), _useless_number(name, numbers)
        if forced:
            value = conversion.first_bad(array, missing, decimal)
            raise TableError(
                f"column {name!r} is not all numbers: {value[1]!r} in row {value[0] + 1}" if value else name,
                f"leave out --numeric {name}, or name the value by --missing",
            )
    text = conversion.text_or_missing(array, missing)
    result.missing_cells[name] = text.null_count
    if forced in (None, "date"):
        column = try_date(name, array, missing, overrides.dates.get(name), result)
        if column is not None:
            return column, "" if column.parts else "constant"
        if forced:
            raise TableError(f"column {name!r} has values that are not dates", "give --date NAME=FORMAT")
    values = sorted(conversion.different(text).to_pylist(), key=in_order)
    return Column(name, "category", tuple(values)), _useless_text(name, text, len(values))


def _forced(name: str, overrides: Overrides) -> str | None:
    for kind, chosen in (
        ("number", overrides.number),
        ("category", overrides.category),
        ("date", overrides.dates),
    ):
        if name in chosen:
            return kind
    return None


def try_number(array: ArrowColumn, missing: Sequence[str], decimal: str) -> Any | None:
    """The values as numbers, null where missing; None if one is not a number."""
    if pa.types.is_temporal(array.type):
        return None
    try:
        numbers = conversion.as_number(array, missing, decimal)
    except pa.ArrowInvalid:
        return None
    if not pc.any(pc.is_nan(numbers)).as_py():
        return numbers
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def find_decimal(table: Any, apart: Collection[str], missing: Sequence[str]) -> str:
    """A comma, if some column is numbers only when written with it, and none has a decimal point."""
    comma = False
    for name in table.column_names:
        array = table.column(name)
        if name in apart or not conversion.is_text(array.type):
            continue
        few = conversion.different(conversion.text_or_missing(array.slice(0, 1000), missing))
        if not len(few) or not pc.all(pc.match_substring_regex(few, r"^[+-]?[\d.,]+$")).as_py():
            continue
        if pc.any(pc.match_substring(few, ".")).as_py():
            return "."
        comma = comma or pc.any(pc.match_substring(few, ",")).as_py()
    return "," if comma else "."


def _useless_number(name: str, numbers: Any) -> str:
    n = len(numbers) - numbers.null_count
    if n == 0:
        return "no value in any row"
    if numbers.null_count:
        return ""
    values = conversion.as_numpy(numbers)  # NumPy takes a tenth of Arrow's time
    low, high = float(values.min()), float(values.max())
    if low == high:
        return f"constant: {low:g}"
    counts, named = high - low == n - 1, _ID.search(name)
    if n < _FEW_ROWS or not (counts or named) or not _all_differ_and_are_whole(numbers):
        return ""
    if counts:
        return f"counts the rows, from {low:g} to {high:g}"
    return "an identifier: a different number in every row"


def _all_differ_and_are_whole(numbers: Any) -> bool:
    values = conversion.as_numpy(numbers)
    return bool(np.all(np.mod(values, 1) == 0)) and len(np.unique(values)) == len(values)


def _useless_text(name: str, text: Any, distinct: int) -> str:
    n = len(text) - text.null_count
    if n == 0:
        return "no value in any row"
    if distinct == 1 and text.null_count == 0:
        return f"constant: {text[0].as_py()!r}"
    if n >= _FEW_ROWS and distinct > _UNIQUE * n:
        return f"an identifier or free text: {distinct} different values in {n} rows"
    if distinct > _MANY:
        return f"free text: {distinct} different values"
    return ""


def try_date(
    name: str, array: ArrowColumn, missing: Sequence[str], form: str | None, result: Findings
) -> Column | None:
    """The column as dates, with the form that fits every value; None if none does."""
    if pa.types.is_temporal(array.type):
        when = conversion.as_date(array, missing, conversion.ISO)
        form = conversion.ISO
    elif form is not None:
        when = conversion.as_date(array, missing, form)
        if when.null_count > conversion.text_or_missing(array, missing).null_count:
            return None
    else:
        form = _date_form(name, array, missing, result)
        if form is None:
            return None
        when = conversion.as_date(array, missing, form)
    parts = [p for p in PARTS if pc.count_distinct(date_part(when, p).drop_null()).as_py() > 1]
    return Column(name, "date", form=form, parts=tuple(parts))


def _date_form(name: str, array: Any, missing: Sequence[str], result: Findings) -> str | None:
    """The first format that fits every value; a second one that fits as well is noted."""
    text = conversion.different(conversion.text_or_missing(array, missing))
    if len(text) == 0 or not pc.all(pc.match_substring_regex(text, r"\d")).as_py():
        return None
    few = text.slice(0, 1000)
    for form in (conversion.ISO, conversion.ISO_ZONE):
        kind = pa.timestamp("us") if form == conversion.ISO else pa.timestamp("us", "UTC")
        try:
            pc.cast(few, kind)
            pc.cast(text, kind)
        except pa.ArrowInvalid:
            continue
        return form
    fitting = []
    for day in conversion.DATE_FORMATS:
        for time in conversion.TIMES:
            form = day + time
            if (
                conversion.as_date(few, (), form).null_count == 0
                and conversion.as_date(text, (), form).null_count == 0
            ):
                fitting.append(form)
    if len(fitting) > 1:
        result.warnings.append(
            f"dates of {name!r} are read as {fitting[0]}, but {fitting[1]} fits as well: say which by "
            f"--date '{name}=FORMAT'"
        )
    return fitting[0] if fitting else None
