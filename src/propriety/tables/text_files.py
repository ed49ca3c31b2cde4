"""Text in: bytes checked against their encoding, the delimiter found, and the header taken off."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety.tables.errors import LongRow, TableError

if TYPE_CHECKING:
    from typing import BinaryIO

_DELIMITERS = (",", ";", "\t", "|")
_BLOCK = 1 << 20
_LINES = 50  # looked at for the delimiter
_MARKS = (  # of four bytes first: that of UTF-16 is the beginning of one of UTF-32
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDE = ("utf-16", "utf-32", "utf_16", "utf_32", "utf16", "utf32", "u16", "u32")
_HINT = re.compile(r"sep=([^\r\n])(\r\n|\r|\n)", re.IGNORECASE)
_HEAD, _LONGEST_HEADER = 1 << 16, 1 << 26
#: What a row that does not end may mean.
UNCLOSED = "is there a quote that is not closed?"


class Utf8Reader(io.RawIOBase):
    """Bytes in `encoding`, given out as UTF-8; a byte that does not belong is an error with its line."""

    def __init__(self, raw: Any, encoding: str, name: str) -> None:
        try:
            b"a".decode(encoding)  # refuses what is no encoding of text, such as hex
        except UnicodeError:
            pass  # one byte may be too few
        except (LookupError, ValueError):
            raise TableError(f"there is no encoding {encoding!r}", "try utf-8, latin-1 or cp1252") from None
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._raw, self._encoding, self._name = raw, encoding, name
        self._is_plain = codecs.lookup(encoding).name in ("utf-8", "ascii", "iso8859-1", "cp1252")
        self._line, self._ready, self._done, self._seen = 1, memoryview(b""), False, False

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; 0 is the end."""
        while not self._ready and not self._done:
            block = self._raw.read(_BLOCK)
            self._done = not block
            self._ready = memoryview(self._decoded(block))
        taken, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _decoded(self, block: bytes) -> bytes:
        if b"\0" in block and not self._encoding.lower().startswith(_WIDE):
            raise TableError(
                f"{self._name} holds binary data, not text", "say what it is by --format, or its --encoding"
            )
        if self._is_plain and block.isascii() and not self._decoder.getstate()[0]:  # most text: nothing to do
            self._seen = self._seen or bool(block)
            self._line += _n_lines(block)
            return block
        try:
            text = self._decoder.decode(block, final=self._done)
            if not self._seen and text:
                self._seen, text = True, text.removeprefix("\ufeff")
            encoded = text.encode()
        except UnicodeError as error:
            raise self._misfit(error) from None
        self._line += _n_lines(block)
        return encoded

    def _misfit(self, error: UnicodeError) -> TableError:
        what, line = "a character", self._line
        if isinstance(error, UnicodeDecodeError):
            before = error.object[: error.start]
            what = f"byte 0x{error.object[error.start]:02X}"
            line += _n_lines(before)
        return TableError(
            f"{self._name} is not {self._encoding} text: {what} in line {line}",
            "save the file as UTF-8, or give its encoding, for example --encoding cp1252",
        )


def _n_lines(data: bytes) -> int:
    """Ends of lines; by NumPy, since ``bytes.count`` looks at one byte after the other."""
    codes = np.frombuffer(data, dtype=np.uint8)
    return int(np.count_nonzero(codes == ord("\n"))) or int(np.count_nonzero(codes == ord("\r")))


