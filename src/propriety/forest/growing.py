"""One tree of a forest: its bag, its splits, and what it says of the rows that are not in the bag."""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner, kernel, small
from propriety.engine.masks import contains
from propriety.forest.cuts import bin_of, bins_on_right, column_start
from propriety.forest.draws import scramble
from propriety.forest.layout import LINE, ROW, TO_CLASS, TO_COUNT
from propriety.forest.nodes import leaf, may_split, queue, write_split
from propriety.forest.search import find_split

#: Votes out of bag are whole numbers of this unit, so that the order of the trees does not matter.
VOTE = 2.0**-40
_ROW_STEP, _COPY_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


@small
def _draw(copies, poisson, bootstrap, seed, row):
    """How often the copies of a row are drawn in all, and how many of them not at all.

    ``poisson[c]`` is P(count ≤ c) · 2³² of one copy.
    """
    if bootstrap == 0:
        return copies[row], np.int64(0)
    drawn = out = np.int64(0)
    x = seed + np.uint64(row) * _ROW_STEP
    for _ in range(copies[row]):
        x += _COPY_STEP
        u = scramble(x) >> np.uint64(32)
        count = 0
        while u >= poisson[count]:
            count += 1
        drawn += count
        out += np.int64(count == 0)
    return drawn, out


@inner
def _fill_bag(copies, labels, weights, poisson, bootstrap, seed, bag, sums):
    """Draw the rows of a tree, all of them once if that gives none; returns how many rows there are."""
    n = 0
    for k in range(sums.size):
        sums[k] = 0
    for all_rows in (False, True):
        for row in range(labels.size):
            count = copies[row]
            if not all_rows:
                count, _ = _draw(copies, poisson, bootstrap, seed, row)
            if count > 0:
                label = np.uint64(labels[row])
                bag[n] = np.uint64(row) | (label << TO_CLASS) | (np.uint64(count) << TO_COUNT)
                sums[label] += count * (weights[row] if weights.size > 0 else 1)
                n += 1
        if n > 0:
            break
    return n


@inner
def _partition(rows, first, bag, spare, found, missing, words):
    """Put the rows of a waiting node that go left before the others; returns where these begin."""
    by_set, (right_from, right_bins) = found.by_set, bins_on_right(found.cut, missing, found.missing_left)
    left, right = np.uint64(found.start), np.uint64(0)
    for i in range(np.uint64(found.start), np.uint64(found.stop)):
        entry = bag[i]
        code = np.uint64(bin_of(rows, first, entry))
        if by_set != 0 and code != missing:
            goes = np.uint64(words[code >> np.uint64(5)] >> np.uint32(code & np.uint64(31))) & np.uint64(1)
        else:
            goes = np.uint64(code - right_from >= right_bins)
        bag[left] = entry
        spare[right] = entry
        left += goes
        right += np.uint64(1) - goes
    for i in range(right):
        bag[left + i] = spare[i]
    return np.int64(left)


