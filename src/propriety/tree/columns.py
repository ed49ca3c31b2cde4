"""The training table as the grower reads it: bins, or a bin for each value where splits are exact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.data.table import Schema, Table, of_codes
from propriety.weights import Weights

#: Bins of categories.
_FEW = 255
_AWAKE = 30_000  # values to sort from which a second thread pays
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Prepared:
    """Columns for the search, and what turns a cut back into a threshold or a set of categories.

    Attributes
    ----------
    rows : ndarray
        Bins, column after column.
    columns : ndarray of COLUMN
    levels : ndarray of shape (d, 256)
        Categories that share a bin; (0, 256) if there are none.
    values : list or None
        The value of each bin of a numeric column, if splits are exact.
    """

    rows: NDArray[np.unsignedinteger]
    columns: NDArray[np.void]
    levels: Floats
    values: list[Floats] | None
    category_bins: tuple[Floats | None, ...]
    missing_seen: NDArray[np.bool_]


def prepare(
    table: Table,
    schema: Schema,
    kept: NDArray[np.intp] | None,
    weights: Weights,
    target: Floats,
    *,
    exact: bool,
    max_bins: int,
    monotone: NDArray[np.int64],
    n_jobs: int,
) -> Prepared:
    """Bin or rank the columns of the rows `kept` (None: all); `target` orders many categories."""
    from propriety.trees.binning import Binner, count_levels

    if exact:
        codes, n_bins, values, category_bins = _ranked(table, schema, kept, weights, target, n_jobs)
        levels = count_levels(category_bins, n_bins)
    else:
        binner = Binner.fit(table, weights, target, schema.n_categories, max_bins, n_jobs)
        codes = binner.transform(table, n_jobs, by_rows=False).columns
        codes = codes if kept is None else memory.kept(np.ascontiguousarray(codes[:, kept]))
        n_bins, values, category_bins, levels = binner.n_bins, None, [*binner.category_bins], binner.levels
    missing = tuple((codes.max(axis=1, initial=0) == n_bins).astype(float).tolist())
    anywhere = np.array(weights.communicator.max(missing), dtype=bool)
    is_set = np.array([b is not None for b in category_bins])
    columns = _described(n_bins, is_set, monotone)
    return Prepared(
        codes.ravel(), columns, levels if is_set.any() else levels[:0], values, tuple(category_bins), anywhere
    )


def _described(
    n_bins: NDArray[np.int64], is_set: NDArray[np.bool_], monotone: NDArray[np.int64]
) -> NDArray[np.void]:
    from propriety.trees.layout import COLUMN

    columns = np.zeros(len(n_bins), dtype=COLUMN)
    columns["missing"], columns["categorical"], columns["monotone"] = n_bins, is_set, monotone
    columns["place"] = np.concatenate([[0], np.cumsum(n_bins + 1)[:-1]])
    return columns


def _ranked(
    table: Table,
    schema: Schema,
    kept: NDArray[np.intp] | None,
    weights: Weights,
    target: Floats,
    n_jobs: int,
) -> tuple[NDArray[Any], NDArray[np.int64], list[Any], list[Floats | None]]:
    """Ranks of the values, of shape (d, n), their numbers, the values, and bins of categories."""
    from propriety.trees.binning import merge_categories

    d, counts = table.n_features, schema.n_categories
    n = table.n_rows if kept is None else len(kept)
    category_bins: list[Floats | None] = [None] * d
    values: list[Any] = [None] * d
    ranks: list[Any] = [None] * d
    n_bins = np.zeros(d, dtype=np.int64)

    def read(f: int) -> None:
        x = table.column(f)
        if counts[f]:
            category_bins[f] = bins = merge_categories(x, weights.values, target, counts[f], _FEW)
            n_bins[f] = int(bins.max()) + 1
            x = of_codes(bins, x if kept is None else x[kept])
            ranks[f] = np.where(np.isnan(x), n_bins[f], x).astype(np.int64)
        else:
            values[f], ranks[f] = _ranks(x if kept is None else x[kept])
            n_bins[f] = len(values[f])

    parallel.run([partial(read, f) for f in range(d)], n_jobs if n * d >= _AWAKE else 1)
    dtype = np.min_scalar_type(int(n_bins.max(initial=0)))
    return np.array(ranks, dtype=dtype).reshape(d, n), n_bins, values, category_bins


def _ranks(x: NDArray[np.floating]) -> tuple[Floats, NDArray[np.int64]]:
    """The different values of a column in order, and the rank of each row; missing ones come last.

    >>> _ranks(np.array([2.0, np.nan, -1.0, 2.0]))
    (array([-1.,  2.]), array([1, 2, 0, 1]))
    """
    order = np.argsort(x)
    in_order = x[order]
    present = in_order[: len(x) - int(np.count_nonzero(np.isnan(x)))]
    begins = np.ones(len(present), dtype=bool)
    begins[1:] = present[1:] != present[:-1]
    values = present[begins].astype(np.float64)
    ranks = np.full(len(x), len(values))
    ranks[order[: len(present)]] = np.cumsum(begins) - 1
    return values, ranks
