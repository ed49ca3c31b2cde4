"""Some rows of a table in memory as a scan, so that a fit to them needs no copy of their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from propriety.beyond.scan import Scan
from propriety.beyond.sources import Source

_LABEL, _WEIGHT = "\0label", "\0weight"  # columns that no table has


class Taken(Source):
    """Rows of an Arrow table by their places, with a label and perhaps a weight each."""

    name = "the table"

    def __init__(
        self, frame: Any, rows: NDArray[np.intp], y: NDArray[np.intp], weight: NDArray[np.float64] | None
    ) -> None:
        self._frame, self._rows, self.weighted = frame, rows, weight is not None
        self._own = {_LABEL: y.astype(np.int64)} | ({} if weight is None else {_WEIGHT: weight})

    @property
    def schema(self) -> Any:
        """Features, label and weight."""
        own = [pa.field(name, pa.from_numpy_dtype(values.dtype)) for name, values in self._own.items()]
        return pa.schema([*self._frame.schema, *own])

    @property
    def n_rows(self) -> int:
        """Number of the rows that are taken."""
        return len(self._rows)

    def batches(self, columns: list[str], start: int, size: int) -> tuple[int, Iterator[Any]]:
        """Batches from ``start`` on."""
        return start, self._read(columns, start, size)

    def _read(self, columns: list[str], start: int, size: int) -> Iterator[Any]:
        for first in range(start, self.n_rows, size):
            rows = slice(first, first + size)
            places = self._rows[rows]
            # Of a column in many chunks, Arrow joins all that it is given before it takes some.
            low = int(places.min())
            near = self._frame.slice(low, int(places.max()) + 1 - low)
            within = pa.array(places - low)
            arrays = {
                name: pa.array(self._own[name][rows]) if name in self._own else near.column(name).take(within)
                for name in columns
            }
            yield from pa.table(arrays).combine_chunks().to_batches()

    @property
    def scan(self) -> Scan:
        """What a fit takes in the place of features and labels."""
        return Scan(self, self._frame.column_names, _LABEL, _WEIGHT if self.weighted else None, None)
