"""Splits by sets of categories.

Categories are put in the order of their shares of a class, and the best set is among those that come first;
of several classes in the order of each. Or a random set is taken. What such a set seems to gain is discounted
by what chance would show.
"""

from __future__ import annotations

import numpy as np

from propriety.trees.categories import real_share, whole_step
from propriety.trees.jit import inner
from propriety.trees.random import draw_below
from propriety.trees.splitter import judge

_U = np.uint64


@inner
def _sort_by_share(cells, bins, n_found, K, by, shares):
    """Put bins in the order of their share of a class; equal ones in their own order."""
    for i in range(n_found):
        b, amount = bins[i], np.int64(0)
        for k in range(K):
            amount += cells[_U(b) * K + k]
        share = cells[_U(b) * K + _U(by)] / amount
        at = i
        while at > 0 and (shares[at - 1] > share or (shares[at - 1] == share and bins[at - 1] > b)):
            shares[at], bins[at] = shares[at - 1], bins[at - 1]
            at -= 1
        shares[at], bins[at] = share, b


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
def _take_set(bins, n_found, size, missing, found, words):
    """Note the bins of the set and those that hold rows, and the side of missing values."""
    found.by_set, found.cut, found.above, found.missing_left = 1, 0, -1, -1
    for word in range(words.shape[1]):
        words[0, word] = words[1, word] = 0
    for i in range(n_found):
        bit = np.uint32(1) << np.uint32(bins[i] & 31)
        if bins[i] == missing:
            found.missing_left = np.int64(i < size)
        if i < size:
            words[0, bins[i] >> 5] |= bit
        words[1, bins[i] >> 5] |= bit


@inner
def _random_set(
    cells, bins, n_found, missing, panels, few, way, least, sums, loss, found, left, kept, words, state
):  # fmt: skip
    """Compare a random number of categories in a random order to the best split so far."""
    K = _U(sums.size)
    for i in range(n_found - 1, 0, -1):
        j = draw_below(state, i + 1)
        bins[i], bins[j] = bins[j], bins[i]
    size = 1 + draw_below(state, n_found - 1)
    for k in range(K):
        left[0, k] = 0
        for i in range(size):
            left[0, k] += cells[_U(bins[i]) * K + k]
    if not judge(
        left[0], sums, panels, few, way, least, loss, 1.0, found.lower, found.upper, found, kept
    ):  # fmt: skip
        return False
    _take_set(bins, n_found, size, missing, found, words)
    return True


@inner
def search_sets(
    cells, bins, n_found, missing, levels, panels, few, way, params, sums, loss, found, left, kept, words,
    shares, state,
):  # fmt: skip
    """Compare sets of categories to the best split so far; returns whether one is better."""
    K, least, better = _U(sums.size), params.min_weight, False
    if n_found < 2:
        return False
    if params.random_cuts != 0:
        return _random_set(
            cells, bins, n_found, missing, panels, few, way, least, sums, loss, found, left, kept, words,
            state,
        )  # fmt: skip
    worth = _worth(cells, bins, n_found, sums, levels, params.unit, params.dispersion)
    if worth <= 0.0:
        return False
    for by in range(1 if sums.size == 2 else 0, 2 if sums.size == 2 else sums.size):
        _sort_by_share(cells, bins, n_found, K, by, shares)
        size = 0
        for k in range(K):
            left[0, k] = 0
        for i in range(n_found - 1):
            for k in range(K):
                left[0, k] += cells[_U(bins[i]) * K + k]
            if judge(
                left[0], sums, panels, few, way, least, loss, worth, found.lower, found.upper, found, kept
            ):
                size = i + 1
        if size > 0:
            better = True
            _take_set(bins, n_found, size, missing, found, words)
    return better


@inner
def add_unseen(words):
    """Add to a set the bins that no row of the node has."""
    for word in range(words.shape[1]):
        words[0, word] |= ~words[1, word]
