"""One reader for each format: names of the columns, an iterator of Arrow tables, and notes.

Text, JSON and Excel come as columns of text: what they are is worked out from all rows (`inference`), not
from the first ones.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from propriety.tables.errors import TableError
from propriety.tables.text_files import Utf8Reader, encoding_of, find_delimiter, first_row

_ROWS = 20_000  # of a chunk of JSON or Excel
_HEAD = 1 << 16
Read = tuple[list[str], Iterator[Any], list[str]]


@dataclass(frozen=True)
class Reading:
    """How a file is to be read."""

    name: str
    delimiter: str | None
    encoding: str | None
    header: bool
    sheet: str | None
    chunk_bytes: int
    files: ExitStack  # closed when the table is


# --- delimited text -----------------------------------------------------------------------------------


def read_csv(stream: Any, how: Reading) -> Read:
    """Delimited text, every column as text."""
    encoding = how.encoding or encoding_of(stream.peek(2)[:2])
    text = how.files.enter_context(io.BufferedReader(Utf8Reader(stream, encoding, how.name), _HEAD))
    head = text.peek(_HEAD)[:_HEAD].decode(errors="ignore")
    if not head.strip():
        raise TableError(f"{how.name} is empty")
    delimiter = how.delimiter or find_delimiter(head)
    fields = first_row(head.lstrip("\r\n"), delimiter)
    names = _named([f.strip() for f in fields], how)
    notes = []
    if how.header and len(fields) > 1 and all(_is_number(f) for f in fields):
        raise TableError(
            f"the first row of {how.name} holds numbers and no names: {', '.join(fields[:5])} …",
            "say --no-header if the file has none; columns are then called column_1, column_2, …",
        )
    if not how.delimiter:
        shown = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}[delimiter]
        notes.append(f"delimiter: {shown}")
    return names, _csv_chunks(text, how, delimiter, names), notes


def _csv_chunks(text: Any, how: Reading, delimiter: str, names: list[str]) -> Iterator[Any]:
    ragged: list[Any] = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "error"

    try:
        reader = pacsv.open_csv(
            pa.PythonFile(text, "r"),
            pacsv.ReadOptions(
                use_threads=False, block_size=how.chunk_bytes, column_names=names, skip_rows=int(how.header)
            ),
            pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note),
            pacsv.ConvertOptions(
                check_utf8=False, column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
        for batch in reader:
            yield pa.Table.from_batches([batch])
    except pa.ArrowInvalid as error:
        if ragged:
            raise _ragged(how.name, ragged[0]) from None
        if "Empty CSV file" in str(error):
            return
        if "straddling" in str(error) or "too small" in str(error):
            raise TableError(
                f"{how.name} has a row of more than {how.chunk_bytes >> 20} MB",
                "is there a quote that is not closed?",
            ) from None
        raise


def _ragged(name: str, row: Any) -> TableError:
    where = f"row {row.number}" if row.number is not None else "a row"
    return TableError(
        f"{name}: {where} has {row.actual_columns} fields and the header {row.expected_columns}: "
        f"{row.text[:80]!r}",
        "correct the row, or give the --delimiter",
    )


def _named(fields: list[str], how: Reading) -> list[str]:
    if not how.header:
        return [f"column_{i + 1}" for i in range(len(fields))]
    names = [f or f"column_{i + 1}" for i, f in enumerate(fields)]
    check_unique(names, how.name)
    return names


def check_unique(names: list[str], name: str) -> None:
    """Refuse names that occur twice."""
    twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise TableError(
            f"{name} has more than one column called {', '.join(map(repr, twice[:5]))}", "rename them"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- Parquet and Arrow --------------------------------------------------------------------------------


def _seekable(stream: Any) -> Any:
    """A plain file as it is, everything else in memory: what is unpacked only pretends to be seekable."""
    return stream if isinstance(getattr(stream, "raw", None), io.FileIO) else io.BytesIO(stream.read())


def read_parquet(stream: Any, how: Reading) -> Read:
    """Parquet, a group of rows after the other."""
    import pyarrow.parquet as pq

    file = how.files.enter_context(pq.ParquetFile(_seekable(stream)))
    names = file.schema_arrow.names
    check_unique(names, how.name)
    width = max(1, len(names)) * 16
    batches = file.iter_batches(batch_size=max(1000, how.chunk_bytes // width))
    return names, (pa.Table.from_batches([b]) for b in batches), []


def read_arrow(stream: Any, how: Reading) -> Read:
    """Arrow's own formats: files, Feather, streams."""
    if bytes(stream.peek(4)[:4]) == b"\xff\xff\xff\xff":
        reader = pa.ipc.open_stream(pa.PythonFile(stream, "r"))
        names, batches = reader.schema.names, iter(reader)
    elif bytes(stream.peek(4)[:4]) == b"FEA1":
        from pyarrow import feather

        table = feather.read_table(_seekable(stream))
        names, batches = table.column_names, iter(table.to_batches())
    else:
        file = pa.ipc.open_file(_seekable(stream))
        names, batches = file.schema.names, (file.get_batch(i) for i in range(file.num_record_batches))
    check_unique(names, how.name)
    return names, (pa.Table.from_batches([b]) for b in batches), []


