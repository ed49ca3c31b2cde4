"""Files in: CSV, TSV, Parquet, Arrow, Excel and JSON lines, plain or compressed, in chunks."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

import pyarrow as pa

from propriety import memory
from propriety.tables.errors import TableError
from propriety.tables.formats import NAMES, READERS, format_of
from propriety.tables.limits import EXPANSION, Counted, Limit, Unpacked
from propriety.tables.reading import Numbers, Reading, in_memory

_PACKED = {"gz": "gzip", "bz2": "bz2", "xz": "xz", "zst": "zstd", "lz4": "lz4", "zip": "zip"}
_ROWS = 1 << 17  # of chunks that are joined
#: What reading a damaged file may raise.
_DAMAGE = (
    pa.ArrowException, OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, struct.error,
    NotImplementedError, RuntimeError, MemoryError, OverflowError, ValueError,
)  # fmt: skip
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}


@dataclass
class Source:
    """An open table: the names of its columns, and its rows in chunks, once; ``with`` closes it.

    ``strings`` is None if the file states the types of its columns. Otherwise they come as text, and it has
    the names of those that hold text in the file itself; it is complete when the last chunk was read.
    ``numbers.ask`` has columns of a text file come as numbers; reading raises `NotNumbers` if one is not.
    """

    name: str
    format: str
    column_names: list[str]
    chunks: Iterator[Any]
    notes: list[str]
    strings: set[str] | None
    files: ExitStack
    numbers: Numbers = field(default_factory=Numbers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.files.close()

    def read(self) -> pa.Table:
        """All rows as one Arrow table, and the end of it."""
        with self:
            tables = list(self.chunks if self.strings is None else _joined(self.chunks))
        if not tables or sum(t.num_rows for t in tables) == 0:
            raise TableError(f"{self.name} has a header and no rows")
        return pa.concat_tables(tables) if self.strings is None else _in_one_piece(tables)


def open_source(
    path: str,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    sheet: str | None = None,
    chunk_bytes: int = 8 << 20,
    max_expansion: float = EXPANSION,
    n_jobs: int | None = None,
) -> Source:
    """Open a table; ``-`` is standard input. What it is follows from its name, or from its first bytes.

    Parameters
    ----------
    path : str
    format : {"csv", "tsv", "parquet", "arrow", "excel", "jsonl"}, optional
    delimiter, encoding : str, optional
        Of text; found by looking if not given.
    header : bool, default=True
        Whether the first row of a text or Excel file has the names.
    sheet : str, optional
        Of an Excel file; by default the first.
    chunk_bytes : int
        About how much of a file is in memory at once.
    max_expansion : float
        How many times its own size a file may unpack to, beyond 1 GB.
    n_jobs : int, optional
        Threads that parse text; by default as many as there are cores.
    """
    name = "standard input" if path == "-" else path
    if format is not None and format not in NAMES:
        raise TableError(f"there is no format {format!r}", f"the formats are {', '.join(NAMES)}")
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'):
        raise TableError(f"{delimiter!r} cannot be a delimiter", "give one ASCII character")
    limit = Limit(name, max_expansion)
    with ExitStack() as files:
        raw = files.enter_context(_open(path, name))
        kind = format or "table"
        try:
            kind, stream, delimiter = _unpack(path, raw, format, delimiter, limit, files)
            how = Reading(name, delimiter, encoding, header, sheet, chunk_bytes, n_jobs, limit, files)
            read = READERS[kind](stream, how)
        except TableError:
            raise
        except _DAMAGE as error:
            raise _damaged(name, kind, error) from None
        chunks = _guarded(read.chunks, name, kind)
        return Source(name, kind, read.names, chunks, read.notes, read.strings, files.pop_all(), read.numbers)


def _joined(chunks: Iterator[Any]) -> Iterator[Any]:
    """Some chunks as one: many small arrays take more memory than few large ones, and more time to read."""
    waiting, rows = [], 0
    for chunk in chunks:
        waiting.append(chunk)
        rows += chunk.num_rows
        if rows >= _ROWS:
            yield _as_one(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _as_one(waiting)


def _as_one(tables: list[Any]) -> Any:
    # The system's allocator gives arrays of this size back as soon as they are freed, Arrow's own may not.
    table = pa.concat_tables(tables).unify_dictionaries()
    return table.combine_chunks(memory_pool=pa.system_memory_pool())


def _in_one_piece(tables: list[Any]) -> Any:
    """The tables as one, each column of numbers in one array, which NumPy can look at without a copy."""
    table = pa.concat_tables(tables)
    tables.clear()  # so that a column is freed when it is joined
    for i, field_ in enumerate(table.schema):
        if pa.types.is_floating(field_.type) and table.column(i).num_chunks > 1:
            whole = pa.concat_arrays(table.column(i).chunks, memory_pool=pa.system_memory_pool())
            table = table.set_column(i, field_, whole)
            memory.trim()  # or there would be two of all columns in the end
    return table


def _guarded(chunks: Iterator[Any], name: str, kind: str) -> Iterator[Any]:
    try:
        yield from chunks
    except TableError:
        raise
    except _DAMAGE as error:
        raise _damaged(name, kind, error) from None


def _damaged(name: str, kind: str, error: Exception) -> TableError:
    reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return TableError(f"{name} cannot be read as {kind}: {reason}", "is the file whole, and of this format?")


def _open(path: str, name: str) -> BinaryIO:
    if path == "-":
        return io.BufferedReader(_Unclosed(sys.stdin.buffer))
    try:
        if Path(path).is_dir():
            raise TableError(f"{name} is a folder", "give a file")
        return Path(path).open("rb")
    except FileNotFoundError:
        raise TableError(f"there is no file {name}") from None
    except PermissionError:
        raise TableError(f"{name} cannot be read", "check its permissions") from None


class _Unclosed(io.RawIOBase):
    """Standard input, which stays open when its reader is closed."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # Not less than was asked for: a slow pipe would give too little to tell the format by.
        data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _unpack(
    path: str,
    raw: Any,
    format: str | None,
    delimiter: str | None,
    limit: Limit,
    files: ExitStack,
) -> tuple[str, Any, str | None]:
    """Kind of the table, its bytes without compression, and the delimiter if the name tells it."""
    ending = "" if path == "-" else Path(path).name.lower()
    parts = ending.split(".")[1:]
    head = raw.peek(64)[:64]
    if not head:
        raise TableError(f"{limit.name} is empty")
    packing = next((p for magic, p in _MAGIC.items() if head.startswith(magic)), None)
    if packing is None and parts and parts[-1] == "zip":
        packing = "zip"
    if packing is not None:
        raw, parts = _decompressed(raw, packing, parts, limit, files)
        head = raw.peek(64)[:64]
    if format is not None:
        kind = "csv" if format == "tsv" else format
    else:
        kind = format_of(head, parts[-1] if parts else "")
        if parts and parts[-1] == "xls":
            raise TableError(f"{limit.name} is an old Excel file", "save it as .xlsx or .csv")
    if delimiter is None and kind == "csv" and (format == "tsv" or parts[-1:] in (["tsv"], ["tab"])):
        delimiter = "\t"
    return kind, raw, delimiter


