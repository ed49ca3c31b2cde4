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
from propriety.cached_properties import cached_property
from propriety.tables.arrow_files import read_arrow, read_parquet
from propriety.tables.conversion import MISSING
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
_MANY = 16  # pieces of a file from which a kernel pays that may have to be compiled
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_COLUMN = re.compile(
    r"In CSV column #(\d+):.*CSV conversion error to double: invalid value '(.*)'", re.DOTALL
)
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
    parsing, pieces = _Parsing(delimiter, kinds, numbers.missing), Pieces(text, how.chunk_bytes, delimiter)
    try:
        for table in parallel.in_order(parsing.piece, enumerate(pieces), how.n_jobs):
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

    def piece(self, numbered: tuple[int, bytes]) -> Any:
        """The table of some whole rows, given with the number of pieces before them."""
        number, piece = numbered
        if number >= _MANY and self._has_plain_numbers:
            from propriety.tables.plain_rows import plain_rows

            table = plain_rows(piece, self.delimiter, self.kinds)
            if table is not None:
                return table
        with self._options(len(piece) + 1) as options:
            return pacsv.read_csv(pa.BufferReader(piece), *options)
        return pa.schema(self.kinds).empty_table()

    @cached_property
    def _has_plain_numbers(self) -> bool:
        """Whether there are columns of numbers, none of which stands for a missing value."""
        some = any(pa.types.is_floating(kind) for kind in self.kinds.values())
        return some and not any(_NUMBER.fullmatch(marker.strip()) for marker in self.missing)

    def stream(self, text: Any, size: int) -> Iterator[Any]:
        """Tables of the rows of a stream, read by so many bytes at a time."""
        with self._options(size) as options:
            for batch in pacsv.open_csv(pa.PythonFile(text, "r"), *options):
                yield pa.Table.from_batches([batch])

    @contextmanager
    def _options(self, size: int) -> Iterator[tuple[Any, Any, Any]]:
        """What Arrow is told; its errors by their names, but for that of no rows, which is none."""
        names, ragged = list(self.kinds), list[Any]()

        def note(row: Any) -> str:
            ragged.append(row)
            return "error"

        try:
            yield (
                pacsv.ReadOptions(use_threads=False, block_size=size, column_names=names),
                pacsv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=note
                ),
                pacsv.ConvertOptions(
                    check_utf8=False,
                    column_types=self.kinds,
                    null_values=self.missing,
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            text = str(error)
            bad = _COLUMN.search(text)
            if ragged:
                raise _Ragged(ragged[0]) from None
            if bad is not None:
                raise NotNumbers(names[int(bad[1])], bad[2]) from None
            if "straddling" in text or "too small" in text:
                raise LongRow("a row is longer than a piece") from None
            if "Empty CSV file" not in text:
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


READERS: dict[str, Callable[[Any, Reading], Read]] = {
    "csv": read_csv,
    "jsonl": read_json,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "excel": read_excel,
}