@inner
def _draw_near(rows, n_rows, weights, bag, start, stop, near, near_weights):
    """Copy the lines of a node's rows side by side, so that its subtree finds them in the fastest cache.

    The entries of the bag are the numbers of the copies from then on.
    """
    line, many, first = np.uint64(LINE), np.uint64(stop - start), np.uint64(start)
    for block in range(np.uint64(rows.size) // (np.uint64(n_rows) * line)):
        for i in range(many):
            row = bag[first + i] & ROW
            source, target = (block * np.uint64(n_rows) + row) * line, (block * many + i) * line
            for byte in range(line):
                near[target + byte] = rows[source + byte]
    for i in range(many):
        entry = bag[first + i]
        if weights.size > 0:
            near_weights[i] = weights[entry & ROW]
        bag[first + i] = (entry & ~ROW) | i


@small
def _best_last(waiting, order, n_waiting):
    """Put the waiting node of largest gain last; of equal ones the first made."""
    best = 0
    for place in range(1, n_waiting):
        a, b = waiting[order[place]], waiting[order[best]]
        if a.gain > b.gain or (a.gain == b.gain and a.node < b.node):
            best = place
    order[best], order[n_waiting - 1] = order[n_waiting - 1], order[best]


@small
def _write_found(found, left, words, nodes, sums, sets, n_nodes, n_sets, unit):
    """Write the split of a waiting node, and its two children; returns the number of sets."""
    at, gain = found.node, found.gain * unit
    write_split(nodes, at, found.feature, found.cut, found.missing_left, gain, n_nodes)
    if found.by_set != 0:
        nodes[at].set = n_sets
        for word in range(words.size):
            sets[n_sets, word] = words[word]
        n_sets += 1
    for k in range(left.size):
        sums[n_nodes, k] = left[k]
        sums[n_nodes + 1, k] = sums[at, k] - left[k]
    return n_sets


@small
def _queue_children(rules, sums, waiting, order, n_waiting, n_nodes, start, middle, stop, depth):
    """Let the two newest nodes wait that may be split; returns how many wait."""
    for child in range(2):
        if may_split(rules, sums[n_nodes + child], depth):
            new = waiting[order[n_waiting]]
            new.node, new.depth = n_nodes + child, depth
            new.start, new.stop = (start, middle) if child == 0 else (middle, stop)
            n_waiting += 1
    return n_waiting


@small
def _begin(rules, seed, n_drawn, sums, nodes, waiting, order, features, scratch):
    """Write the root, and let it wait if it may be split; returns how many wait."""
    scratch.state = scramble(seed)
    for f in range(features.size):
        features[f] = f
    leaf(nodes[0])
    return queue(waiting, order, 0, 0, 0, 0, n_drawn, may_split(rules, sums[0], 0))


@kernel
def grow_tree(sample, levels, random, rules, poisson, table, seed, room):
    """Grow the tree of a seed in ``room.nodes``; returns the numbers of its nodes and of its sets.

    Without a limit on the leaves nodes are split depth first, so that the rows of the next one are at hand;
    with one, the node that gains most comes next. ``levels`` is None without categories, (d, BINS) numbers of
    those that share a bin otherwise; ``random`` is None for the best cuts, True for random ones.
    """
    rules, scratch, rows, n_rows = rules[0], room.scratch[0], sample.rows, sample.labels.size
    columns, weights, lines, few = sample.columns, sample.weights, table.lines, table.few
    bag, sums, nodes, waiting, order = room.bag, room.sums, room.nodes, room.waiting, room.order
    waiting_left, waiting_sets, left = room.waiting_left, room.waiting_sets, room.left
    features, cells, spare, sets, near = room.features, room.cells, room.spare, room.sets, room.near
    n_drawn = _fill_bag(sample.copies, sample.labels, weights, poisson, rules.bootstrap, seed, bag, sums[0])
    limited, unit = rules.max_leaves > 0, rules.unit * rules.loss_unit
    # Depth first, a subtree is finished before another begins: its rows may lie elsewhere.
    close = 0 if limited else near.size // (rows.size // n_rows)
    near_start, near_stop, here, n_here, weights_here = 0, 0, rows, n_rows, weights
    n_nodes, n_sets, unsearched = 1, 0, 0
    n_waiting = _begin(rules, seed, n_drawn, sums, nodes, waiting, order, features, scratch)
    while n_waiting > 0 and not (limited and n_nodes // 2 + 1 == rules.max_leaves):
        splittable = unsearched
        for place in range(unsearched, n_waiting):
            slot = order[place]
            found = waiting[slot]
            is_near = found.stop - found.start <= close
            if is_near and not near_start <= found.start < near_stop:
                near_start, near_stop = found.start, found.stop
                _draw_near(rows, n_rows, weights, bag, near_start, near_stop, near, room.near_weights)
            here, weights_here = (near, room.near_weights) if is_near else (rows, weights)
            n_here = near_stop - near_start if is_near else n_rows
            if find_split(
                here, n_here, bag, weights_here, columns, levels, random, rules, lines, few, sums[found.node],
                features, found, cells, left, waiting_left[slot], waiting_sets[slot], scratch,
            ):  # fmt: skip
                order[place], order[splittable] = order[splittable], slot
                splittable += 1
        any_split = splittable > unsearched or (limited and splittable > 0)
        n_waiting = splittable
        if any_split:
            if limited:
                _best_last(waiting, order, n_waiting)
            n_waiting -= 1
            slot = order[n_waiting]
            found, words = waiting[slot], waiting_sets[slot]
            start, stop, depth = found.start, found.stop, found.depth + 1
            n_sets = _write_found(found, waiting_left[slot], words, nodes, sums, sets, n_nodes, n_sets, unit)
            unsearched = n_waiting
            if may_split(rules, sums[n_nodes], depth) or may_split(rules, sums[n_nodes + 1], depth):
                first, missing = column_start(found.feature, n_here), columns[found.feature].missing
                middle = _partition(here, first, bag, spare, found, missing, words)
                n_waiting = _queue_children(
                    rules, sums, waiting, order, n_waiting, n_nodes, start, middle, stop, depth
                )
            n_nodes += 2
        unsearched = unsearched if limited else n_waiting - 1
    return n_nodes, n_sets


@inner
def _find_leaf(rows, n_rows, columns, row, nodes, sets):
    at = np.int64(0)
    while nodes[at].left >= 0:
        node = nodes[at]
        code = np.int64(bin_of(rows, column_start(node.feature, n_rows), np.uint64(row)))
        if code == columns[node.feature].missing:
            left = node.missing_left != 0
        elif node.set >= 0:
            left = contains(sets, node.set, code)
        else:
            left = code <= node.bin
        at = np.int64(node.left) + (0 if left else 1)
    return at


@kernel
def vote_out_of_bag(sample, poisson, seed, base_rates, room):
    """Add what the tree in the room says of rows with copies that it was not grown on."""
    copies, n_rows, any_drawn = sample.copies, sample.labels.size, False
    for row in range(n_rows):
        drawn, _ = _draw(copies, poisson, 1, seed, row)
        if drawn > 0:
            any_drawn = True
            break
    if not any_drawn:
        return  # the bag was filled with every row: none is new to the tree
    sums, alone = room.sums, room.nodes[0].left < 0
    for row in range(n_rows):
        _, out = _draw(copies, poisson, 1, seed, row)
        if out == 0:
            continue
        leaf = _find_leaf(sample.rows, n_rows, sample.columns, row, room.nodes, room.sets)
        total = np.int64(0)
        for k in range(sums.shape[1]):
            total += sums[leaf, k]
        for k in range(sums.shape[1]):
            share = base_rates[k] if alone else np.float64(sums[leaf, k]) / np.float64(total)
            room.votes[row, k] += np.int64(np.rint(share / VOTE)) * out
        room.voters[row] += out
