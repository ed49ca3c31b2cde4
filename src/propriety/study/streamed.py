"""Studies of rows that do not fit in memory: some of them come to this process to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from propriety.aliases import MatrixLike
from propriety.data.hashing import mixed, row_hashes
from propriety.data.lazy import is_dask, partitions
from propriety.data.stream import Stream
from propriety.data.table import Schema, is_frame
from propriety.distributed.scan import Scan
from propriety.distributed.sources import Source
from propriety.errors import ArgumentError
from propriety.model.base import Capabilities
from propriety.study.models import FitRequest, Fitted, ModelSpec

MOST, SHARE = 500_000, 0.25  # rows that judge at most, and their share by default
_WEIGHT = "\0weight"  # a column that no file has


def chosen(hashes: NDArray[np.uint64], share: float, seed: int) -> NDArray[np.bool_]:
    """Which rows judge, by their numbers or by hashes of what they hold.

    >>> int(chosen(np.arange(1000, dtype=np.uint64), 0.25, seed=0).sum())
    266
    """
    return mixed(hashes + mixed(np.array([seed], np.uint64))) < np.uint64(share * 2.0**64)


def share_of(holdout: float | None, n_rows: int) -> float:
    """The share of the rows that judge."""
    return min(SHARE if holdout is None else holdout, MOST / n_rows)


class HeldOut(Source):
    """The rows of a source with a column of weights, which are 0 for those that judge."""

    def __init__(self, source: Source, weight: str | None, share: float, seed: int) -> None:
        self._source, self._weight, self._share, self._seed = source, weight, share, seed
        self.name = source.name

    @property
    def schema(self) -> Any:
        """That of the source, and the weights."""
        return self._source.schema.append(pa.field(_WEIGHT, pa.float64()))

    @property
    def n_rows(self) -> int:
        """Number of rows, those included that judge."""
        return self._source.n_rows

    @property
    def n_bytes(self) -> int | None:
        """Of the source."""
        return self._source.n_bytes

    def batches(self, columns: list[str], start: int, size: int) -> tuple[int, Iterator[Any]]:
        """Batches of the columns asked for."""
        named = [self._weight if name == _WEIGHT else name for name in columns]
        own = list(dict.fromkeys(name for name in named if name is not None))
        own = own or self._source.schema.names[:1]
        first, raw = self._source.batches(own, start, size)
        return first, self._weighted(raw, first, columns)

    def _weighted(self, raw: Iterator[Any], first: int, columns: list[str]) -> Iterator[Any]:
        for batch in raw:
            table, n = pa.Table.from_batches([batch]), batch.num_rows
            weight = np.ones(n) if self._weight is None else table.column(self._weight).to_numpy()
            numbers = np.arange(first, first + n, dtype=np.uint64)
            weight = np.where(chosen(numbers, self._share, self._seed), 0.0, weight)
            yield from table.append_column(_WEIGHT, pa.array(weight)).select(columns).to_batches()
            first += n


@dataclass(frozen=True)
class Streamed:
    """Judging rows of a scan or of Dask collections, in memory, and how models are fitted to the rest."""

    X: Any
    y: NDArray[Any]
    weight: Any
    text: str
    train: Callable[[Any], Any]

    @classmethod
    def of(
        cls,
        X: MatrixLike | None,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        holdout: float | None,
        seed: int,
    ) -> Streamed:
        """Take the rows apart."""
        if isinstance(X, Scan):
            return cls._of_scan(X, y, sample_weight, holdout, seed)
        return cls._of_dask(X, y, sample_weight, holdout, seed)

    @classmethod
    def _of_scan(cls, scan: Scan, y: Any, sample_weight: Any, holdout: float | None, seed: int) -> Streamed:
        if y is not None or sample_weight is not None or scan.target is None:
            raise ArgumentError("y", "and sample_weight are columns of the scan: scan(..., target=, weight=)")
        share, at, kept = share_of(holdout, scan.n_rows), 0, []
        for table in scan.batches(
            [*scan.features, scan.target, *([] if scan.weight is None else [scan.weight])]
        ):
            numbers = np.arange(at, at + table.num_rows, dtype=np.uint64)
            kept.append(table.take(pa.array(np.flatnonzero(chosen(numbers, share, seed)))))
            at += table.num_rows
        judging = pa.concat_tables(kept).unify_dictionaries()
        source = HeldOut(scan.source, scan.weight, share, seed)
        train = Scan(source, scan.features, scan.target, _WEIGHT, scan.memory)
        weight = None if scan.weight is None else judging.column(scan.weight).to_numpy()
        labels = np.asarray(judging.column(scan.target).to_pylist())
        text = f"{len(labels):,} of {at:,} rows, which the model has not seen"
        return cls(judging.select(scan.features), labels, weight, text, lambda model: model.fit(train))

    @classmethod
    def _of_dask(cls, X: Any, y: Any, sample_weight: Any, holdout: float | None, seed: int) -> Streamed:
        import dask

        given = [X, y] if sample_weight is None else [X, y, sample_weight]
        if not all(map(is_dask, given)):
            raise ArgumentError("y", "and sample_weight must be Dask collections, as X is")
        columns = [partitions(collection) for collection in given]
        n_rows = sum(dask.compute(*map(dask.delayed(len), columns[1])))
        share, parted = share_of(holdout, n_rows), dask.delayed(_parted, pure=False)
        parts = [parted(share, seed, *rows) for rows in zip(*columns, strict=True)]
        judging = dask.compute(*(part[1] for part in parts))
        train = [_collected([p[0][j] for p in parts], collection) for j, collection in enumerate(given)]
        own = [_joined([part[j] for part in judging]) for j in range(len(given))]
        text = f"{len(own[1]):,} of {n_rows:,} rows, which the model has not seen"
        weight = None if sample_weight is None else np.asarray(own[2])
        return cls(own[0], np.asarray(own[1]), weight, text, lambda model: model.fit(*train))

    def fit(
        self, spec: ModelSpec, request: FitRequest, costs: dict[str, Any], classes: NDArray[Any]
    ) -> Fitted:
        """A model fitted to the rows that do not judge."""
        estimator = spec.make(request, costs, len(self.y))
        if not getattr(estimator, "capabilities", Capabilities()).scans:
            raise ArgumentError(
                "model",
                f"must be boosting, a forest or a tree where rows are read in parts, not {spec.title}",
            )
        fitted = Fitted(self.train(estimator), spec, None, classes)
        if sorted(map(str, fitted.known)) != sorted(map(str, classes.tolist())):
            raise ArgumentError("holdout", "leaves no row of some class among those that judge: give more")
        return fitted


def is_streamed(X: MatrixLike | None) -> bool:
    """Whether rows are read in parts: a `propriety.scan`, or a collection of Dask's."""
    return isinstance(X, Stream) or is_dask(X)


def _parted(share: float, seed: int, X: Any, *others: Any) -> tuple[list[Any], list[Any]]:
    """The rows of a partition that train, and those that judge: by what they hold, wherever they are."""
    if is_frame(X):
        import pandas as pd

        hashes = pd.util.hash_pandas_object(X, index=False).to_numpy()
    else:
        hashes = row_hashes(Schema.fit(X)[1])
    judges = chosen(hashes, share, seed)
    return [part[~judges] for part in (X, *others)], [part[judges] for part in (X, *others)]


def _collected(parts: list[Any], like: Any) -> Any:
    """Delayed partitions as a collection again."""
    if hasattr(like, "chunks"):
        import dask.array as da

        shape = (np.nan, *like.shape[1:])
        arrays = [da.from_delayed(part, shape, like.dtype) for part in parts]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)
    import dask.dataframe as dd

    return dd.from_delayed(parts, meta=like._meta, verify_meta=False)


def _joined(parts: list[Any]) -> Any:
    if not hasattr(parts[0], "iloc"):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)
