"""Which rows a model was fitted to: the least hashes of its training rows, to be asked of rows that judge it.

A hash is of what a row holds, without its label or weight, so that it depends on no order of the rows. The
least ones of two tables are those of the same values wherever the tables have rows in common: their share
among the judged rows with hashes as small is the share of training rows (a bottom-k sketch).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from propriety.data.hashing import LEAST, Hashes, least, row_hashes
from propriety.data.streamed import StreamedTable
from propriety.data.table import Table
from propriety.data.training import Training

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
    def of(cls, table: Table) -> RowSketch:
        """That of a table."""
        return cls(_least_of(table))

    @classmethod
    def of_training(cls, training: Training) -> RowSketch:
        """That of the rows of a fit which have a weight, in all processes."""
        weightless = training.weights.kept is not None  # a process without such a row has one of weight 0
        own = np.empty(0, dtype=np.uint64) if weightless else _least_of(training.table)
        return cls(least(np.concatenate(training.communicator.gather(own))))

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
        if len(data) % 8 or not 0 < len(hashes) <= LEAST or np.any(hashes[1:] <= hashes[:-1]):
            raise ValueError("hashes of rows are not in order")
        return cls(hashes)

    @property
    def n_rows(self) -> float:
        """The number of distinct rows, by how close the hashes lie if not all are kept."""
        k = len(self.hashes)
        return float(k if k < LEAST else (k - 1) * _ALL / float(self.hashes[-1]))

    def asked(self, table: Table) -> RowsSeen:
        """How many of the rows of a table are among those of the sketch."""
        return self.asked_hashes(row_hashes(table))

    def asked_hashes(self, hashes: Hashes) -> RowsSeen:
        """The same of hashes, as of a table that is read in pieces."""
        distinct, times = np.unique(hashes, return_counts=True)
        low = distinct if len(self.hashes) < LEAST else distinct[distinct <= self.hashes[-1]]
        found = np.isin(low, self.hashes, assume_unique=True)
        repeated = int(times[times > 1].sum())
        return RowsSeen(len(hashes), len(low), int(found.sum()), self._by_chance(len(hashes), repeated))

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


def _least_of(table: Table) -> Hashes:
    """The least hashes of the rows of a table, of one process."""
    if isinstance(table, StreamedTable):
        return table.least_hashes()
    return least(row_hashes(table))
