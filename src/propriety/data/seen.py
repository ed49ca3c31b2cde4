"""Which rows a model was fitted to: the least hashes of its training rows, to be asked of rows that judge it.

A hash is of what a row holds, without its label or weight, so that it depends on no order of the rows. The
least ones of two tables are those of the same values wherever the tables have rows in common: their share
among the judged rows with hashes as small is the share of training rows (a bottom-k sketch).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from propriety.communicator import SINGLE
from propriety.data.folds import mixed
from propriety.data.streamed import StreamedTable
from propriety.data.table import Table, is_sparse
from propriety.data.training import Training

Hashes = NDArray[np.uint64]
_KEPT = 256  # hashes at most
_CELLS = 1 << 15  # that are hashed at a time
_ALL = 2.0**64
_SURE = 1e-3  # chance of a false alarm
_FEW = 30  # rows asked about, below which finding none of them says little
_ROUGH = 3  # what is added to a count for an upper bound of its mean, by the rule of three


@dataclass(frozen=True, eq=False)
class RowSketch:
    """The least hashes of the distinct rows of a table, ascending; all of them if they are few.

    >>> from propriety.data.table import Schema
    >>> _, table = Schema.fit(np.arange(20.0).reshape(10, 2))
    >>> sketch = RowSketch.of(table)
    >>> len(sketch.hashes), sketch.asked(table.take(np.array([3, 3, 4]))).share
    (10, 1.0)
    """

    hashes: Hashes

    @classmethod
    def of(cls, table: Table, kept: NDArray[np.bool_] | None = None) -> RowSketch:
        """That of a table, or of some of its rows."""
        hashes = row_hashes(table)
        return cls(_least(hashes if kept is None else hashes[kept]))

    @classmethod
    def of_training(cls, training: Training) -> RowSketch | None:
        """That of the rows of a fit with a weight; None if they are spread or read in parts."""
        if training.communicator is not SINGLE or isinstance(training.table, StreamedTable):
            return None
        return cls.of(training.table, training.weights.kept)

    @property
    def text(self) -> str:
        """The hashes as hexadecimal digits, 16 each.

        >>> RowSketch(np.array([1, 255], dtype=np.uint64)).text
        '000000000000000100000000000000ff'
        """
        return self.hashes.astype(">u8").tobytes().hex()

    @classmethod
    def read(cls, text: str) -> RowSketch:
        """The sketch of a `text`."""
        data = bytes.fromhex(text)
        hashes = np.frombuffer(data[: len(data) // 8 * 8], dtype=">u8").astype(np.uint64)
        if len(data) % 8 or not 0 < len(hashes) <= _KEPT or np.any(hashes[1:] <= hashes[:-1]):
            raise ValueError("hashes of rows are not in order")
        return cls(hashes)

    @property
    def n_rows(self) -> float:
        """The number of distinct rows, by how close the hashes lie if not all are kept."""
        k = len(self.hashes)
        return float(k if k < _KEPT else (k - 1) * _ALL / float(self.hashes[-1]))

    def asked(self, table: Table) -> RowsSeen:
        """How many of the rows of a table are among those of the sketch."""
        return self.asked_hashes(row_hashes(table))

    def asked_hashes(self, hashes: Hashes) -> RowsSeen:
        """The same of hashes, as of a table that is read in pieces."""
        distinct, times = np.unique(hashes, return_counts=True)
        least = distinct if len(self.hashes) < _KEPT else distinct[distinct <= self.hashes[-1]]
        found = np.isin(least, self.hashes, assume_unique=True)
        repeated = int(times[times > 1].sum())
        return RowsSeen(len(hashes), len(least), int(found.sum()), self._by_chance(len(hashes), repeated))

    def _by_chance(self, n: int, repeated: int) -> float:
        """At most so large a share of rows that are new would equal one of the table.

        Rows that equal another one of those judged say how often rows are equal that are not the same.
        """
        return min(1.0, (repeated + _ROUGH) / max(n, 1) * max(1.0, self.n_rows / max(n, 1)))


@dataclass(frozen=True)
class RowsSeen:
    """What the contents of judged rows say on whether a model was fitted to them.

    Attributes
    ----------
    n_rows : int
        That were judged.
    n_asked, n_found : int
        Those of them, without repetitions, that could be asked about, and those of these that were found.
    by_chance : float
        The largest share that may be expected to be found of rows that are new.
    """

    n_rows: int
    n_asked: int
    n_found: int
    by_chance: float

    @property
    def share(self) -> float:
        """Of the training rows among them."""
        return self.n_found / max(self.n_asked, 1)

    @property
    def some(self) -> bool:
        """Whether more of them are training rows than chance explains."""
        by_chance = float(stats.binom.sf(self.n_found - 1, self.n_asked, self.by_chance))
        return self.n_found > 0 and by_chance < _SURE

    @property
    def none(self) -> bool:
        """Whether it is as good as known that none of them is a training row."""
        return self.n_found == 0 and self.n_asked >= min(_FEW, self.n_rows)

    @property
    def judged_by(self) -> str:
        """What the rows are to the model, for 'Judged by …'; empty if that is not known."""
        if self.some:
            if self.share == 1:
                return "rows that the model was fitted to"
            return f"rows of which about {self.share:.0%} are among those that the model was fitted to"
        if self.none:
            return "rows that the model was not fitted to"
        return ""

    @property
    def warning(self) -> str:
        """What is to be warned of; empty if nothing is."""
        if not self.some:
            return ""
        share = "" if self.share == 1 else f"about {self.share:.0%} of "
        return (
            f"the model was fitted to {share}the rows that judge it, so costs and probabilities look better "
            "than they are: judge it by rows that it has not seen"
        )


def row_hashes(table: Table) -> Hashes:
    """A hash of what each row holds, its numbers to single precision.

    It is a sum over the columns of odd multiples of their 32 bits, whose upper half is nearly universal.
    """
    salts = mixed(np.arange(table.n_features, dtype=np.uint64)) | np.uint64(1)
    total = np.zeros(table.n_rows, dtype=np.uint64)
    plain = not any(table.schema.n_categories)
    if plain and is_sparse(table.matrix):
        cells = table.matrix.tocoo()
        np.add.at(total, cells.row, _bits(cells.data) * salts[cells.col])
    elif plain and table.dense is not None:
        step = max(1, _CELLS // table.n_features)
        for start in range(0, table.n_rows, step):
            total[start : start + step] = _bits(table.dense[start : start + step]) @ salts
    else:
        for f in range(table.n_features):
            total += _bits(table.column(f)) * salts[f]
    return mixed(total)


def _bits(values: NDArray[np.floating]) -> Hashes:
    """The bits of numbers in single precision, 0 for both zeros, the same for every NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
        single += np.float32(0)
    missing = np.isnan(single)
    if missing.any():
        single[missing] = np.nan
    return single.view(np.uint32).astype(np.uint64)


def _least(hashes: Hashes) -> Hashes:
    """The least of the distinct hashes, ascending."""
    most = 2 * _KEPT
    while True:
        least = hashes if most >= len(hashes) else np.partition(hashes, most)[:most]
        distinct = np.unique(least)
        if len(distinct) >= _KEPT or most >= len(hashes):
            return distinct[:_KEPT].copy()
        most *= 8  # rows are repeated
