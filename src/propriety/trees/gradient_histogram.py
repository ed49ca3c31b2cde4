"""Sums of gradient, curvature and weight per bin of every feature, over the rows of a node.

A node of at most ``BLOCK`` rows of unit weight is *packed*: one addition per cell, and gradient and curvature
stay together until its splits are scored. A larger one is summed block by block, in packed cells of the
thread, which are zero and stay so.
"""

from __future__ import annotations

import numpy as np

from propriety.trees.binned import BINS, CELLS, CURVATURES, WEIGHTS
from propriety.trees.gradient_layout import SPAN, TILE
from propriety.trees.intrinsics import LANES, copy_lanes, prefetch
from propriety.trees.jit import inner

LOW = 0xFFFFFFFF  # the curvature's half of a packed sum
_U = np.uint64
_AHEAD = _U(24)  # rows
_LANES = _U(LANES)  # features whose cells are added to at a time: these fit in the first cache
_TILE, _SPAN = _U(TILE), _U(SPAN)
_LINE = _U(64)  # bytes of the cache that are loaded together
_ONE, _FOUR, _TWELVE = _U(1), _U(4), _U(12)
_BINS, _CELLS, _CURVATURE, _WEIGHT = _U(BINS), _U(CELLS), _U(CURVATURES), _U(WEIGHTS)


@inner
def _prefetch_row(rows, row, first, last):
    """Load the bins of the features first … last−1 of a row that is needed soon."""
    start = row * _U(rows.shape[1])
    for at in range(start + first, start + last, _LINE):
        prefetch(rows, at)
    prefetch(rows, start + last - _ONE)


@inner
def _collect(rows, packed, index, start, size, end, first, last, bins, values):
    """Copy bins and values of a tile: ``LANES`` features side by side, row after row, then the next ones.

    The last ones end with the last feature, even if some are there twice.
    """
    d = _U(rows.shape[1])
    n_more = (last - first - _ONE) // _LANES
    for i in range(size):
        prefetch(packed, _U(index[min(start + i + _TILE, end)]))
        row, place = _U(index[start + i]), i * _LANES
        values[i] = packed[row]
        for k in range(n_more):
            copy_lanes(rows, row * d + first + k * _LANES, bins, place)
            place += _TILE * _LANES
        copy_lanes(rows, row * d + last - _LANES, bins, place)


@inner
def _add_lanes(rows, index, start, size, end, f, far, place, bins, values, cells):
    """Add the values of a tile to the cells of ``LANES`` features, whose bins begin at ``place``.

    Meanwhile the bins of the next tile are loaded.
    """
    d = _U(rows.shape[1])
    for i in range(size):
        later = _U(index[min(start + i + _TILE, end)]) * d
        prefetch(rows, later + f)
        prefetch(rows, later + far)
        value = values[i]
        for k in range(_LANES):
            cells[(f + k) * _CELLS + _U(bins[place + i * _LANES + k])] += value


@inner
def _add_four(size, f, place, bins, values, cells):
    """The same of four features."""
    for i in range(size):
        value = values[i]
        for k in range(_FOUR):
            cells[(f + k) * _CELLS + _U(bins[place + i * _LANES + k])] += value


@inner
def _add_twelve(size, f, place, bins, values, cells):
    """The same of twelve features."""
    for i in range(size):
        value = values[i]
        for k in range(_TWELVE):
            cells[(f + k) * _CELLS + _U(bins[place + i * _LANES + k])] += value