class Rejoined(io.RawIOBase):
    """Bytes that were read ahead, and the rest of their stream."""

    def __init__(self, ahead: bytes, rest: Any) -> None:
        self._ahead, self._rest = ahead, rest

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; 0 is the end."""
        data = self._ahead[: len(buffer)] or self._rest.read(len(buffer))
        self._ahead = self._ahead[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


class Pieces:
    """The text of a stream in pieces of whole rows, of about so many bytes, for threads to share.

    Where a row ends is not looked for once quotes are not simply around a field: `rest` is then what is left,
    as a stream, for a reader that looks at one character after the other.
    """

    def __init__(self, text: Any, size: int, delimiter: str) -> None:
        self._text, self._size = text, size
        self._apart = np.frombuffer(f"{delimiter}\r\n".encode(), dtype=np.uint8)
        self.rest: Any = None

    def __iter__(self) -> Iterator[bytes]:
        kept, more = b"", True
        while more:
            new = self._text.read(self._size)
            more = bool(new)
            data = kept + new
            # Of a last quote it is not known what follows.
            known = len(data) - (more and data.endswith(b'"'))
            quotes = self._quotes(data, known)
            if quotes is None or (not more and len(quotes) % 2):
                self.rest = Rejoined(data, self._text)
                return
            end = _last_end(data, quotes, known) if more else len(data)
            if not end and len(data) >= self._size:
                raise LongRow("a row is longer than a piece")
            if end:
                yield data[:end]
            kept = data[end:]

    def _quotes(self, data: bytes, known: int) -> NDArray[np.intp] | None:
        """Places of the quotes, those that open a field and those that close it in turn; None if not so."""
        if b'"' not in data:
            return np.empty(0, dtype=np.intp)
        codes = np.frombuffer(data, dtype=np.uint8)
        places = np.flatnonzero(codes[:known] == ord('"'))
        before, after = places[::2] - 1, places[1::2] + 1
        opening = np.isin(codes[before[before >= 0]], self._apart)
        closing = np.isin(codes[after[after < len(codes)]], self._apart)
        return places if opening.all() and closing.all() else None


def _last_end(data: bytes, quotes: NDArray[np.intp], known: int) -> int:
    """Where the last row ends that is whole: after a line's end that is not in quotes; 0 if there is none."""
    # Of a last \r it is not known whether \n follows, with which it is one end.
    for mark, stop in ((b"\n", known), (b"\r", known - 1)):
        place = data.rfind(mark, 0, max(stop, 0))
        while place >= 0:
            opened = int(np.searchsorted(quotes, place))
            if opened % 2 == 0:
                return place + 1
            place = data.rfind(mark, 0, int(quotes[opened - 1]))
    return 0


def encoding_of(head: bytes) -> str:
    r"""UTF-16 or UTF-32 if the file begins with its mark, else UTF-8.

    >>> encoding_of("a,b\n".encode("utf-32"))
    'utf-32'
    """
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), "utf-8")


def find_delimiter(text: str) -> str:
    r"""The delimiter that splits the first lines into the same, largest number of fields; else a comma.

    >>> find_delimiter("a;b;c\n1,5;2;3\n")
    ';'
    """
    whole = lines(text)
    if len(whole) > 1 and not text.endswith(("\n", "\r")):
        whole.pop()
    best, most = ",", 1
    for delimiter in _DELIMITERS:
        try:
            rows = [row for row in csv.reader(whole[:_LINES], delimiter=delimiter) if row]
        except csv.Error:
            continue
        width = len(rows[0]) if rows else 1
        if sum(len(r) == width for r in rows) > 0.8 * len(rows) and width > most:
            best, most = delimiter, width
    return best


def take_hint(text: str) -> tuple[str | None, int]:
    r"""The delimiter that a first line names for Excel, and the length of that line.

    >>> take_hint("sep=;\na;b\n")
    (';', 6)
    """
    hint = _HINT.match(text)
    return (hint[1], hint.end()) if hint else (None, 0)


def read_first_row(stream: BinaryIO, delimiter: str, name: str) -> tuple[list[str], bytes, int, int]:
    """The first row that is not blank, all bytes read so far, and the bytes and lines up to the row's end."""
    head, more = stream.read(_HEAD), True
    while True:
        data = stream.read(len(head) or 1)
        head, more = head + data, bool(data)
        # A row at the end of what was read may be cut off there.
        text = head.decode(errors="ignore")
        row, taken, followed = _first_row(text, delimiter, name)
        if row and (followed or not more):
            if not followed and any("\n" in field or "\r" in field for field in row):
                raise TableError(f"the first row of {name} does not end", UNCLOSED)
            return row, head, len("".join(lines(text)[:taken]).encode()), taken
        if not more:
            raise TableError(f"{name} is empty")
        if len(head) > _LONGEST_HEADER:
            raise TableError(f"the first row of {name} does not end", UNCLOSED)


def _first_row(text: str, delimiter: str, name: str) -> tuple[list[str], int, bool]:
    """The first row that is not blank, the number of lines up to its end, and whether more lines follow."""
    whole = lines(text)
    reader = csv.reader(whole, delimiter=delimiter)
    try:
        row = next((fields for fields in reader if any(f.strip() for f in fields)), [])
    except csv.Error as error:
        raise TableError(f"the first row of {name} cannot be read: {error}", UNCLOSED) from None
    return row, reader.line_num, reader.line_num < len(whole)


def lines(text: str) -> list[str]:
    r"""Lines with their ends: ``\n``, ``\r\n`` or ``\r`` and no other, as tables have them."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)
