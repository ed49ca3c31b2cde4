"""The grower: a state machine that splits nodes until nothing more is allowed.

`advance` searches the nodes that wait, splits the best of them, and goes on with their children. Where nodes
are searched by several threads or their class sums added over processes, ``params.batch`` is not 0: it then
returns how many nodes are to be searched, and goes on when it is called again.

The rows of a node are a set, the part start:stop of the entries, in no order.
"""

from __future__ import annotations

import numpy as np

from propriety.trees.criteria import BY_TABLE, node_loss, steps
from propriety.trees.histogram import bin_of, column_start
from propriety.trees.jit import inner, kernel, small
from propriety.trees.layout import LINE, ROW
from propriety.trees.random import scramble
from propriety.trees.search import find_in_columns, find_in_drawn, send_unseen, total_of
from propriety.trees.splitter import bins_on_right

_U = np.uint64


@small
def may_split(params, sums, depth):
    """Whether a node holds more than one class, and weight enough for two leaves."""
    classes = 0
    for k in range(sums.size):
        classes += 1 if sums[k] > 0 else 0
    return (classes > 1) & (depth < params.max_depth) & (total_of(sums) >= 2 * params.min_weight)


@small
def partition(rows, first, line, entries, spare, found, missing, words):
    """Put the rows of a waiting node that go left before the others; returns where these begin."""
    by_set, (right_from, right_bins) = found.by_set, bins_on_right(found.cut, missing, found.missing_left)
    left, right = _U(found.start), _U(0)
    for i in range(_U(found.start), _U(found.stop)):
        entry = entries[i]
        code = bin_of(rows, first, line, entry)
        if by_set == 0:
            goes = _U(code - right_from >= right_bins)
        elif code == _U(missing):
            goes = _U(found.missing_left)
        else:
            goes = _U(words[0, code >> _U(5)] >> np.uint32(code & _U(31))) & _U(1)
        entries[left] = entry
        spare[right] = entry
        left += goes
        right += _U(1) - goes
    for i in range(right):
        entries[left + i] = spare[i]
    return np.int64(left)


