"""One tree of a forest: its bag, its splits, and what it says of the rows that are not in the bag."""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner, kernel, once
from propriety.engine.predictor import contains
from propriety.forest.layout import ROW, TO_CLASS, TO_COUNT
from propriety.forest.search import find_split, scramble

#: Votes out of bag are whole numbers of this unit, so that the order of the trees does not matter.
VOTE = 2.0**-40
_ROW_STEP, _COPY_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


@inner
def _draw(sample, rules, seed, row):
    """How often the copies of a row are drawn in all, and how many of them not at all."""
    if not rules.bootstrap:
        return sample.copies[row], np.int64(0)
    drawn = out = np.int64(0)
    x = seed + np.uint64(row) * _ROW_STEP
    for _ in range(sample.copies[row]):
        x += _COPY_STEP
        u = scramble(x) >> np.uint64(32)
        count = 0
        while u >= rules.poisson[count]:
            count += 1
        drawn += count
        out += np.int64(count == 0)
    return drawn, out


@inner
def _fill_bag(sample, rules, seed, room):
    """Draw the rows of a tree; an empty bag is filled with every row once. Returns their number."""
    sums, n = room.sums[0], 0
    for k in range(sums.size):
        sums[k] = 0
    for all_rows in (False, True):
        for row in range(sample.labels.size):
            count = sample.copies[row]
            if not all_rows:
                count, _ = _draw(sample, rules, seed, row)
            if count > 0:
                label = np.uint64(sample.labels[row])
                room.bag[n] = np.uint64(row) | (label << TO_CLASS) | (np.uint64(count) << TO_COUNT)
                sums[label] += count * (sample.weights[row] if sample.weights.size > 0 else 1)
                n += 1
        if n > 0:
            break
    return n


@inner
def _may_split(rules, sums, depth):
    """Whether a node holds more than one class, and weight enough for two leaves."""
    total, classes = np.int64(0), 0
    for k in range(sums.size):
        total += sums[k]
        classes += 1 if sums[k] > 0 else 0
    return classes > 1 and depth < rules.max_depth and total >= 2 * rules.least


@inner
def _goes_left(codes, entry, missing, cut, missing_left, by_set, words):
    code = np.int64(codes[entry & ROW])
    if code == missing:
        return missing_left != 0
    if by_set != 0:
        return (words[code >> 5] >> np.uint32(code & 31)) & np.uint32(1) != 0
    return code <= cut


@inner
def _partition(sample, room, slot):
    """Put the rows of a waiting node that go left before the others; returns where these begin."""
    found, words = room.waiting[slot], room.waiting_sets[slot]
    codes, missing = sample.codes[found.feature], sample.n_bins[found.feature]
    cut, missing_left, by_set = found.cut, found.missing_left, found.by_set
    left, right = np.uint64(found.start), np.uint64(0)
    for i in range(np.uint64(found.start), np.uint64(found.stop)):
        entry = room.bag[i]
        goes = np.uint64(_goes_left(codes, entry, missing, cut, missing_left, by_set, words))
        room.bag[left] = entry
        room.spare[right] = entry
        left += goes
        right += np.uint64(1) - goes
    for i in range(right):
        room.bag[left + i] = room.spare[i]
    return np.int64(left)


@inner
def _swap(room, one, other):
    """Let two waiting nodes change places."""
    for k in range(room.waiting_left.shape[1]):
        kept = room.waiting_left[one, k]
        room.waiting_left[one, k] = room.waiting_left[other, k]
        room.waiting_left[other, k] = kept
    for word in range(room.waiting_sets.shape[1]):
        bits = room.waiting_sets[one, word]
        room.waiting_sets[one, word] = room.waiting_sets[other, word]
        room.waiting_sets[other, word] = bits
    a, b = room.waiting[one], room.waiting[other]
    a.start, b.start = b.start, a.start
    a.stop, b.stop = b.stop, a.stop
    a.node, b.node = b.node, a.node
    a.depth, b.depth = b.depth, a.depth
    a.gain, b.gain = b.gain, a.gain
    a.feature, b.feature = b.feature, a.feature
    a.cut, b.cut = b.cut, a.cut
    a.missing_left, b.missing_left = b.missing_left, a.missing_left
    a.by_set, b.by_set = b.by_set, a.by_set


@inner
def _best_last(room, waiting):
    """Put the waiting node of largest gain last; of equal ones the first made."""
    best = 0
    for slot in range(1, waiting):
        a, b = room.waiting[slot], room.waiting[best]
        if a.gain > b.gain or (a.gain == b.gain and a.node < b.node):
            best = slot
    if best != waiting - 1:
        _swap(room, best, waiting - 1)


