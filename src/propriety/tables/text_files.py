"""Text in: bytes checked against their encoding, and the delimiter found."""

from __future__ import annotations

import codecs
import csv
import io
from typing import Any

from propriety.tables.errors import TableError

_DELIMITERS = (",", ";", "\t", "|")
_BLOCK = 1 << 20
_LINES = 50  # looked at for the delimiter


class Utf8Reader(io.RawIOBase):
    """Bytes in `encoding`, given out as UTF-8; a byte that does not belong is an error with its line."""

    def __init__(self, raw: Any, encoding: str, name: str) -> None:
        try:
            self._decoder = codecs.getincrementaldecoder(encoding)()
        except LookupError:
            raise TableError(f"there is no encoding {encoding!r}", "try utf-8, latin-1 or cp1252") from None
        self._raw, self._encoding, self._name = raw, encoding, name
        self._line, self._ready, self._done, self._seen = 1, b"", False, False

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; 0 is the end."""
        while not self._ready and not self._done:
            block = self._raw.read(_BLOCK)
            self._done = not block
            self._ready = self._decoded(block)
        taken, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _decoded(self, block: bytes) -> bytes:
        if b"\0" in block and not self._encoding.lower().startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
            raise TableError(f"{self._name} holds binary data, not text", "say what it is by --format")
        try:
            text = self._decoder.decode(block, final=self._done)
        except UnicodeDecodeError as error:
            line = self._line + error.object[: error.start].count(b"\n")
            raise TableError(
                f"{self._name} is not {self._encoding} text: byte 0x{error.object[error.start]:02X} in line "
                f"{line}",
                "save the file as UTF-8, or give its encoding, for example --encoding cp1252",
            ) from None
        if not self._seen and text:
            self._seen, text = True, text.removeprefix("\ufeff")
        self._line += block.count(b"\n")
        return text.encode()


def encoding_of(head: bytes) -> str:
    """UTF-16 if the file begins with its mark, else UTF-8."""
    return "utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8"


def find_delimiter(text: str) -> str:
    r"""The delimiter that splits the first lines into the same, largest number of fields; else a comma.

    >>> find_delimiter("a;b;c\n1,5;2;3\n")
    ';'
    """
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        rows = [row for row in _rows(text, delimiter) if row]
        counts = {len(row) for row in rows}
        width = len(rows[0]) if rows else 1
        if (len(counts) == 1 or sum(len(r) == width for r in rows) > 0.8 * len(rows)) and width > most:
            best, most = delimiter, width
    return best


def first_row(text: str, delimiter: str) -> list[str]:
    """The fields of the first line."""
    return next(iter(_rows(text, delimiter)), [])


def _rows(text: str, delimiter: str) -> list[list[str]]:
    lines = text.splitlines(keepends=True)
    whole = lines[:-1] if len(lines) > 1 and not text.endswith("\n") else lines
    try:
        return list(csv.reader(io.StringIO("".join(whole[:_LINES])), delimiter=delimiter))
    except csv.Error:
        return []
