"""Sums of gradient, curvature and weight per bin of every feature, over the rows of a node."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from propriety import parallel
from propriety.engine.compiling import addressed, inner, kernel, small
from propriety.engine.intrinsics import LANES, add_rows_at_once, copy_lanes, prefetch
from propriety.engine.layout import BINS, CELLS, CURVATURES, SPAN, TILE, WEIGHTS, Binned, Signal, Workspace

_AHEAD = np.uint64(24)  # rows
_LANES = np.uint64(LANES)  # features whose cells are added to at a time: these fit in the first cache
_HALF, _FEW = np.uint64(8), np.uint64(4)  # the same of the last features
_TILE = np.uint64(TILE)
_SPAN = np.uint64(SPAN)
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


@inner
def _collect(rows, packed, index, start, size, end, first, last, room):
    """Copy bins and values of a tile: ``LANES`` features side by side, row after row, then the next ones.

    The last ones end with the last feature, even if some are there twice.
    """
    bins, values, d = room.bins, room.values, _U(rows.shape[1])
    n_more = (last - first - _ONE) // _LANES
    for i in range(size):
        prefetch(packed, _U(index[min(start + i + _TILE, end)]))
        row, place = _U(index[start + i]), i * _LANES
        values[i] = packed[row]
        for k in range(n_more):
            copy_lanes(rows, row * d + first + k * _LANES, bins, place)
            place += _TILE * _LANES
        copy_lanes(rows, row * d + last - _LANES, bins, place)


@small
def _add_lanes(rows, index, start, size, end, f, count, ahead, loads, place, room, cells):
    """Add the values of a tile to the cells of the features f … f + count − 1, whose bins begin at ``place``.

    Meanwhile the bins of the next tile are loaded, if this loop is the one to do that.
    """
    bins, values, d = room.bins, room.values, _U(rows.shape[1])
    for i in range(size):
        if loads:
            prefetch(rows, _U(index[min(start + i + _TILE, end)]) * d + ahead)
        value = values[i]
        for k in range(count):
            cells[(f + k) * _U(CELLS) + _U(bins[place + i * _LANES + k])] += value


@inner
def _add_packed(rows, packed, index, start, stop, first, last, room, cells, at_once):
    """cells[f · CELLS + bin] += packed value, for the rows index[start:stop] and features first … last−1.

    A processor adds to a cell in every cycle if the cells are in its first cache, else in every second one.
    So features whose cells are too many for it are added up some at a time, for a tile of rows.
    """
    if last - first <= at_once:
        add_rows_at_once(rows, packed, index, _U(start), _U(stop), first, last, CELLS, cells)
        return
    end = _U(stop - 1)
    n_spans = (last - first + _SPAN - _ONE) // _SPAN
    width = (last - first + n_spans - _ONE) // n_spans
    for tile in range(_U(start), _U(stop), _TILE):
        size = min(tile + _TILE, _U(stop)) - tile
        for left in range(first, last, width):
            f, right, place = left, min(left + width, last), _U(0)
            _collect(rows, packed, index, tile, size, end, f, right, room)
            while f + _LANES <= right:
                _add_lanes(rows, index, tile, size, end, f, _LANES, f, True, place, room, cells)
                f += _LANES
                place += _TILE * _LANES
            place += _LANES - (right - f)
            half = f + _HALF <= right
            if half:
                _add_lanes(rows, index, tile, size, end, f, _HALF, right - _ONE, True, place, room, cells)
                f += _HALF
                place += _HALF
            while f + _FEW <= right:
                _add_lanes(rows, index, tile, size, end, f, _FEW, right - _ONE, not half, place, room, cells)
                f += _FEW
                place += _FEW
            while f < right:
                _add_lanes(rows, index, tile, size, end, f, _ONE, right - _ONE, False, place, room, cells)
                f += _ONE
                place += _ONE


@inner
def _add_ones(rows, index, start, stop, first, last, sums):
    """Count the rows index[start:stop] per bin of the features first … last−1."""
    for i in range(_U(start), _U(stop)):
        row = _U(index[i])
        for f in range(first, last):
            sums[f * _U(CELLS) + _U(rows[row, f]) + _WEIGHT] += 1


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
            value = cells[f * _U(CELLS) + b]
            sums[f * _U(CELLS) + b] += value >> 32
            sums[f * _U(CELLS) + b + _CURVATURE] += value & LOW
            cells[f * _U(CELLS) + b] = 0


@kernel
def _count_bins(column, counts):
    for i in range(_U(column.size)):
        counts[column[i]] += 1


def largest_bin(binned: Binned, n_jobs: int) -> int:
    """The largest number of rows in a bin of any feature."""
    tops: list[int] = []

    def count(f: int) -> None:
        counts = np.zeros(BINS, dtype=np.int64)
        _count_bins(binned.columns[f], counts)
        tops.append(int(counts.max()))

    parallel.run([partial(count, f) for f in range(len(binned.columns))], n_jobs)
    return max(tops)


@inner
def add_rows(rows, signal, index, start, stop, node, first, last, work, worker, sums):
    """Add the rows index[start:stop], some of a node's, to its histogram, for the features first … last−1.

    ``rows`` has their bins, or those of their bundles.

    A node of at most ``BLOCK`` rows of unit weight is *packed*: one addition per cell, and gradient and
    curvature stay together until its splits are scored. A larger one is summed block by block, in cells of
    the worker, which are zero and stay so.
    """
    one, end, room, cells = _U(first), _U(last), work.rooms[worker], work.block_cells[worker]
    if signal.packed.size == 0:
        _add_parts(rows, signal.parts, index, start, stop, one, end, sums)
    else:
        if node.counted and node.packed:
            _add_ones(rows, index, start, stop, one, end, sums)
        block = max(stop - start, 1) if node.packed else work.block
        for first_row in range(start, stop, block):
            last_row = min(first_row + block, stop)
            target = sums if node.packed else cells
            _add_packed(
                rows, signal.packed, index, first_row, last_row, one, end, room, target, _U(work.at_once)
            )
            if not node.packed:
                _carry(cells, one, end, sums)


@addressed
def count_rows(rows, signal, index, start, stop, node, first, last, work, worker, sums):
    """The same, compiled once for those who call it by its address."""
    add_rows(rows, signal, index, start, stop, node, first, last, work, worker, sums)


def for_count_rows(binned: Binned, signal: Signal, work: Workspace) -> tuple[Any, ...]:
    """Values of the types of its arguments."""
    return binned.rows, signal, work.rows, 0, 0, work.nodes[0], 0, 0, work, 0, work.counts


@inner
def add_weights(rows, index, start, stop, first, last, sums):
    """Set the weights to the numbers of rows, in a histogram that was made without them."""
    one, end = _U(first), _U(last)
    for f in range(one, end):
        for b in range(_U(BINS)):
            sums[f * _U(CELLS) + b + _WEIGHT] = 0
    _add_ones(rows, index, start, stop, one, end, sums)


@inner
def clear(binned, f, node, sums):
    """Set a feature's cells to zero where the node will use them."""
    first, size = _U(f) * _U(CELLS), _U(binned.n_bins[f] + 1)
    for b in range(first, first + size):
        sums[b] = 0
    if node.counted:
        for b in range(first + _WEIGHT, first + _WEIGHT + size):
            sums[b] = 0
    if not node.packed:
        for b in range(first + _CURVATURE, first + _CURVATURE + size):
            sums[b] = 0


