"""Many values to bins at once, by a grid over each feature's edges.

A cell of the grid knows how many edges lie in the cells before it. If it holds one edge at most, a value is
compared with one edge instead of eight; most features are like that, and those that are not are left to the
search by halves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.engine.compiling import kernel, small

_CELLS = 2048
_LAST = _CELLS - 1.0
_ROWS = np.uint64(256)  # rows whose values stay in the second cache while their features take turns
_U = np.uint64


class Grids(NamedTuple):
    """Equal cells between the first and the last edge of each feature; `lay_grids` makes them."""

    below: NDArray[np.uint8]  # (d, cells): edges in the cells before
    low: NDArray[np.float64]  # (d,): where the cells begin
    scale: NDArray[np.float64]  # (d,): cells per unit
    fine: NDArray[np.bool_]  # (d,): whether no cell holds two edges


def lay_grids(edges: NDArray[np.float64], n_bins: NDArray[np.int64]) -> Grids:
    """The grids over the edges of bins, n_bins − 1 of each feature.

    >>> edges = np.array([[0.5, 1.5, 2.5], [0.0, 1e-9, 1.0]])
    >>> lay_grids(edges, np.array([4, 4])).fine
    array([ True, False])
    """
    d = len(n_bins)
    below, low, scale = np.empty((d, _CELLS), dtype=np.uint8), np.empty(d), np.empty(d)
    fine = np.empty(d, dtype=np.bool_)
    _lay(edges, n_bins, below, low, scale, fine)
    return Grids(below, low, scale, fine)


@small
def _cell(x, low, scale):
    """The cell of a value: a larger value is in no earlier one. A missing value is in the first."""
    at = (x - low) * scale
    at = at if at > 0.0 else 0.0
    return _U(np.int64(at if at < _LAST else _LAST))


@kernel
def _lay(edges, n_bins, below, low, scale, fine):
    for f in range(n_bins.size):
        count = n_bins[f] - 1
        extent = edges[f, count - 1] - edges[f, 0] if count > 1 else 0.0
        low[f] = edges[f, 0]
        scale[f] = _LAST / extent if 0.0 < extent < np.inf else 0.0
        at, most = 0, 0
        for cell in range(_CELLS):
            below[f, cell] = at
            while at < count and _cell(edges[f, at], low[f], scale[f]) == _U(cell):
                at += 1
            most = max(most, at - below[f, cell])
        fine[f] = most <= 1


@kernel
def place_rows(X, features, edges, n_bins, grids, start, stop, first, columns, rows):
    """Bin some features of fine grids of the rows start … stop−1 of X, whose row 0 is number ``first``."""
    for begin in range(_U(start), _U(stop), _ROWS):
        end = min(begin + _ROWS, _U(stop))
        for j in range(_U(features.size)):
            f = _U(features[j])
            ends, below, missing = edges[f], grids.below[f], np.uint8(n_bins[f])
            low, scale = grids.low[f], grids.scale[f]
            for i in range(begin, end):
                x = np.float64(X[i, f])
                at = _U(below[_cell(x, low, scale)])
                at += _U(x > ends[at])
                bin_ = missing if np.isnan(x) else np.uint8(at)
                columns[f, _U(first) + i] = bin_
                rows[_U(first) + i, f] = bin_
