"""Columns that were read as text, with their types again, where no letter is lost by it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from propriety.tables.conversion import ArrowColumn

_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"
_SHORT = r"^(0|-?[1-9][0-9]{0,14})$"  # exact as a float
_NUMBER = r"^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$"


def _is_bool(text: Any) -> bool:
    words = set(text.to_pylist()) if len(text) <= 2 else {""}
    return words <= {"true", "false"} or words <= {"True", "False"}


def _is_whole(text: Any) -> bool:
    if not pc.all(pc.match_substring_regex(text, _WHOLE)).as_py():
        return False
    try:
        pc.cast(text, pa.int64())
    except pa.ArrowInvalid:  # too large
        return False
    return True


def _is_float(text: Any) -> bool:
    if not pc.all(pc.match_substring_regex(text, _NUMBER)).as_py():
        return False
    again = pc.cast(pc.cast(text, pa.float64()), pa.string())
    same = pc.or_(pc.equal(again, text), pc.match_substring_regex(text, _SHORT))
    # Arrow writes few floats as Python does.
    return all(repr(float(value)) == value for value in text.filter(pc.invert(same)).to_pylist())


#: Types that text may stand for, the narrowest first, and whether these different values do.
_TYPES: tuple[tuple[Any, Callable[[Any], bool]], ...] = (
    (pa.bool_(), _is_bool),
    (pa.int64(), _is_whole),
    (pa.float64(), _is_float),
)


class TextColumn:
    """What a column of text may be, by the pieces of it that were seen; an empty text is a missing value.

    >>> def typed(*texts):
    ...     column, text = TextColumn(), pa.chunked_array([pa.array(texts, pa.string())])
    ...     column.see(text)
    ...     return column.convert(text).to_pylist()
    >>> typed("1", "", "-3"), typed("1", "2.5"), typed("true", "false")
    ([1, None, -3], [1.0, 2.5], [True, False])
    >>> typed("007", "1"), typed("1.50", "2"), typed("12345678901234567890")
    (['007', '1'], ['1.50', '2'], ['12345678901234567890'])
    """

    def __init__(self) -> None:
        self._possible = list(_TYPES)
        self._empty = True

    def see(self, text: ArrowColumn) -> None:
        """Leave out the types that a piece does not have."""
        values = pc.unique(text).drop_null()
        values = values.filter(pc.not_equal(values, ""))
        if len(values):
            self._empty = False
            self._possible = [(kind, holds) for kind, holds in self._possible if holds(values)]

    @property
    def type(self) -> Any:
        """The narrowest type of all pieces."""
        return pa.string() if self._empty or not self._possible else self._possible[0][0]

    def convert(self, text: ArrowColumn) -> Any:
        """A piece as values of the type."""
        if self.type == pa.string():
            return text
        text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
        return pc.cast(pc.utf8_lower(text), self.type)


class TypedWriter:
    """Keeps the pieces in a file without a name until all were seen, then writes them with their types.

    Parameters
    ----------
    make : callable
        Makes the writer of a schema.
    untyped : names of columns that were read as text
    strings : names of those that are text in the file itself; it may grow until the end
    folder : where there is room
    """

    def __init__(
        self, make: Callable[[Any], Any], untyped: Collection[str], strings: Collection[str], folder: Path
    ) -> None:
        self._make, self._strings = make, strings
        self._columns = {name: TextColumn() for name in untyped}
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._pieces: Any = None

    def write_table(self, table: pa.Table) -> None:
        """Keep a piece."""
        if self._pieces is None:
            self._pieces = pa.ipc.new_stream(pa.PythonFile(self._file, "w"), table.schema)
        for name, column in self._columns.items():
            column.see(table.column(name))
        self._pieces.write_table(table)

    def close(self) -> None:
        """Write all pieces."""
        self._pieces.close()
        self._file.seek(0)
        columns = {name: column for name, column in self._columns.items() if name not in self._strings}
        reader, writer = pa.ipc.open_stream(pa.PythonFile(self._file, "r")), None
        for batch in reader:
            table = pa.Table.from_batches([batch])
            for name, column in columns.items():
                place = table.schema.get_field_index(name)
                table = table.set_column(place, name, column.convert(table.column(name)))
            writer = writer or self._make(table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()

    def discard(self) -> None:
        """Close the file, which is then gone."""
        self._file.close()
