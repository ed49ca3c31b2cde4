"""`propriety.scan`: rows that are read in batches, so that a table need not fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from propriety import memory as budget
from propriety.data.stream import Stream

try:
    import pyarrow as pa

    from propriety.distributed.sources import Source, source_of
except ImportError:  # said where it matters
    pa = None

#: Rows of a batch at most, and bytes of its numbers.
BATCH, _BATCH_BYTES = 100_000, 1 << 26


class Scan(Stream):
    """Rows of files or queries, to be given to ``fit`` and ``predict_proba``; `scan` makes it.

    Attributes
    ----------
    features : tuple of str
        The features.
    target, weight : str or None
    memory : int or None
        Bytes that a fit may take; None: what is free when it begins.
    whole : bool
        Whether it is all that was scanned, and not a part that a fit has made of it.
    """

    def __init__(
        self,
        source: Source,
        features: Sequence[str],
        target: str | None,
        weight: str | None,
        memory: int | None,
        span: tuple[int, int] | None = None,
    ) -> None:
        self.source, self.features, self.target, self.weight = source, tuple(features), target, weight
        self.memory, self.whole = memory, span is None
        self._span = span
        self.read = 0  # rows, in all passes
        self.report: Callable[[], None] | None = None  # called when more have been read

    @property
    def n_rows(self) -> int:
        """Number of rows; what Parquet files say, and what other sources are read or run for."""
        start, stop = self._rows
        return stop - start

    @property
    def _rows(self) -> tuple[int, int]:
        return (0, self.source.n_rows) if self._span is None else self._span

    @property
    def empty(self) -> Any:
        """An Arrow table of the features' types, without rows."""
        schema = self.source.schema
        columns = [pa.array([], type=schema.field(name).type) for name in self.features]
        return _with_categories(pa.table(columns, names=list(self.features)))

    def having(self, features: Sequence[str]) -> Scan:
        """The same rows with these features."""
        _check_columns(self.source, features, "columns")
        return Scan(self.source, features, self.target, self.weight, self.memory, self._span)

    def part(self, start: int, stop: int) -> Scan:
        """The rows from ``start`` to before ``stop``, to be read by one thread."""
        return Scan(self.source, self.features, self.target, self.weight, self.memory, (start, stop))

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """The rows from the first to the last, at most 100,000 at a time, as Arrow tables."""
        (start, stop), size = self._rows, batch_rows(len(columns))
        at, given = self.source.batches(list(columns), start, size)
        waiting: list[Any] = []
        rows = 0
        for batch in given:
            first, at = at, at + batch.num_rows
            if at <= start or not batch.num_rows:
                continue
            left = batch.slice(max(0, start - first), min(at, stop) - max(first, start))
            while left.num_rows:
                piece = left.slice(0, size - rows)
                waiting.append(piece)
                rows, left = rows + piece.num_rows, left.slice(piece.num_rows)
                if rows == size:
                    yield self._joined(waiting)
                    waiting, rows = [], 0
            if at >= stop:
                break
        if waiting:
            yield self._joined(waiting)
        if not self.whole:
            pa.default_memory_pool().release_unused()

    def _joined(self, batches: list[Any]) -> Any:
        table = _with_categories(pa.Table.from_batches(batches))
        self.read += table.num_rows
        if self.report is not None:
            self.report()
        return table

    def to_arrow(self) -> Any:
        """All rows as one Arrow table of features, target and weight, in memory."""
        others = [name for name in (self.target, self.weight) if name is not None]
        columns = list(dict.fromkeys([*self.features, *others]))
        tables = list(self.batches(columns))
        if not tables:
            raise ValueError(f"{self.source.name} has no rows")
        return pa.concat_tables(tables).unify_dictionaries()

    def __repr__(self) -> str:
        return f"scan({self.source.name}, target={self.target!r}, {len(self.features)} columns)"


def scan(
    source: Any,
    *,
    target: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    memory: int | str | None = None,
) -> Scan:
    """Rows to be read in batches, however many there are.

    ``fit`` of `BoostingClassifier`, `TreeClassifier` and `ForestClassifier` takes what it returns in place of
    X and y, and makes of it the model, bit for bit, that it would make of the same rows in memory. Columns of
    text, and dictionaries, are categories.

    Parameters
    ----------
    source : str, path, list of them, or what yields Arrow batches
        Files by a pattern (``'folder/*.parquet'``), a folder or a list, Parquet, CSV or Arrow (Feather); a
        pyarrow Dataset or Table; a polars LazyFrame or DataFrame; a DuckDB relation; or a function that
        returns a new iterator over record batches of Arrow each time. Rows must come in the same order each
        time; if they do not, the fit says so.
    target : str
        The column of labels. Without one, rows can be predicted, but not learned from.
    weight : str, optional
        The column of weights, as ``sample_weight``.
    columns : list of str, optional
        The features; by default all but target and weight.
    memory : int or str, optional
        How many bytes a fit may take, such as "8GB"; by default what is free. Bins and scores that do not fit
        are kept in files of the folder for temporary files.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from propriety import BoostingClassifier, scan
    >>> x = np.linspace(0, 1, 100)
    >>> rows = scan(pa.table({"x": x, "y": x > 0.4}), target="y")
    >>> model = BoostingClassifier(max_iter=20, min_samples_leaf=5).fit(rows)
    >>> model.predict_proba(rows).shape, model.predict(rows).sum()
    ((100, 2), np.int64(60))
    """
    if pa is None:
        raise ImportError("propriety.scan needs pyarrow: pip install 'propriety[cli]', or pyarrow alone")
    found = source_of(source)
    bytes_ = None if memory is None else budget.in_bytes(memory)
    for name, column in (("target", target), ("weight", weight)):
        if column is not None:
            _check_columns(found, [column], name)
    if columns is None:
        columns = [name for name in found.schema.names if name not in (target, weight)]
    elif isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got the text {columns!r}: give [{columns!r}]")
    columns = list(columns)
    _check_columns(found, columns, "columns")
    if target in columns:
        raise ValueError(f"columns has the target {target!r}, which is what is to be predicted: leave it out")
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice or not columns:
        raise ValueError(f"columns names {twice} twice" if twice else "there is no column to learn from")
    return Scan(found, columns, target, weight, bytes_)


def batch_rows(n_columns: int) -> int:
    """Rows of a batch: fewer of a wide table.

    >>> batch_rows(28), batch_rows(1000)
    (100000, 8388)
    """
    return max(1000, min(BATCH, _BATCH_BYTES // (8 * max(1, n_columns))))


def _check_columns(source: Source, names: Sequence[str], argument: str) -> None:
    known = source.schema.names
    twice = sorted({name for name in known if known.count(name) > 1})
    if twice:
        raise ValueError(f"{source.name} has several columns of the name {twice[0]!r}: rename them")
    missing = [name for name in names if name not in known]
    if missing:
        shown = ", ".join(map(repr, known[:20])) + (" …" if len(known) > 20 else "")
        raise ValueError(f"{argument}: {source.name} has no column {missing[0]!r}; it has {shown}")


def _with_categories(table: Any) -> Any:
    """The table with text as dictionaries."""
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type) or _is_view(field.type):
            column = table.column(i)
            column = column.cast(pa.string()) if _is_view(field.type) else column
            table = table.set_column(i, field.name, column.dictionary_encode())
        elif pa.types.is_null(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float64()))
    return table


def _is_view(kind: Any) -> bool:
    return str(kind) == "string_view"  # the oldest pyarrow does not know it
