"""The gradient grower: a state machine that splits nodes until nothing more is allowed.

`advance` works through *phases* of tasks, which threads share: the rows of the chosen nodes are *partitioned*
and *moved*, the child with fewer rows is *counted*, and after its sibling's histogram has been derived by
subtraction both are *searched*. Where rows are spread over processes, it returns between counting and search
how many numbers are to be added up over all of them; on one process it never does, and both are one task.

To ask for few sums, the best few of the known nodes are split at a time, the others ahead of their turn
(*speculative splits*); the order that one process would have taken is followed afterwards, and what it does
not reach is dropped. What decides is a function of the sums over all rows and of their number, never of where
they are. The rows of a node are a set, the part start:stop of the index, in no order.

Weights of bins are counted where a node has few rows, or categories that need them. Elsewhere a split that
turns out to leave too little weight on a side is not made: then the node is *weighed*, and searched again.
"""

from __future__ import annotations

import numpy as np

from propriety.trees import work_queue
from propriety.trees.binned import SET_WORDS
from propriety.trees.fixed_point import BLOCK
from propriety.trees.gradient_layout import MAX_BLOCKS
from propriety.trees.gradient_tasks import (
    BEGIN,
    COUNT,
    COUNT_AND_SEARCH,
    COUNTED_ROWS,
    GROWN,
    MOVE,
    PARTITION,
    ROOT,
    SEARCH,
    SPLIT,
    SUM,
    WEIGH,
    do_task,
    may_split,
)
from propriety.trees.jit import inner, kernel
from propriety.trees.random import scramble
from propriety.trees.split_features import allow
from propriety.trees.split_score import bound_children

_I, _U = np.int64, np.uint64
#: Cells (rows × features) that are worth a task of their own.
TASK_CELLS = 32_768
#: Nodes up to this many rows, fewer than 2⁹, are searched without a histogram where all rows are here.
DIRECT_ROWS = 511
_MANY_ROWS = 8192  # above which threads share the rows of a child that is counted, else its features
_SELDOM = 16  # times the least weight of a leaf: a split of so much seldom leaves too little


@inner
def _new_node(params, state, tree, start, stop, parent, weight, depth, key):
    at = state.n_nodes
    node = tree.nodes[at]
    node.start, node.stop, node.depth, node.key, node.parent = start, stop, depth, key, parent
    node.lower, node.upper, node.gain, node.weight = -np.inf, np.inf, -1.0, weight
    node.left, node.right, node.feature, node.slot = -1, -1, -1, -1
    node.by_set, node.missing_left, node.missing_seen, node.wants_weights = 0, 0, 0, 0
    node.packed = params.weighted == 0 and weight <= BLOCK
    state.n_nodes = at + 1
    return node


@inner
def _weighs(params, node):
    """Whether the weights of the bins of a node's children are counted, for the first time on this path."""
    few = node.weight * params.weight_unit <= COUNTED_ROWS
    seldom = node.weight > max(_SELDOM * params.min_weight, _I(DIRECT_ROWS))
    return few and (params.any_categorical != 0 or not seldom)


@inner
def _place(state, tree, node_id):
    """Take a node into the tree of one process, as a leaf."""
    tree.order[state.n_placed], tree.open[state.n_placed] = node_id, 1
    state.n_placed += 1
    state.n_leaves += 1


@inner
def _new_slot(state, sums):
    slot = sums.slots[state.n_slots]
    state.n_slots += 1
    return slot


@inner
def _free_slot(state, sums, node):
    """Leave a node's histogram to others."""
    if node.slot >= 0:
        state.n_slots -= 1
        sums.slots[state.n_slots] = node.slot
        node.slot = -1


