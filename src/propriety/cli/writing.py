"""Tables out, piece by piece: CSV, TSV, Parquet, Arrow, JSON lines; a file is there whole or not at all."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from propriety.cli.output import UsageError, harmless
from propriety.cli.types import TypedWriter
from propriety.storage.atomic import atomically
from propriety.tables import TableError

_PACKERS: dict[str, Callable[..., Any]] = {
    "gz": gzip.open,
    "bz2": bz2.open,
    "xz": lzma.open,
}
_CSV, _JSON = ("csv", "tsv", "txt"), ("jsonl", "ndjson")
_BINARY = ("parquet", "pq", "arrow", "feather", "ipc")
#: What a spreadsheet takes for a formula, and the numbers that begin like one.
_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
_NUMBER = r"^[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?$"
Write = Callable[[Any], None]


@contextmanager
def open_sink(
    path: str | None, *, untyped: Collection[str] = (), strings: Collection[str] = (), safe: bool = False
) -> Iterator[Write]:
    """A function that writes a piece of the table; without a path CSV to standard output.

    Parameters
    ----------
    path : str or None
    untyped : names of columns that were read as text
        A format with types gets numbers and truth values of them, where no letter is lost by it.
    strings : names of columns that are text in the file they come from; it may grow until the end
    safe : bool
        Whether text in CSV that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    kind, packing = ("csv", None) if path is None else _format(path)
    if safe and kind not in _CSV:
        raise UsageError(f"--spreadsheet-safe is for CSV and TSV; in {path} text is text already")
    if path is None:
        file = _Terminal(sys.stdout.buffer) if sys.stdout.isatty() else _Open(sys.stdout.buffer)
        sink = _Lazy("standard output", lambda schema: _Csv(file, schema, ",", safe))
        yield sink.write
        sink.close()
        sys.stdout.buffer.flush()
        return
    with atomically(path) as temporary, ExitStack() as stack:
        if kind in _BINARY:
            make = _binary(kind, str(temporary))
        else:
            opened = stack.enter_context(
                _PACKERS[packing](temporary, "wb") if packing else temporary.open("wb")
            )
            make = _text(kind, opened, safe)
        if untyped and kind not in _CSV:
            typed = TypedWriter(make, untyped, strings, temporary.parent)
            stack.callback(typed.discard)
            sink = _Lazy(path, lambda _: typed)
        else:
            sink = _Lazy(path, make)
        yield sink.write
        sink.close()


def _format(path: str) -> tuple[str, str | None]:
    """The format and the compression that the ending says."""
    parts = Path(path).name.lower().split(".")[1:]
    packing = parts.pop() if parts and parts[-1] in _PACKERS else None
    kind = parts[-1] if parts else ""
    if kind not in (*_CSV, *_JSON, *_BINARY) or (packing and kind in _BINARY):
        known = ", ".join(f".{k}" for k in (*_CSV, *_JSON, *_BINARY))
        raise UsageError(f"--out {path}: the ending names no format that can be written; use {known}")
    return kind, packing


class _Lazy:
    """Opens its writer with the schema of the first piece; what the format cannot hold is named."""

    def __init__(self, name: str, make: Callable[[Any], Any]) -> None:
        self._name, self._make = name, make
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        table = _without_dictionaries(table)
        with self._refusing():
            if self._writer is None:
                self._writer = self._make(table.schema)
            self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            with self._refusing():
                self._writer.close()

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise TableError(
                f"the table has a column that {self._name} cannot hold: {error}",
                "write .parquet, or give --only-scores",
            ) from None


def _without_dictionaries(table: Any) -> Any:
    """Values instead of codes: pieces may have different dictionaries."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, pc.cast(table.column(i), field.type.value_type))
    return table


def _text(kind: str, file: Any, safe: bool) -> Callable[[Any], Any]:
    if kind in _JSON:
        return lambda schema: _JsonLines(file)
    return lambda schema: _Csv(_Open(file), schema, "\t" if kind == "tsv" else ",", safe)


class _Csv:
    def __init__(self, file: Any, schema: Any, delimiter: str, safe: bool) -> None:
        self._safe = safe
        how = pacsv.WriteOptions(delimiter=delimiter, quoting_style="needed")
        schema = spreadsheet_safe(schema.empty_table()).schema if safe else schema
        self._writer = pacsv.CSVWriter(pa.PythonFile(file, "w"), schema, write_options=how)

    def write_table(self, table: pa.Table) -> None:
        self._writer.write_table(spreadsheet_safe(table) if self._safe else table)

    def close(self) -> None:
        self._writer.close()


def spreadsheet_safe(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before text and names that a spreadsheet would take for a formula.

    >>> spreadsheet_safe(pa.table({"=a": ["=1+1", "-3", "b", None]})).to_pydict()
    {"'=a": ["'=1+1", '-3', 'b', None]}
    """
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            text = table.column(i)
            number = pc.match_substring_regex(text, _NUMBER)
            formula = pc.and_(pc.match_substring_regex(text, _FORMULA), pc.invert(number))
            quoted = pc.binary_join_element_wise(pa.scalar("'", field.type), text, pa.scalar("", field.type))
            table = table.set_column(i, field.name, pc.if_else(formula, quoted, text))
    return table.rename_columns([f"'{n}" if re.match(_FORMULA, n) else n for n in table.column_names])


class _Open:
    """A file that stays open when Arrow closes it."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: Any) -> int:
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.flush()


class _Terminal(_Open):
    """Standard output that somebody looks at: control characters of the table are shown, not obeyed."""

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def write(self, data: Any) -> int:
        self._file.write(harmless(self._decoder.decode(bytes(data)), keep="\n").encode())
        return len(data)


class _JsonLines:
    def __init__(self, file: Any) -> None:
        self._file = file

    def write_table(self, table: pa.Table) -> None:
        for i, field in enumerate(table.schema):
            if pa.types.is_floating(field.type):  # JSON has no word for what is not finite
                values = table.column(i)
                null = pa.scalar(None, field.type)
                table = table.set_column(i, field.name, pc.if_else(pc.is_finite(values), values, null))
        for row in table.to_pylist():
            self._file.write((json.dumps(row, ensure_ascii=False, default=str) + "\n").encode())

    def close(self) -> None:
        self._file.flush()


def _binary(kind: str, path: str) -> Callable[[Any], Any]:
    if kind in ("parquet", "pq"):
        import pyarrow.parquet as pq

        return lambda schema: pq.ParquetWriter(path, schema)
    return lambda schema: pa.ipc.new_file(path, schema)
