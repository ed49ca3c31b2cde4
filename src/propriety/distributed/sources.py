"""Where rows come from, batch by batch: files, tables, queries, functions that return batches."""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from propriety.cached_properties import cached_property

#: Kinds of files by the ends of their names.
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_AHEAD = 2  # batches that are read before they are asked for


class Source(ABC):
    """Rows in one order, as often as they are asked for."""

    name: str

    @property
    @abstractmethod
    def schema(self) -> Any:
        """The Arrow schema."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_bytes(self) -> int | None:
        """Bytes that the files take, if there are files."""
        return None

    @abstractmethod
    def batches(self, columns: list[str], start: int, size: int) -> tuple[int, Iterator[Any]]:
        """The row that record batches of about ``size`` rows begin with, at ``start`` or before; and them."""


class Files(Source):
    """A dataset of Arrow's: files of one kind, or a table in memory."""

    def __init__(self, dataset: Any, name: str) -> None:
        self._dataset, self.name = dataset, name
        self._stamps = self._stamps_now()

    @property
    def schema(self) -> Any:
        """The Arrow schema, that of the first file."""
        return self._dataset.schema

    @cached_property
    def _pieces(self) -> list[tuple[int, Any]]:
        """What can be read by itself, groups of rows of Parquet or files, and the number of its rows."""
        self._check_unchanged()
        pieces = []
        for fragment in self._dataset.get_fragments():
            if isinstance(fragment, ds.ParquetFileFragment):
                pieces += [(group.num_rows, (fragment, group.id)) for group in fragment.row_groups]
            else:
                pieces.append((fragment.count_rows(), (fragment, None)))
        return pieces

    @property
    def n_rows(self) -> int:
        """Number of rows, which Parquet says without being read."""
        return sum(rows for rows, _ in self._pieces)

    @property
    def n_bytes(self) -> int | None:
        """Size of the files."""
        try:
            return sum(os.path.getsize(path) for path in self._dataset.files)
        except (AttributeError, OSError):
            return None

    def _stamps_now(self) -> list[tuple[str, int | None, int | None]]:
        """Size and time of each file; nothing of a table in memory."""
        files = list(getattr(self._dataset, "files", []))
        found = self._dataset.filesystem.get_file_info(files) if files else []
        return [(file.path, file.size, file.mtime_ns) for file in found]

    def _check_unchanged(self) -> None:
        """Refuse files that are not those that were there at first: every pass must read the same rows."""
        for before, now in zip(self._stamps, self._stamps_now(), strict=True):
            if before != now:
                size = "it is gone" if now[1] is None else f"{before[1]:,} bytes then, {now[1]:,} now"
                raise ValueError(
                    f"the file {before[0]!r} has changed since it was scanned ({size}): files are read "
                    "several times and must stay as they are; scan again when they are complete"
                )

    def batches(self, columns: list[str], start: int, size: int) -> tuple[int, Iterator[Any]]:
        """Record batches from the piece on that has the row ``start``."""
        self._check_unchanged()
        first, skipped = 0, 0
        for rows, _ in self._pieces:
            if first + rows > start:
                break
            first, skipped = first + rows, skipped + 1
        return first, self._read(columns, skipped, size)

    def _read(self, columns: list[str], skipped: int, size: int) -> Iterator[Any]:
        try:
            for _, (fragment, group) in self._pieces[skipped:]:
                part = fragment if group is None else fragment.subset(row_group_ids=[group])
                yield from part.to_batches(
                    schema=self._dataset.schema,
                    columns=columns,
                    batch_size=size,
                    batch_readahead=_AHEAD,
                    fragment_readahead=1,
                )
        finally:  # a file that was written to may also be the reason of an error
            self._check_unchanged()


class Repeated(Source):
    """A function that returns an iterator over record batches, from the first one on each time."""

    def __init__(self, function: Callable[[], Any], name: str) -> None:
        self._function, self.name = function, name
        self._last: Any = None

    def _open(self) -> Iterator[Any]:
        batches = self._function()
        again = iter(batches)
        if self._last is not None and again is self._last:
            raise TypeError(
                f"{self.name} returned the same iterator twice, which is used up: return a new one each time"
            )
        self._last = again if again is batches else None
        for batch in again:
            if isinstance(batch, pa.Table):
                yield from batch.to_batches()
            elif isinstance(batch, pa.RecordBatch):
                yield batch
            else:
                raise TypeError(
                    f"{self.name} must return an iterator over record batches of Arrow, and has one of "
                    f"{type(batch).__name__}"
                )

    @cached_property
    def _known(self) -> tuple[Any, int]:
        rows, schema = 0, None
        for batch in self._open():
            rows, schema = rows + batch.num_rows, schema or batch.schema
        if schema is None:
            raise ValueError(f"{self.name} returned no batch")
        return schema, rows

    @property
    def schema(self) -> Any:
        """That of the first batch."""
        return self._known[0]

    @property
    def n_rows(self) -> int:
        """Number of rows, by reading them."""
        return self._known[1]

    def batches(self, columns: list[str], start: int, size: int) -> tuple[int, Iterator[Any]]:
        """All record batches: such a source cannot begin in the middle."""
        return 0, (batch.select(columns) for batch in self._open())


