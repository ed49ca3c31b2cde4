"""The training table as the search reads it: bins, or rows in the order of their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.data.table import Schema, Table, of_codes
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.tree.search import SearchColumns

#: Values of a column up to which exact splits need no order of rows: each value has a bin.
FEW = 255
_ROW = 0xFFFFFFFF
_AWAKE = 30_000  # values to sort from which a second thread pays
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Prepared:
    """Columns for the search, and what turns a cut back into a threshold or a set of categories."""

    columns: SearchColumns
    values: Callable[[int], NDArray[np.floating]]  # the training rows of a numeric column
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
    """Bin or sort the columns of the rows `kept` (None: all); `target` orders many categories."""
    if exact:
        return _exact(table, schema, kept, weights, target, monotone, n_jobs)
    return _binned(table, schema, kept, weights, target, max_bins, monotone, n_jobs)


def _binned(
    table: Table,
    schema: Schema,
    kept: NDArray[np.intp] | None,
    weights: Weights,
    target: Floats,
    max_bins: int,
    monotone: NDArray[np.int64],
    n_jobs: int,
) -> Prepared:
    from propriety.engine.binning import Binner
    from propriety.tree.search import BINNED, CATEGORICAL, SearchColumns

    binner = Binner.fit(table, weights, target, schema.n_categories, max_bins, n_jobs)
    codes = binner.transform(table, n_jobs, by_rows=False).columns
    codes = codes if kept is None else memory.kept(np.ascontiguousarray(codes[:, kept]))
    d = len(codes)
    is_set = np.array([b is not None for b in binner.category_bins])
    kinds = np.where(is_set, CATEGORICAL, BINNED).astype(np.int64)
    no_order = np.zeros((0, codes.shape[1]), np.int64)
    columns = SearchColumns(kinds, np.arange(d), codes, binner.n_bins, no_order, monotone, binner.levels)
    # Columns are read again when they are split, so that a sparse table never lies in memory as numbers.
    values = lru_cache(maxsize=16)(lambda f: _rows(table.column(f), kept))
    missing = tuple((codes.max(axis=1, initial=0) == binner.n_bins).astype(float).tolist())
    anywhere = np.array(weights.communicator.max(missing), dtype=bool)
    return Prepared(columns, values, binner.category_bins, anywhere)


def _exact(
    table: Table,
    schema: Schema,
    kept: NDArray[np.intp] | None,
    weights: Weights,
    target: Floats,
    monotone: NDArray[np.int64],
    n_jobs: int,
) -> Prepared:
    from propriety.engine.binning import count_levels, merge_categories
    from propriety.tree.ranking import rank_in_order
    from propriety.tree.search import BINNED, CATEGORICAL, SORTED, SearchColumns

    d = table.n_features
    n = table.n_rows if kept is None else len(kept)
    category_bins: list[Floats | None] = [None] * d
    values: list[Any] = [None] * d
    found: list[Any] = [None] * d
    counts = schema.n_categories

    def read(f: int) -> None:
        x = table.column(f)
        if counts[f]:
            category_bins[f] = bins = merge_categories(x, weights.values, target, counts[f], FEW)
            values[f] = of_codes(bins, _rows(x, kept))
            code = np.where(np.isnan(values[f]), bins.max() + 1, values[f]).astype(np.uint8)
            found[f] = CATEGORICAL, code, int(bins.max()) + 1
        else:
            values[f] = x = np.ascontiguousarray(_rows(x, kept))
            order = np.argsort(x).astype(np.int64, copy=False)
            present, distinct = rank_in_order(x, order)
            if distinct <= FEW:
                code = np.empty(n, dtype=np.uint8)
                code[order & _ROW] = np.minimum(order >> 32, distinct)  # a missing value is one more bin
                found[f] = BINNED, code, distinct
            else:
                found[f] = SORTED, order, int(present < n)

    parallel.run([partial(read, f) for f in range(d)], n_jobs if n * d >= _AWAKE else 1)
    kinds = np.array([kind for kind, _, _ in found], dtype=np.int64)
    is_sorted = kinds == SORTED
    places = np.where(is_sorted, np.cumsum(is_sorted) - 1, np.cumsum(~is_sorted) - 1)
    codes = np.array([part for kind, part, _ in found if kind != SORTED], dtype=np.uint8).reshape(-1, n)
    order = np.array([part for kind, part, _ in found if kind == SORTED], dtype=np.int64).reshape(-1, n)
    n_bins = np.array([number for _, _, number in found], dtype=np.int64)
    missing = np.array(
        [bool(number) if kind == SORTED else bool(np.any(part == number)) for kind, part, number in found]
    )
    levels = count_levels(category_bins, n_bins)
    columns = SearchColumns(kinds, places, codes, n_bins, order, monotone, levels)
    return Prepared(columns, values.__getitem__, tuple(category_bins), missing)


def _rows(x: NDArray[np.floating], kept: NDArray[np.intp] | None) -> NDArray[np.floating]:
    return x if kept is None else x[kept]