# --- JSON lines and Excel -----------------------------------------------------------------------------


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if float(value).is_integer() else repr(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)


def _text_table(names: list[str], rows: list[list[Any]]) -> Any:
    columns = zip(*rows, strict=True) if rows else [[] for _ in names]
    return pa.table(
        {n: pa.array([_as_text(v) for v in c], pa.string()) for n, c in zip(names, columns, strict=True)}
    )


def read_jsonl(stream: Any, how: Reading) -> Read:
    """One object a line; the first lines have the names, a key that a line lacks is missing there."""
    encoding = how.encoding or encoding_of(stream.peek(2)[:2])
    raw = io.BufferedReader(Utf8Reader(stream, encoding, how.name))
    text = how.files.enter_context(io.TextIOWrapper(raw, encoding="utf-8"))
    objects = _objects(text, how.name)
    first = list(islice(objects, 1000))
    if not first:
        raise TableError(f"{how.name} holds no objects")
    names = list(dict.fromkeys(key for o in first for key in o))

    def chunks() -> Iterator[Any]:
        rows = [[o.get(n) for n in names] for o in first]
        for number, o in enumerate(objects, len(first) + 1):
            new = set(o) - set(names)
            if new:
                raise TableError(
                    f"{how.name}: line {number} has the key {sorted(new)[0]!r}, which earlier ones lack",
                    "give every key in one of the first lines, with null where it is missing",
                )
            rows.append([o.get(n) for n in names])
            if len(rows) >= _ROWS:
                yield _text_table(names, rows)
                rows = []
        if rows:
            yield _text_table(names, rows)

    return names, chunks(), []


def _objects(text: Any, name: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise TableError(f"{name}: line {number} is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise TableError(f"{name}: line {number} is not an object", "write one {…} a line")
        yield value


def read_excel(stream: Any, how: Reading) -> Read:
    """One sheet of an Excel file."""
    import openpyxl

    try:
        book = openpyxl.load_workbook(_seekable(stream), read_only=True, data_only=True)
    except Exception as error:
        raise TableError(f"{how.name} cannot be read as excel: {error}", "is it an .xlsx file?") from None
    if how.sheet is not None and how.sheet not in book.sheetnames:
        raise TableError(
            f"{how.name} has no sheet {how.sheet!r}", f"its sheets are {', '.join(book.sheetnames)}"
        )
    how.files.callback(book.close)
    sheet = book[how.sheet] if how.sheet is not None else book[book.sheetnames[0]]
    rows = (list(row) for row in sheet.iter_rows(values_only=True) if any(v is not None for v in row))
    head = next(rows, None)
    if head is None:
        raise TableError(f"{how.name}: sheet {sheet.title!r} is empty")
    while len(head) > 1 and head[-1] is None:
        head.pop()
    names = _named([(_as_text(v) or "").strip() for v in head], how)
    notes = [] if len(book.sheetnames) == 1 else [f"sheet: {sheet.title}"]

    def chunks() -> Iterator[Any]:
        kept = [] if how.header else [head]
        for number, row in enumerate(rows, 2):
            extra = [v for v in row[len(names) :] if v is not None]
            if extra:
                raise TableError(
                    f"{how.name}: row {number} has {len(row)} cells and the header {len(names)}",
                    "correct the row",
                )
            kept.append((row + [None] * len(names))[: len(names)])
            if len(kept) >= _ROWS:
                yield _text_table(names, kept)
                kept = []
        if kept:
            yield _text_table(names, kept)

    return names, chunks(), notes
