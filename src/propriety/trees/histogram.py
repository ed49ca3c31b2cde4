"""Class sums of the bins of a column, over the rows of a node.

A node of few rows touches few bins; a set of bits says which, in order, so that neither sorting nor a walk
over all bins is needed.
"""

from __future__ import annotations

import numpy as np

from propriety.trees.binned import BINS
from propriety.trees.intrinsics import trailing_zeros
from propriety.trees.jit import inner, small
from propriety.trees.layout import CLASS, ROW, TO_CLASS, TO_COUNT

_MANY = 160  # rows from which all bins are looked at, of 256
_U = np.uint64
_SIX, _LOW = _U(6), _U(63)


@small
def column_start(feature, n_rows, line):
    """Where the bin of row 0 is; those of other rows follow `line` numbers apart."""
    feature, line = _U(feature), _U(line)
    return (feature // line * _U(n_rows)) * line + feature % line


@small
def bin_of(rows, first, line, entry):
    """The bin of an entry's row in the column that begins at `first`."""
    return _U(rows[first + (entry & ROW) * line])


@small
def amount_of(entry, weights):
    """What an entry counts."""
    amount = np.int64(entry >> TO_COUNT)
    if weights.size > 0:
        amount *= weights[entry & ROW]
    return amount


@inner
def list_bins(cells, K, n_cells, bins):
    """The bins that hold rows, in order; returns how many these are."""
    found = _U(0)
    for b in range(_U(n_cells)):
        total = np.int64(0)
        for k in range(K):
            total += cells[b * K + k]
        bins[found] = b
        found += _U(total > 0)
    return np.int64(found)


@inner
def _count_few(rows, first, line, entries, start, stop, weights, cells, K, bins):
    """Class sums of at most 256 bins, and those that hold rows in order, of a node of few rows."""
    w0 = w1 = w2 = w3 = _U(0)
    for i in range(start, stop):
        entry = entries[i]
        code = bin_of(rows, first, line, entry)
        cells[code * K + ((entry >> TO_CLASS) & CLASS)] += amount_of(entry, weights)
        bit, word = _U(1) << (code & _LOW), code >> _SIX
        w0 |= bit * _U(word == 0)
        w1 |= bit * _U(word == 1)
        w2 |= bit * _U(word == 2)
        w3 |= bit * _U(word == 3)
    found = _U(0)
    for j in range(_U(4)):
        word = w0 if j == 0 else (w1 if j == 1 else (w2 if j == 2 else w3))
        while word != 0:
            bins[found] = np.int64(_U(64) * j + trailing_zeros(word))
            found += _U(1)
            word &= word - _U(1)
    return np.int64(found)


@inner
def _count_wide(rows, first, line, entries, start, stop, weights, cells, K, n_cells, bins, words):
    """The same of any number of bins. The words behind those of the bins say which of these are not 0."""
    tops, found = _U((n_cells + 63) >> 6), _U(0)
    for i in range(start, stop):
        entry = entries[i]
        code = bin_of(rows, first, line, entry)
        cells[code * K + ((entry >> TO_CLASS) & CLASS)] += amount_of(entry, weights)
        word = code >> _SIX
        words[word] |= _U(1) << (code & _LOW)
        words[tops + (word >> _SIX)] |= _U(1) << (word & _LOW)
    for j in range((tops + _LOW) >> _SIX):
        top = words[tops + j]
        words[tops + j] = _U(0)
        while top != 0:
            at = (j << _SIX) + _U(trailing_zeros(top))
            top &= top - _U(1)
            word = words[at]
            words[at] = _U(0)
            while word != 0:
                bins[found] = np.int64((at << _SIX) + trailing_zeros(word))
                found += _U(1)
                word &= word - _U(1)
    return np.int64(found)


@inner
def count(rows, first, line, entries, start, stop, weights, cells, K, n_cells, bins, words):
    """Class sums of the bins, and the bins that hold rows, in order; returns how many these are."""
    if n_cells > BINS:
        return _count_wide(rows, first, line, entries, start, stop, weights, cells, K, n_cells, bins, words)
    if stop - start < _MANY:
        return _count_few(rows, first, line, entries, start, stop, weights, cells, K, bins)
    for i in range(start, stop):
        entry = entries[i]
        code = bin_of(rows, first, line, entry)
        cells[code * K + ((entry >> TO_CLASS) & CLASS)] += amount_of(entry, weights)
    return list_bins(cells, K, n_cells, bins)


@small
def clear(cells, bins, n_found, K):
    """Leave the cells 0."""
    for i in range(n_found):
        for k in range(K):
            cells[_U(bins[i]) * K + k] = 0
