"""Sums of gradient, curvature and weight per bin of every feature, over the rows of a node."""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner, small
from propriety.engine.fixed_point import BLOCK
from propriety.engine.intrinsics import prefetch
from propriety.engine.layout import BINS, CELLS, CURVATURES, WEIGHTS

_AHEAD = np.uint64(24)  # rows
_TILE = np.uint64(256)  # rows that stay in the second cache while their features are added up in turns
_WIDTH = np.uint64(36)  # features, at most, whose cells are added to at a time
_LINE = np.uint64(64)  # bytes of the cache that are loaded together
_ONE = np.uint64(1)
_SHIFT = np.uint64(8)
_U = np.uint64
_CURVATURE, _WEIGHT = np.uint64(CURVATURES), np.uint64(WEIGHTS)
LOW = 0xFFFFFFFF  # the curvature's half of a packed sum


@small
def _prefetch_row(rows, row, first, last):
    """Load the bins of the features first … last−1 of a row that is needed soon."""
    start = row * _U(rows.shape[1])
    for at in range(start + first, start + last, _LINE):
        prefetch(rows, at)
    prefetch(rows, start + last - _ONE)


@small
def _add_tile(rows, packed, index, start, stop, end, first, last, stride, cells):
    """cells[f · stride + bin] += packed value, for the rows index[start:stop] and features first … last−1."""
    for i in range(start, stop):
        later = _U(index[min(i + _AHEAD, end)])
        _prefetch_row(rows, later, first, last)
        prefetch(packed, later)
        row = _U(index[i])
        value = packed[row]
        for f in range(first, last):
            cells[f * stride + _U(rows[row, f])] += value


@small
def _add_packed(rows, packed, index, start, stop, first, last, stride, cells):
    """The same tile by tile and, of a wide table, some features at a time.

    The cells of all features would not stay in the first cache.
    """
    turns = (last - first + _WIDTH - _ONE) // _WIDTH
    width, end = (last - first + turns - _ONE) // turns, _U(stop - 1)
    for tile in range(_U(start), _U(stop), _TILE):
        tile_end = min(tile + _TILE, _U(stop))
        for left in range(first, last, width):
            right = min(left + width, last)
            _add_tile(rows, packed, index, tile, tile_end, end, left, right, stride, cells)


@inner
def _add_packed_counted(rows, packed, index, start, stop, first, last, sums):
    """The same into a histogram, counting rows as well."""
    end = _U(stop - 1)
    for i in range(_U(start), _U(stop)):
        later = _U(index[min(i + _AHEAD, end)])
        _prefetch_row(rows, later, first, last)
        prefetch(packed, later)
        row = _U(index[i])
        value = packed[row]
        for f in range(first, last):
            cell = f * _U(CELLS) + _U(rows[row, f])
            sums[cell] += value
            sums[cell + _WEIGHT] += 1


@inner
def _add_parts(rows, parts, index, start, stop, first, last, sums):
    """Add (gradient, curvature, weight) of each row to its cells."""
    end = _U(stop - 1)
    for i in range(_U(start), _U(stop)):
        later = _U(index[min(i + _AHEAD, end)])
        _prefetch_row(rows, later, first, last)
        row = _U(index[i])
        g, h, w = np.int64(parts[row, 0]), np.int64(parts[row, 1]), np.int64(parts[row, 2])
        for f in range(first, last):
            cell = f * _U(CELLS) + _U(rows[row, f])
            sums[cell] += g
            sums[cell + _CURVATURE] += h
            sums[cell + _WEIGHT] += w


@inner
def _carry(cells, first, last, sums):
    """Move packed sums over to 64 bits each, and clear them."""
    for f in range(first, last):
        for b in range(_U(BINS)):
            value = cells[f * _U(BINS) + b]
            sums[f * _U(CELLS) + b] += value >> 32
            sums[f * _U(CELLS) + b + _CURVATURE] += value & LOW
            cells[f * _U(BINS) + b] = 0