class Polars(Source):
    """A polars LazyFrame, run anew for each pass."""

    name = "the LazyFrame"

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of its result."""
        return self._frame.head(0).collect().to_arrow().schema

    @cached_property
    def n_rows(self) -> int:
        """Number of rows, by running it."""
        import polars as pl

        return int(self._frame.select(pl.len()).collect(engine="streaming").item())

    def batches(self, columns: list[str], start: int, size: int) -> tuple[int, Iterator[Any]]:
        """Record batches from ``start`` on, which a scan of files skips to."""
        return start, self._read(columns, start, size)

    def _read(self, columns: list[str], start: int, size: int) -> Iterator[Any]:
        query = self._frame.select(columns).slice(start)
        if hasattr(query, "collect_batches"):
            for frame in query.collect_batches(chunk_size=size, maintain_order=True, lazy=True):
                yield from frame.to_arrow().to_batches()
            return
        for first in range(start, self.n_rows, 10 * size):
            part = self._frame.select(columns).slice(first, 10 * size).collect(engine="streaming")
            yield from part.to_arrow().to_batches()


class Duck(Source):
    """A relation of DuckDB, run anew for each pass."""

    name = "the relation"

    def __init__(self, relation: Any) -> None:
        self._relation = relation

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of its result."""
        return self._read(self._relation.limit(0), 1).schema

    @cached_property
    def n_rows(self) -> int:
        """Number of rows, by running it."""
        return int(self._relation.count("*").fetchall()[0][0])

    def batches(self, columns: list[str], start: int, size: int) -> tuple[int, Iterator[Any]]:
        """Record batches, all of them: which rows come first is for the query to say."""
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        return 0, iter(self._read(self._relation.project(names), size))

    @staticmethod
    def _read(relation: Any, size: int) -> Any:
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
        return read(size)


# --- which of them ----------------------------------------------------------------------------------


def source_of(source: Any) -> Source:
    """The source that something stands for."""
    found = _of_files(source) or _of_arrow(source) or _of_library(source)
    if found is not None:
        return found
    if isinstance(source, Iterator | pa.RecordBatchReader):
        raise TypeError(
            f"source is a {type(source).__name__}, which can be read once, and a fit reads rows several "
            "times: give a function that returns a new one each time, such as lambda: read_batches()"
        )
    if callable(source):
        return Repeated(source, getattr(source, "__name__", "the function"))
    if hasattr(source, "__iter__") and not hasattr(source, "shape"):
        return Repeated(lambda: iter(source), f"the {type(source).__name__}")
    raise TypeError(
        f"source is a {type(source).__name__}: give files ('folder/*.parquet' or a list of them), a dataset "
        "or table of pyarrow, a polars LazyFrame or DataFrame, a DuckDB relation, or a function that returns "
        "an iterator over record batches of Arrow; a table in memory can be given to fit as it is"
    )


def _of_files(source: Any) -> Source | None:
    if isinstance(source, str | os.PathLike):
        return _files(files_of(source))
    if isinstance(source, list | tuple) and source and all(isinstance(p, str | os.PathLike) for p in source):
        return _files([path for pattern in source for path in files_of(pattern)])
    return None


def _of_arrow(source: Any) -> Source | None:
    if isinstance(source, ds.Dataset):
        return Files(source, "the dataset")
    if isinstance(source, pa.Table | pa.RecordBatch):
        return Files(ds.dataset(source), "the table")
    return None


def _of_library(source: Any) -> Source | None:
    module = type(source).__module__.partition(".")[0].lstrip("_")
    if module == "polars":
        lazy = hasattr(source, "collect")
        return Polars(source) if lazy else Files(ds.dataset(source.to_arrow()), "the data frame")
    return Duck(source) if module == "duckdb" else None


def files_of(pattern: str | os.PathLike[str]) -> list[str]:
    """The files that a path, a folder or a pattern stands for, in the order of their names."""
    text = os.fspath(pattern)
    if "://" in text:
        return [text]
    if os.path.isdir(text):
        paths = sorted(str(p) for p in Path(text).iterdir() if _format(str(p)) is not None)
        if not paths:
            raise FileNotFoundError(
                f"the folder {text!r} has no file that ends in {', '.join(FORMATS)}: name the files by a "
                "pattern, such as 'folder/**/*.parquet'"
            )
        return paths
    if os.path.exists(text):
        return [text]
    paths = sorted(path for path in glob.glob(text, recursive=True) if os.path.isfile(path))
    if not paths:
        raise FileNotFoundError(
            f"no file matches {text!r}, looked for in {os.getcwd()!r}: check the path and the pattern"
        )
    return paths


def _format(path: str) -> str | None:
    stem = path[: -len(".gz")] if path.endswith(".gz") else path
    return FORMATS.get(os.path.splitext(stem)[1].lower())


def _files(paths: Sequence[str]) -> Files:
    kinds = {path: _format(path) for path in paths}
    unknown = [path for path, kind in kinds.items() if kind is None]
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} ends in none of {', '.join(FORMATS)}: rename it, or give "
            "pyarrow.dataset.dataset(path, format=…)"
        )
    if len(set(kinds.values())) > 1:
        raise ValueError(
            f"the files are of several kinds, {', '.join(sorted(map(str, set(kinds.values()))))}: give files "
            "of one kind"
        )
    kind: Any = next(iter(kinds.values()))
    if kind == "tsv":
        from pyarrow import csv

        kind = ds.CsvFileFormat(csv.ParseOptions(delimiter="\t"))
    name = paths[0] if len(paths) == 1 else f"{len(paths)} files"
    if "://" in paths[0]:
        return Files(ds.dataset(paths[0] if len(paths) == 1 else list(paths), format=kind), name)
    return Files(ds.dataset(list(paths), format=kind), name)
