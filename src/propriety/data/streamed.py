"""Tables read batch by batch: never all of their numbers at once.

The first pass reads what is small: labels, weights, and the categories of columns that have some. Any later
pass must see the same rows in the same order, which the labels tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import memory
from propriety.communicator import SINGLE, Communicator
from propriety.data.hashing import Hashes, least, row_hashes
from propriety.data.labels import CodedLabels
from propriety.data.stream import Stream
from propriety.data.table import Schema, Table, categorical_columns, categories_of, join_schemas, ordered

Floats = NDArray[np.float64]
Column = Callable[[int], NDArray[np.floating]]
_MOST_LABELS = 10_000


class FirstPass(NamedTuple):
    """What the first pass over a stream finds."""

    schema: Schema
    table: StreamedTable
    labels: CodedLabels
    weights: Floats | None


class StreamedTable(Table):
    """A table whose rows come in batches.

    Parameters
    ----------
    stream : Stream
        Its features are the columns of the schema, in that order.
    schema : Schema
    labels : CodedLabels, optional
        Those that the first pass has seen; a pass that sees others is refused.
    """

    def __init__(self, stream: Stream, schema: Schema, labels: CodedLabels | None = None) -> None:
        super().__init__(stream, schema)
        self._labels = labels
        self._kept: NDArray[np.bool_] | None = None  # of the source's rows, those of the table
        self._least: Hashes | None = None
        self._held: tuple[NDArray[np.intp], Floats] | None = None

    @classmethod
    def of(cls, stream: Stream, schema: Schema) -> StreamedTable:
        """The rows of a stream with the columns of a schema, by their names."""
        if schema.names is None:
            raise ValueError("the model was fitted to columns without names: give an array of its columns")
        return cls(stream.having(schema.names), schema)

    def take(self, rows: NDArray[np.intp] | None) -> StreamedTable:
        """Some of the rows, in their order; None: all."""
        if rows is None:
            return self
        taken = StreamedTable(self._X, self._schema, self._labels)
        taken._kept = memory.kept(np.zeros(self.n_rows, dtype=bool))
        taken._kept[rows] = True
        taken.shape = taken.n_rows, taken.n_features = len(rows), self.n_features
        return taken

    def parts(
        self, features: Sequence[int], rows: NDArray[np.intp] | None = None, *, codes: bool = False
    ) -> Iterator[tuple[Any, Column]]:
        """Which rows, and their columns by number; at least the ``rows`` asked for, batch after batch.

        Of rows that are held, categories are numbers with NaN even if ``codes`` are asked for.
        """
        if rows is not None and self._held is not None and _within(rows, self._held[0]):
            positions, values = self._held
            yield positions, lambda f: values[:, f]
            return
        stream, start, first = self._X, 0, 0
        names = [stream.features[f] for f in features]
        schema = Schema(tuple(self._schema.categories[f] for f in features), tuple(names))
        place = {f: i for i, f in enumerate(features)}
        asked = names if self._labels is None else [*names, stream.target]
        # Rows are hashed in passing, by the first pass that reads all columns in their order.
        lowest: list[Hashes] | None
        lowest = [] if self._least is None and list(features) == list(range(self.n_features)) else None
        for batch in stream.batches(list(dict.fromkeys(asked))):
            stop = start + batch.num_rows
            if stop > stream.n_rows:
                break
            if self._labels is not None:
                self._labels.check_same(batch.column(stream.target), start)
            taken, start = self._taken(batch, start), stop
            if not taken.num_rows:
                continue
            table = Table(nw.from_native(taken.select(names), eager_only=True), schema)
            if lowest is not None:
                lowest = [least(np.concatenate([*lowest, row_hashes(table)]))]
            read = partial(table.column, codes=codes)
            end = first + taken.num_rows
            yield slice(first, end), lambda f, read=read: read(place[f])  # type: ignore[misc]
            first = end
        if start != stream.n_rows:
            raise ValueError(
                f"the source had {stream.n_rows:,} rows at first, and another number now: give one that has "
                "the same rows each time, such as files, or a function that begins anew"
            )
        if lowest is not None:
            self._least = np.concatenate([np.empty(0, dtype=np.uint64), *lowest])

    def _taken(self, batch: Any, start: int) -> Any:
        """The rows of a batch that are the table's."""
        if self._kept is None:
            return batch
        import pyarrow as pa

        return batch.filter(pa.array(self._kept[start : start + batch.num_rows]))

    def column(self, f: int, *, codes: bool = False) -> NDArray[Any]:
        """One column, of all rows."""
        return np.concatenate([column(f) for _, column in self.parts([f], codes=codes)])

    def chunks(self, encode: Sequence[Any]) -> Iterator[tuple[int, int, NDArray[np.floating]]]:
        """Yield (start, stop, C-contiguous array) over the rows; ``encode[f]`` maps codes or is None."""
        for where, column in self.parts(range(self.n_features)):
            values = np.empty((where.stop - where.start, self.n_features))
            for f in range(self.n_features):
                values[:, f] = column(f) if encode[f] is None else encode[f](column(f))
            yield where.start, where.stop, values

    def least_hashes(self) -> Hashes:
        """The least hashes of the rows, which any pass over all columns finds."""
        if self._least is None:
            for _ in self.parts(range(self.n_features)):
                pass
        assert self._least is not None
        return self._least

    # --- what a pass leaves for the next one ---

    def hold(self, hashes: Hashes, positions: NDArray[np.intp], values: Floats) -> None:
        """Keep hashes, and the values of some rows."""
        self.content_hashes, self._held = hashes, (positions, values)

    def release(self) -> None:
        """Give up what was kept between passes."""
        super().release()
        self._held = self._labels = None


