"""Growing a tree best-first.

A split has three phases: *partition* decides the side of every row, block by block; *count* moves the
rows and, if they are many, sums the smaller child's histogram; *search* sums it for the others, derives the
sibling's by subtraction and finds both children's best splits, chunk of features by chunk. A child of few
rows is searched while it is counted, and has no histogram. The threads of a :mod:`~propriety.engine.team`
share the blocks and chunks. All sums are integers, so the tree does not depend on who did what.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety import memory, parallel
from propriety.engine import aside, team
from propriety.engine.addresses import caller
from propriety.engine.bundles import NO_BUNDLES, bundle
from propriety.engine.compiling import inner, kernel
from propriety.engine.drawing import allow, draw_rows, mix
from propriety.engine.fixed_point import BLOCK
from propriety.engine.harvest import NO_HARVEST, NO_TURN, give_values
from propriety.engine.histogram import LOW, add_weights, clear, count_rows, largest_bin
from propriety.engine.layout import (
    BINS,
    CELLS,
    CURVATURES,
    NODE,
    ROOM,
    SET_WORDS,
    WEIGHTS,
    Binned,
    Harvest,
    Rules,
    Signal,
    Turn,
    Workspace,
)
from propriety.engine.predictor import NO_SETS, TreeNodes, copy_of
from propriety.engine.searching import Addresses, addresses, count, search
from propriety.engine.sizes import DIRECT_ROWS, features_at_once, n_histograms_of, n_threads
from propriety.engine.splitting import COUNTED_ROWS, bound_children
from propriety.engine.tasks import (
    BUNDLES,
    FEATURES,
    MANY_ROWS,
    MAX_BLOCKS,
    block,
    n_blocks_of,
    searched,
    small_child,
    way_to_count,
)

_CHUNK = 4  # features, at least
_SELDOM = 16  # times the least rows of a leaf: of so many, a split seldom leaves too few
NODES, SLOTS, LEAVES = range(3)
_PARTITION, _COUNT, _SEARCH = range(3)
#: Literal numbers are wrapped in this where they are arguments, or Numba compiles the callee anew.
_I = np.int64
_search = caller(search)


# --- the three phases -----------------------------------------------------------------------------


@inner
def may_split(node, rules):
    """Whether a node may have children."""
    return node.depth < rules.max_depth and node.weight >= 2 * rules.min_weight


@inner
def _sides(node, bins_left, missing_bin, side):
    """For each bin, 1 if it goes left."""
    for b in range(BINS):
        if node.by_set:
            side[b] = (bins_left[b >> 5] >> np.uint32(b & 31)) & np.uint32(1)
        elif b == missing_bin:
            side[b] = node.missing_left
        else:
            side[b] = b <= node.bin


@inner
def partition(binned, work, lefts, node_id, n_blocks, k, worker):
    """Put a block's left rows at the front of its scratch space, the right ones, reversed, at its back."""
    node = work.nodes[node_id]
    start, stop = block(node.start, node.stop, n_blocks, k)
    column, side = binned.columns[node.feature], work.rooms[worker].sides
    _sides(node, work.sets[node_id], binned.n_bins[node.feature], side)
    left, last = np.uint64(start), np.uint64(stop - 1)
    for i in range(np.uint64(start), np.uint64(stop)):
        row = work.rows[i]
        goes_left = side[column[row]]
        # One store, whose place is chosen: a branch would be guessed wrongly, two stores take longer.
        work.scratch[left if goes_left else last - (i - left)] = row
        left += np.uint64(goes_left)
    lefts[k] = np.int64(left) - start