@inner
def _n_blocks(rows, d, workers):
    """How many blocks so many rows are divided into."""
    if workers == 1:
        return _I(1)
    return _I(max(1, min(rows * d // TASK_CELLS, MAX_BLOCKS, 8 * workers)))


@inner
def _begin(params, state, index, tree, sums, search, d):
    """Make the root, to be counted; returns the first phase."""
    n_rows = params.n_rows
    if params.every_row != 0:
        for i in range(n_rows):
            index.rows[i] = i
    state.n_nodes, state.n_slots, state.n_placed, state.n_leaves, state.last = 0, 0, 0, 0, 0
    for slot in range(sums.slots.size):
        sums.slots[slot] = slot
    for k in range(tree.path_groups.shape[1]):
        tree.path_groups[0, k] = 1
    root = _new_node(params, state, tree, _I(0), n_rows, _I(-1), params.all_rows, _I(0), _U(0))
    root.few = root.weight <= COUNTED_ROWS
    root.has_weights = params.weighted != 0 or _weighs(params, root)
    root.slot = _new_slot(state, sums)
    _place(state, tree, _I(0))
    cut = search.cuts[0]
    cut.node, cut.kind, cut.start, cut.stop, cut.slot, cut.other_slot = 0, ROOT, 0, n_rows, root.slot, -1
    cut.packed, cut.weights, cut.made, cut.searched, cut.direct = root.packed, root.has_weights, 0, 1, 0
    cut.block, cut.at, cut.first_block, cut.n_left = params.block, 0, 0, 0
    workers = sums.partials.shape[0]
    cut.n_blocks = _n_blocks(n_rows, d, workers)
    cut.by_rows = params.spread == 0 and cut.n_blocks > 1
    state.n_cuts = 1
    if cut.by_rows != 0:
        state.n_tasks = cut.n_blocks
        return _I(MOVE)
    return _begin_count(params, state, tree, search, d)


@inner
def _begin_count(params, state, tree, search, d):
    """Count what the cuts ask for; on one process, and search at once."""
    n_chunks = search.candidates.shape[1]
    state.n_tasks = state.n_cuts * n_chunks
    if params.spread == 0:
        return _begin_search(params, state, tree, search, _I(COUNT_AND_SEARCH))
    at = state.n_cuts
    for c in range(state.n_cuts):
        cut = search.cuts[c]
        if cut.slot >= 0:
            kinds = 1 if cut.kind == WEIGH else 2 - cut.packed + cut.weights
            cut.at = at
            at += kinds * params.total_bins
    state.n_numbers = at
    return _I(COUNT)


@inner
def _choose(params, state, tree, search, workers, d):
    """Follow the order of one process as far as splits are known, then choose those to be made next."""
    while state.n_leaves < params.max_leaves:
        best, place = 0.0, _I(-1)
        for i in range(state.n_placed):
            if tree.open[i] and tree.nodes[tree.order[i]].gain > best:
                best, place = tree.nodes[tree.order[i]].gain, _I(i)
        if place < 0:
            break
        node = tree.nodes[tree.order[place]]
        if node.left < 0:
            return _expand(params, state, tree, search, tree.order[place], workers, d)
        tree.open[place] = 0
        _place(state, tree, node.left)
        _place(state, tree, node.right)
        state.n_leaves -= 1
    return _I(GROWN)


@inner
def _next_best(state, tree, search, count):
    """The known node of most gain that is not among the first cuts; −1: none."""
    best, found = 0.0, _I(-1)
    for i in range(state.n_nodes):
        if tree.nodes[i].left < 0 and tree.nodes[i].gain > best:
            taken = False
            for c in range(count):
                taken = taken or search.cuts[c].node == i
            if not taken:
                best, found = tree.nodes[i].gain, _I(i)
    return found


@inner
def _expand(params, state, tree, search, chosen, workers, d):
    """Choose the nodes of a step: the one whose turn it is, and those that may come next."""
    left = params.max_leaves - state.n_leaves
    # Those that are dropped must leave room for those that the tree may still need.
    spare = (tree.nodes.size - state.n_nodes) // 2 - (left - 1)
    most = max(_I(1), min(_I(search.cuts.size), left, spare))
    count, n_blocks = _I(0), _I(0)
    while chosen >= 0 and count < most:
        node, cut = tree.nodes[chosen], search.cuts[count]
        rows = node.stop - node.start
        cut.node, cut.kind, cut.slot, cut.other_slot, cut.made = chosen, SPLIT, -1, -1, 0
        cut.searched, cut.direct, cut.by_rows, cut.first_block = 0, 0, 0, n_blocks
        cut.packed, cut.block = node.packed, params.block
        cut.weights = 1 if node.has_weights != 0 else 2 if _weighs(params, node) else 0
        cut.n_blocks = _n_blocks(rows, d, workers)
        if node.wants_weights != 0:
            _weigh(cut, node)
        n_blocks += cut.n_blocks
        count += 1
        chosen = _next_best(state, tree, search, count) if count < most else _I(-1)
    state.n_cuts, state.last, state.n_tasks = count, left == 1, n_blocks
    return _I(PARTITION)


@inner
def _weigh(cut, node):
    """Count the weights of a node's bins, and look for its split once more."""
    cut.kind, cut.n_blocks, cut.weights, cut.searched = WEIGH, 0, 1, 1
    cut.start, cut.stop, cut.slot = node.start, node.stop, node.slot
    node.has_weights = 1


@inner
def _after_partition(params, state, table, tree, sums, search, lefts):
    """Know how many rows go left, and which child has fewer; both are moved."""
    for c in range(state.n_cuts):
        cut = search.cuts[c]
        if cut.kind == WEIGH:
            continue
        node = tree.nodes[cut.node]
        rows, n_left = node.stop - node.start, _I(0)
        for k in range(cut.n_blocks):
            n_left += lefts[c, k]
        cut.n_left, cut.left_is_small = n_left, 2 * n_left <= rows
        if params.spread != 0:  # where rows were counted it is known which child has fewer; else mostly
            if node.has_weights:
                cut.left_is_small = 2 * node.left_weight <= node.weight
            else:
                cut.left_is_small = 2 * node.left_curvature <= node.curvature
        middle = node.start + n_left
        cut.start, cut.stop, cut.other_start, cut.other_stop = node.start, middle, middle, node.stop
        if cut.left_is_small == 0:
            cut.start, cut.stop, cut.other_start, cut.other_stop = middle, node.stop, node.start, middle
        if params.spread == 0:
            _split_here(params, state, table, tree, sums, cut)
        elif state.last == 0:
            cut.searched, cut.slot, cut.other_slot = 1, _new_slot(state, sums), node.slot
    state.n_tasks = 0
    for c in range(state.n_cuts):
        state.n_tasks += search.cuts[c].n_blocks
    return _I(MOVE)


@inner
def _split_here(params, state, table, tree, sums, cut):
    """Make the children of a node all of whose rows are here, and give them histograms."""
    node = tree.nodes[cut.node]
    if not _make_children(params, state, table, tree, cut, cut.n_left):
        _weigh(cut, node)
        return
    a, b = tree.nodes[node.left], tree.nodes[node.right]
    small_rows, large_rows = cut.stop - cut.start, cut.other_stop - cut.other_start
    cut.searched = state.last == 0 and (may_split(a, params) or may_split(b, params))
    cut.direct = node.slot < 0 or large_rows <= DIRECT_ROWS
    if cut.searched == 0 or cut.direct != 0:
        _free_slot(state, sums, node)
        return
    small, large = (a, b) if cut.left_is_small != 0 else (b, a)
    large.slot, node.slot = node.slot, -1
    small.slot = _new_slot(state, sums)
    cut.slot, cut.other_slot, cut.packed = small.slot, large.slot, small.packed
    cut.by_rows = cut.n_blocks > 1 and small_rows > _MANY_ROWS


@inner
def _make_children(params, state, table, tree, cut, all_left):
    """Make the children of a node; False if one would have too little weight, which was not known."""
    node = tree.nodes[cut.node]
    w = all_left if params.weighted == 0 else node.left_weight
    if not node.has_weights and min(w, node.weight - w) < params.min_weight:
        return False
    left_id, depth, middle = state.n_nodes, node.depth + 1, node.start + cut.n_left
    key = scramble(node.key + _U(1))
    a = _new_node(params, state, tree, node.start, middle, cut.node, w, depth, key)
    b = _new_node(params, state, tree, middle, node.stop, cut.node, node.weight - w, depth, ~key)
    a.gradient, a.curvature = node.left_gradient, node.left_curvature
    b.gradient, b.curvature = node.gradient - a.gradient, node.curvature - a.curvature
    a.has_weights = cut.weights != 0
    b.has_weights = cut.weights != 0
    a.few = node.weight * params.weight_unit <= COUNTED_ROWS
    b.few = a.few
    node.left, node.right, cut.made = left_id, left_id + 1, 1
    if not node.missing_seen and not node.by_set:
        node.missing_left = a.weight >= b.weight
    for k in range(table.groups.shape[0]):
        joint = tree.path_groups[cut.node, k] != 0 and table.groups[k, node.feature] != 0
        tree.path_groups[left_id, k] = joint
        tree.path_groups[left_id + 1, k] = joint
    bound_children(params, node, table.features[node.feature].monotone, a, b)
    return True


@inner
def _receive(params, state, table, tree, sums, search):
    """Go on with what the numbers of all processes add up to: children are made where splits are allowed."""
    for c in range(state.n_cuts):
        cut = search.cuts[c]
        node = tree.nodes[cut.node]
        if cut.kind != SPLIT:
            continue
        if not _make_children(params, state, table, tree, cut, sums.message[c]):
            node.wants_weights, cut.searched = 1, 0
            if cut.slot >= 0:
                state.n_slots -= 1
                sums.slots[state.n_slots] = cut.slot
        elif cut.slot >= 0:
            small, large = tree.nodes[node.left], tree.nodes[node.right]
            if cut.left_is_small == 0:
                small, large = large, small
            small.slot, large.slot, node.slot = cut.slot, node.slot, -1
    state.n_tasks = state.n_cuts * search.candidates.shape[1]
    return _I(SEARCH)


@inner
def _begin_search(params, state, tree, search, phase):
    """Hand the nodes to be searched to every chunk of features; returns the phase."""
    for c in range(state.n_cuts):
        cut = search.cuts[c]
        if cut.searched == 0:
            continue
        for child in range(1 if cut.kind != SPLIT else 2):
            node = tree.nodes[cut.node]
            at = cut.node if cut.kind != SPLIT else node.left if child == 0 else node.right
            for k in range(search.candidates.shape[1]):
                search.candidates[2 * c + child, k] = tree.nodes[at]
    return phase


@inner
def _allow_all(params, state, table, tree, search):
    """Which features the nodes to be searched may use."""
    for c in range(state.n_cuts):
        cut = search.cuts[c]
        for child in range(1 if cut.kind != SPLIT else 2):
            if cut.searched != 0:
                i, at = 2 * c + child, search.candidates[2 * c + child, 0]
                node = tree.nodes[cut.node]
                number = cut.node if cut.kind != SPLIT else node.left if child == 0 else node.right
                groups = tree.path_groups[number]
                allow(params, table.features, table.groups, groups, at.key, search.drawn, search.allowed[i])


@inner
def _end_search(params, state, tree, sums, search):
    """Write down the best of the splits found per chunk; a node that cannot be split needs no histogram."""
    for c in range(state.n_cuts):
        cut = search.cuts[c]
        if cut.searched == 0:
            continue
        for child in range(1 if cut.kind != SPLIT else 2):
            node, i, best = tree.nodes[cut.node], 2 * c + child, 0
            at = cut.node if cut.kind != SPLIT else node.left if child == 0 else node.right
            for k in range(1, search.candidates.shape[1]):
                if search.candidates[i, k].gain > search.candidates[i, best].gain:
                    best = k
            tree.nodes[at] = search.candidates[i, best]
            node = tree.nodes[at]
            node.wants_weights = 0
            for word in range(SET_WORDS):
                tree.sets[at, word] = search.candidate_sets[i, best, word]
            if node.gain <= 0.0 or (params.spread == 0 and node.stop - node.start <= DIRECT_ROWS):
                _free_slot(state, sums, node)


@inner
def _follow(table, control, index, tree, sums, search):
    """Begin the phase that follows the one that is done."""
    params, state = control.params[0], control.state[0]
    phase, d, workers = state.phase, _I(table.features.size), _I(sums.partials.shape[0])
    if phase == BEGIN:
        following = _begin(params, state, index, tree, sums, search, d)
    elif phase == PARTITION:
        following = _after_partition(params, state, table, tree, sums, search, index.lefts)
    elif phase == MOVE:
        following = _begin_count(params, state, tree, search, d)
        for c in range(state.n_cuts):
            if params.spread != 0:
                sums.message[c] = search.cuts[c].n_left
    elif phase == COUNT:
        following = _I(SUM)
    elif phase == SUM:
        following = _receive(params, state, table, tree, sums, search)
        _begin_search(params, state, tree, search, _I(SEARCH))
    else:
        _end_search(params, state, tree, sums, search)
        following = _choose(params, state, tree, search, workers, d)
    if following >= COUNT_AND_SEARCH:  # or SEARCH, the last phase
        _allow_all(params, state, table, tree, search)
    state.phase = following


@inner
def _copy(totals, message):
    for i in range(_U(totals.size)):
        message[i] = totals[i]


@inner
def _finish(board, shared):
    if shared:
        work_queue.finish(board)


@kernel
def advance(table, gradients, control, index, tree, sums, search, scratch, totals, number):
    """Grow until numbers are to be added up over processes, and return how many; 0 when the tree is grown.

    ``totals`` are what the last ones have added up to; empty where none were asked for. ``number`` is −1, or
    that of a tree which another thread grows and this one helps with.
    """
    state, board = control.state[0], control.board
    worker = work_queue.join(board, number) if number >= 0 else _I(0)
    if worker == 0:
        _copy(totals, sums.message)
    while worker >= 0:
        if worker == 0:
            _follow(table, control, index, tree, sums, search)
            if state.phase < 0:
                return state.n_numbers if state.phase == SUM else _I(0)
            if state.n_tasks > 1:
                work_queue.post(board, state.phase, _I(0), state.n_tasks)
        shared, spins = worker > 0 or state.n_tasks > 1, 0
        task = work_queue.claim(board) if shared else state.n_tasks - 1
        while task >= 0 or (worker > 0 and task == -1):
            if task >= 0:
                do_task(table, gradients, control, index, tree, sums, search, scratch, task, worker)
                _finish(board, shared)
            else:
                spins += 1
                work_queue.rest(spins)
            task = work_queue.claim(board) if shared else _I(-1)
        if worker > 0:
            work_queue.leave(board)
            return _I(0)
        if shared:
            work_queue.wait(board)
    return _I(0)  # a helper that came too late
