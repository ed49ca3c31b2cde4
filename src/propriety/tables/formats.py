"""One reader for each format: names of the columns, an iterator of Arrow tables, and notes.

Text, JSON and Excel come as columns of text: what they are is worked out from all rows (`inference`), not
from the first ones. Delimited text is parsed by several threads, a piece of whole rows each.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from propriety import parallel
from propriety.tables.arrow_files import read_arrow, read_parquet
from propriety.tables.conversion import MISSING, as_number, first_bad
from propriety.tables.errors import LongRow, NotNumbers, TableError
from propriety.tables.excel import read_excel
from propriety.tables.json_files import read_json
from propriety.tables.reading import Numbers, Read, Reading, names_of
from propriety.tables.text_files import (
    UNCLOSED,
    Pieces,
    Rejoined,
    Utf8Reader,
    encoding_of,
    find_delimiter,
    lines,
    read_first_row,
    take_hint,
)

_HEAD = 1 << 16
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_SHOWN = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}


def read_csv(stream: Any, how: Reading) -> Read:
    """Delimited text, every column as text."""
    encoding = how.encoding or encoding_of(stream.peek(4)[:4])
    text = how.files.enter_context(io.BufferedReader(Utf8Reader(stream, encoding, how.name), _HEAD))
    head = text.peek(_HEAD)[:_HEAD].decode(errors="ignore")
    hinted, length = take_hint(head)
    text.read(length)
    delimiter = how.delimiter or hinted or find_delimiter(head)
    fields, ahead, taken, n_lines = read_first_row(text, delimiter, how.name)
    names = names_of(fields, how)
    if how.header and len(fields) > 1 and all(_is_number(f) for f in fields):
        raise TableError(
            f"the first row of {how.name} holds numbers and no names: {', '.join(fields[:5])} …",
            "say --no-header if the file has none; columns are then called column_1, column_2, …",
        )
    notes = [] if how.delimiter else [f"delimiter: {_SHOWN.get(delimiter, repr(delimiter))}"]
    # The header is taken off here, so that nobody else has to agree on where it ends.
    before = (n_lines if how.header else 0) + bool(length)
    ahead = ahead[taken if how.header else 0 :]
    rest = how.files.enter_context(io.BufferedReader(Rejoined(ahead, text), how.chunk_bytes))
    numbers = Numbers(_likely_numbers(ahead[:_HEAD].decode(errors="ignore"), delimiter, names))
    chunks = _csv_chunks(rest, how, delimiter, names, before, numbers)
    return Read(names, chunks, notes, set(), numbers)


def _likely_numbers(text: str, delimiter: str, names: list[str]) -> tuple[str, ...]:
    """The columns with a number, and nothing but numbers and missing values, in the first rows."""
    try:
        rows = list(csv.reader(lines(text)[:-1], delimiter=delimiter))
    except csv.Error:
        return ()
    columns = zip(*(row for row in rows if len(row) == len(names)), strict=True)
    known = [
        {value.strip() for value in column if value.strip().lower() not in MISSING} for column in columns
    ]
    return tuple(
        name
        for name, values in zip(names, known, strict=False)
        if values and all(_NUMBER.fullmatch(value) for value in values)
    )


def _csv_chunks(
    text: Any, how: Reading, delimiter: str, names: list[str], before: int, numbers: Numbers
) -> Iterator[Any]:
    """The rows, pieces of the text by several threads; there are so many lines `before` them."""
    kinds = {name: pa.float64() if name in numbers.wanted else numbers.text for name in names}
    parsing, pieces = (
        _Parsing(delimiter, kinds, numbers.missing, numbers.text),
        Pieces(text, how.chunk_bytes, delimiter),
    )
    try:
        for table in parallel.in_order(parsing.piece, pieces, how.n_jobs):
            yield table
            before += table.num_rows
        if pieces.rest is not None:
            yield from parsing.stream(io.BufferedReader(pieces.rest, how.chunk_bytes), how.chunk_bytes)
    except _Ragged as error:
        raise _ragged(how.name, error.row, before) from None
    except LongRow:
        raise LongRow(f"{how.name} has a row of more than {how.chunk_bytes / 2**20:g} MB", UNCLOSED) from None


class _Ragged(Exception):
    """A row has more or fewer fields than the header."""

    def __init__(self, row: Any) -> None:
        super().__init__(row)
        self.row = row


@dataclass(frozen=True)
class _Parsing:
    """How rows are told apart and converted: the types of the columns, and text that stands for no number."""

    delimiter: str
    kinds: dict[str, Any]
    missing: tuple[str, ...]
    text: Any

    def piece(self, piece: bytes) -> Any:
        """The table of some whole rows."""
        if not piece.strip(b"\r\n"):
            return pa.schema(self.kinds).empty_table()
        try:
            with self._options(len(piece) + 1, self.kinds) as options:
                return pacsv.read_csv(pa.BufferReader(piece), *options)
        except pa.ArrowInvalid:
            with self._options(len(piece) + 1, self._texts) as options:
                return self._converted(pacsv.read_csv(pa.BufferReader(piece), *options))

    def stream(self, text: object, size: int) -> Iterator[Any]:
        """Tables of the rows of a stream, read by so many bytes at a time."""
        try:
            with self._options(size, self._texts) as options:
                for batch in pacsv.open_csv(pa.PythonFile(text, "r"), *options):
                    yield self._converted(pa.Table.from_batches([batch]))
        except pa.ArrowInvalid:
            raise LongRow("a row is longer than a piece") from None

    @property
    def _texts(self) -> dict[str, Any]:
        """The types of the columns if all are text."""
        return dict.fromkeys(self.kinds, self.text)

    def _converted(self, table: Any) -> Any:
        """A table of text with the types of the columns; the first column that has none of its is named."""
        for place, (name, kind) in enumerate(self.kinds.items()):
            if pa.types.is_floating(kind):
                array = table.column(place)
                try:
                    numbers = as_number(array, self.missing)
                except pa.ArrowInvalid:
                    bad = first_bad(array, self.missing, ".")
                    if bad is None:
                        raise
                    raise NotNumbers(name, bad[1]) from None
                table = table.set_column(place, name, numbers.cast(kind))
        return table

    @contextmanager
    def _options(self, size: int, kinds: dict[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
        """What Arrow is told; the first row of another length is an error with the row."""
        ragged: list[Any] = []

        def note(row: Any) -> str:
            ragged.append(row)
            return "error"

        try:
            yield (
                pacsv.ReadOptions(use_threads=False, block_size=size, column_names=list(kinds)),
                pacsv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=note
                ),
                pacsv.ConvertOptions(
                    check_utf8=False,
                    column_types=kinds,
                    null_values=self.missing,
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            if ragged:
                raise _Ragged(ragged[0]) from None
            raise


def _ragged(name: str, row: Any, before: int) -> TableError:
    where = f"row {row.number + before}" if row.number is not None else "a row"
    return TableError(
        f"{name}: {where} has {row.actual_columns} fields and the header {row.expected_columns}: "
        f"{row.text[:80]!r}",
        "correct the row, or give the --delimiter",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Format:
    """A format of tables: its name, its reader, ends of names, and what its files begin with."""

    name: str
    read: Callable[[Any, Reading], Read]
    endings: tuple[str, ...]
    begins: str = ""  # a regular expression of bytes


_ARROW = r"ARROW1|\xff{4}|FEA1"
#: An object or an array of objects, perhaps after the mark of UTF-8.
_OBJECTS = r'(\xef\xbb\xbf)?\s*(\[\s*\{|\{\s*")'
#: The formats; the first is that of a table of which nothing is known.
FORMATS = (
    Format("csv", read_csv, ("csv", "txt", "data", "tsv", "tab")),
    Format("parquet", read_parquet, ("parquet", "pq"), "PAR1"),
    Format("arrow", read_arrow, ("arrow", "feather", "ipc", "arrows"), _ARROW),
    Format("excel", read_excel, ("xlsx", "xlsm"), r"PK\x03\x04"),
    Format("jsonl", read_json, ("jsonl", "ndjson", "json"), _OBJECTS),
)
READERS = {known.name: known.read for known in FORMATS}
#: What may be asked for by name; "tsv" is "csv" with another delimiter.
NAMES = ("csv", "tsv", *list(READERS)[1:])


def format_of(head: bytes, ending: str) -> str:
    """The format of a table by its first bytes, or by the end of its name.

    >>> format_of(b"PAR1", "csv"), format_of(b"a,b", "tsv"), format_of(b"a,b", "")
    ('parquet', 'csv', 'csv')
    """
    begun = (known for known in FORMATS if known.begins and re.match(known.begins.encode("latin-1"), head))
    ended = (known for known in FORMATS if ending in known.endings)
    return next((known.name for known in (*begun, *ended)), FORMATS[0].name)