@inner
def _count(count_at, binned, signal, work, node_id, itself, n_blocks, k, worker):
    """Move a block's rows to their final places, in their old order, and count the smaller child's, if many.

    Others are counted in the search. Of the root, the node itself is counted and nothing moved.
    """
    node = work.nodes[node_id]
    start, stop = block(node.start, node.stop, n_blocks, k)
    counted_id, source, first, last = node_id, work.rows, start, stop
    if not itself:
        n_left = work.lefts[k]
        move(work, work.lefts, node, work.nodes[node.right].start, n_blocks, k)
        counted_id, source = small_child(work, node_id), work.scratch
        first, last = (start, start + n_left) if counted_id == node.left else (start + n_left, stop)
    counted, rows, width, bundles = work.nodes[counted_id], binned.rows, binned.n_bins.size, work.bundles
    way = way_to_count(work, counted, itself, n_blocks)
    if way == FEATURES or counted.slot < 0:
        return
    target = work.partials[worker]
    if way == BUNDLES:
        rows, width = bundles.rows, bundles.sizes.size
    elif n_blocks == 1:
        target, way = work.histograms[0], FEATURES
    count(count_at, (rows, signal, source, first, last, counted, _I(0), width, work, worker, target))
    work.dirty[worker] = way


@inner
def move(work, lefts, node, middle, n_blocks, k):
    """Move the rows of block number k to their final places, those on the right from ``middle`` on."""
    start, stop = block(node.start, node.stop, n_blocks, k)
    before = np.int64(0)
    for b in range(k):
        before += lefts[b]
    n_left = lefts[k]
    to_left = np.uint64(node.start + before)
    to_right = np.uint64(middle + (start - node.start) - before)
    for i in range(np.uint64(n_left)):
        work.rows[to_left + i] = work.scratch[np.uint64(start) + i]
    for i in range(np.uint64(stop - start - n_left)):
        work.rows[to_right + i] = work.scratch[np.uint64(stop - 1) - i]


# --- decisions ------------------------------------------------------------------------------------


@inner
def _select(rules, work):
    """The leaf whose split gains most; −1 when the tree is complete."""
    best, chosen = 0.0, -1
    if work.counts[LEAVES] < rules.max_leaves:
        for i in range(work.counts[NODES]):
            node = work.nodes[i]
            if node.left < 0 and node.gain > best:
                best, chosen = node.gain, i
    return chosen


@inner
def _new_node(signal, work, node_id, parent, start, stop, gradient, curvature, weight, depth, key):
    node = work.nodes[node_id]
    node.start, node.stop, node.depth, node.key = start, stop, depth, key
    node.others, node.others_stop = 0, 0
    node.gradient, node.curvature, node.weight = gradient, curvature, weight
    node.lower, node.upper, node.gain = -np.inf, np.inf, -1.0
    node.left, node.right, node.feature, node.slot = -1, -1, -1, -1
    node.by_set, node.missing_left, node.missing_seen, node.counted = 0, 0, 0, 0
    node.packed, node.parent = signal.packed.size > 0 and weight <= BLOCK, parent
    work.counts[NODES] = node_id + 1
    return node


@inner
def new_root(signal, work, n_rows, all_rows):
    """Make the root: of so many rows, here and in all processes."""
    zero = _I(0)
    root = _new_node(signal, work, zero, _I(-1), zero, n_rows, zero, zero, all_rows, zero, np.uint64(0))
    root.slot, root.counted = 0, signal.packed.size == 0 or all_rows <= COUNTED_ROWS
    work.counts[SLOTS], work.counts[LEAVES] = 1, 1
    for slot in range(work.slots.size):
        work.slots[slot] = slot
    work.path_groups[0] = 1


