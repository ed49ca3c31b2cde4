"""The best cut of a column of numbers, by the class sums of its bins.

Between two bins that hold the same class alone there is no best cut, whatever the entropy (Fayyad and Irani,
1992), so none is judged there, unless a least weight of leaves or a constraint forbids others.
"""

from __future__ import annotations

import numpy as np

from propriety.trees.criteria import (
    BY_COUNTS,
    BY_TABLE,
    FEW,
    HIGHEST,
    class_loss,
    pair_loss,
    pair_second,
    second,
    steps,
)
from propriety.trees.jit import inner, small

_U = np.uint64


@small
def bins_on_right(cut, missing, missing_left):
    """The first bin on the right of a cut, and how many are there: a row goes there if bin − first < many.

    Missing values come after every cut: the bins on the right end before them, or nowhere.
    """
    first = _U(cut) + _U(1)
    return first, _U(missing) - first if missing_left == 1 else _U(2**40)


@small
def keep(left, kept):
    """Note the sums of the best split so far."""
    for k in range(left.size):
        kept[k] = left[k]


# -- two classes -------------------------------------------------------------------------------------


@small
def pair_gain(panels, few, way, a, b, A, B, loss):
    """Gain of a split with the sums (a, b) on the left, of a node with (A, B)."""
    if way == BY_COUNTS:
        return loss - (few[_U(a) * _U(FEW) + _U(b)] + few[_U(A - a) * _U(FEW) + _U(B - b)])
    if way == BY_TABLE:
        left = pair_loss(panels, np.float64(a), np.float64(b))
        return loss - (left + pair_loss(panels, np.float64(A - a), np.float64(B - b)))
    one, all_ones = (b, B) if way == HIGHEST else (a, A)
    left = one / np.float64(a + b)
    return max(left, (all_ones - one) / np.float64(A - a + B - b)) - (1.0 - loss)


@inner
def fits(a, b, A, B, lower, upper, sign):
    """Whether a split respects monotone constraints: the order of its sides' shares, and bounds on both."""
    p, q = b / np.float64(a + b), (B - b) / np.float64(A - a + B - b)
    return sign * (q - p) >= 0 and min(p, q) >= lower and max(p, q) <= upper


@small
def _judge_pair(panels, few, way, least, a, b, A, B, loss, lower, upper, sign, best, best_second):
    """The gain of a cut in steps, that in squared loss, and the gain; −∞ if it is no better than the best."""
    worse = -np.inf, 0.0, 0.0
    left = a + b
    if left < least or A + B - left < least:
        return worse
    if (sign != 0 or lower > 0.0 or upper < 1.0) and not fits(a, b, A, B, lower, upper, sign):
        return worse
    gain = pair_gain(panels, few, way, a, b, A, B, loss)
    rank = steps(gain, loss)
    if rank < best:
        return worse
    other = pair_second(a, b, A, B)
    if rank == best and other <= best_second:
        return worse
    return rank, other, gain


@inner
def cut_pair(
    cells, bins, n_found, missing, panels, few, way, least, sums, loss, sign, found, kept
):  # fmt: skip
    """Compare the cuts of a column, with missing values on either side, to the best split so far.

    Returns whether one is better, which is then noted.
    """
    A, B, lower, upper = sums[0], sums[1], found.lower, found.upper
    am = bm = a = b = np.int64(0)
    best, best_second, better, n_values = found.rank, found.second, False, _U(n_found)
    any_missing = bins[n_values - _U(1)] == missing
    if any_missing:
        n_values -= _U(1)
        am, bm = cells[_U(2) * _U(missing)], cells[_U(2) * _U(missing) + _U(1)]
    skips = least <= 1 and sign == 0 and lower <= 0.0 and upper >= 1.0
    following = bins[_U(0)] if n_values > 0 else np.int64(missing)
    x2, y2 = cells[_U(2) * _U(following)], cells[_U(2) * _U(following) + _U(1)]
    for i in range(_U(1), n_values + _U(any_missing)):
        this, x, y, last = following, x2, y2, i == n_values
        a, b = a + x, b + y
        if not last:
            following = bins[i]
            x2, y2 = cells[_U(2) * _U(following)], cells[_U(2) * _U(following) + _U(1)]
            if skips and (((x | x2) == 0) | ((y | y2) == 0)):
                continue
        for side in range(1 + np.int64(any_missing and not last)):
            rank, other, gain = _judge_pair(
                panels, few, way, least, a + side * am, b + side * bm, A, B, loss, lower, upper, sign,
                best, best_second,
            )  # fmt: skip
            if rank > -np.inf:
                best, best_second, better = rank, other, True
                found.gain, found.missing_left = gain, side if any_missing else np.int64(-1)
                found.below, found.above = this, np.int64(-1) if last else following
                found.cut = this if last else (this + following - 1) >> 1  # in the middle of empty bins
                kept[0], kept[1] = a + side * am, b + side * bm
    found.rank, found.second = best, best_second
    return better


# -- any number of classes ---------------------------------------------------------------------------


@small
def judge(left, sums, panels, few, way, least, loss, worth, lower, upper, found, kept):
    """Compare a split with the sums `left`, at what its gain is worth, to the best; returns if better."""
    amount = total = np.int64(0)
    for k in range(sums.size):
        amount += left[k]
        total += sums[k]
    if amount < least or total - amount < least:
        return False
    gain, inside, outside = loss, np.float64(amount), np.float64(total - amount)
    if sums.size == 2:
        if (lower > 0.0 or upper < 1.0) and not fits(left[0], left[1], sums[0], sums[1], lower, upper, 0):
            return False
        gain = pair_gain(panels, few, way, left[0], left[1], sums[0], sums[1], loss)
    else:
        for k in range(sums.size):
            one = class_loss(panels, np.float64(left[k]), inside)
            gain -= one + class_loss(panels, np.float64(sums[k] - left[k]), outside)
    gain *= worth
    rank = steps(gain, loss)
    if rank < found.rank:
        return False
    other = np.rint(worth * second(left, sums))
    if rank == found.rank and other <= found.second:
        return False
    found.rank, found.second, found.gain = rank, other, gain
    keep(left, kept)
    return True


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
def cut_many(cells, bins, n_found, missing, panels, few, least, sums, loss, found, left, kept):
    """As `cut_pair`, for any number of classes."""
    K, better = _U(sums.size), False
    any_missing = bins[n_found - 1] == missing
    n_values = n_found - 1 if any_missing else n_found
    for k in range(K):
        left[0, k] = 0
    following = _only_class(cells, bins[0], K) if n_values > 0 else -1
    for i in range(n_values if any_missing else n_values - 1):
        only, last = following, i + 1 == n_values
        for k in range(K):
            left[0, k] += cells[_U(bins[i]) * K + k]
        if not last:
            following = _only_class(cells, bins[i + 1], K)
            if least <= 1 and only >= 0 and only == following:
                continue
        for side in range(1 + np.int64(any_missing and not last)):
            if side > 0:
                for k in range(K):
                    left[1, k] = left[0, k] + cells[_U(missing) * K + k]
            if judge(left[side], sums, panels, few, BY_TABLE, least, loss, 1.0, 0.0, 1.0, found, kept):
                better, found.missing_left = True, side if any_missing else np.int64(-1)
                found.below, found.above = bins[i], np.int64(-1) if last else bins[i + 1]
                found.cut = bins[i] if last else (bins[i] + bins[i + 1] - 1) >> 1
    return better