def _within(rows: NDArray[np.intp], held: NDArray[np.intp]) -> bool:
    """Whether all rows, in order, are among those held, in order."""
    places = np.minimum(np.searchsorted(held, rows), max(len(held) - 1, 0))
    return len(held) > 0 and bool(np.all(held[places] == rows))


def first_pass(
    stream: Stream, categorical: ArrayLike | None, communicator: Communicator = SINGLE
) -> FirstPass:
    """Read labels, weights, and the categories of rows that have a weight, and nothing else."""
    import pyarrow as pa

    names, frame = stream.features, nw.from_native(stream.empty, eager_only=True)
    assert stream.target is not None
    chosen = sorted(categorical_columns(frame, names, len(names), categorical))
    plain = Table(frame, Schema((None,) * len(names), names))
    for f in set(range(len(names))) - set(chosen):
        plain.column(f)  # refuses what is not a number
    seen: list[set[Any]] = [set() for _ in chosen]
    labels, weights = CodedLabels(stream.target, _MOST_LABELS), []
    read = [stream.target, *([] if stream.weight is None else [stream.weight])]
    columns = list(dict.fromkeys([*read, *(names[f] for f in chosen)]))
    for batch in stream.batches(columns):
        labels.add(batch.column(stream.target))
        if stream.weight is not None:
            weight = nw.from_native(batch.select([stream.weight]), eager_only=True)
            weights.append(Table(weight, Schema((None,), (stream.weight,))).column(0))
        taken = batch.filter(pa.array(weights[-1] != 0.0)) if weights else batch
        parts = nw.from_native(taken, eager_only=True)
        for f, values in zip(chosen, seen, strict=True):
            values.update(categories_of(parts, columns.index(names[f])))
    categories: list[Any] = [None] * len(names)
    for f, values in zip(chosen, seen, strict=True):
        categories[f] = ordered(values)
    schema = join_schemas(communicator.gather(Schema(tuple(categories), tuple(names))))
    table = StreamedTable(stream, schema, labels.ended())
    return FirstPass(schema, table, labels, memory.kept(np.concatenate(weights)) if weights else None)
