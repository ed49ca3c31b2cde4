"""Tables out, piece by piece: CSV, TSV, Parquet, Arrow, JSON lines; a file is there whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from propriety.cli.output import UsageError
from propriety.storage.atomic import atomically

_PACKERS: dict[str, Callable[..., Any]] = {
    "gz": gzip.open,
    "bz2": bz2.open,
    "xz": lzma.open,
}
_TEXT = ("csv", "tsv", "txt", "jsonl", "ndjson")
_BINARY = ("parquet", "pq", "arrow", "feather", "ipc")


@contextmanager
def open_sink(path: str | None) -> Iterator[Callable[[Any], None]]:
    """A function that writes a piece of the table; without a path CSV to standard output."""
    if path is None:
        sink = _Lazy(lambda schema: _csv(sys.stdout.buffer, schema, ","))
        yield sink.write
        sink.close()
        sys.stdout.buffer.flush()
        return
    parts = Path(path).name.lower().split(".")[1:]
    packing = parts.pop() if parts and parts[-1] in _PACKERS else None
    kind = parts[-1] if parts else ""
    if kind not in (*_TEXT, *_BINARY) or (packing and kind in _BINARY):
        known = ", ".join(f".{k}" for k in (*_TEXT, *_BINARY))
        raise UsageError(f"--out {path}: the ending says no format that can be written; use {known}")
    with atomically(path) as temporary, ExitStack() as stack:
        if kind in _BINARY:
            sink = _Lazy(lambda schema: _binary(kind, str(temporary), schema))
        else:
            file = stack.enter_context(
                _PACKERS[packing](temporary, "wb") if packing else temporary.open("wb")
            )
            sink = _Lazy(lambda schema: _text(kind, file, schema))
        yield sink.write
        sink.close()


class _Lazy:
    """Opens its writer with the schema of the first piece."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._writer: Any = None

    def write(self, table: Any) -> None:
        if self._writer is None:
            self._writer = self._make(table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _text(kind: str, file: Any, schema: Any) -> Any:
    if kind in ("jsonl", "ndjson"):
        return _JsonLines(file)
    return _csv(file, schema, "\t" if kind == "tsv" else ",")


def _csv(file: Any, schema: Any, delimiter: str) -> Any:
    how = pacsv.WriteOptions(delimiter=delimiter, quoting_style="needed")
    return pacsv.CSVWriter(pa.PythonFile(_Open(file), "w"), schema, write_options=how)


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


class _JsonLines:
    def __init__(self, file: Any) -> None:
        self._file = file

    def write_table(self, table: Any) -> None:
        for row in table.to_pylist():
            self._file.write((json.dumps(row, ensure_ascii=False, default=str) + "\n").encode())

    def close(self) -> None:
        self._file.flush()


def _binary(kind: str, path: str, schema: Any) -> Any:
    if kind in ("parquet", "pq"):
        import pyarrow.parquet as pq

        return pq.ParquetWriter(path, schema)
    return pa.ipc.new_file(path, schema)