@inner
def _add_tiles(rows, packed, index, start, stop, first, last, scratch, cells):
    """cells[f · CELLS + bin] += packed value, tile by tile, for at least ``LANES`` features.

    A processor adds to a cell in every cycle if the cells are in its first cache, else in every second one.
    So features are added up some at a time, for a tile of rows.
    """
    end, bins, values = stop - _ONE, scratch.bins, scratch.values
    n_spans = (last - first + _SPAN - _ONE) // _SPAN
    width = (last - first + n_spans - _ONE) // n_spans
    for tile in range(start, stop, _TILE):
        size = min(tile + _TILE, stop) - tile
        for left in range(first, last, width):
            f, right, place = left, min(left + width, last), _U(0)
            _collect(rows, packed, index, tile, size, end, f, right, bins, values)
            while f + _LANES <= right:
                far = f if f + _LANES + _LANES <= right else right - _ONE
                _add_lanes(rows, index, tile, size, end, f, far, place, bins, values, cells)
                f += _LANES
                place += _TILE * _LANES
            place += _LANES - (right - f)
            if f + _TWELVE <= right:
                _add_twelve(size, f, place, bins, values, cells)
                f += _TWELVE
                place += _TWELVE
            while f + _FOUR <= right:
                _add_four(size, f, place, bins, values, cells)
                f += _FOUR
                place += _FOUR
            while f < right:
                for i in range(size):
                    cells[f * _CELLS + _U(bins[place + i * _LANES])] += values[i]
                f += _ONE
                place += _ONE


@inner
def add_packed(rows, packed, index, start, stop, first, last, scratch, cells):
    """cells[f · CELLS + bin] += packed value, for the rows index[start:stop] and features first … last−1."""
    if last - first >= _LANES:
        _add_tiles(rows, packed, index, start, stop, first, last, scratch, cells)
        return
    end = stop - _ONE
    for i in range(start, stop):
        later = _U(index[min(i + _AHEAD, end)])
        _prefetch_row(rows, later, first, last)
        prefetch(packed, later)
        row = _U(index[i])
        value = packed[row]
        for f in range(first, last):
            cells[f * _CELLS + _U(rows[row, f])] += value


@inner
def _add_ones(rows, index, start, stop, first, last, sums):
    """Count the rows index[start:stop] per bin of the features first … last−1."""
    for i in range(_U(start), _U(stop)):
        row = _U(index[i])
        for f in range(_U(first), _U(last)):
            sums[f * _CELLS + _U(rows[row, f]) + _WEIGHT] += 1


@inner
def count_weights(rows, index, start, stop, first, last, sums):
    """Set the weights to the numbers of rows, in a histogram that was made without them."""
    for f in range(_U(first), _U(last)):
        for b in range(f * _CELLS + _WEIGHT, f * _CELLS + _WEIGHT + _BINS):
            sums[b] = 0
    _add_ones(rows, index, start, stop, first, last, sums)


@inner
def _add_parts(rows, parts, index, start, stop, first, last, sums):
    """Add (gradient, curvature, weight) of each row to its cells."""
    end = stop - _ONE
    for i in range(start, stop):
        _prefetch_row(rows, _U(index[min(i + _AHEAD, end)]), first, last)
        row = _U(index[i])
        g, h, w = np.int64(parts[row, 0]), np.int64(parts[row, 1]), np.int64(parts[row, 2])
        for f in range(first, last):
            cell = f * _CELLS + _U(rows[row, f])
            sums[cell] += g
            sums[cell + _CURVATURE] += h
            sums[cell + _WEIGHT] += w


@inner
def _carry(cells, first, last, sums):
    """Move packed sums over to 64 bits each, and clear them."""
    for f in range(first, last):
        for b in range(f * _CELLS, f * _CELLS + _BINS):
            sums[b] += cells[b] >> 32
            sums[b + _CURVATURE] += cells[b] & LOW
            cells[b] = 0


@inner
def count_rows(rows, gradients, index, start, stop, cut, chunk, scratch, blocks, sums):
    """Add the rows index[start:stop], some of those that a cut counts, for a chunk of features."""
    first, last, begin, end = _U(chunk[0]), _U(chunk[1]), _U(start), _U(stop)
    if gradients.packed.size == 0:
        _add_parts(rows, gradients.parts, index, begin, end, first, last, sums)
        return
    if cut.weights > 0:
        _add_ones(rows, index, start, stop, first, last, sums)
    if cut.packed != 0:
        add_packed(rows, gradients.packed, index, begin, end, first, last, scratch, sums)
        return
    block = _U(cut.block)
    for at in range(begin, end, block):
        add_packed(rows, gradients.packed, index, at, min(at + block, end), first, last, scratch, blocks)
        _carry(blocks, first, last, sums)


