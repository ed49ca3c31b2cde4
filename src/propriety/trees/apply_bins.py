"""Values to bins: the number of edges below a value.

Eight halvings find it among all edges. Of many rows the leading bits of a value say where to begin: a table
has the number of edges whose leading bits are lower, which lie below the value, and few have the same ones.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.trees.jit import kernel, small

_MANY = 1 << 15  # rows from which a table pays
_LEADING = 1 << 16
_STEPS = 4  # edges with the same leading bits up to which it pays
_TOGETHER = 32  # features whose tables there are at a time
_ROWS = 2048
_U = np.uint64


def place(
    X: NDArray[np.floating],
    features: NDArray[np.intp],
    edges: NDArray[np.float64],
    n_bins: NDArray[np.int64],
    columns: NDArray[np.uint8],
    first: int,
    n_jobs: int,
) -> None:
    """Write the bins of some columns of X, or of its only one, to ``columns[feature, first:]``."""
    for group in range(0, len(features), _TOGETHER):
        some = features[group : group + _TOGETHER]
        begins, steps = np.empty((0, _LEADING), np.uint8), np.zeros(len(some), np.int64)
        if len(X) >= _MANY:
            begins = np.empty((len(some), _LEADING), np.uint8)
            _tabulate(edges, n_bins, some, begins, steps)
        block = partial(_place_block, X, some, edges, n_bins, begins, steps, first, columns)
        parallel.for_blocks(block, len(X), n_jobs=n_jobs, block=_ROWS)


@small
def _leading(x):
    """The leading bits of a number, which do not fall as it rises."""
    bits = np.int64(np.float32(x).view(np.int32))
    return 32768 + (bits >> 16) if bits >= 0 else 32767 - ((bits & 0x7FFFFFFF) >> 16)


@kernel
def _tabulate(edges, n_bins, features, begins, steps):
    """How many edges have lower leading bits, and how many at most the same; 0: too many."""
    for j in range(features.size):
        n_edges, at, same, last = n_bins[features[j]] - 1, 0, 0, -1
        for e in range(n_edges):
            leading = _leading(edges[features[j], e] + 0.0)  # −0.0 becomes 0.0
            for k in range(at, leading + 1):
                begins[j, k] = e
            at, same, last = leading + 1, same + 1 if leading == last else 1, leading
            steps[j] = max(steps[j], same)
        for k in range(at, begins.shape[1]):
            begins[j, k] = n_edges
        steps[j] = steps[j] if steps[j] <= _STEPS else 0


def _place_block(X, features, edges, n_bins, begins, steps, first, columns, start, stop):
    _place_rows(X, features, edges, n_bins, begins, steps, start, stop, first, columns)


@small
def _by_table(X, column, start, stop, begin, many, table, missing, bins):
    """Bin a block of rows: `many` steps from where the table says, a constant, so that there is no loop."""
    for i in range(_U(start), _U(stop)):
        x = X[i, column]
        at = _U(begin[_U(_leading(x))])
        for _ in range(many):
            at += _U(np.float64(x) > table[at])
        bins[i] = missing if np.isnan(x) else np.uint8(at)


@small
def _by_halving(X, column, start, stop, table, missing, bins):
    """The same without."""
    for i in range(_U(start), _U(stop)):
        x = np.float64(X[i, column])
        at = _U(0)
        for step in (128, 64, 32, 16, 8, 4, 2, 1):
            at += _U(step) * _U(x > table[at + _U(step - 1)])
        bins[i] = missing if np.isnan(x) else np.uint8(at)


@kernel
def _place_rows(X, features, edges, n_bins, begins, steps, start, stop, first, columns):
    """Bin a block of rows, X[0] being row ``first``."""
    for j in range(features.size):
        f = features[j]
        table, missing, bins = edges[f], np.uint8(n_bins[f]), columns[f, first:]
        column = _U(f if X.shape[1] > 1 else 0)
        if steps[j] == 0:
            _by_halving(X, column, start, stop, table, missing, bins)
        elif steps[j] == 1:
            _by_table(X, column, start, stop, begins[j], 1, table, missing, bins)
        elif steps[j] == 2:
            _by_table(X, column, start, stop, begins[j], 2, table, missing, bins)
        else:  # a step too many stays where it is
            _by_table(X, column, start, stop, begins[j], _STEPS, table, missing, bins)