@inner
def make_children(signal, rules, work, node_id, n_left, all_left):
    """Make the children of a node, the left one of so many rows, here and in all processes."""
    node = work.nodes[node_id]
    left_id = work.counts[NODES]
    middle, depth = node.start + n_left, node.depth + 1
    g, h = node.left_gradient, node.left_curvature
    w = all_left if signal.packed.size > 0 else node.left_weight
    key = mix(node.key + np.uint64(1))
    a = _new_node(signal, work, left_id, node_id, node.start, middle, g, h, w, depth, key)
    g, h, w = node.gradient - g, node.curvature - h, node.weight - w
    b = _new_node(signal, work, left_id + 1, node_id, middle, node.stop, g, h, w, depth, ~key)
    node.left, node.right = left_id, left_id + 1
    work.counts[LEAVES] += 1
    if not node.missing_seen and not node.by_set:
        node.missing_left = a.weight >= b.weight
    for k in range(rules.groups.shape[0]):
        joint = work.path_groups[node_id, k] != 0 and rules.groups[k, node.feature] != 0
        work.path_groups[left_id, k] = joint
        work.path_groups[left_id + 1, k] = joint
    bound_children(signal, rules, node, a, b)


@inner
def _goes_on(rules, work, node):
    """Whether a child of a node may be split."""
    a, b = work.nodes[node.left], work.nodes[node.right]
    return work.counts[LEAVES] < rules.max_leaves and (may_split(a, rules) or may_split(b, rules))


@inner
def _counts_rows(binned, signal, rules, node):
    """Whether rows are counted per bin: for categories, and where many cuts would leave too few on a side.

    Those of a node without a histogram are, since they could not be counted later.
    """
    rows = node.stop - node.start
    seldom = binned.levels is None and rows > max(_SELDOM * rules.min_weight, DIRECT_ROWS)
    return signal.packed.size == 0 or (rows <= COUNTED_ROWS and not seldom)


@inner
def _give_slots(binned, signal, rules, work, node_id):
    """Give the smaller child a free histogram and the larger one its parent's.

    A child of few rows needs none, and neither does where no split will follow; then the parent's is free.
    """
    node, small_id = work.nodes[node_id], small_child(work, node_id)
    small, large = work.nodes[small_id], work.nodes[node.left + node.right - small_id]
    small.counted = _counts_rows(binned, signal, rules, small)
    few = large.stop - large.start <= DIRECT_ROWS
    large.counted = few or (small.counted and node.counted)
    if few or not _goes_on(rules, work, node):
        free_slot(work, node)
        return
    large.slot, node.slot = node.slot, -1
    if small.stop - small.start > DIRECT_ROWS:
        small.slot = work.slots[work.counts[SLOTS]]
        work.counts[SLOTS] += 1


@inner
def free_slot(work, node):
    """Leave a node's histogram to others."""
    if node.slot >= 0:
        work.counts[SLOTS] -= 1
        work.slots[work.counts[SLOTS]] = node.slot
        node.slot = -1


# --- carrying out a phase -------------------------------------------------------------------------


@inner
def _do(parts, binned, signal, rules, work, phase, argument, task, n_tasks, worker):
    """One task of a phase; the argument is a node and whether it, or its children, are meant."""
    node_id, itself = argument >> 1, argument & 1
    if phase == _PARTITION:
        partition(binned, work, work.lefts, node_id, n_tasks, task, worker)
    elif phase == _COUNT:
        _count(parts.count_rows, binned, signal, work, node_id, itself, n_tasks, task, worker)
    else:
        found = parts.count_rows, binned, signal, rules, work, node_id, itself, task, n_tasks, worker
        _search(parts.search, found)


@inner
def _work_off(parts, binned, signal, rules, work, worker, phase, argument, n_tasks):
    """Carry out a phase with whoever is there to help, or (worker > 0) help until the board is closed."""
    spins, shared = 0, n_tasks != 1
    if worker == 0 and shared:
        team.post(work.board, phase, argument, n_tasks)
    while True:
        task = team.claim(work.board) if shared else _I(0)
        if task == -2 or (task < 0 and worker == 0):
            break
        if task < 0:
            spins += 1
            team.rest(spins)
            continue
        if worker > 0:
            phase, argument = work.board[team.PHASE], work.board[team.ARGUMENT]
            n_tasks = team.tasks(work.board)
        _do(parts, binned, signal, rules, work, phase, argument, task, n_tasks, worker)
        if not shared:
            break
        team.finish(work.board)
    if worker == 0 and shared:
        team.wait(work.board)


