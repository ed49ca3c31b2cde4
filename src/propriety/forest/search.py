"""The best split of a node: by the class sums of its bins, for one randomly drawn column after the other.

A node of few rows touches few bins; a set of 256 bits says which, in order, so that neither sorting nor a
walk over all bins is needed. Between two bins that hold the same class alone there is no best cut, whatever
the entropy (Fayyad and Irani, 1992), so none is judged there.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner
from propriety.engine.intrinsics import trailing_zeros
from propriety.forest.entropy import FEW, class_loss, node_loss
from propriety.forest.layout import CLASS, ROW, TO_CLASS, TO_COUNT

_MANY = 400  # rows from which all bins are looked at
_EQUAL = 1e-10  # gains that differ by less than this share of the node's loss are equal
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inner
def scramble(x):
    """A hash of 64 bits (splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner
def draw_below(state, n):
    """A random number from 0 to n − 1."""
    state[0] += _GOLDEN
    return np.int64(((scramble(state[0]) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@inner
def _count(codes, bag, start, stop, weights, cells, K):
    """Class sums of the bins of a node of many rows."""
    if weights.size == 0:
        for i in range(start, stop):
            entry = bag[i]
            at = np.uint64(codes[entry & ROW]) * K + ((entry >> TO_CLASS) & CLASS)
            cells[at] += np.int64(entry >> TO_COUNT)
    else:
        for i in range(start, stop):
            entry = bag[i]
            at = np.uint64(codes[entry & ROW]) * K + ((entry >> TO_CLASS) & CLASS)
            cells[at] += np.int64(entry >> TO_COUNT) * weights[entry & ROW]


@inner
def _occupied(codes, bag, start, stop, weights, cells, K, n_cells, bins):
    """Class sums of the bins, and the bins that hold rows, in order; returns how many these are."""
    found = 0
    if stop - start >= _MANY:
        _count(codes, bag, start, stop, weights, cells, K)
        for b in range(n_cells):
            total = np.int64(0)
            for k in range(K):
                total += cells[np.uint64(b) * K + np.uint64(k)]
            if total > 0:
                bins[found] = b
                found += 1
        return found
    w0 = w1 = w2 = w3 = np.uint64(0)
    for i in range(start, stop):
        entry = bag[i]
        code = np.uint64(codes[entry & ROW])
        amount = np.int64(entry >> TO_COUNT)
        if weights.size > 0:
            amount *= weights[entry & ROW]
        cells[code * K + ((entry >> TO_CLASS) & CLASS)] += amount
        bit, word = np.uint64(1) << (code & np.uint64(63)), code >> np.uint64(6)
        w0 |= bit if word == 0 else np.uint64(0)
        w1 |= bit if word == 1 else np.uint64(0)
        w2 |= bit if word == 2 else np.uint64(0)
        w3 |= bit if word == 3 else np.uint64(0)
    for j in range(4):
        word = w0 if j == 0 else (w1 if j == 1 else (w2 if j == 2 else w3))
        while word != 0:
            bins[found] = 64 * j + np.int64(trailing_zeros(word))
            found += 1
            word &= word - np.uint64(1)
    return found


@inner
def _clear(cells, bins, found, K):
    for i in range(found):
        for k in range(K):
            cells[np.uint64(bins[i]) * K + np.uint64(k)] = 0


@inner
def _judge(table, least, room, slot, sums, total, loss, whole, feature):
    """Compare the split with the sums ``room.left[1]`` on its left to the best so far; returns if it is better."""
    K, left, found = sums.size, room.left[1], room.waiting[slot]
    amount = np.int64(0)
    for k in range(K):
        amount += left[k]
    if amount < least or total - amount < least or amount <= 0 or amount >= total:
        return False
    if whole:
        after = table.few[left[0], left[1]] + table.few[sums[0] - left[0], sums[1] - left[1]]
    elif K == 2:
        after = class_loss(table.lines, np.float64(left[1]), np.float64(amount))
        after += class_loss(table.lines, np.float64(sums[1] - left[1]), np.float64(total - amount))
    else:
        after = 0.0
        for k in range(K):
            after += class_loss(table.lines, np.float64(left[k]), np.float64(amount))
            after += class_loss(table.lines, np.float64(sums[k] - left[k]), np.float64(total - amount))
    if loss - after <= found.gain + _EQUAL * loss:
        return False
    found.gain, found.feature = loss - after, feature
    for k in range(K):
        room.waiting_left[slot, k] = left[k]
    return True


@inner
def _only_class(cells, b, K):
    """The class of a bin that holds no other, or −1."""
    only = -1
    for k in range(K):
        if cells[np.uint64(b) * K + np.uint64(k)] > 0:
            if only >= 0:
                return -1
            only = k
    return only


@inner
def _best_cut(table, least, room, slot, sums, total, loss, whole, feature, n_values, any_missing):
    """Judge the cuts of a column of numbers, with missing values on either side."""
    K, cells, bins, found = sums.size, room.cells, room.bins, room.waiting[slot]
    stride = np.uint64(K)
    for k in range(K):
        room.left[0, k] = 0
    following = _only_class(cells, bins[0], stride)
    for i in range(n_values if any_missing else n_values - 1):
        b, only = bins[i], following
        last = i + 1 == n_values
        for k in range(K):
            room.left[0, k] += cells[np.uint64(b) * stride + np.uint64(k)]
            room.left[1, k] = room.left[0, k]
        cut = b
        if not last:
            following = _only_class(cells, bins[i + 1], stride)
            if only >= 0 and only == following:
                continue
            cut = (b + bins[i + 1] - 1) >> 1  # in the middle of the bins without rows
        if _judge(table, least, room, slot, sums, total, loss, whole, feature):
            found.cut, found.missing_left, found.by_set = cut, 0 if any_missing else -1, 0
        if any_missing and not last:
            for k in range(K):
                room.left[1, k] += room.left[2, k]
            if _judge(table, least, room, slot, sums, total, loss, whole, feature):
                found.cut, found.missing_left, found.by_set = cut, 1, 0


@inner
def _take_set(room, slot, n_found, n_left, missing):
    """Note the first bins as those that go left; the others of the 256 go where most rows go."""
    found, words = room.waiting[slot], room.waiting_sets[slot]
    found.by_set, found.missing_left = 1, -1
    for word in range(words.size):
        words[word] = 0
    for i in range(n_found):
        b = room.bins[i]
        if b == missing:
            found.missing_left = 1 if i < n_left else 0
        if i < n_left:
            words[b >> 5] |= np.uint32(1) << np.uint32(b & 31)


@inner
def _best_set(table, least, room, slot, sums, total, loss, whole, feature, n_found, missing):
    """Judge the sets of categories that come first in the order of the share of a class.

    For two classes the best set is among them; for more, the order is that of the node's largest class.
    """
    K, cells, bins = sums.size, room.cells, room.bins
    stride, by = np.uint64(K), np.uint64(1)
    if K > 2:
        for k in range(K):
            by = np.uint64(k) if k == 0 or sums[k] > sums[by] else by
    for i in range(n_found):
        b, amount = bins[i], np.int64(0)
        for k in range(K):
            amount += cells[np.uint64(b) * stride + np.uint64(k)]
        share = cells[np.uint64(b) * stride + by] / amount
        at = i
        while at > 0 and room.shares[at - 1] > share:
            room.shares[at], bins[at] = room.shares[at - 1], bins[at - 1]
            at -= 1
        room.shares[at], bins[at] = share, b
    best = 0
    for k in range(K):
        room.left[0, k] = 0
    for i in range(n_found - 1):
        for k in range(K):
            room.left[0, k] += cells[np.uint64(bins[i]) * stride + np.uint64(k)]
            room.left[1, k] = room.left[0, k]
        if _judge(table, least, room, slot, sums, total, loss, whole, feature):
            best = i + 1
    if best > 0:
        _take_set(room, slot, n_found, best, missing)


@inner
def _random_set(table, least, room, slot, sums, total, loss, whole, feature, n_found, missing):
    """Judge one set of categories, drawn at random: a random number of them in a random order."""
    cells, bins, K = room.cells, room.bins, sums.size
    for i in range(n_found - 1, 0, -1):
        j = draw_below(room.state, i + 1)
        bins[i], bins[j] = bins[j], bins[i]
    n_left = 1 + draw_below(room.state, n_found - 1)
    for k in range(K):
        room.left[1, k] = 0
        for i in range(n_left):
            room.left[1, k] += cells[np.uint64(bins[i]) * np.uint64(K) + np.uint64(k)]
    if _judge(table, least, room, slot, sums, total, loss, whole, feature):
        _take_set(room, slot, n_found, n_left, missing)


@inner
def _random_cut(sample, table, least, room, slot, sums, total, loss, whole, feature):
    """Judge one cut between the least and the largest bin of the node, drawn at random.

    Returns whether the column has more than one value here.
    """
    found, codes, missing = room.waiting[slot], sample.codes[feature], sample.n_bins[feature]
    start, stop = np.uint64(found.start), np.uint64(found.stop)
    low, high, any_missing = np.int64(255), np.int64(-1), False
    for i in range(start, stop):
        code = np.int64(codes[room.bag[i] & ROW])
        room.spare_codes[i] = code
        if code == missing:
            any_missing = True
        else:
            low, high = min(low, code), max(high, code)
    if high <= low and not any_missing:
        return False
    cut = low + draw_below(room.state, high - low) if high > low else high
    missing_left = draw_below(room.state, 2) if any_missing and high > low else 0
    if high < 0:
        return False
    left = room.left[1]
    for k in range(left.size):
        left[k] = 0
    for i in range(start, stop):
        entry, code = room.bag[i], np.int64(room.spare_codes[i])
        goes_left = np.int64(code <= cut)
        if any_missing and code == missing:
            goes_left = missing_left
        amount = np.int64(entry >> TO_COUNT)
        if sample.weights.size > 0:
            amount *= sample.weights[entry & ROW]
        left[(entry >> TO_CLASS) & CLASS] += amount * goes_left
    if _judge(table, least, room, slot, sums, total, loss, whole, feature):
        found.cut, found.missing_left, found.by_set = cut, missing_left if any_missing else -1, 0
    return True


@inner
def _search_column(sample, rules, table, room, slot, sums, total, loss, whole, feature):
    """Judge the splits of one column."""
    found, missing = room.waiting[slot], sample.n_bins[feature]
    categorical, K = sample.categorical[feature] != 0, np.uint64(sums.size)
    if rules.random_cuts and not categorical:
        _random_cut(sample, table, rules.least, room, slot, sums, total, loss, whole, feature)
        return
    n_found = _occupied(
        sample.codes[feature],
        room.bag,
        np.uint64(found.start),
        np.uint64(found.stop),
        sample.weights,
        room.cells,
        K,
        missing + 1,
        room.bins,
    )
    if n_found > 1:
        least = rules.least
        if categorical and rules.random_cuts:
            _random_set(table, least, room, slot, sums, total, loss, whole, feature, n_found, missing)
        elif categorical:
            _best_set(table, least, room, slot, sums, total, loss, whole, feature, n_found, missing)
        else:
            any_missing = room.bins[n_found - 1] == missing
            if any_missing:
                for k in range(sums.size):
                    room.left[2, k] = room.cells[np.uint64(missing) * K + np.uint64(k)]
            n_values = n_found - 1 if any_missing else n_found
            _best_cut(table, least, room, slot, sums, total, loss, whole, feature, n_values, any_missing)
    _clear(room.cells, room.bins, n_found, K)


@inner
def find_split(sample, rules, table, room, slot):
    """Find the best split of a waiting node among randomly drawn columns; returns whether there is one.

    Columns are drawn until there are enough of them and one of them can be split.
    """
    found = room.waiting[slot]
    sums, total = room.sums[found.node], np.int64(0)
    for k in range(sums.size):
        total += sums[k]
    whole = sums.size == 2 and sample.weights.size == 0 and total < FEW
    loss = node_loss(table.lines, sums)
    none = -2.0 * loss
    found.gain, found.feature = none, -1
    left = room.features.size
    visited = 0
    while left > 0 and (visited < rules.split_features or found.feature < 0):
        at = draw_below(room.state, left)
        left -= 1
        feature = room.features[at]
        room.features[at], room.features[left] = room.features[left], feature
        visited += 1
        _search_column(sample, rules, table, room, slot, sums, total, loss, whole, feature)
        if found.gain >= loss * (1.0 - _EQUAL):
            break  # nothing is left to gain
    if found.feature < 0:
        return False
    found.gain = max(found.gain, 0.0)
    if found.missing_left < 0 or found.by_set != 0:
        _send_unseen(sample, room, slot, total)
    return True


@inner
def _send_unseen(sample, room, slot, total):
    """Send what the node has not seen, missing values or categories, where most of its rows go."""
    found, amount = room.waiting[slot], np.int64(0)
    for k in range(room.waiting_left.shape[1]):
        amount += room.waiting_left[slot, k]
    heavier_left = 2 * amount >= total
    if found.missing_left < 0:
        found.missing_left = 1 if heavier_left else 0
    if found.by_set == 0 or not heavier_left:
        return
    codes, words = sample.codes[found.feature], room.waiting_sets[slot]
    for b in range(256):
        room.bins[b] = 0
    for i in range(found.start, found.stop):
        room.bins[codes[room.bag[i] & ROW]] = 1
    for b in range(256):
        if room.bins[b] == 0:
            words[b >> 5] |= np.uint32(1) << np.uint32(b & 31)