@inner
def _leaf(room, node, depth, unit):
    """Write a node that has no split yet; its value is the share of class 1."""
    new, total = room.nodes[node], 0.0
    for k in range(room.sums.shape[1]):
        total += np.float64(room.sums[node, k])
    new.threshold, new.gain, new.bin, new.missing_left = 0.0, 0.0, 0, 0
    new.feature, new.left, new.set, new.depth = -1, -1, -1, depth
    new.weight, new.value = total * unit, np.float64(room.sums[node, 1]) / total


@once
def _queue(sample, rules, table, room, waiting, node, start, stop, depth):
    """Look for a split of a new node, and let it wait if there is one; returns how many wait then."""
    if not _may_split(rules, room.sums[node], depth):
        return waiting
    new = room.waiting[waiting]
    new.start, new.stop, new.node, new.depth = start, stop, node, depth
    return waiting + 1 if find_split(sample, rules, table, room, waiting) else waiting


@once
def _split(room, slot, n_nodes, n_sets, unit, loss_unit):
    """Write the split of a waiting node, and its two children."""
    found = room.waiting[slot]
    node = room.nodes[found.node]
    node.feature, node.left, node.bin = found.feature, n_nodes, found.cut
    node.missing_left, node.gain = found.missing_left, found.gain * unit * loss_unit
    if found.by_set != 0:
        node.set = n_sets
        for word in range(room.sets.shape[1]):
            room.sets[n_sets, word] = room.waiting_sets[slot, word]
        n_sets += 1
    for k in range(room.sums.shape[1]):
        room.sums[n_nodes, k] = room.waiting_left[slot, k]
        room.sums[n_nodes + 1, k] = room.sums[found.node, k] - room.waiting_left[slot, k]
    _leaf(room, n_nodes, found.depth + 1, unit)
    _leaf(room, n_nodes + 1, found.depth + 1, unit)
    return n_sets


@kernel
def grow_tree(sample, rules, table, seed, room):
    """Grow the tree of a seed in ``room.nodes``; returns the numbers of its nodes and of its sets.

    Without a limit on the leaves nodes are split in any order; with one, the node that gains most comes next.
    """
    n_rows = _fill_bag(sample, rules, seed, room)
    room.state[0] = scramble(seed)
    for f in range(room.features.size):
        room.features[f] = f
    unit = sample.unit
    _leaf(room, 0, 0, unit)
    n_nodes, n_sets, n_leaves, waiting = 1, 0, 1, 0
    first, count, depth = 0, 1, 0  # the new nodes, which lie side by side
    start = middle = np.int64(0)
    stop = np.int64(n_rows)
    while True:
        for new in range(first, first + count):
            begin, end = (
                (start, stop) if count == 1 else ((start, middle) if new == first else (middle, stop))
            )
            waiting = _queue(sample, rules, table, room, waiting, new, begin, end, depth)
        if waiting == 0 or (rules.max_leaves > 0 and n_leaves == rules.max_leaves):
            break
        if rules.max_leaves > 0:
            _best_last(room, waiting)
        waiting -= 1
        found = room.waiting[waiting]
        start, stop, depth = found.start, found.stop, found.depth + 1
        n_sets = _split(room, waiting, n_nodes, n_sets, unit, table.unit)
        middle = start
        if _may_split(rules, room.sums[n_nodes], depth) or _may_split(rules, room.sums[n_nodes + 1], depth):
            middle = _partition(sample, room, waiting)
        first, count = n_nodes, 2
        n_nodes += 2
        n_leaves += 1
    return n_nodes, n_sets


@inner
def _find_leaf(sample, row, room):
    at = 0
    while room.nodes[at].feature >= 0:
        node = room.nodes[at]
        code = np.int64(sample.codes[node.feature, row])
        if code == sample.n_bins[node.feature]:
            left = node.missing_left != 0
        elif node.set >= 0:
            left = contains(room.sets, node.set, code)
        else:
            left = code <= node.bin
        at = np.int64(node.left) + (0 if left else 1)
    return at


@kernel
def vote_out_of_bag(sample, rules, seed, base_rates, room):
    """Add what the tree in the room says of rows with copies that it was not grown on."""
    any_drawn = False
    for row in range(sample.labels.size):
        drawn, _ = _draw(sample, rules, seed, row)
        if drawn > 0:
            any_drawn = True
            break
    if not any_drawn:
        return  # the bag was filled with every row: none is new to the tree
    alone = room.nodes[0].feature < 0
    for row in range(sample.labels.size):
        _, out = _draw(sample, rules, seed, row)
        if out == 0:
            continue
        leaf = _find_leaf(sample, row, room)
        total = np.int64(0)
        for k in range(room.sums.shape[1]):
            total += room.sums[leaf, k]
        for k in range(room.sums.shape[1]):
            share = base_rates[k] if alone else np.float64(room.sums[leaf, k]) / np.float64(total)
            room.votes[row, k] += np.int64(np.rint(share / VOTE)) * out
        room.voters[row] += out