# --- what follows a phase -------------------------------------------------------------------------


@inner
def _begin_search(rules, work, node_id, itself):
    """Hand the nodes to be searched to every chunk of features; returns the number of chunks."""
    n_chunks = _I(work.candidates.shape[1] if work.partials.shape[0] > 1 else 1)
    for i in range(2):
        meant = searched(work, node_id, itself, i)
        if meant >= 0:
            node, allowed = work.nodes[meant], work.allowed[i]
            allowed[:] = 0
            if may_split(node, rules):
                allow(rules, work.path_groups[meant], node.key, work.numbers[i], allowed)
            for k in range(n_chunks):
                work.candidates[i, k] = node
    return n_chunks


@inner
def _end_search(work, node_id, itself):
    """Write down the best of the splits that were found per chunk."""
    for worker in range(work.dirty.size):
        if work.dirty[worker] == BUNDLES:
            work.partials[worker, : work.bundles.sizes.size * CELLS] = 0
        work.dirty[worker] = 0
    for i in range(2):
        meant = searched(work, node_id, itself, i)
        if meant >= 0:
            best = 0
            for k in range(1, work.candidates.shape[1] if work.partials.shape[0] > 1 else 1):
                if work.candidates[i, k].gain > work.candidates[i, best].gain:
                    best = k
            work.nodes[meant] = work.candidates[i, best]
            for word in range(SET_WORDS):
                work.sets[meant, word] = work.candidate_sets[i, best, word]


@inner
def _make_split(binned, signal, rules, work, node_id, n_blocks):
    """Make the children of a partitioned node, unless one would have too few rows: then return False."""
    node = work.nodes[node_id]
    n_left = _I(0)
    for k in range(n_blocks):
        n_left += work.lefts[k]
    if not node.counted and min(n_left, node.stop - node.start - n_left) < rules.min_weight:
        d = binned.n_bins.size
        add_weights(binned.rows, work.rows, node.start, node.stop, _I(0), d, work.histograms[node.slot])
        node.counted = 1
        return False
    make_children(signal, rules, work, node_id, n_left, n_left)
    _give_slots(binned, signal, rules, work, node_id)
    return True


@inner
def _follow(binned, signal, rules, work, phase, argument):
    """The phase that follows one that is done, its argument and its number of tasks; −1: the tree is grown.

    A split is partitioned, counted and searched, and then the next one chosen. One that turns out to leave
    too few rows on a side sends its node back to the search.
    """
    node_id, itself, d = argument >> 1, argument & 1, binned.n_bins.size
    node = work.nodes[node_id]
    if phase == _PARTITION:
        n_blocks = n_blocks_of(work, node.stop - node.start, d)
        if _make_split(binned, signal, rules, work, node_id, n_blocks):
            return _I(_COUNT), argument, n_blocks
        return _I(_SEARCH), argument | 1, _begin_search(rules, work, node_id, _I(1))
    if phase == _COUNT:
        if itself:
            _sum_root(binned, signal, work, node)
        if itself or _goes_on(rules, work, node):  # a root that may not split too, to clear partial sums
            return _I(_SEARCH), argument, _begin_search(rules, work, node_id, itself)
    elif phase == _SEARCH:
        _end_search(work, node_id, itself)
    chosen = _select(rules, work)
    if chosen < 0:
        return _I(-1), _I(0), _I(0)
    node = work.nodes[chosen]
    return _I(_PARTITION), 2 * chosen, n_blocks_of(work, node.stop - node.start, d)


