"""Files in: CSV, TSV, Parquet, Arrow, Excel and JSON lines, plain or compressed, in chunks."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import pyarrow as pa

from propriety.tables import formats
from propriety.tables.errors import TableError
from propriety.tables.formats import Reading

_ENDINGS = {
    "csv": "csv", "txt": "csv", "data": "csv", "tsv": "csv", "tab": "csv",
    "parquet": "parquet", "pq": "parquet",
    "arrow": "arrow", "feather": "arrow", "ipc": "arrow", "arrows": "arrow",
    "xlsx": "excel", "xlsm": "excel",
    "jsonl": "jsonl", "ndjson": "jsonl",
}  # fmt: skip
FORMATS = ("csv", "tsv", "parquet", "arrow", "excel", "jsonl")
_PACKED = {"gz": "gzip", "bz2": "bz2", "xz": "xz", "zst": "zstd", "lz4": "lz4", "zip": "zip"}
#: What reading a damaged file may raise.
_DAMAGE = (
    pa.ArrowInvalid,
    pa.ArrowNotImplementedError,
    OSError,
    EOFError,
    lzma.LZMAError,
    zipfile.BadZipFile,
)
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}


@dataclass
class Source:
    """An open table: the names of its columns, and its rows in chunks, once; ``with`` closes it."""

    name: str
    format: str
    column_names: list[str]
    chunks: Iterator[Any]
    notes: list[str]
    files: ExitStack

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.files.close()

    def read(self) -> Any:
        """All rows as one Arrow table, and the end of it."""
        with self:
            tables = list(self.chunks)
        if not tables or sum(t.num_rows for t in tables) == 0:
            raise TableError(f"{self.name} has a header and no rows")
        return pa.concat_tables(tables)


def open_source(
    path: str,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    sheet: str | None = None,
    chunk_bytes: int = 8 << 20,
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
    """
    name = "standard input" if path == "-" else path
    if format is not None and format not in FORMATS:
        raise TableError(f"there is no format {format!r}", f"the formats are {', '.join(FORMATS)}")
    with ExitStack() as files:
        raw = files.enter_context(_open(path, name))
        kind, stream, delimiter = _unpack(path, raw, format, delimiter, name, files)
        reading = Reading(name, delimiter, encoding, header, sheet, chunk_bytes, files)
        try:
            names, chunks, notes = _READERS[kind](stream, reading)
        except _DAMAGE as error:
            raise _damaged(name, kind, error) from None
        return Source(name, kind, names, _guarded(chunks, name, kind), notes, files.pop_all())


_READERS: dict[str, Callable[[Any, Reading], tuple[list[str], Iterator[Any], list[str]]]] = {
    "csv": formats.read_csv,
    "parquet": formats.read_parquet,
    "arrow": formats.read_arrow,
    "excel": formats.read_excel,
    "jsonl": formats.read_jsonl,
}


def _guarded(chunks: Iterator[Any], name: str, kind: str) -> Iterator[Any]:
    try:
        yield from chunks
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
        raise TableError(f"{name} may not be read", "check its permissions") from None


class _Unclosed(io.RawIOBase):
    """Standard input, which stays open when its reader is closed."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._raw.read1(len(buffer)) if hasattr(self._raw, "read1") else self._raw.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _unpack(
    path: str,
    raw: Any,
    format: str | None,
    delimiter: str | None,
    name: str,
    files: ExitStack,
) -> tuple[str, Any, str | None]:
    """Kind of the table, its bytes without compression, and the delimiter if the name tells it."""
    ending = "" if path == "-" else Path(path).name.lower()
    parts = ending.split(".")[1:]
    head = raw.peek(64)[:64]
    if not head:
        raise TableError(f"{name} is empty")
    packing = next((p for magic, p in _MAGIC.items() if head.startswith(magic)), None)
    if packing is None and parts and parts[-1] == "zip":
        packing = "zip"
    if packing is not None:
        raw, parts = _decompressed(raw, packing, parts, name, files)
        head = raw.peek(64)[:64]
    if format is not None:
        kind = "csv" if format == "tsv" else format
    else:
        kind = _by_content(head) or (_ENDINGS.get(parts[-1]) if parts else None) or "csv"
        if parts and parts[-1] == "xls":
            raise TableError(f"{name} is an old Excel file", "save it as .xlsx or .csv")
    if delimiter is None and kind == "csv" and (format == "tsv" or parts[-1:] in (["tsv"], ["tab"])):
        delimiter = "\t"
    return kind, raw, delimiter


def _decompressed(
    raw: Any, packing: str, parts: list[str], name: str, files: ExitStack
) -> tuple[Any, list[str]]:
    rest = parts[:-1] if parts and parts[-1] in _PACKED else parts
    if packing == "zip":
        archive = files.enter_context(zipfile.ZipFile(raw))
        inside = [f for f in archive.namelist() if not f.endswith("/") and not f.startswith("__MACOSX")]
        if len(inside) != 1:
            raise TableError(f"{name} holds {len(inside)} files", "unpack it and give one table")
        member: Any = archive.open(inside[0])
        return files.enter_context(io.BufferedReader(member)), inside[0].lower().split(".")[1:]
    opened: Any
    if packing == "gzip":
        opened = gzip.GzipFile(fileobj=raw)
    elif packing == "bz2":
        opened = bz2.BZ2File(raw)
    elif packing == "xz":
        opened = lzma.LZMAFile(raw)  # noqa: SIM115
    else:
        opened = pa.CompressedInputStream(pa.PythonFile(raw, "r"), packing)
    try:
        buffered = files.enter_context(io.BufferedReader(opened, 1 << 20))
        if not buffered.peek(1):
            raise TableError(f"{name} is empty")
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise TableError(f"{name} cannot be unpacked: {error}", "is the file whole?") from None
    return buffered, rest


def _by_content(head: bytes) -> str | None:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if head.startswith(b"PK\x03\x04"):
        return "excel"
    if head.startswith(b"FEA1"):
        return "arrow"
    if head.lstrip().startswith(b'{"'):
        return "jsonl"
    return None
