"""What a model knows of the columns of its table, and how it reads them from any later one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from propriety.tables.conversion import as_category, as_number, check_usable, dates_and_others, first_bad
from propriety.tables.errors import TableError, no_such_column

if TYPE_CHECKING:
    from propriety.tables.conversion import ArrowColumn

KINDS = ("number", "category", "date")
PARTS = ("days", "month", "weekday", "hour")
_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class Column:
    """One column that a model uses.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date"}
    categories : tuple of str
        Of a category, in order.
    form : str
        Of a date: "iso" or a format of ``strptime``.
    parts : tuple of str
        Of a date, what is made of it: "days" since 1970, "month", "weekday" (Monday is 1), "hour".
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    form: str = ""
    parts: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that it becomes."""
        return tuple(f"{self.name}.{part}" for part in self.parts) if self.kind == "date" else (self.name,)

    @property
    def details(self) -> str:
        """What it holds, in a few words."""
        if self.kind == "category":
            shown = ", ".join(self.categories[:4])
            return f"{len(self.categories)}: {shown}{', …' if len(self.categories) > 4 else ''}"
        if self.kind == "date":
            read = "" if self.form.startswith("iso") else f"; read as {self.form}"
            return f"as {', '.join(self.parts)}{read}"
        return ""


@dataclass(frozen=True)
class Columns:
    """The columns of a model, in order, and how values are written in them."""

    columns: tuple[Column, ...]
    missing: tuple[str, ...]
    decimal: str = "."

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(c.name for c in self.columns)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, dates in their parts."""
        return tuple(f for c in self.columns for f in c.features)

    @property
    def owners(self) -> tuple[int, ...]:
        """For each feature the position of its column."""
        return tuple(i for i, c in enumerate(self.columns) for _ in c.features)

    def check(self, names: Any) -> list[str]:
        """Refuse a table that lacks a column; returns the names it has besides."""
        names = list(names)
        lacking = [c for c in self.names if c not in names]
        if lacking:
            others = [n for n in names if n not in self.names]
            if len(lacking) == 1:
                raise no_such_column(lacking[0], names, instead=others)
            shown = ", ".join(map(repr, lacking[:10])) + (
                f" and {len(lacking) - 10} more" if lacking[10:] else ""
            )
            raise TableError(
                f"the table lacks {len(lacking)} columns that the model was fitted with: {shown}",
                f"it has besides {', '.join(map(repr, others[:10])) or 'no other'}",
            )
        return [n for n in names if n not in self.names]

    def encode(self, table: Any, first_row: int = 1) -> tuple[Any, dict[str, int]]:
        """The features as an Arrow table of float64 and dictionary columns, and counts of what is not known.

        That is, of each column, the categories that are new, and the text that is no date of its form.
        ``first_row`` is the number of the table's first row in its file, for errors.
        """
        self.check(table.column_names)
        arrays: dict[str, Any] = {}
        unknown: dict[str, int] = {}
        for column in self.columns:
            array, count = table.column(column.name), 0
            check_usable(column.name, array.type)
            if column.kind == "number":
                arrays[column.name] = self._number(column.name, array, first_row)
            elif column.kind == "date":
                parts, count = self._date(column, array)
                arrays |= parts
            else:
                arrays[column.name], count = as_category(array, self.missing, column.categories)
            if count:
                unknown[column.name] = count
        return pa.table(arrays), unknown

    def _number(self, name: str, array: Any, first_row: int) -> Any:
        try:
            return as_number(array, self.missing, self.decimal)
        except pa.ArrowInvalid:
            where = first_bad(array, self.missing, self.decimal)
            row, value = (f"row {first_row + where[0]}", repr(where[1])) if where else ("a row", "a value")
            raise TableError(
                f"column {name!r} holds {value} in {row}, which is not a number",
                "correct it, or leave the cell empty if the value is missing",
            ) from None
        except pa.ArrowNotImplementedError:
            raise TableError(f"column {name!r} holds {array.type}, not numbers") from None

    def _date(self, column: Column, array: Any) -> tuple[dict[str, Any], int]:
        when, others = dates_and_others(array, self.missing, column.form)
        return {f"{column.name}.{part}": date_part(when, part) for part in column.parts}, others


def date_part(when: ArrowColumn, part: str) -> ArrowColumn:
    """A part of timestamps as float64.

    >>> import datetime
    >>> when = pa.array([datetime.datetime(1970, 1, 2, 12)], pa.timestamp("us"))
    >>> [date_part(when, part)[0].as_py() for part in PARTS]
    [1.5, 1.0, 5.0, 12.0]
    """
    if part == "days":
        return pc.divide(pc.cast(pc.cast(when, pa.int64()), pa.float64(), safe=False), float(_DAY))
    if part == "month":
        return pc.cast(pc.month(when), pa.float64())
    if part == "weekday":
        return pc.cast(pc.add(pc.day_of_week(when), 1), pa.float64())
    return pc.cast(pc.hour(when), pa.float64())
