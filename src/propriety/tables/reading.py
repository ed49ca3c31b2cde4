"""What a reader of one format is told, and what it gives back."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from propriety.tables.errors import TableError
from propriety.tables.limits import Limit

if TYPE_CHECKING:
    from typing import BinaryIO


@dataclass(frozen=True)
class Reading:
    """How a file is to be read."""

    name: str
    delimiter: str | None
    encoding: str | None
    header: bool
    sheet: str | None
    chunk_bytes: int
    n_jobs: int | None
    limit: Limit
    files: ExitStack  # closed when the table is


@dataclass
class Numbers:
    """Columns of a text file that begin with numbers, and those of them that are wanted as numbers.

    All come as text unless `ask` says otherwise, before the first chunk is read; then text comes as
    dictionaries, which take less memory and time where values occur again.
    """

    likely: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    text: Any = field(default_factory=pa.string)

    def ask(self, apart: Collection[str], missing: Sequence[str]) -> bool:
        """Want numbers of all likely columns but some, `missing` being text that stands for none."""
        self.text = pa.dictionary(pa.int32(), pa.string())
        self.wanted = tuple(name for name in self.likely if name not in apart)
        cases = (str, str.lower, str.upper, str.title)
        self.missing = tuple(dict.fromkeys(case(m) for m in missing for case in cases))
        return bool(self.wanted)


@dataclass(frozen=True)
class Read:
    """The names of the columns, the rows as Arrow tables, and notes.

    ``strings`` is None if the file states types. Otherwise columns come as text, and it has those with a
    value that was text in the file itself; it is complete when the last chunk was read.
    """

    names: list[str]
    chunks: Iterator[Any]
    notes: list[str] = field(default_factory=list)
    strings: set[str] | None = None
    numbers: Numbers = field(default_factory=Numbers)


def names_of(fields: list[str], how: Reading) -> list[str]:
    """The names that a first row states, those that are blank or not there by their place."""
    if not how.header:
        return [f"column_{i + 1}" for i in range(len(fields))]
    names = [f.strip() or f"column_{i + 1}" for i, f in enumerate(fields)]
    check_unique(names, how.name)
    return names


def check_unique(names: list[str], name: str) -> None:
    """Refuse names that occur twice."""
    twice = [n for n, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(
            f"{name} has more than one column called {', '.join(map(repr, twice[:5]))}", "rename them"
        )


def in_memory(stream: BinaryIO) -> Any:
    """A plain file as it is, everything else in memory: what is unpacked only pretends to be seekable."""
    plain = isinstance(getattr(stream, "raw", None), io.FileIO) and stream.seekable()
    return stream if plain else io.BytesIO(stream.read())
