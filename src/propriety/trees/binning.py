"""Values to bins: weighted quantiles, at most 255 a feature, one more for missing values.

Bins are a function of the weighted distribution alone: a row of weight k counts as k copies, and the
order of rows and columns is of no consequence. Large tables are sampled by a hash of each row's
content, so that copies of a row are sampled together. Rows in several processes get the bins that they would
have in one: distinct values with their weights are gathered, weights of categories are added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.communicator import SINGLE, Communicator
from propriety.data.streamed import StreamedTable
from propriety.data.table import encoders
from propriety.trees.apply_bins import place
from propriety.trees.binned import BINS, Binned
from propriety.trees.categories import noise_share
from propriety.trees.jit import allocating, kernel
from propriety.trees.quantiles import Distinct, bin_ends, distinct_values, quantile_edges
from propriety.trees.selection import EdgeFinder
from propriety.weights import Weights

#: Distinct rows that the quantiles are taken from.
SAMPLE = 200_000
_SPARE = 1.5 * 1.25  # times the sample: rows of low hash that are kept at hand, in case some are held out
_HASHED = 65536
_COPIED = 1 << 13  # rows whose numbers are copied at once, and from which a copy pays
_LINES = 256  # of them, whose lines stay in the first cache
_BLOCK = 65536  # rows whose categories are looked up at once
_MOST = np.iinfo(np.uint64).max
_TOGETHER = 8  # features, or one a thread, whose values are sorted at the same time
_SMOOTHING = 10.0
_WAITING = 32  # batches whose distinct values are joined at once
_SEARCH = 255  # edges per feature, padded with +inf; the search needs 2⁸ − 1
_U = np.uint64
Floats = NDArray[np.float64]
#: Which rows, and their columns by number.
_Part = tuple[Any, Callable[[int], NDArray[Any]]]


class ColumnSource(Protocol):
    """A table that can be read column by column; categories are numbers 0, 1, …, missing is NaN."""

    n_rows: int
    n_features: int
    content_hashes: NDArray[np.uint64] | None

    @property
    def arrays(self) -> tuple[NDArray[np.floating], ...]:
        """The arrays that it consists of, one below the other (categorical columns as they came); or none."""
        ...

    def column(self, f: int) -> NDArray[np.floating]:
        """One column."""
        ...

    def parts(
        self, features: Sequence[int], rows: NDArray[np.intp] | None = None, *, codes: bool = False
    ) -> Iterator[tuple[Any, Callable[[int], NDArray[Any]]]]:
        """Which rows, and their columns by number, of at least the ``rows`` asked for; batch by batch.

        With ``codes`` categories are whole numbers, and −1 is missing, unless ``rows`` are asked for.
        """
        ...


@allocating
def _hash_rows(X, hashes, start, stop):
    """hashes[i] += Σ_j mix(X[i, j]): a sum, so that the order of columns does not matter."""
    word = np.empty(1, dtype=np.float64)
    bits = word.view(np.uint64)
    for i in range(start, stop):
        total = hashes[i]
        for j in range(X.shape[1]):
            word[0] = X[i, j] + 0.0  # −0.0 becomes 0.0
            x = bits[0] if word[0] == word[0] else np.uint64(1)
            x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
            x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
            total += x ^ (x >> np.uint64(32))
        hashes[i] = total


@kernel
def _finish_hashes(hashes):
    for i in range(hashes.size):
        x = (hashes[i] ^ (hashes[i] >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        hashes[i] = x ^ (x >> np.uint64(31))


def content_hashes(
    table: ColumnSource, n_jobs: int, communicator: Communicator = SINGLE
) -> NDArray[np.uint64]:
    """A hash of what each row holds, the same for any order of the columns; not to be written to.

    A table keeps them until it is told to release them.
    """
    if table.content_hashes is not None:
        return table.content_hashes
    if isinstance(table, StreamedTable):
        return _streamed_hashes(table, n_jobs, communicator)
    hashes = np.zeros(table.n_rows, dtype=np.uint64)
    first = 0
    for X in table.arrays:
        own = hashes[first : first + len(X)]
        parallel.for_blocks(partial(_hash_rows, X, own), len(X), n_jobs=n_jobs, block=_HASHED)
        first += len(X)
    for f in range(0 if table.arrays else table.n_features):
        X = table.column(f)[:, None]
        parallel.for_blocks(partial(_hash_rows, X, hashes), len(X), n_jobs=n_jobs, block=_HASHED)
    _finish_hashes(hashes)
    table.content_hashes = hashes
    return hashes


def _streamed_hashes(table: StreamedTable, n_jobs: int, communicator: Communicator) -> NDArray[np.uint64]:
    """The same of rows that come in batches; those of low hash are kept, since a sample will ask for them."""
    everywhere = int(communicator.sum(np.array([table.n_rows]))[0])
    d, bound = table.n_features, min(1.0, _SPARE * SAMPLE / everywhere)
    hashes = memory.empty(table.n_rows, np.uint64)
    positions, values = [], []
    for where, column in table.parts(range(d)):
        columns: list[Any] = [None] * d
        parallel.run([partial(_set_column, columns, column, f) for f in range(d)], n_jobs)
        part = np.zeros(where.stop - where.start, dtype=np.uint64)
        for x in columns:
            parallel.for_blocks(
                partial(_hash_rows, x[:, None], part), len(part), n_jobs=n_jobs, block=_HASHED
            )
        _finish_hashes(part)
        hashes[where] = part
        low = np.flatnonzero(part < np.uint64(bound * 2.0**64)) if bound < 1.0 else np.empty(0, dtype=np.intp)
        positions.append(low + where.start)
        values.append(np.column_stack([x[low] for x in columns]))
    table.hold(hashes, np.concatenate(positions), np.concatenate(values, dtype=np.float64))
    return hashes


def _set_column(columns: list[Any], column: Callable[[int], Any], f: int) -> None:
    columns[f] = column(f)


def _unique(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """As ``np.unique``, by sorting: numbers that are nearly all different take it ten times as long."""
    numbers = np.sort(numbers)
    return numbers[np.concatenate((numbers[:1] == numbers[:1], numbers[1:] != numbers[:-1]))]


def sample_rows(
    table: ColumnSource, kept: NDArray[np.bool_] | None, n_jobs: int, communicator: Communicator = SINGLE
) -> NDArray[np.intp] | None:
    """Rows whose content hashes to one of the ``SAMPLE`` smallest distinct values; None: all rows.

    Which rows are chosen depends on the set of distinct rows only, neither on their number of copies
    nor on their weight.
    """
    everywhere = int(communicator.sum(np.array([table.n_rows]))[0])
    if everywhere <= SAMPLE:
        return None if kept is None else np.flatnonzero(kept)
    hashes = content_hashes(table, n_jobs, communicator)
    if kept is not None:
        hashes = np.where(kept, hashes, np.uint64(_MOST))
    share = 1.25 * SAMPLE / everywhere
    while share < 1.0:
        low = _unique(hashes[hashes < np.uint64(share * 2.0**64)])
        distinct = _unique(np.concatenate(communicator.gather(low)))
        if len(distinct) >= SAMPLE:
            return np.flatnonzero(hashes <= distinct[SAMPLE - 1])
        share *= 2.0
    return None if kept is None else np.flatnonzero(kept)


def _side_by_side(
    table: ColumnSource, features: list[int], rows: NDArray[np.intp] | None, n_jobs: int
) -> Iterable[_Part]:
    """As ``table.parts`` of numbers; those of large arrays are copied, each row once for all columns."""
    n, arrays = table.n_rows if rows is None else len(rows), table.arrays
    if n < _COPIED or not features or not arrays or not all(X.flags.c_contiguous for X in arrays):
        return table.parts(features, rows, codes=True)
    values, numbers = np.empty((len(features), n), np.result_type(*arrays)), np.array(features)
    ends = np.cumsum([0, *map(len, arrays)])
    places = ends if rows is None else np.searchsorted(rows, ends)
    for X, first, start, stop in zip(arrays, ends, places, places[1:], strict=False):
        here = np.empty(0, np.intp) if rows is None else rows[start:stop] - first
        copy = partial(_copy_block, X, here, numbers, values[:, start:stop])
        parallel.for_blocks(copy, int(stop - start), n_jobs=n_jobs, block=_COPIED)
    place = {f: k for k, f in enumerate(features)}
    return [(slice(0, n) if rows is None else rows, lambda f: values[place[f]])]


def _copy_block(X, rows, features, values, start, stop):
    _copy_rows(X, rows, features, values, start, stop)


@kernel
def _copy_rows(X, rows, features, values, start, stop):
    """Copy some features of the rows start … stop−1 of X or, if `rows` are given, of those among them."""
    every = rows.size == 0
    for first in range(start, stop, _LINES):
        for j in range(features.size):
            f = _U(features[j])
            for i in range(_U(first), _U(min(first + _LINES, stop))):
                values[j, i] = X[i if every else _U(rows[i]), f]


class _Reading:
    """What a process knows of the columns: distinct values of sampled rows, weights of categories.

    Of rows that come in batches the parts are joined, which is exact: weights have exact sums. Values without
    weights that no others will join are not kept: ``finder`` finds their edges.
    """

    def __init__(
        self,
        weights: Floats | None,
        target: Floats,
        counts: list[int],
        sample: NDArray[np.intp] | None,
        n_jobs: int,
        max_bins: int,
        finder: EdgeFinder | None,
    ) -> None:
        self._weights, self._target, self._counts = weights, target, counts
        self._sample, self._n_jobs = sample, n_jobs
        self._max_bins, self._finder = max_bins, finder
        self.parts: dict[int, Any] = {}

    def numbers(self, table: ColumnSource, features: list[int]) -> None:
        """Read the columns of numbers, of the sampled rows."""
        self._read(_side_by_side(table, features, self._sample, self._n_jobs), features, self._distinct)

    def categories(self, table: ColumnSource, features: list[int]) -> None:
        """Read the columns of categories, of all rows."""
        self._read(table.parts(features, codes=True), features, self._count)

    def _read(self, parts: Iterable[_Part], features: list[int], read: Any) -> None:
        if not features:
            return
        waiting: list[dict[int, Any]] = []
        for where, column in parts:
            part: dict[int, Any] = {}
            parallel.run([partial(read, part, where, column, f) for f in features], self._n_jobs)
            waiting.append(part)
            if len(waiting) >= _WAITING:
                waiting = [_join(waiting)]
        self.parts |= _join(waiting)

    def _distinct(self, part: dict[int, Any], where: Any, column: Callable[[int], Any], f: int) -> None:
        weights, sample, x = self._weights, self._sample, column(f)
        if self._finder is not None:
            x = x if sample is None or where is sample else x[sample]
            part[f] = self._finder.edges(x, self._max_bins)
            return
        if sample is None:
            part[f] = distinct_values(x, None if weights is None else weights[where])
            return
        inside: Any
        if where is sample:
            rows, inside = sample, slice(None)
        elif isinstance(where, slice):
            rows = sample[slice(*np.searchsorted(sample, [where.start, where.stop]))]
            inside = rows - where.start
        else:
            rows, inside = sample, np.searchsorted(where, sample)
        part[f] = distinct_values(x[inside], None if weights is None else weights[rows])

    def _count(self, part: dict[int, Any], where: Any, column: Callable[[int], Any], f: int) -> None:
        weights = None if self._weights is None else self._weights[where]
        part[f] = count_categories(column(f), weights, self._target[where], self._counts[f])


@kernel
def _merge(x, x_mass, y, y_mass, values, mass):
    """Merge distinct values in order with others; returns how many they are together."""
    i, j, n = 0, 0, 0
    while i < x.size or j < y.size:
        if j == y.size or (i < x.size and x[i] < y[j]):
            values[n], mass[n] = x[i], x_mass[i]
            i += 1
        elif i == x.size or y[j] < x[i]:
            values[n], mass[n] = y[j], y_mass[j]
            j += 1
        else:
            values[n], mass[n] = x[i], x_mass[i] + y_mass[j]
            i, j = i + 1, j + 1
        n += 1
    return n


def _merged(several: list[Distinct]) -> Distinct:
    """The distinct values of several parts, with their weights, whose sums are exact."""
    while len(several) > 1:
        pairs = zip(several[::2], several[1::2], strict=False)
        odd = several[len(several) // 2 * 2 :]
        several = [*map(_merged_two, pairs), *odd]
    return several[0]


def _merged_two(pair: tuple[Distinct, Distinct]) -> Distinct:
    one, other = pair
    values, mass = np.empty((2, len(one.values) + len(other.values)))
    n = _merge(*one, *other, values, mass)
    return Distinct(values[:n], mass[:n])


def _join(parts: list[dict[int, Any]]) -> dict[int, Any]:
    """Of each feature the distinct values, or the weights of categories, of all parts."""
    if len(parts) == 1:
        return parts[0]
    joined = {}
    for f in parts[0]:
        several = [part[f] for part in parts]
        if isinstance(several[0], Distinct):
            joined[f] = _merged(several)
        else:
            joined[f] = np.sum(several, axis=0)
    return joined


def count_categories(
    codes: NDArray[Any], weights: Floats | None, target: Floats, n_categories: int
) -> Floats:
    """Weight of each category, and of its rows of target 1: of shape (2, n_categories)."""
    total = np.zeros((2, n_categories))
    for start in range(0, len(codes), _BLOCK):  # so that arrays in between are small; sums are exact
        part = slice(start, start + _BLOCK)
        seen = codes[part] >= 0  # which neither −1 nor NaN is
        index = codes[part][seen].astype(np.intp)
        w = None if weights is None else weights[part][seen]
        ones = target[part][seen] if w is None else w * target[part][seen]
        total[0] += np.bincount(index, weights=w, minlength=n_categories)
        total[1] += np.bincount(index, weights=ones, minlength=n_categories)
    return total


def merge_counted(counts: Floats, max_bins: int) -> Floats:
    """As :func:`merge_categories`, from what :func:`count_categories` has counted."""
    mass, total = counts
    score = (total + _SMOOTHING * total.sum() / mass.sum()) / (mass + _SMOOTHING)
    # Means that only rounding tells apart keep the order of the categories.
    order = np.argsort(np.round(score, 9), kind="stable")
    ends = bin_ends(mass[order], max_bins)
    bins = np.empty(len(mass))
    bins[order] = np.searchsorted(ends, np.arange(len(mass)), side="left")
    return bins


def merge_categories(
    codes: NDArray[Any],
    weights: Floats | None,
    target: Floats,
    n_categories: int,
    max_bins: int,
) -> Floats:
    """Bin of each category: its own while there are enough, else shared with those of nearest mean target.

    Means are drawn toward the overall mean by ``_SMOOTHING`` rows, so that rare categories are not told apart
    by chance; neighbours in that order are merged to bins of about equal weight.

    >>> merge_categories(np.array([0.0, 1.0, 2.0, 2.0]), None, np.array([1.0, 0.0, 1.0, 1.0]), 3, 2)
    array([0., 0., 1.])
    """
    if n_categories <= max_bins:
        return np.arange(n_categories, dtype=np.float64)
    return merge_counted(count_categories(codes, weights, target, n_categories), max_bins)


def count_levels(category_bins: Iterable[Floats | None], n_bins: NDArray[np.int64]) -> Floats:
    """Number of categories in each bin, of shape (d, 256); missing values are one more. 0 for numbers.

    >>> count_levels([np.array([0.0, 1.0, 1.0]), None], np.array([2, 9]))[:, :4]
    array([[1., 2., 1., 0.],
           [0., 0., 0., 0.]])
    """
    levels = np.zeros((len(n_bins), BINS))
    for f, bins in enumerate(category_bins):
        if bins is not None:
            levels[f] = np.bincount(bins.astype(np.int64), minlength=BINS)
            levels[f, n_bins[f]] = 1.0
    return levels


def _transpose_block(columns, rows, first, start, stop):
    _transpose(columns, rows, first + start, first + stop)


@kernel
def _transpose(columns, rows, start, stop):
    for first in range(start, stop, 64):
        for f in range(columns.shape[0]):
            for i in range(first, min(first + 64, stop)):
                rows[i, f] = columns[f, i]


@dataclass(frozen=True)
class Binner:
    """Knows the bins of every feature.

    Attributes
    ----------
    edges : ndarray of shape (d, 255)
        Upper ends of the bins, padded with +inf. Categories use ``k + ½``: their bin is their number.
    n_bins : ndarray of shape (d,)
        Bins of values; a missing value has this number as its bin.
    category_bins : tuple of ndarray or None
        Per categorical feature, the bin of each category; None for a numeric feature.
    noise : ndarray of shape (d,)
        How much of what the categories show of the target is noise; 1 for a numeric feature.
    """

    edges: NDArray[np.float64]
    n_bins: NDArray[np.int64]
    category_bins: tuple[Floats | None, ...]
    noise: Floats

    @classmethod
    def fit(
        cls,
        table: ColumnSource,
        weights: Weights,
        target: Floats,
        n_categories: Iterable[int],
        max_bins: int,
        n_jobs: int,
    ) -> Binner:
        """Choose the bins; ``n_categories[f]`` is 0 for a numeric feature.

        ``target``, 0 or 1, orders the categories of features that have more of them than bins.
        """
        d, counts, communicator = table.n_features, list(n_categories), weights.communicator
        sample = sample_rows(table, weights.kept, n_jobs, communicator)
        edges, n_bins = np.full((d, _SEARCH), np.inf), np.empty(d, dtype=np.int64)
        category_bins: list[Floats | None] = [None] * d
        noise, overdispersion = np.ones(d), weights.overdispersion if any(counts) else 1.0

        def choose(f: int) -> None:
            if counts[f]:
                many = counts[f] > max_bins
                bins = merge_counted(totals[f], max_bins) if many else np.arange(float(counts[f]))
                mass, ones = totals[f]
                noise[f] = noise_share(mass, ones, overdispersion)
                category_bins[f], ends = bins, np.arange(int(bins.max())) + 0.5
            else:
                known = isinstance(totals[f], np.ndarray)
                ends = totals[f] if known else quantile_edges(totals[f], max_bins)
            edges[f, : len(ends)], n_bins[f] = ends, len(ends) + 1

        # Some at a time, for the memory that their values take; but a pass over batches is not made twice.
        streamed = isinstance(table, StreamedTable)
        together, complete = (
            d if streamed else max(_TOGETHER, n_jobs),
            communicator.size == 1 and not streamed,
        )
        finder = EdgeFinder() if complete and weights.values is None else None
        for first in range(0, d, together):
            features = range(first, min(first + together, d))
            read = _Reading(weights.values, target, counts, sample, n_jobs, max_bins, finder)
            read.numbers(table, [f for f in features if not counts[f]])
            read.categories(table, [f for f in features if counts[f]])
            shares = [
                [f for f in features if f % communicator.size == rank] for rank in range(communicator.size)
            ]
            own = shares[communicator.rank]  # each chooses some
            totals = _join(communicator.exchange([{f: read.parts[f] for f in share} for share in shares]))
            parallel.run([partial(choose, f) for f in own], n_jobs)
            chosen = {f: (edges[f], n_bins[f], category_bins[f], noise[f]) for f in own}
            for part in communicator.gather(chosen):
                for f, (ends, count, bins, share) in part.items():
                    edges[f], n_bins[f], category_bins[f], noise[f] = ends, count, bins, share
        return cls(edges, n_bins, tuple(category_bins), noise)

    def transform(self, table: ColumnSource, n_jobs: int, *, by_rows: bool = True) -> Binned:
        """Bin a table; by columns alone if `by_rows` is False."""
        n, d = table.n_rows, table.n_features
        if n > SAMPLE:  # what `fit` has sorted is freed, and should not stand beside the bins
            memory.trim()
        rows, columns = memory.empty((n if by_rows else 0, d), np.uint8), memory.empty((d, n), np.uint8)
        categorical = np.array([b is not None for b in self.category_bins], dtype=np.uint8)
        alone = list(range(d))

        def bin_one(column: Callable[[int], Any], start: int, f: int) -> None:
            x, bins = column(f), self.category_bins[f]
            if bins is None:
                place(x[:, None], np.array([f]), self.edges, self.n_bins, columns, start, 1)
            else:
                columns[f, start : start + len(x)] = np.append(bins, self.n_bins[f]).astype(np.uint8).take(x)

        first, features = 0, np.flatnonzero(categorical == 0)
        for X in table.arrays if d > 1 else ():
            place(X, features, self.edges, self.n_bins, columns, first, n_jobs)
            first += len(X)
        if first:
            alone = np.flatnonzero(categorical).tolist()
        for where, column in table.parts(alone, codes=True):
            start, size = where.start, where.stop - where.start
            parallel.run([partial(bin_one, column, start, f) for f in alone], n_jobs)
            if by_rows:
                turn = partial(_transpose_block, columns, rows, start)
                parallel.for_blocks(turn, size, n_jobs=n_jobs, block=65536)
        levels = self.levels if categorical.any() else None
        return Binned(rows, columns, self.n_bins, categorical, levels, self.noise)

    @property
    def levels(self) -> Floats:
        """Number of categories in each bin, of shape (d, 256); missing values are one more. 0 for numbers."""
        return count_levels(self.category_bins, self.n_bins)

    def encoders(self) -> list[Any]:
        """For each feature what turns the codes of its categories into bins; None for a numeric one."""
        return encoders(self.category_bins)


assert _SEARCH == BINS - 1