@inner
def _move_part(part, start, size, sums):
    """Add numbers of a worker to a histogram's, and clear them."""
    for b in range(start, start + size):
        sums[b] += part[b]
        part[b] = 0


@inner
def add_part(binned, f, node, part, sums):
    """Add what one worker has counted for a feature, and clear it."""
    first, size = _U(f) * _U(CELLS), _U(binned.n_bins[f] + 1)
    _move_part(part, first, size, sums)
    if node.counted:
        _move_part(part, first + _WEIGHT, size, sums)
    if not node.packed:
        _move_part(part, first + _CURVATURE, size, sums)


@inner
def add_bundled(bundles, f, node, part, sums):
    """The same of a worker that has counted bundles; the others of the bundle need its cells as well."""
    first, bins = _U(bundles.of[f]) * _U(CELLS), bundles.bins[f]
    for k in range(_U(bundles.sizes[bundles.of[f]])):
        at, place = _U(f) * _U(CELLS) + _U(bins[k]), first + k
        sums[at] += part[place]
        if not node.packed:
            sums[at + _CURVATURE] += part[place + _CURVATURE]
        if node.counted:
            sums[at + _WEIGHT] += part[place + _WEIGHT]


@inner
def subtract(n_bins, whole_packed, small, large, part, whole):
    """A feature's cells of the larger child: its parent's, ``whole``, minus the smaller child's, in place."""
    size = _U(n_bins + 1)
    if large.counted:
        for b in range(_WEIGHT, size + _WEIGHT):
            whole[b] -= part[b]
    if whole_packed or not small.packed:
        for b in range(size):
            whole[b] -= part[b]
    else:
        for b in range(size):
            whole[b] -= part[b] >> 32
            whole[b + _CURVATURE] -= part[b] & LOW
    if not small.packed:
        for b in range(_CURVATURE, size + _CURVATURE):
            whole[b] -= part[b]
    if large.packed and not whole_packed:
        for b in range(size):
            whole[b] = (whole[b] << 32) + whole[b + _CURVATURE]


@inner
def count_together(binned, packed, index, start, stop, features, width, cells):
    """Sums of the first ``width`` of some features over fewer than 2⁹ rows of unit weight.

    A cell is one number, at (place of the feature) · BINS + bin: gradient, curvature and rows in 28, 27 and 9
    bits, what so few values of 18 bits can add up to. All must be 0 before; who reads one clears it.
    """
    d, end, last = _U(binned.rows.shape[1]), _U(stop - 1), _U(max(width, 1) - 1)
    for i in range(_U(start), _U(stop)):
        later = _U(index[min(i + _AHEAD, end)])
        prefetch(binned.rows, later * d + features[0])
        prefetch(binned.rows, later * d + features[last])
        prefetch(packed, later)
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
