"""Splits by sets of categories.

Categories are put in the order of their class shares, and the best set is among those that come first; or a
random one is taken. What such a set seems to gain is discounted by what chance would show.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.categories import real_share, whole_step
from propriety.engine.compiling import inner
from propriety.forest.cuts import EQUAL, bin_of, clear, count, keep, split_gain
from propriety.forest.draws import draw_below

_U = np.uint64


@inner
def _sort_by_share(cells, bins, n_found, sums, shares):
    """Put bins in the order of their share of class 1 or, of several classes, of the largest one."""
    K, by = _U(sums.size), _U(1)
    if K > 2:
        for k in range(K):
            by = k if k == 0 or sums[k] > sums[by] else by
    for i in range(n_found):
        b, amount = bins[i], np.int64(0)
        for k in range(K):
            amount += cells[_U(b) * K + k]
        share = cells[_U(b) * K + by] / amount
        at = i
        while at > 0 and shares[at - 1] > share:
            shares[at], bins[at] = shares[at - 1], bins[at - 1]
            at -= 1
        shares[at], bins[at] = share, b


@inner
def _best_set(cells, bins, n_found, lines, least, sums, loss, best, left, kept):
    """The best of the sets that come first in the order of bins; returns its gain and its size."""
    K, equal, size = _U(sums.size), EQUAL * loss, 0
    for k in range(K):
        left[0, k] = 0
    for i in range(n_found - 1):
        for k in range(K):
            left[0, k] += cells[_U(bins[i]) * K + k]
        gain = split_gain(left[0], sums, lines, least, loss)
        if gain > best + equal:
            best, size = gain, i + 1
            keep(left[0], kept)
    return best, size


@inner
def _worth(cells, bins, n_found, sums, levels, unit, dispersion):
    """What a set of categories gains of what it seems to gain, going by the χ² of their class sums."""
    K, total, classes, spread, held = _U(sums.size), 0.0, 0, 0.0, 0.0
    for k in range(K):
        total += sums[k]
        classes += sums[k] > 0
    for i in range(n_found):
        weight = 0.0
        for k in range(K):
            weight += cells[_U(bins[i]) * K + k]
        held += min(levels[bins[i]], weight * unit)
        for k in range(K):
            expected = weight * sums[k] / total
            if expected > 0:
                spread += (cells[_U(bins[i]) * K + k] - expected) ** 2 / expected
    return whole_step(real_share(spread * unit, (held - 2.0) * (classes - 1.0), dispersion))


@inner
def _random_set(cells, bins, n_found, lines, least, sums, loss, best, left, kept, scratch):
    """A random number of categories in a random order; returns their gain and number if that is better."""
    K = _U(sums.size)
    for i in range(n_found - 1, 0, -1):
        j = draw_below(scratch, i + 1)
        bins[i], bins[j] = bins[j], bins[i]
    size = 1 + draw_below(scratch, n_found - 1)
    for k in range(K):
        left[0, k] = 0
        for i in range(size):
            left[0, k] += cells[_U(bins[i]) * K + k]
    gain = split_gain(left[0], sums, lines, least, loss)
    if gain <= best + EQUAL * loss:
        return best, 0
    keep(left[0], kept)
    return gain, size


@inner
def _take_set(bins, n_found, size, missing, words):
    """Note the bins of the set; returns the side of missing values, −1 if there are none."""
    side = np.int64(-1)
    for word in range(words.size):
        words[word] = 0
    for i in range(n_found):
        if bins[i] == missing:
            side = np.int64(i < size)
        if i < size:
            words[bins[i] >> 5] |= np.uint32(1) << np.uint32(bins[i] & 31)
    return side


@inner
def search_sets(
    rows, first, bag, weights, levels, random, missing, lines, rules, sums, loss, found, cells, left, kept,
    words, scratch,
):  # fmt: skip
    """Compare sets of categories to the best split so far; returns whether one is better."""
    K, bins, best = _U(sums.size), scratch.bins, found.gain
    start, stop = _U(found.start), _U(found.stop)
    n_found = count(rows, first, bag, start, stop, weights, cells, K, missing + 1, bins)
    gain, size = best, 0
    if random is not None:
        if n_found > 1:
            gain, size = _random_set(
                cells, bins, n_found, lines, rules.least, sums, loss, best, left, kept, scratch
            )
    else:
        worth = (
            _worth(cells, bins, n_found, sums, levels, rules.unit, rules.dispersion) if n_found > 1 else 0.0
        )
        if worth > 0.0:
            _sort_by_share(cells, bins, n_found, sums, scratch.shares)
            gain, size = _best_set(
                cells, bins, n_found, lines, rules.least, sums, loss, best / worth, left, kept
            )
            gain *= worth
    if size > 0:
        found.gain, found.by_set, found.cut = gain, 1, 0  # the cut may be another column's
        found.missing_left = _take_set(bins, n_found, size, missing, words)
    clear(cells, bins, n_found, K)
    return size > 0


@inner
def add_unseen(rows, first, bag, start, stop, words, scratch):
    """Add to a set the bins that no row of the node has."""
    bins = scratch.bins
    for b in range(256):
        bins[b] = 0
    for i in range(start, stop):
        bins[bin_of(rows, first, bag[i])] = 1
    for b in range(256):
        if bins[b] == 0:
            words[b >> 5] |= np.uint32(1) << np.uint32(b & 31)