@inner
def _sum_root(binned, signal, work, root):
    """The root's sums are those of any feature's bins."""
    root.weight = root.stop if signal.packed.size > 0 else 0
    for worker in range(-1, work.dirty.size):
        if worker >= 0 and not work.dirty[worker]:
            continue
        cells = work.partials[worker] if worker >= 0 else work.histograms[0]
        bundled = worker >= 0 and work.dirty[worker] == BUNDLES
        for b in range(work.bundles.sizes[0] if bundled else binned.n_bins[0] + 1):
            root.gradient += cells[b] >> 32 if root.packed else cells[b]
            root.curvature += cells[b] & LOW if root.packed else cells[b + CURVATURES]
            if signal.packed.size == 0:
                root.weight += cells[b + WEIGHTS]


@inner
def _let_others_follow(binned, work, n_rows):
    """Send the rows from which the tree was not grown, those from ``n_rows`` on, down its splits."""
    work.nodes[0].others, work.nodes[0].others_stop = n_rows, work.rows.size
    for i in range(work.counts[NODES]):
        node = work.nodes[i]
        if node.left >= 0:
            grown = node.start, node.stop
            node.start, node.stop = node.others, node.others_stop
            partition(binned, work, work.lefts, i, _I(1), _I(0), _I(0))
            middle = node.others + work.lefts[0]
            move(work, work.lefts, node, middle, _I(1), _I(0))
            a, b = work.nodes[node.left], work.nodes[node.right]
            a.others, a.others_stop, b.others, b.others_stop = node.others, middle, middle, node.others_stop
            node.start, node.stop = grown


@inner
def _begin(binned, signal, work, harvest, turn, n_rows, every):
    """Draw the rows of a tree, if that is asked for, and make its root; returns their number."""
    if harvest.wanted:
        n_rows = draw_rows(harvest, turn.salt, work.rows)
    elif every:
        for i in range(n_rows):
            work.rows[i] = i
    new_root(signal, work, n_rows, n_rows)
    for f in range(binned.n_bins.size):
        clear(binned, f, work.nodes[0], work.histograms[0])
    return n_rows


@kernel
def grow_tree(parts, binned, signal, rules, work, harvest, turn, n_rows, every):
    """Grow a tree over the first ``n_rows`` of the workspace's rows or, if ``every``, over all from 0 on.

    For a harvest, rows are drawn first, and values, scores and nodes follow. Without rows, but −number of a
    tree: help another thread that grows it. The phases are carried out in one place, for both, because the
    compiler works through all that they do once for each place that calls them.
    """
    zero = _I(0)
    worker, phase, argument, n_tasks = zero, _I(_COUNT), _I(1), zero
    if n_rows > 0:
        n_rows = _begin(binned, signal, work, harvest, turn, n_rows, every)
        n_tasks = n_blocks_of(work, n_rows, binned.n_bins.size)
    else:
        worker = team.join(work.board, -n_rows)
        if worker < 0:
            return
    while phase >= 0:
        _work_off(parts, binned, signal, rules, work, worker, phase, argument, n_tasks)
        if worker > 0:
            team.leave(work.board)
            return
        phase, argument, n_tasks = _follow(binned, signal, rules, work, phase, argument)
    if harvest.wanted:
        if harvest.every_row and n_rows < work.rows.size:
            _let_others_follow(binned, work, n_rows)
        give_values(harvest, turn, signal, work, work.counts[NODES])