def _decompressed(
    raw: Any, packing: str, parts: list[str], limit: Limit, files: ExitStack
) -> tuple[Any, list[str]]:
    """The bytes inside, at most as many as the limit allows, and the endings of their name."""
    rest = parts[:-1] if parts and parts[-1] in _PACKED else parts
    packed, opened = Counted(raw), cast(Any, None)
    if packing == "zip":
        archive = files.enter_context(zipfile.ZipFile(in_memory(raw)))
        inside = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX")]
        if len(inside) != 1:
            raise TableError(f"{limit.name} holds {len(inside)} files", "unpack it and give one table")
        limit.check(inside[0].file_size, inside[0].compress_size)
        opened, rest = archive.open(inside[0]), inside[0].filename.lower().split(".")[1:]
    elif packing == "gzip":
        opened = gzip.GzipFile(fileobj=cast(Any, packed))
    elif packing == "bz2":
        opened = bz2.BZ2File(cast(Any, packed))
    elif packing == "xz":
        opened = lzma.LZMAFile(cast(Any, packed))  # noqa: SIM115
    else:
        opened = pa.CompressedInputStream(pa.PythonFile(packed, "r"), packing)
    unpacked = opened if packing == "zip" else Unpacked(opened, packed, limit)
    buffered = files.enter_context(io.BufferedReader(unpacked, 1 << 20))
    if not buffered.peek(1):
        raise TableError(f"{limit.name} is empty")
    return buffered, rest
