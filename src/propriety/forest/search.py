"""The best split of a node: by the class sums of its bins, for one randomly drawn column after the other.

A node of few rows touches few bins; a set of 256 bits says which, in order, so that neither sorting nor a
walk over all bins is needed. Between two bins that hold the same class alone there is no best cut, whatever
the entropy (Fayyad and Irani, 1992), so none is judged there, unless a least weight of leaves forbids others.

Functions of the inner loops take the few arrays that they need, not the tuples that hold them: a tuple of
many arrays is copied with every call.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.categories import real_share, whole_step
from propriety.engine.compiling import inner, once
from propriety.engine.intrinsics import trailing_zeros
from propriety.forest.entropy import FEW, class_loss, node_loss, pair_loss
from propriety.forest.layout import CLASS, ROW, TO_CLASS, TO_COUNT

_MANY = 160  # rows from which all bins are looked at
_EQUAL = 1e-10  # gains that differ by less than this share of the node's loss are equal
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FINE = 1 << 30  # steps of a random share
_U = np.uint64


@inner
def scramble(x):
    """A hash of 64 bits (splitmix64)."""
    x = (x ^ (x >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U(27))) * _U(0x94D049BB133111EB)
    return x ^ (x >> _U(31))


@inner
def draw_below(state, n):
    """A random number from 0 to n − 1."""
    state[0] += _GOLDEN
    return np.int64(((scramble(state[0]) >> _U(32)) * _U(n)) >> _U(32))


# -- class sums of bins ------------------------------------------------------------------------------


@inner
def _count_many(codes, bag, start, stop, weights, cells, K, n_cells, bins):
    """Class sums of the bins, and those that hold rows in order, of a node of many rows."""
    if weights.size == 0:
        for i in range(start, stop):
            entry = bag[i]
            cells[_U(codes[entry & ROW]) * K + ((entry >> TO_CLASS) & CLASS)] += np.int64(entry >> TO_COUNT)
    else:
        for i in range(start, stop):
            entry = bag[i]
            amount = np.int64(entry >> TO_COUNT) * weights[entry & ROW]
            cells[_U(codes[entry & ROW]) * K + ((entry >> TO_CLASS) & CLASS)] += amount
    found = _U(0)
    for b in range(_U(n_cells)):
        total = np.int64(0)
        for k in range(K):
            total += cells[b * K + k]
        bins[found] = b
        found += _U(total > 0)
    return np.int64(found)


@inner
def _count_few(codes, bag, start, stop, weights, cells, K, bins):
    """The same of a node of few rows."""
    w0 = w1 = w2 = w3 = _U(0)
    for i in range(start, stop):
        entry = bag[i]
        code = _U(codes[entry & ROW])
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
def _count(codes, bag, start, stop, weights, cells, K, n_cells, bins):
    """Class sums of the bins, and the bins that hold rows, in order; returns how many these are."""
    if stop - start >= _MANY:
        return _count_many(codes, bag, start, stop, weights, cells, K, n_cells, bins)
    return _count_few(codes, bag, start, stop, weights, cells, K, bins)


# -- columns of numbers, two classes -----------------------------------------------------------------


@inner
def _after(lines, few, whole, a, b, A, B):
    """Loss of the two sides of a split with the sums (a, b) on the left, of a node with (A, B)."""
    if whole:
        return few[_U(a) * _U(FEW) + _U(b)] + few[_U(A - a) * _U(FEW) + _U(B - b)]
    left = pair_loss(lines, np.float64(a), np.float64(b))
    return left + pair_loss(lines, np.float64(A - a), np.float64(B - b))


@inner
def _cut_pair(cells, bins, n_found, missing, lines, few, whole, least, A, B, loss, best):
    """The best cut of a column of numbers, with missing values on either side; leaves the cells 0.

    Returns its gain, the last bin on the left, the side of missing values (−1: there are none) and the sums
    on the left; a gain no larger than `best` says that there is none.
    """
    equal, total = _EQUAL * loss, A + B
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
            gain = loss - _after(lines, few, whole, a, b, A, B)
            if gain > best + equal:
                best, found_cut, found_side, found_a, found_b = gain, cut, side, a, b
        if side >= 0 and not last and a + am + b + bm >= least and total - a - am - b - bm >= least:
            gain = loss - _after(lines, few, whole, a + am, b + bm, A, B)
            if gain > best + equal:
                best, found_cut, found_side, found_a, found_b = gain, cut, np.int64(1), a + am, b + bm
    return best, found_cut, found_side, found_a, found_b


# -- one random cut, any number of classes -------------------------------------------------------------


@once
def _draw_cut(codes, bag, start, stop, missing, state, spare):
    """A random cut between the least and the largest bin of a node, with the side of missing values.

    The codes of the rows are left in `spare`. A cut of −1 says that there is one value only.
    """
    for i in range(start, stop):
        spare[i] = codes[bag[i] & ROW]
    least, most, any_missing = np.uint8(255), np.uint8(0), False
    for i in range(start, stop):  # apart from the gathering, so that it takes many at a time
        least, most = min(least, spare[i]), max(most, spare[i])
    low, high = np.int64(least), np.int64(most)
    if high == missing:
        high, any_missing = np.int64(-1), True
        for i in range(start, stop):
            code = np.int64(spare[i])
            high = max(high, code if code != missing else np.int64(-1))
    if high < 0 or (high == low and not any_missing):
        return np.int64(-1), np.int64(-1)
    if high == low:
        return high, np.int64(0)
    return low + draw_below(state, high - low), draw_below(state, 2) if any_missing else np.int64(-1)


@once
def _left_pair(bag, start, stop, weights, spare, cut, missing, side):
    """Class sums on the left of a cut."""
    both = b = _U(0)
    if weights.size == 0 and side < 0:
        last = np.uint8(cut)
        for i in range(start, stop):
            entry = bag[i]
            amount = (entry >> TO_COUNT) & (_U(0) - _U(spare[i] <= last))
            both += amount
            b += amount & (_U(0) - ((entry >> TO_CLASS) & _U(1)))
        return np.int64(both - b), np.int64(b)
    for i in range(start, stop):
        entry, code = bag[i], np.int64(spare[i])
        goes = np.int64(code <= cut) if side < 0 or code != missing else side
        amount = (entry >> TO_COUNT) * _U(goes)
        if weights.size > 0:
            amount *= _U(weights[entry & ROW])
        both += amount
        b += amount * ((entry >> TO_CLASS) & _U(1))
    return np.int64(both - b), np.int64(b)


@once
def _left_many(bag, start, stop, weights, spare, cut, missing, side, left):
    for k in range(left.size):
        left[k] = 0
    for i in range(start, stop):
        entry, code = bag[i], np.int64(spare[i])
        goes = np.int64(code <= cut) if side < 0 or code != missing else side
        amount = np.int64(entry >> TO_COUNT) * goes
        if weights.size > 0:
            amount *= weights[entry & ROW]
        left[(entry >> TO_CLASS) & CLASS] += amount


# -- any number of classes, and sets of categories -----------------------------------------------------


@inner
def _gain(left, sums, lines, least, loss):
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


@inner
def _keep(left, kept):
    for k in range(left.size):
        kept[k] = left[k]


@inner
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
def _cut_many(cells, bins, n_found, missing, lines, least, sums, loss, best, left, kept):
    """As `_cut_pair` for any number of classes; the sums of the best cut are left in `kept`."""
    K, equal = _U(sums.size), _EQUAL * loss
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
        gain = _gain(left[0], sums, lines, least, loss)
        if gain > best + equal:
            best, found_cut, found_side = gain, cut, np.int64(0 if any_missing else -1)
            _keep(left[0], kept)
        if any_missing and not last:
            for k in range(K):
                left[1, k] = left[0, k] + cells[_U(missing) * K + k]
            gain = _gain(left[1], sums, lines, least, loss)
            if gain > best + equal:
                best, found_cut, found_side = gain, cut, np.int64(1)
                _keep(left[1], kept)
    return best, found_cut, found_side


@once
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


@once
def _best_set(cells, bins, n_found, lines, least, sums, loss, best, left, kept):
    """The best of the sets that come first in the order of bins; returns its gain and its size."""
    K, equal, size = _U(sums.size), _EQUAL * loss, 0
    for k in range(K):
        left[0, k] = 0
    for i in range(n_found - 1):
        for k in range(K):
            left[0, k] += cells[_U(bins[i]) * K + k]
        gain = _gain(left[0], sums, lines, least, loss)
        if gain > best + equal:
            best, size = gain, i + 1
            _keep(left[0], kept)
    return best, size


@once
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


@once
def _random_set(cells, bins, n_found, lines, least, sums, loss, best, left, kept, state):
    """A random number of categories in a random order; returns their gain and number if that is better."""
    K = _U(sums.size)
    for i in range(n_found - 1, 0, -1):
        j = draw_below(state, i + 1)
        bins[i], bins[j] = bins[j], bins[i]
    size = 1 + draw_below(state, n_found - 1)
    for k in range(K):
        left[0, k] = 0
        for i in range(size):
            left[0, k] += cells[_U(bins[i]) * K + k]
    gain = _gain(left[0], sums, lines, least, loss)
    if gain <= best + _EQUAL * loss:
        return best, 0
    _keep(left[0], kept)
    return gain, size


@once
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


# -- a node --------------------------------------------------------------------------------------------


@once
def _search_sets(sample, rules, table, room, slot, sums, loss, feature):
    """Compare sets of categories to the best split so far."""
    found, missing, K = room.waiting[slot], sample.n_bins[feature], _U(sums.size)
    cells, bins, lines, kept = room.cells, room.bins, table.lines, room.waiting_left[slot]
    codes, start, stop = sample.codes[feature], _U(found.start), _U(found.stop)
    n_found = _count(codes, room.bag, start, stop, sample.weights, cells, K, missing + 1, bins)
    if n_found > 1:
        best = found.gain
        if rules.random_cuts:
            gain, size = _random_set(
                cells, bins, n_found, lines, rules.least, sums, loss, best, room.left, kept, room.state
            )
        else:
            worth = _worth(cells, bins, n_found, sums, sample.levels[feature], sample.unit, rules.dispersion)
            gain, size = best, 0
            if worth > 0.0:
                _sort_by_share(cells, bins, n_found, sums, room.shares)
                gain, size = _best_set(
                    cells, bins, n_found, lines, rules.least, sums, loss, best / worth, room.left, kept
                )
                gain *= worth
        if size > 0:
            found.gain, found.feature, found.by_set = gain, feature, 1
            found.missing_left = _take_set(bins, n_found, size, missing, room.waiting_sets[slot])
    for i in range(n_found):
        for k in range(K):
            cells[_U(bins[i]) * K + k] = 0


@once
def _search_cuts(sample, rules, table, room, slot, sums, loss, whole, feature):
    """Compare the cuts of a column of numbers to the best split so far."""
    found, missing, K = room.waiting[slot], sample.n_bins[feature], _U(sums.size)
    cells, bins, lines, kept = room.cells, room.bins, table.lines, room.waiting_left[slot]
    codes, start, stop = sample.codes[feature], _U(found.start), _U(found.stop)
    gain, cut, side = found.gain, np.int64(0), np.int64(-1)
    if rules.random_cuts:
        cut, side = _draw_cut(codes, room.bag, start, stop, missing, room.state, room.spare_codes)
        if cut < 0:
            return
        left = room.left[0]
        if K == 2:
            left[0], left[1] = _left_pair(
                room.bag, start, stop, sample.weights, room.spare_codes, cut, missing, side
            )
        else:
            _left_many(room.bag, start, stop, sample.weights, room.spare_codes, cut, missing, side, left)
        gain = _gain(left, sums, lines, rules.least, loss)
        if gain <= found.gain + _EQUAL * loss:
            return
        _keep(left, kept)
    else:
        n_found = _count(codes, room.bag, start, stop, sample.weights, cells, K, missing + 1, bins)
        if K == 2:
            gain, cut, side, a, b = _cut_pair(
                cells, bins, n_found, missing, lines, table.few, whole, rules.least, sums[0], sums[1], loss,
                found.gain,
            )  # fmt: skip
            if gain > found.gain:
                kept[0], kept[1] = a, b
        else:
            gain, cut, side = _cut_many(
                cells, bins, n_found, missing, lines, rules.least, sums, loss, found.gain, room.left, kept
            )
            for i in range(n_found):
                for k in range(K):
                    cells[_U(bins[i]) * K + k] = 0
    if gain > found.gain:
        found.gain, found.feature, found.by_set = gain, feature, 0
        found.cut, found.missing_left = cut, side


@once
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
    found.gain, found.feature, found.cut = -loss, -1, 0
    left, visited, features = room.features.size, 0, room.features
    while left > 0 and (visited < rules.split_features or found.feature < 0):
        at = draw_below(room.state, left)
        left -= 1
        visited += 1
        feature = features[at]
        features[at], features[left] = features[left], feature
        if sample.categorical[feature] != 0:
            _search_sets(sample, rules, table, room, slot, sums, loss, feature)
        else:
            _search_cuts(sample, rules, table, room, slot, sums, loss, whole, feature)
        if found.gain >= loss * (1.0 - _EQUAL):
            break  # nothing is left to gain
    if found.feature < 0:
        return False
    found.gain = max(found.gain, 0.0)
    if found.missing_left < 0 or found.by_set != 0:
        _send_unseen(sample, room, slot, total)
    return True


@once
def _send_unseen(sample, room, slot, total):
    """Send what the node has not seen: missing numbers where most rows go, categories at random.

    A category goes each way with the share of the rows that go there, so that over the trees it ends up where
    an average row does.
    """
    found, amount = room.waiting[slot], np.int64(0)
    for k in range(room.waiting_left.shape[1]):
        amount += room.waiting_left[slot, k]
    goes_left = 2 * amount >= total
    if found.by_set != 0:
        goes_left = draw_below(room.state, _FINE) * (total / _FINE) < amount
    if found.missing_left < 0:
        found.missing_left = 1 if goes_left else 0
    if found.by_set == 0 or not goes_left:
        return
    codes, words = sample.codes[found.feature], room.waiting_sets[slot]
    for b in range(256):
        room.bins[b] = 0
    for i in range(found.start, found.stop):
        room.bins[codes[room.bag[i] & ROW]] = 1
    for b in range(256):
        if room.bins[b] == 0:
            words[b >> 5] |= np.uint32(1) << np.uint32(b & 31)