@inner
def add_rows(binned, signal, index, start, stop, node, first, last, cells, sums):
    """Add the rows index[start:stop], some of a node's, to its histogram, for the features first … last−1.

    A node of at most ``BLOCK`` rows of unit weight is *packed*: one addition per cell, and gradient and
    curvature stay together until its splits are scored. A larger one is summed block by block, in ``cells``,
    which are zero and stay so.
    """
    one, end = _U(first), _U(last)
    if signal.packed.size == 0:
        _add_parts(binned.rows, signal.parts, index, start, stop, one, end, sums)
    elif node.packed and node.counted:
        _add_packed_counted(binned.rows, signal.packed, index, start, stop, one, end, sums)
    elif node.packed:
        _add_packed(binned.rows, signal.packed, index, start, stop, one, end, _U(CELLS), sums)
    else:
        for first_row in range(start, stop, BLOCK):
            last_row = min(first_row + BLOCK, stop)
            _add_packed(binned.rows, signal.packed, index, first_row, last_row, one, end, _U(BINS), cells)
            _carry(cells, one, end, sums)


@inner
def add_weights(rows, index, start, stop, first, last, sums):
    """Set the weights to the numbers of rows, in a histogram that was made without them."""
    one, end = _U(first), _U(last)
    for f in range(one, end):
        for b in range(_U(BINS)):
            sums[f * _U(CELLS) + b + _WEIGHT] = 0
    for i in range(_U(start), _U(stop)):
        row = _U(index[i])
        for f in range(one, end):
            sums[f * _U(CELLS) + _U(rows[row, f]) + _WEIGHT] += 1


@inner
def clear(binned, f, node, sums):
    """Set a feature's cells to zero where the node will use them."""
    first = _U(f) * _U(CELLS)
    for b in range(first, first + _U(binned.n_bins[f] + 1)):
        sums[b] = 0
        sums[b + _WEIGHT] = 0
    if not node.packed:
        for b in range(first + _CURVATURE, first + _CURVATURE + _U(binned.n_bins[f] + 1)):
            sums[b] = 0


@inner
def add_part(binned, f, node, part, sums):
    """Add what one worker has counted for a feature, and clear it."""
    first = _U(f) * _U(CELLS)
    for b in range(first, first + _U(binned.n_bins[f] + 1)):
        sums[b] += part[b]
        sums[b + _WEIGHT] += part[b + _WEIGHT]
        part[b] = 0
        part[b + _WEIGHT] = 0
    if not node.packed:
        for b in range(first + _CURVATURE, first + _CURVATURE + _U(binned.n_bins[f] + 1)):
            sums[b] += part[b]
            part[b] = 0


@inner
def subtract(binned, f, whole_packed, small, large, part, whole):
    """A feature's cells of the larger child: its parent's, ``whole``, minus the smaller child's, in place."""
    first = _U(f) * _U(CELLS)
    last = first + _U(binned.n_bins[f] + 1)
    for b in range(first, last):
        whole[b + _WEIGHT] -= part[b + _WEIGHT]
    if whole_packed or not small.packed:
        for b in range(first, last):
            whole[b] -= part[b]
    else:
        for b in range(first, last):
            whole[b] -= part[b] >> 32
            whole[b + _CURVATURE] -= part[b] & LOW
    if not small.packed:
        for b in range(first + _CURVATURE, last + _CURVATURE):
            whole[b] -= part[b]
    if large.packed and not whole_packed:
        for b in range(first, last):
            whole[b] = (whole[b] << 32) + whole[b + _CURVATURE]


@inner
def count_together(binned, packed, index, start, stop, features, width, cells):
    """Sums of the first ``width`` of some features over fewer than 2⁹ rows of unit weight.

    A cell is one number, at (place of the feature) · BINS + bin: gradient, curvature and rows in 28, 27 and 9
    bits, what so few values of 18 bits can add up to. All must be 0 before; who reads one clears it.
    """
    for i in range(_U(start), _U(stop)):
        row = _U(index[i])
        value = ((packed[row] >> 32) << 36) + ((packed[row] & LOW) << 9) + 1
        for f in range(_U(width)):
            cells[(f << _SHIFT) + _U(binned.rows[row, features[f]])] += value


@inner
def apart(together):
    """Gradient, curvature and rows of such a number."""
    return together >> 36, (together >> 9) & 0x7FFFFFF, together & 0x1FF


@inner
def count_feature(binned, parts, index, start, stop, f, cells):
    """Sums of one feature over a few weighted rows."""
    for b in range(_U(binned.n_bins[f] + 1)):
        cells[b] = 0
        cells[b + _CURVATURE] = 0
        cells[b + _WEIGHT] = 0
    for i in range(_U(start), _U(stop)):
        row = _U(index[i])
        cell = _U(binned.rows[row, f])
        cells[cell] += parts[row, 0]
        cells[cell + _CURVATURE] += parts[row, 1]
        cells[cell + _WEIGHT] += parts[row, 2]
