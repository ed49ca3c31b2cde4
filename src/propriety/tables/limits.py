"""How much a file may unpack to: a small file that becomes a huge table is an accident or an attack."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from propriety.tables.errors import TableError

#: Bytes that any file may unpack to.
FREE = 1 << 30
#: Beyond that, how many times its own size.
EXPANSION = 200
_PIECE = 1 << 20  # bytes that are read at once
_CELL = 2  # bytes that a cell takes as text, at least: a digit and a delimiter


@dataclass(frozen=True)
class Limit:
    """What a file may unpack to: 1 GB, or `expansion` times its size if that is more.

    >>> Limit("t.csv.gz").check(unpacked=10**9, packed=1000)
    >>> Limit("t.csv.gz").check(unpacked=10**10, packed=10**8)
    >>> Limit("t.csv.gz").check(unpacked=10**10, packed=10**6)
    Traceback (most recent call last):
    propriety.tables.errors.TableError: t.csv.gz unpacks to more than 1 GB and more than 200 times its...
    """

    name: str
    expansion: float = EXPANSION

    def check(self, unpacked: int, packed: int) -> None:
        """Refuse a file of `packed` bytes that becomes so many."""
        if unpacked > FREE and unpacked > self.expansion * packed:
            raise TableError(
                f"{self.name} unpacks to more than 1 GB and more than {self.expansion:g} times its size",
                f"if you trust it, allow more, for example --max-expansion {10 * self.expansion:g}",
            )

    def check_cells(self, n_rows: int, n_columns: int, packed: int) -> None:
        """Refuse a file of `packed` bytes that states so many cells; each counts as two bytes."""
        self.check(_CELL * n_rows * max(1, n_columns), packed)


class Counted(io.RawIOBase):
    """A stream of bytes, and how many were read of it."""

    def __init__(self, raw: Any) -> None:
        self._raw, self.count = raw, 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """So many bytes, or all that are left; no more memory is taken than there are bytes."""
        pieces = []
        while size:
            piece = self._raw.read(_PIECE if size < 0 else min(size, _PIECE))
            if not piece:
                break
            self.add(len(piece))
            size -= len(piece) if size > 0 else 0
            pieces.append(piece)
        return b"".join(pieces)

    def add(self, length: int) -> None:
        """Count bytes that were read."""
        self.count += length

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; 0 is the end."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Unpacked(Counted):
    """What is unpacked of a counted stream, up to the limit."""

    def __init__(self, unpacker: Any, packed: Counted, limit: Limit) -> None:
        super().__init__(unpacker)
        self._packed, self._limit = packed, limit

    def add(self, length: int) -> None:
        """Count bytes that were read, and refuse too many."""
        super().add(length)
        self._limit.check(self.count, self._packed.count)
