"""Values to bins: weighted quantiles, at most 255 a feature, one more for missing values.

Bins are a function of the weighted distribution alone: a row of weight k counts as k copies, and the
order of rows and columns is of no consequence. Large tables are sampled by a hash of each row's
content, so that copies of a row are sampled together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.engine.compiling import allocating, kernel
from propriety.engine.layout import BINS, Binned

#: Distinct rows that the quantiles are taken from.
SAMPLE = 200_000
_ROWS = 2048
_SMOOTHING = 10.0
_SEARCH = 255  # edges per feature, padded with +inf; the search needs 2⁸ − 1


class Columns(Protocol):
    """A table that can be read column by column; categories are numbers 0, 1, …, missing is NaN."""

    n_rows: int
    n_features: int

    @property
    def dense(self) -> NDArray[np.floating] | None:
        """The whole table as an array, if it is one (categorical columns as they came)."""
        ...

    def column(self, f: int) -> NDArray[np.floating]:
        """One column."""
        ...


@allocating
def _hash_rows(X, start, stop, hashes):
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


def sample_rows(table: Columns, kept: NDArray[np.bool_] | None, n_jobs: int) -> NDArray[np.intp] | None:
    """Rows whose content hashes to one of the ``SAMPLE`` smallest distinct values; None: all rows.

    Which rows are chosen depends on the set of distinct rows only, neither on their number of copies
    nor on their weight.
    """
    n = table.n_rows
    if n <= SAMPLE:
        return None if kept is None else np.flatnonzero(kept)
    hashes = np.zeros(n, dtype=np.uint64)
    dense = table.dense
    parts = [dense] if dense is not None else (table.column(f)[:, None] for f in range(table.n_features))
    for X in parts:
        parallel.for_blocks(lambda s, e, X=X: _hash_rows(X, s, e, hashes), n, n_jobs=n_jobs, block=65536)
    _finish_hashes(hashes)
    if kept is not None:
        hashes[~kept] = np.iinfo(np.uint64).max
    share = 1.25 * SAMPLE / n
    while share < 1.0:
        low = hashes[hashes < np.uint64(share * 2.0**64)]
        distinct = np.unique(low)
        if len(distinct) >= SAMPLE:
            return np.flatnonzero(hashes <= distinct[SAMPLE - 1])
        share *= 2.0
    return None if kept is None else np.flatnonzero(kept)


@allocating
def _close_bins(weights, max_bins):
    """Positions of the values that end a bin, for distinct values in order with their weights.

    A value with more than an equal share has a bin of its own; what is left is shared out among the others,
    so that a frequent value does not eat their bins.
    """
    ends = np.empty(max_bins, dtype=np.int64)
    left, bins = 0.0, max_bins
    for w in weights:
        left += w
    equal, left = left / max_bins, 0.0
    for w in weights:
        if w >= equal:
            bins -= 1
        else:
            left += w
    inside, count = 0.0, 0
    for i in range(weights.size - 1):
        alone = weights[i] >= equal
        inside += 0.0 if alone else weights[i]
        share = left / max(bins, 1)
        if alone or inside >= share or (inside > 0.5 * share and weights[i + 1] >= equal):
            ends[count] = i
            count += 1
            left -= inside
            bins -= 0 if alone else 1
            inside = 0.0
            if count == max_bins - 1:
                break
    return ends[:count]


def quantile_edges(
    values: NDArray[np.floating], weights: NDArray[np.float64] | None, max_bins: int
) -> NDArray[np.float64]:
    """Edges of at most ``max_bins`` bins of about equal weight; x belongs to the first bin with x ≤ edge.

    >>> quantile_edges(np.array([1.0, 2.0, 2.0, 4.0]), None, 255)
    array([1.5, 3. ])
    """
    if weights is None:
        values = np.sort(values)
        values = values[: np.searchsorted(values, np.nan)] if values.size and np.isnan(values[-1]) else values
    else:
        keep = ~np.isnan(values) & (weights > 0)
        values, weights = values[keep], weights[keep]
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
    if not values.size:
        return np.empty(0)
    first = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    distinct = values[first].astype(np.float64)
    if len(distinct) <= max_bins:
        ends = np.arange(len(distinct) - 1)
    else:
        if weights is None:
            mass = np.diff(np.append(first, len(values))).astype(np.float64)
        else:
            mass = np.add.reduceat(weights, first)
        ends = _close_bins(mass, max_bins)
    below, above = distinct[ends], distinct[ends + 1]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = below + 0.5 * (above - below)
    # Between neighbouring floats, and beside an infinity, the value below is the only edge.
    return np.where((middle >= below) & (middle < above), middle, below)


def merge_categories(
    codes: NDArray[np.floating],
    weights: NDArray[np.float64] | None,
    target: NDArray[np.float64],
    n_categories: int,
    max_bins: int,
) -> NDArray[np.float64]:
    """Bin of each category: its own while there are enough, else shared with those of nearest mean target.

    Means are drawn toward the overall mean by ``_SMOOTHING`` rows, so that rare categories are not told apart
    by chance; neighbours in that order are merged to bins of about equal weight.

    >>> merge_categories(np.array([0.0, 1.0, 2.0, 2.0]), None, np.array([1.0, 0.0, 1.0, 1.0]), 3, 2)
    array([0., 0., 1.])
    """
    if n_categories <= max_bins:
        return np.arange(n_categories, dtype=np.float64)
    seen = ~np.isnan(codes)
    index = codes[seen].astype(np.int64)
    w = np.ones(len(index)) if weights is None else weights[seen]
    mass = np.bincount(index, weights=w, minlength=n_categories)
    total = np.bincount(index, weights=w * target[seen], minlength=n_categories)
    score = (total + _SMOOTHING * total.sum() / mass.sum()) / (mass + _SMOOTHING)
    order = np.argsort(score, kind="stable")
    ends = _close_bins(mass[order], max_bins)
    bins = np.empty(n_categories)
    bins[order] = np.searchsorted(ends, np.arange(n_categories), side="left")
    return bins


@kernel
def _bin_rows(X, features, edges, n_bins, start, stop, columns):
    """Bin a block of rows: the number of edges below x, by eight halvings without a branch."""
    for j in range(features.size):
        f = features[j]
        table = edges[f]
        missing = np.uint8(n_bins[f])
        column = f if X.shape[1] > 1 else 0
        for i in range(start, stop):
            x = np.float64(X[i, column])
            at = np.uint64(0)
            for step in (128, 64, 32, 16, 8, 4, 2, 1):
                at += np.uint64(step) * np.uint64(x > table[at + np.uint64(step - 1)])
            columns[f, i] = missing if np.isnan(x) else np.uint8(at)


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
    """

    edges: NDArray[np.float64]
    n_bins: NDArray[np.int64]
    category_bins: tuple[NDArray[np.float64] | None, ...]

    @classmethod
    def fit(
        cls,
        table: Columns,
        weights: NDArray[np.float64] | None,
        target: NDArray[np.float64],
        n_categories: Iterable[int],
        max_bins: int,
        n_jobs: int,
    ) -> Binner:
        """Choose the bins; ``n_categories[f]`` is 0 for a numeric feature.

        ``target`` orders the categories of features that have more of them than bins.
        """
        kept = None if weights is None or np.all(weights > 0) else weights > 0
        sample = sample_rows(table, kept, n_jobs)
        sampled_weights = weights if weights is None or sample is None else weights[sample]
        counts = list(n_categories)
        found: list[NDArray[np.float64]] = [np.empty(0)] * table.n_features
        category_bins: list[NDArray[np.float64] | None] = [None] * table.n_features

        def choose(f: int) -> None:
            x = table.column(f)
            if counts[f]:
                bins = merge_categories(x, weights, target, counts[f], max_bins)
                category_bins[f] = bins
                found[f] = np.arange(int(bins.max())) + 0.5
            else:
                x = x if sample is None else x[sample]
                found[f] = quantile_edges(x, sampled_weights, max_bins)

        parallel.run([partial(choose, f) for f in range(table.n_features)], n_jobs)
        edges = np.full((table.n_features, _SEARCH), np.inf)
        for f, e in enumerate(found):
            edges[f, : len(e)] = e
        return cls(edges, np.array([len(e) + 1 for e in found], dtype=np.int64), tuple(category_bins))

    def transform(self, table: Columns, n_jobs: int) -> Binned:
        """Bin a table."""
        n, d = table.n_rows, table.n_features
        rows, columns = np.empty((n, d), dtype=np.uint8), np.empty((d, n), dtype=np.uint8)
        categorical = np.array([b is not None for b in self.category_bins], dtype=np.uint8)
        alone = np.arange(d)

        def bin_one(f: int) -> None:
            x = table.column(f)
            x = x if self.category_bins[f] is None else self.codes_to_bins(f, x)
            _bin_rows(x[:, None], np.array([f]), self.edges, self.n_bins, 0, n, columns)

        X = table.dense
        if X is not None and d > 1:
            features = np.flatnonzero(categorical == 0)
            parallel.for_blocks(
                lambda s, e: _bin_rows(X, features, self.edges, self.n_bins, s, e, columns),
                n,
                n_jobs=n_jobs,
                block=_ROWS,
            )
            alone = np.flatnonzero(categorical)
        parallel.run([partial(bin_one, int(f)) for f in alone], n_jobs)
        parallel.for_blocks(lambda s, e: _transpose(columns, rows, s, e), n, n_jobs=n_jobs, block=65536)
        return Binned(rows, columns, self.n_bins, categorical)

    def codes_to_bins(self, feature: int, codes: NDArray[np.floating]) -> NDArray[np.float64]:
        """Bins of category codes; missing stays missing."""
        table = self.category_bins[feature]
        assert table is not None
        bins = np.full(len(codes), np.nan)
        seen = ~np.isnan(codes)
        bins[seen] = table[codes[seen].astype(np.int64)]
        return bins


assert _SEARCH == BINS - 1
