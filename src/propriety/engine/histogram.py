"""Sums of gradient, curvature and weight per bin of every feature, over the rows of a node."""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner
from propriety.engine.layout import BINS
from propriety.engine.prefetch import prefetch
from propriety.engine.quantize import BLOCK

_AHEAD = np.uint64(16)
_ONE = np.uint64(1)
_SHIFT = np.uint64(8)
_U = np.uint64


@inner
def _add_packed(rows, packed, index, start, stop, cells):
    """cells[f · 256 + bin] += packed value, for the rows index[start:stop]."""
    d = _U(rows.shape[1])
    last = _U(stop - 1)
    for i in range(_U(start), _U(stop)):
        later = _U(index[min(i + _AHEAD, last)])
        prefetch(rows, later * d)
        prefetch(rows, later * d + d - _ONE)
        prefetch(packed, later)
        row = _U(index[i])
        value = packed[row]
        for f in range(d):
            cells[(f << _SHIFT) + _U(rows[row, f])] += value


@inner
def _add_packed_counted(rows, packed, index, start, stop, cells, counts):
    """The same, counting rows as well."""
    d = _U(rows.shape[1])
    for i in range(_U(start), _U(stop)):
        row = _U(index[i])
        value = packed[row]
        for f in range(d):
            cell = (f << _SHIFT) + _U(rows[row, f])
            cells[cell] += value
            counts[cell] += np.int32(1)


@inner
def _add_parts(rows, parts, index, start, stop, sums):
    """sums[(f · 256 + bin) · 3 + k] += parts[row, k]."""
    d = _U(rows.shape[1])
    last = _U(stop - 1)
    three = _U(3)
    for i in range(_U(start), _U(stop)):
        later = _U(index[min(i + _AHEAD, last)])
        prefetch(rows, later * d)
        prefetch(rows, later * d + d - _ONE)
        row = _U(index[i])
        g, h, w = np.int64(parts[row, 0]), np.int64(parts[row, 1]), np.int64(parts[row, 2])
        for f in range(d):
            cell = ((f << _SHIFT) + _U(rows[row, f])) * three
            sums[cell] += g
            sums[cell + _ONE] += h
            sums[cell + _U(2)] += w


@inner
def _carry(cells, sums):
    """Move packed sums over to 64 bits each, and clear them."""
    for i in range(_U(cells.size)):
        value = cells[i]
        if value != 0:
            sums[i * _U(3)] += value >> 32
            sums[i * _U(3) + _ONE] += value & 0xFFFFFFFF
            cells[i] = 0


@inner
def _carry_counts(counts, sums):
    for i in range(_U(counts.size)):
        sums[i * _U(3) + _U(2)] += counts[i]
        counts[i] = 0


@inner
def add_rows(binned, signal, index, start, stop, counted, sums):
    """Add the rows index[start:stop] to a histogram, with weights if ``counted``.

    Unit weights take the packed path, one addition per cell; its weights cost as much again, so a
    large node leaves them out.
    """
    if signal.packed.size == 0:
        _add_parts(binned.rows, signal.parts, index, start, stop, sums)
        return
    size = binned.rows.shape[1] * BINS
    cells = np.zeros(size, dtype=np.int64)
    counts = np.zeros(size if counted else 0, dtype=np.int32)
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        if counted:
            _add_packed_counted(binned.rows, signal.packed, index, first, last, cells, counts)
        else:
            _add_packed(binned.rows, signal.packed, index, first, last, cells)
        _carry(cells, sums)
    if counted:
        _carry_counts(counts, sums)


@inner
def add_weights(rows, index, start, stop, sums):
    """Set the weights to the numbers of rows, in a histogram that was made without them."""
    for cell in range(_U(2), _U(sums.size), _U(3)):
        sums[cell] = 0
    for i in range(_U(start), _U(stop)):
        row = _U(index[i])
        for f in range(_U(rows.shape[1])):
            sums[((f << _SHIFT) + _U(rows[row, f])) * _U(3) + _U(2)] += 1
