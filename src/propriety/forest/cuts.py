"""The best cut of a column of numbers, by the class sums of its bins.

A node of few rows touches few bins; a set of 256 bits says which, in order, so that neither sorting nor a
walk over all bins is needed. Between two bins that hold the same class alone there is no best cut, whatever
the entropy (Fayyad and Irani, 1992), so none is judged there, unless a least weight of leaves forbids others.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner, small
from propriety.engine.intrinsics import trailing_zeros
from propriety.forest.entropy import FEW, class_loss, pair_loss
from propriety.forest.layout import CLASS, LINE, ROW, TO_CLASS, TO_COUNT

#: Gains that differ by less than this share of the node's loss are equal.
EQUAL = 1e-10
_MANY = 160  # rows from which all bins are looked at
_U = np.uint64
_LINE = np.uint64(LINE)


@small
def column_start(feature, n_rows):
    """Where the bin of row 0 is in the lines; those of other rows follow LINE bytes apart."""
    feature = _U(feature)
    return (feature // _LINE * _U(n_rows)) * _LINE + feature % _LINE


@small
def bin_of(rows, first, entry):
    """The bin of a row of the bag in the column that begins at `first`."""
    return rows[first + (entry & ROW) * _LINE]


@small
def bins_on_right(cut, missing, missing_left):
    """The first bin on the right of a cut, and how many are there: a row goes there if bin − first < many.

    Missing values come after every cut: the bins on the right end before them, or nowhere.
    """
    first = _U(cut) + _U(1)
    return first, _U(missing) - first if missing_left != 0 else _U(2**32)


# -- class sums of bins ------------------------------------------------------------------------------


@small
def _count_many(rows, first, bag, start, stop, weights, cells, K, n_cells, bins):
    """Class sums of the bins, and those that hold rows in order, of a node of many rows."""
    for i in range(start, stop):
        entry = bag[i]
        amount = np.int64(entry >> TO_COUNT)
        if weights.size > 0:
            amount *= weights[entry & ROW]
        cells[_U(bin_of(rows, first, entry)) * K + ((entry >> TO_CLASS) & CLASS)] += amount
    found = _U(0)
    for b in range(_U(n_cells)):
        total = np.int64(0)
        for k in range(K):
            total += cells[b * K + k]
        bins[found] = b
        found += _U(total > 0)
    return np.int64(found)


@small
def _count_few(rows, first, bag, start, stop, weights, cells, K, bins):
    """The same of a node of few rows."""
    w0 = w1 = w2 = w3 = _U(0)
    for i in range(start, stop):
        entry = bag[i]
        code = _U(bin_of(rows, first, entry))
        amount = np.int64(entry >> TO_COUNT)
        if weights.size > 0:
            amount *= weights[entry & ROW]
        cells[code * K + ((entry >> TO_CLASS) & CLASS)] += amount
        bit, word = _U(1) << (code & _U(63)), code >> _U(6)
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
def count(rows, first, bag, start, stop, weights, cells, K, n_cells, bins):
    """Class sums of the bins, and the bins that hold rows, in order; returns how many these are."""
    if stop - start >= _MANY:
        return _count_many(rows, first, bag, start, stop, weights, cells, K, n_cells, bins)
    return _count_few(rows, first, bag, start, stop, weights, cells, K, bins)


@small
def clear(cells, bins, n_found, K):
    """Leave the cells 0."""
    for i in range(n_found):
        for k in range(K):
            cells[_U(bins[i]) * K + k] = 0


# -- two classes -------------------------------------------------------------------------------------


@small
def pair_after(lines, few, whole, a, b, A, B):
    """Loss of the two sides of a split with the sums (a, b) on the left, of a node with (A, B)."""
    if whole:
        return few[_U(a) * _U(FEW) + _U(b)] + few[_U(A - a) * _U(FEW) + _U(B - b)]
    left = pair_loss(lines, np.float64(a), np.float64(b))
    return left + pair_loss(lines, np.float64(A - a), np.float64(B - b))


@inner
def cut_pair(cells, bins, n_found, missing, lines, few, whole, least, A, B, loss, best):
    """The best cut of a column of numbers, with missing values on either side; leaves the cells 0.

    Returns its gain, the last bin on the left, the side of missing values (−1: there are none) and the sums
    on the left; a gain no larger than `best` says that there is none.
    """
    equal, total = EQUAL * loss, A + B
    am = bm = a = b = np.int64(0)
    side, found_cut, found_side, found_a, found_b = np.int64(-1), np.int64(0), np.int64(-1), a, b
    n_values = _U(n_found)
    if bins[n_values - _U(1)] == missing:
        n_values, side = n_values - _U(1), np.int64(0)
        am, bm = cells[_U(2) * _U(missing)], cells[_U(2) * _U(missing) + _U(1)]
        cells[_U(2) * _U(missing)] = cells[_U(2) * _U(missing) + _U(1)] = 0
    this = bins[_U(0)] if n_values > 0 else missing
    x, y = cells[_U(2) * _U(this)], cells[_U(2) * _U(this) + _U(1)]
    cells[_U(2) * _U(this)] = cells[_U(2) * _U(this) + _U(1)] = 0
    for i in range(_U(1), n_values + _U(1)):
        a, b, cut, alike = a + x, b + y, this, False
        last = i == n_values
        if last and side < 0:
            break
        if not last:
            following = bins[i]
            x2, y2 = cells[_U(2) * _U(following)], cells[_U(2) * _U(following) + _U(1)]
            cells[_U(2) * _U(following)] = cells[_U(2) * _U(following) + _U(1)] = 0
            alike = least <= 1 and (((x | x2) == 0) | ((y | y2) == 0))
            cut = (this + following - 1) >> 1  # in the middle of the bins without rows
            this, x, y = following, x2, y2
        if alike:
            continue
        if a + b >= least and total - a - b >= least:
            gain = loss - pair_after(lines, few, whole, a, b, A, B)
            if gain > best + equal:
                best, found_cut, found_side, found_a, found_b = gain, cut, side, a, b
        if side >= 0 and not last and a + am + b + bm >= least and total - a - am - b - bm >= least:
            gain = loss - pair_after(lines, few, whole, a + am, b + bm, A, B)
            if gain > best + equal:
                best, found_cut, found_side, found_a, found_b = gain, cut, np.int64(1), a + am, b + bm
    return best, found_cut, found_side, found_a, found_b


# -- any number of classes ---------------------------------------------------------------------------


@inner
def split_gain(left, sums, lines, least, loss):
    """Gain of the split with the sums `left` on its left; −2·loss if it leaves too little on a side."""
    amount = total = np.int64(0)
    for k in range(sums.size):
        amount += left[k]
        total += sums[k]
    if amount < least or total - amount < least:
        return -2.0 * loss
    after, inside, outside = 0.0, np.float64(amount), np.float64(total - amount)
    if sums.size == 2:
        after = pair_loss(lines, np.float64(left[0]), np.float64(left[1]))
        return loss - after - pair_loss(lines, np.float64(sums[0] - left[0]), np.float64(sums[1] - left[1]))
    for k in range(sums.size):
        after += class_loss(lines, np.float64(left[k]), inside)
        after += class_loss(lines, np.float64(sums[k] - left[k]), outside)
    return loss - after


@small
def keep(left, kept):
    """Note the sums of the best split so far."""
    for k in range(left.size):
        kept[k] = left[k]


@small
def _only_class(cells, b, K):
    """The class of a bin that holds no other, or −1."""
    only = -1
    for k in range(K):
        if cells[_U(b) * K + k] > 0:
            if only >= 0:
                return -1
            only = np.int64(k)
    return only


@inner
def cut_many(cells, bins, n_found, missing, lines, least, sums, loss, best, left, kept):
    """As `cut_pair` for any number of classes; the sums of the best cut are left in `kept`."""
    K, equal = _U(sums.size), EQUAL * loss
    any_missing = bins[n_found - 1] == missing
    n_values = n_found - 1 if any_missing else n_found
    found_cut, found_side = np.int64(0), np.int64(-1)
    for k in range(K):
        left[0, k] = 0
    following = _only_class(cells, bins[0], K) if n_values > 0 else -1
    for i in range(n_values if any_missing else n_values - 1):
        only, cut, last = following, bins[i], i + 1 == n_values
        for k in range(K):
            left[0, k] += cells[_U(bins[i]) * K + k]
        if not last:
            following = _only_class(cells, bins[i + 1], K)
            if least <= 1 and only >= 0 and only == following:
                continue
            cut = (bins[i] + bins[i + 1] - 1) >> 1
        gain = split_gain(left[0], sums, lines, least, loss)
        if gain > best + equal:
            best, found_cut, found_side = gain, cut, np.int64(0 if any_missing else -1)
            keep(left[0], kept)
        if any_missing and not last:
            for k in range(K):
                left[1, k] = left[0, k] + cells[_U(missing) * K + k]
            gain = split_gain(left[1], sums, lines, least, loss)
            if gain > best + equal:
                best, found_cut, found_side = gain, cut, np.int64(1)
                keep(left[1], kept)
    return best, found_cut, found_side
