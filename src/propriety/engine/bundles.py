"""Several columns in one: columns of few bins are counted together.

A histogram adds each row to one cell of every column. A column of 4 bins and one of 40 have 160 pairs of
bins, which are fewer than the cells of a single column, so that one addition can serve both. The cells of
either follow from those of the pairs, once for thousands of rows. Sums are whole numbers, so they are the
same in every bit.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.engine.compiling import kernel
from propriety.engine.layout import BINS, Binned, Bundles

_ROWS = 8192
_WORTH = 0.9  # of the columns: with more bundles than that, nothing is gained
_COST = 3  # times that of adding a row to a cell: giving a cell's sum to a feature of a bundle
_NEVER = 2**62

#: Of a table whose columns are counted one by one.
NO_BUNDLES = Bundles(
    np.empty((0, 0), np.uint8),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty((0, 0), np.uint8),
    _NEVER,
)


def assign(n_states: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Bundle and stride of each column of so many bins, and the number of combinations of each bundle.

    The largest columns first, each into the fullest bundle that it fits in.

    >>> assign(np.array([4, 255, 40, 2]))
    (array([1, 0, 1, 2]), array([40,  1,  1,  1]), array([255, 160,   2]))
    """
    of, strides = np.zeros(len(n_states), np.int64), np.ones(len(n_states), np.int64)
    sizes: list[int] = []
    for f in np.argsort(-n_states, kind="stable"):
        room = [size if size * n_states[f] <= BINS else 0 for size in sizes]
        if not any(room):
            room.append(1)
            sizes.append(1)
        of[f] = int(np.argmax(room))
        strides[f] = sizes[of[f]]
        sizes[of[f]] *= int(n_states[f])
    return of, strides, np.array(sizes, np.int64)


def bundle(binned: Binned, n_jobs: int, many: int) -> Bundles:
    """The columns of a table in bundles, for nodes of ``many`` rows; none where that gains nothing."""
    n, d = binned.rows.shape
    if n < many or np.sort(binned.n_bins)[:2].prod() > BINS:  # no two fit together
        return NO_BUNDLES
    n_states = binned.columns.max(axis=1, initial=0).astype(np.int64) + 1
    of, strides, sizes = assign(n_states)
    if len(sizes) > _WORTH * d:
        return NO_BUNDLES
    cells = np.arange(BINS)
    bins = (cells // strides[:, None] % n_states[:, None]).astype(np.uint8)
    rows = memory.empty((n, len(sizes)), np.uint8)
    combine = partial(_combine, binned.columns, of, strides.astype(np.uint8), rows)
    parallel.for_blocks(combine, n, n_jobs=n_jobs, block=_ROWS)
    least = _COST * n_jobs * int(sizes[of].sum()) // (d - len(sizes))
    return Bundles(rows, sizes, of, bins, max(many, least))


def _combine(columns, of, strides, rows, start, stop):
    _combine_rows(columns, of, strides, start, stop, rows)


@kernel
def _combine_rows(columns, of, strides, start, stop, rows):
    """Write the combinations of some rows."""
    for i in range(start, stop):
        for b in range(rows.shape[1]):
            rows[i, b] = 0
    for f in range(of.size):
        for i in range(start, stop):
            rows[i, of[f]] += columns[f, i] * strides[f]