@inner
def _draw_near(rows, n_rows, weights, entries, start, stop, near, near_weights):
    """Copy the lines of a node's rows side by side, so that its subtree finds them in the fastest cache.

    Their entries have the numbers of the copies from then on.
    """
    line, many, first = _U(LINE), _U(stop - start), _U(start)
    for block in range(_U(rows.size) // (_U(n_rows) * line)):
        for i in range(many):
            source = (block * _U(n_rows) + (entries[first + i] & ROW)) * line
            target = (block * many + i) * line
            for byte in range(line):
                near[target + byte] = rows[source + byte]
    for i in range(many):
        entry = entries[first + i]
        if weights.size > 0:
            near_weights[i] = weights[entry & ROW]
        entries[first + i] = (entry & ~ROW) | i


@small
def _before(a, b):
    """Whether a waiting node is split before another: it gains more, or as much and was made earlier."""
    if a.rank != b.rank:
        return a.rank > b.rank
    return a.second > b.second or (a.second == b.second and a.node < b.node)


@inner
def _best_last(waiting, order, n_waiting):
    """Put the waiting node that gains most last."""
    best = 0
    for place in range(1, n_waiting):
        if _before(waiting[order[place]], waiting[order[best]]):
            best = place
    order[best], order[n_waiting - 1] = order[n_waiting - 1], order[best]


@small
def _write_leaf(node):
    """Write a node that has no split yet."""
    node.gain, node.left, node.feature, node.set, node.bin, node.missing_left = 0.0, -1, -1, -1, 0, 0


@small
def _write_split(found, left, words, tree, state, unit):
    """Write the split of a waiting node, and its two children."""
    at, new, sums = found.node, state.n_nodes, tree.sums
    node = tree.nodes[at]
    node.feature, node.left, node.bin, node.gain = found.feature, new, found.cut, found.gain * unit
    node.missing_left = found.missing_left
    if found.by_set != 0:
        node.set = state.n_sets
        for word in range(words.shape[1]):
            tree.sets[state.n_sets, word] = words[0, word]
        state.n_sets += 1
    for child in range(2):
        _write_leaf(tree.nodes[new + child])
    for k in range(left.size):
        sums[new, k] = left[k]
        sums[new + 1, k] = sums[at, k] - left[k]
    state.n_nodes += 2


@small
def _bounded(found, left, sums, sign, child):
    """Bounds on the shares of class 1 below a child; with a sign, the middle of both sides' parts them."""
    lower, upper = found.lower, found.upper
    if sign != 0:
        p = left[1] / np.float64(left[0] + left[1])
        q = (sums[1] - left[1]) / np.float64(sums[0] - left[0] + sums[1] - left[1])
        if (sign > 0) == (child == 0):
            upper = (p + q) / 2
        else:
            lower = (p + q) / 2
    return lower, upper


@small
def _let_wait(params, sums, waiting, order, state, node, depth, start, stop, lower, upper):
    """Let a node wait if it may be split."""
    if may_split(params, sums[node], depth):
        new = waiting[order[state.n_waiting]]
        new.node, new.depth, new.start, new.stop = node, depth, start, stop
        new.lower, new.upper = lower, upper
        new.rank, new.second, new.feature = -np.inf, 0.0, -1
        state.n_waiting += 1


@inner
def begin(params, table, work, tree, found, n_rows, seed):
    """Write the root, of the first `n_rows` rows of the entries, and let it wait if it may be split."""
    state = work.state[0]
    state.random, state.n_nodes, state.n_sets = scramble(seed), 1, 0
    state.n_waiting, state.unsearched, state.asked, state.near_start, state.near_stop = 0, 0, 0, 0, 0
    # Gains of other criteria are differences of shares.
    state.root_loss = node_loss(table.panels, tree.sums[0]) if params.criterion == BY_TABLE else 1.0
    for f in range(work.features.size):
        work.features[f] = f
    _write_leaf(tree.nodes[0])
    if work.made.size > 0:
        work.made[0].start, work.made[0].stop = 0, n_rows
    _let_wait(params, tree.sums, found.waiting, work.order, state, 0, 0, 0, n_rows, 0.0, 1.0)


@small
def _keep_splittable(params, tree, found, order, state):
    """Forget those of the nodes just searched that have no split; what splits have not seen gets its side."""
    kept = state.unsearched
    for place in range(state.unsearched, state.n_waiting):
        slot = order[place]
        node = found.waiting[slot]
        node.gain = max(node.gain, 0.0)
        if node.feature < 0 or node.gain < params.min_gain * state.root_loss:
            continue
        sums, left = tree.sums[node.node], found.left[slot]
        # From steps of its own loss to those of the root's, so that nodes can be compared.
        node.rank = steps(node.gain, state.root_loss)
        node.second = np.rint(node.second * total_of(sums) / total_of(tree.sums[0]))
        goes_left = send_unseen(params, sums, node, left, found.sets[slot], state)
        node.missing_seen = node.missing_left >= 0
        if node.missing_left < 0:
            node.missing_left = np.int64(goes_left)
        order[place], order[kept] = order[kept], slot
        kept += 1
    state.n_waiting = kept


@inner
def _close_ranks(order, state, first, many):
    """Move the nodes behind the waiting ones to the place of the `many` from `first` on, which were split."""
    behind = state.n_waiting - first - many
    for i in range(behind):
        here, there = first + i, first + many + i
        order[here], order[there] = order[there], order[here]
    state.n_waiting = first + behind


@small
def _split(rows, n_rows, columns, params, work, tree, found, slot):
    """Split a waiting node, and let its children wait."""
    state, node = work.state[0], found.waiting[slot]
    start, stop, depth, parent, new = node.start, node.stop, node.depth + 1, node.node, state.n_nodes
    column, words, left = columns[node.feature], found.sets[slot], found.left[slot]
    _write_split(node, left, words, tree, state, params.unit * params.loss_unit)
    keeps, middle = work.made.size > 0, start
    waits = may_split(params, tree.sums[new], depth) or may_split(params, tree.sums[new + 1], depth)
    if keeps or waits:
        first = column_start(node.feature, n_rows, params.line)
        middle = partition(
            rows, first, _U(params.line), work.entries, work.spare, node, column.missing, words
        )
    if keeps:
        made = work.made[parent]
        made.below, made.above, made.missing_seen = node.below, node.above, node.missing_seen
        work.made[new].start, work.made[new].stop = start, middle
        work.made[new + 1].start, work.made[new + 1].stop = middle, stop
    for child in (1, 0):  # the left one is next in turn
        lower, upper = _bounded(node, left, tree.sums[parent], column.monotone, child)
        begins, ends = (start, middle) if child == 0 else (middle, stop)
        _let_wait(
            params, tree.sums, found.waiting, work.order, state, new + child, depth, begins, ends, lower,
            upper,
        )  # fmt: skip


@small
def _search_waiting(sample, params, table, work, tree, found, scratch):
    """Find the best splits of the nodes that wait unsearched, on copies of their rows' bins if these fit."""
    state, order, near, weights, n_rows = (
        work.state[0],
        work.order,
        work.near,
        sample.weights,
        sample.labels.size,
    )
    # Depth first, a subtree is finished before another begins: its rows may lie elsewhere.
    close = near.size // (sample.rows.size // n_rows) if near.size > 0 else 0
    for place in range(state.unsearched, state.n_waiting):
        slot = order[place]
        node = found.waiting[slot]
        is_near = node.stop - node.start <= close
        if is_near and not state.near_start <= node.start < state.near_stop:
            state.near_start, state.near_stop = node.start, node.stop
            _draw_near(
                sample.rows, n_rows, weights, work.entries, node.start, node.stop, near, work.near_weights
            )
        here, weights_here = (near, work.near_weights) if is_near else (sample.rows, weights)
        n_here, sums = state.near_stop - state.near_start if is_near else n_rows, tree.sums[node.node]
        if params.split_features > 0:
            find_in_drawn(
                here, n_here, work.entries, weights_here, sample.columns, sample.levels, params, table.panels,
                table.few, sums, work.features, work.no_totals, node, found.left[slot], found.sets[slot],
                scratch, state,
            )  # fmt: skip
        else:
            find_in_columns(
                here, n_here, work.entries, weights_here, sample.columns, sample.levels, params, table.panels,
                table.few, sums, 0, sample.columns.size, work.no_totals, node, found.left[slot],
                found.sets[slot], scratch, state,
            )  # fmt: skip


@inner
def advance(sample, params, table, work, tree, found, scratch):
    """Grow the tree; returns how many nodes the caller has to search first, 0 if it is done."""
    state, order, n_rows = work.state[0], work.order, np.int64(sample.labels.size)
    limited, best_first = params.max_leaves > 0, params.best_first != 0
    while state.n_waiting > 0 and not (limited and state.n_nodes // 2 + 1 == params.max_leaves):
        if state.asked == 0:
            if not best_first:  # these are searched when their turn has come
                many = np.int64(1) if limited else max(params.batch, np.int64(1))
                state.unsearched = max(state.n_waiting - many, np.int64(0))
            if params.batch > 0 and state.n_waiting > state.unsearched:
                state.asked = 1
                return state.n_waiting - state.unsearched
            _search_waiting(sample, params, table, work, tree, found, scratch)
        state.asked, first = 0, state.unsearched
        _keep_splittable(params, tree, found, order, state)
        if best_first and state.n_waiting > 0:
            _best_last(found.waiting, order, state.n_waiting)
            first = state.n_waiting - 1
        many = state.n_waiting - first
        for place in range(first, first + many):
            slot = order[place]
            is_near = state.near_start <= found.waiting[slot].start < state.near_stop
            here, n_here = (
                (work.near, state.near_stop - state.near_start) if is_near else (sample.rows, n_rows)
            )
            _split(here, n_here, sample.columns, params, work, tree, found, slot)
        _close_ranks(order, state, first, many)
        state.unsearched = first
    return 0


@kernel
def start_tree(params, table, work, tree, found, n_rows, seed):
    """Begin a tree of the first `n_rows` rows of the entries, whose class sums are those of its root."""
    begin(params[0], table, work, tree, found, n_rows, seed)


@kernel
def grow(sample, params, table, work, tree, found, scratch):
    """`advance`, called from Python."""
    return advance(sample, params[0], table, work, tree, found, scratch)


@kernel
def list_beside(rows, first, entries, start, stop, below, above, beside):
    """List the rows of two bins of a node, the one at the beginning of `beside`, the other at its end.

    Columns follow each other. Returns how many rows both have.
    """
    n_below, n_above = 0, 0
    for i in range(start, stop):
        row = np.int64(entries[i] & ROW)
        code = np.int64(rows[first + row])
        if code == below:
            beside[n_below] = row
            n_below += 1
        elif code == above:
            n_above += 1
            beside[beside.size - n_above] = row
    return n_below, n_above