@inner
def clear(f, size, packed, weights, sums):
    """Set a feature's cells to zero where they will be used."""
    first, last = _U(f) * _CELLS, _U(f) * _CELLS + _U(size)
    for b in range(first, last):
        sums[b] = 0
    if packed == 0:
        for b in range(first, last):
            sums[b + _CURVATURE] = 0
    if weights != 0:
        for b in range(first, last):
            sums[b + _WEIGHT] = 0


@inner
def _move_part(part, first, last, sums):
    """Add numbers of a thread to a histogram's, and clear them."""
    for b in range(first, last):
        sums[b] += part[b]
        part[b] = 0


@inner
def add_part(f, size, packed, weights, part, sums):
    """Add what one thread has counted for a feature, and clear it."""
    first, last = _U(f) * _CELLS, _U(f) * _CELLS + _U(size)
    _move_part(part, first, last, sums)
    if packed == 0:
        _move_part(part, first + _CURVATURE, last + _CURVATURE, sums)
    if weights != 0:
        _move_part(part, first + _WEIGHT, last + _WEIGHT, sums)


@inner
def pack(f, size, sums):
    """Put gradient and curvature of a feature's cells into one number."""
    for b in range(_U(f) * _CELLS, _U(f) * _CELLS + _U(size)):
        sums[b] = (sums[b] << 32) + sums[b + _CURVATURE]


@inner
def subtract(f, size, whole_packed, small, large, weights, part, whole):
    """A feature's cells of the larger child: its parent's, ``whole``, minus the smaller child's, in place."""
    first, last = _U(f) * _CELLS, _U(f) * _CELLS + _U(size)
    if weights == 1:
        for b in range(first + _WEIGHT, last + _WEIGHT):
            whole[b] -= part[b]
    if whole_packed != 0 or small.packed == 0:
        for b in range(first, last):
            whole[b] -= part[b]
    else:
        for b in range(first, last):
            whole[b] -= part[b] >> 32
            whole[b + _CURVATURE] -= part[b] & LOW
    if small.packed == 0:
        for b in range(first + _CURVATURE, last + _CURVATURE):
            whole[b] -= part[b]
    if large.packed != 0 and whole_packed == 0:
        pack(f, size, whole)


@inner
def count_together(rows, packed, index, start, stop, features, width, cells):
    """Sums of the first ``width`` of some features over fewer than 2⁹ rows of unit weight.

    A cell is one number, at (place of the feature) · BINS + bin: gradient, curvature and rows in 28, 27 and 9
    bits, what so few values of 18 bits can add up to. All must be 0 before; who reads one clears it.
    """
    d, end, last = _U(rows.shape[1]), _U(stop) - _ONE, _U(max(width, 1)) - _ONE
    for i in range(_U(start), _U(stop)):
        later = _U(index[min(i + _AHEAD, end)])
        prefetch(rows, later * d + features[0])
        prefetch(rows, later * d + features[last])
        prefetch(packed, later)
        row = _U(index[i])
        value = ((packed[row] >> 32) << 36) + ((packed[row] & LOW) << 9) + 1
        for f in range(_U(width)):
            cells[f * _BINS + _U(rows[row, features[f]])] += value


@inner
def apart(together):
    """Gradient, curvature and rows of such a number."""
    return together >> 36, (together >> 9) & 0x7FFFFFF, together & 0x1FF


@inner
def count_feature(rows, parts, index, start, stop, f, cells):
    """Sums of one feature over a few weighted rows, in cells that are zero."""
    for i in range(_U(start), _U(stop)):
        row = _U(index[i])
        cell = _U(rows[row, f])
        cells[cell] += parts[row, 0]
        cells[cell + _CURVATURE] += parts[row, 1]
        cells[cell + _WEIGHT] += parts[row, 2]