class Grower:
    """Grows trees over one binned table, reusing one workspace.

    Parameters
    ----------
    binned : Binned
    max_leaves : int
    n_groups : int
        Number of interaction groups.
    n_jobs : int
    """

    def __init__(
        self, binned: Binned, max_leaves: int, n_groups: int, n_jobs: int, *, few_rows: bool = False
    ) -> None:
        n, d = binned.rows.shape
        self.binned = binned
        self._addresses: Addresses | None = None
        self.n_workers = n_threads(binned, n_jobs)
        # Each leaf has a row. Leaves of more than a few rows keep a histogram, one more is being searched.
        if few_rows:  # of many more, which others have; histograms are made when they are needed
            n_histograms = 0
        else:
            max_leaves = min(max_leaves, n)
            n_histograms = n_histograms_of(n, max_leaves)
        workers, n_nodes = self.n_workers, 2 * max_leaves - 1
        n_chunks = min(-(-d // _CHUNK), workers)
        bundles = NO_BUNDLES if few_rows else bundle(binned, workers, MANY_ROWS)
        self.work = Workspace(
            rows=memory.empty(n, np.uint32),
            scratch=memory.empty(n, np.uint32),
            nodes=np.zeros(n_nodes, dtype=NODE),
            sets=np.zeros((n_nodes, SET_WORDS), dtype=np.uint32),
            path_groups=np.ones((n_nodes, n_groups), dtype=np.uint8),
            histograms=np.zeros((n_histograms, d * CELLS), dtype=np.int64),
            slots=np.zeros(n_histograms, dtype=np.int64),
            partials=np.zeros(
                (workers, d * CELLS if workers > 1 or len(bundles.rows) else 0), dtype=np.int64
            ),
            dirty=np.zeros(workers, dtype=np.uint8),
            counts=np.zeros(3, dtype=np.int64),
            lefts=np.zeros(MAX_BLOCKS, dtype=np.int64),
            allowed=np.zeros((2, d), dtype=np.uint8),
            numbers=np.zeros((2, d), dtype=np.uint64),
            candidates=np.zeros((2, n_chunks), dtype=NODE),
            candidate_sets=np.zeros((2, n_chunks, SET_WORDS), dtype=np.uint32),
            board=team.new_board(),
            block=n if n > BLOCK and largest_bin(binned, n_jobs) <= BLOCK else BLOCK,
            block_cells=np.zeros((workers, d * CELLS if n > BLOCK or few_rows else 0), dtype=np.int64),
            rooms=np.zeros(workers, dtype=ROOM),
            at_once=features_at_once(),
            bundles=bundles,
        )

    def grow(self, signal: Signal, rules: Rules, rows: NDArray[np.uint32] | None = None) -> NDArray[np.void]:
        """Grow one tree over ``rows`` (default: all) and return its nodes, a view of the workspace.

        The rows of a leaf are the set ``work.rows[node.start:node.stop]``; nobody may rely on their order.
        """
        work = self.work
        n_rows = len(work.rows) if rows is None else len(rows)
        if rows is not None:
            work.rows[:n_rows] = rows
        self._call(signal, rules, NO_HARVEST, NO_TURN, n_rows, rows is None)
        return work.nodes[: work.counts[NODES]]

    def harvest(self, signal: Signal, rules: Rules, harvest: Harvest, turn: Turn) -> TreeNodes:
        """Draw the rows of a tree, grow it, add its values to the scores and return it, in one call."""
        self._call(signal, rules, harvest, turn, len(self.work.rows), False)
        nodes = copy_of(harvest.nodes[: self.work.counts[NODES]])
        if self.binned.levels is None:
            return TreeNodes(nodes, NO_SETS)
        return TreeNodes(nodes, self.work.sets[np.flatnonzero(nodes["set"] >= 0)])

    def _call(
        self, signal: Signal, rules: Rules, harvest: Harvest, turn: Turn, n_rows: int, every: bool
    ) -> None:
        if self._addresses is None:
            for part in (grow_tree, count_rows, search):
                aside.wait(part)
            self._addresses = addresses(self.binned, signal, rules, self.work)
        tree = self._addresses, self.binned, signal, rules, self.work, harvest, turn
        if self.n_workers == 1:
            grow_tree(*tree, n_rows, every)
            return

        number = team.open_board(self.work.board)
        try:
            with parallel.helped_by(lambda: grow_tree(*tree, -number, False), self.n_workers - 1):
                grow_tree(*tree, n_rows, every)
        finally:
            team.close_board(self.work.board)  # or the helpers would wait for ever
