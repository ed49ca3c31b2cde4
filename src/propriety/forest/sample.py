"""The training rows in an order of their own, so that random draws depend on what they hold and nothing else.

Trees see bins and classes. Rows that agree in these are one row with as many copies, columns that agree are
one column; columns are put in order by a hash of their bins and classes, rows by a hash of their bins. Then a
row's place is the same however the table was sorted, and whether it was given k times or with the weight k.
Classes count by their weight, not by their names: the heavier comes first.

If rows are spread over processes, each gets the bins of all, a byte a value: then it has the sample that one
process alone would have, and can grow any of the trees.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.communicator import Communicator
from propriety.data.training import Training
from propriety.trees.binned import BINS
from propriety.trees.binning import Binner
from propriety.trees.jit import kernel
from propriety.trees.layout import COLUMN, LINE, MOST_COPIES, Sample
from propriety.weights import Weights

#: Mean weight of a row up to which whole weights are drawn copy by copy.
_COPY_BY_COPY = 64
_FILLED = 16384  # rows that a thread writes at a time


@dataclass(frozen=True)
class OrderedSample:
    """The sample, and how it came about.

    Attributes
    ----------
    columns : ndarray of shape (d,)
        The column of the table that each column of the sample stands for.
    unit : float
        Of the weights.
    places : ndarray of shape (n,)
        The row of the sample that stands for each row of the table; −1 for rows without weight, and for
        all if there are others in other processes.
    """

    sample: Sample
    columns: NDArray[np.intp]
    unit: float
    places: NDArray[np.intp]


class _Rows(NamedTuple):
    """The rows that have a weight."""

    codes: NDArray[np.uint8]  # (d, n)
    labels: NDArray[np.uint8]
    values: NDArray[np.float64] | None  # weights


def _everywhere(own: _Rows, communicator: Communicator) -> _Rows:
    """The rows of all processes."""
    if communicator.size == 1:
        return own
    parts = communicator.gather(tuple(own))
    codes, labels = np.concatenate([part[0] for part in parts], axis=1), np.concatenate([p[1] for p in parts])
    return _Rows(codes, labels, None if own.values is None else np.concatenate([part[2] for part in parts]))


def ordered_sample(
    training: Training, binner: Binner, codes: NDArray[np.uint8], n_jobs: int
) -> OrderedSample:
    """Put the binned table, of shape (d, n), in its order; of spread rows those of all processes."""
    weights, kept = training.weights, training.weights.kept
    own = np.arange(training.n_rows) if kept is None else np.flatnonzero(kept)
    codes, labels, values = _everywhere(
        _Rows(
            codes if kept is None else np.ascontiguousarray(codes[:, own]),
            training.codes[own].astype(np.uint8),
            None if weights.values is None else weights.values[own],
        ),
        training.communicator,
    )
    rank = _ranks(training.class_weights)[labels]
    copies = _copies(weights, values, len(labels))
    columns = _distinct_columns(codes, rank, copies, binner, training.n_classes, n_jobs)
    codes = codes[columns]
    hashes = np.zeros(len(labels), dtype=np.uint64)
    words = np.random.default_rng(0).integers(2**64, size=(len(columns), BINS), dtype=np.uint64)
    with np.errstate(over="ignore"):
        _hash_rows(codes, words, hashes)
    hashes = (hashes & ~np.uint64(BINS - 1)) | rank.astype(np.uint64)
    if copies is None:
        assert values is not None
        whole = np.rint(values / weights.unit).astype(np.int64)
        order = np.lexsort((whole, hashes))
        firsts = np.arange(len(labels))
    else:
        order = np.argsort(hashes)  # rows of equal hashes are equal
        firsts = _first_of_equal(hashes[order], codes, order)
    chosen = order[firsts]
    counts = np.ones(len(chosen), np.int64) if copies is None else np.add.reduceat(copies[order], firsts)
    at = np.arange(len(firsts))
    places = np.full(training.n_rows, -1)
    if len(own) == len(labels):
        places[own[order]] = np.repeat(at, np.diff(np.append(firsts, len(own))))
    any_categories = any(binner.category_bins[f] is not None for f in columns)
    sample = Sample(
        _lines(codes, chosen, n_jobs),
        _described(columns, binner),
        binner.levels[columns if any_categories else []],
        labels[chosen],
        counts,
        whole[chosen] if copies is None else np.empty(0, dtype=np.int64),
    )
    return OrderedSample(sample, columns, weights.unit if copies is None else 1.0, places)


def _described(columns: NDArray[np.intp], binner: Binner) -> NDArray[np.void]:
    described = np.zeros(len(columns), dtype=COLUMN)
    described["missing"] = binner.n_bins[columns]
    described["categorical"] = [binner.category_bins[f] is not None for f in columns]
    return described


def _lines(codes: NDArray[np.uint8], rows: NDArray[np.intp], n_jobs: int) -> NDArray[np.uint8]:
    """Bins of these rows, LINE of them side by side; what follows the last column is 0."""
    blocks = -(-len(codes) // LINE)
    lines = np.zeros((blocks, len(rows), LINE), dtype=np.uint8)
    for block in range(blocks):
        columns = codes[block * LINE : (block + 1) * LINE]
        fill = partial(_fill_lines, columns, rows, lines[block])
        parallel.for_blocks(fill, len(rows), n_jobs=n_jobs, block=_FILLED)
    return lines.ravel()


@kernel
def _fill_lines(columns, rows, lines, start, stop):
    """lines[i, f] = columns[f, rows[i]]."""
    for i in range(start, stop):
        for f in range(columns.shape[0]):
            lines[i, f] = columns[f, rows[i]]


def _copies(weights: Weights, values: NDArray[np.float64] | None, n_rows: int) -> NDArray[np.int64] | None:
    """How many copies each row stands for; None if weights are relative, or too many to draw one by one."""
    if values is None:
        return np.ones(n_rows, dtype=np.int64)
    if not weights.copies or values.sum() > min(_COPY_BY_COPY * n_rows, MOST_COPIES):
        return None
    return values.astype(np.int64)


def _ranks(class_weights: NDArray[np.float64]) -> NDArray[np.intp]:
    """Place of each class, the heaviest first."""
    ranks = np.empty(len(class_weights), dtype=np.intp)
    ranks[np.argsort(-class_weights, kind="stable")] = np.arange(len(class_weights))
    return ranks


def _distinct_columns(
    codes: NDArray[np.uint8],
    rank: NDArray[np.intp],
    copies: NDArray[np.int64] | None,
    binner: Binner,
    n_classes: int,
    n_jobs: int,
) -> NDArray[np.intp]:
    """Columns in the order of a hash of their class counts; of equal ones the first."""
    counts = np.zeros((len(codes), BINS * n_classes), dtype=np.int64)
    given = np.empty(0, dtype=np.int64) if copies is None else copies
    tasks = [
        partial(_count_classes, column, rank, given, own) for column, own in zip(codes, counts, strict=True)
    ]
    parallel.run(tasks, n_jobs)
    keys = []
    for f, own in enumerate(counts):
        kind = bytes([binner.category_bins[f] is not None])
        keys.append(hashlib.blake2b(kind + own.tobytes(), digest_size=8).digest())
    chosen: list[int] = []
    for f in sorted(range(len(keys)), key=lambda f: (keys[f], f)):
        same = (g for g in reversed(chosen) if keys[g] == keys[f])
        if not any(np.array_equal(codes[g], codes[f]) for g in same):
            chosen.append(f)
    return np.array(chosen, dtype=np.intp)


@kernel
def _count_classes(column, rank, copies, counts):
    """counts[bin · K + rank] of a column; copies are empty if all are 1."""
    K = counts.size // BINS
    for i in range(column.size):
        counts[np.int64(column[i]) * K + rank[i]] += copies[i] if copies.size > 0 else 1


@kernel
def _hash_rows(codes, words, hashes):
    """hashes[i] += Σ_f words[f, code]."""
    for f in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            hashes[i] += words[f, codes[f, i]]


def _first_of_equal(
    hashes: NDArray[np.uint64], codes: NDArray[np.uint8], order: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Where rows begin that differ from the one before, for rows in the order of their hashes."""
    same = np.flatnonzero(hashes[1:] == hashes[:-1]) + 1
    really = np.all(codes[:, order[same]] == codes[:, order[same - 1]], axis=0)
    begins = np.ones(len(hashes), dtype=bool)
    begins[same[really]] = False
    return np.flatnonzero(begins)
