"""What a process does between two sums over all processes, compiled: for `propriety.engine.spread`.

A *trip* splits some nodes: the rows of each are *partitioned* and *moved*, the child with fewer rows is
*counted*; when the numbers of all processes have been added up, histograms are *completed* and children
*searched*. Then the order of one process is followed as far as its splits are known, and the next nodes are
chosen. These are phases of several tasks each, which threads may share; what follows a phase is done by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.engine import team
from propriety.engine.compiling import inner, kernel, records
from propriety.engine.drawing import allow
from propriety.engine.fixed_point import BLOCK
from propriety.engine.grower import (
    NODES,
    SLOTS,
    make_children,
    may_split,
    move,
    new_root,
    partition,
)
from propriety.engine.handed import by_address
from propriety.engine.histogram import LOW, add_rows, add_weights, clear, subtract
from propriety.engine.layout import BINS, CELLS, CURVATURES, NODE, SET_WORDS, WEIGHTS, Binned
from propriety.engine.sizes import TASK_CELLS
from propriety.engine.splitting import COUNTED_ROWS, best_split
from propriety.engine.tasks import block

_BLOCKS = 64  # of a partition, at most
_CHUNK = 8  # features
_PARTITION, _MOVE, _COUNT, _COMPLETE, _WEIGH, _SEARCH = range(6)
_SUM, _DONE = -1, -2  # what is not a phase: numbers are to be added up; the tree is grown
#: What `advance` returns besides how many numbers are to be added up.
GROWN, HELP = 0, -1
#: What was sent: the root's histogram, those of nodes that are split, rows per bin of some nodes.
_ROOT, _SPLIT, _WEIGHED = range(3)
#: Words of ``Trip.counts``. ``_CELLS`` is how much there is to do in the phase at hand.
_KIND, _PHASE, _CUTS, _SEARCHED, _TO_WEIGH, _NUMBERS, _LAST, PLACED, _LEAVES, _CELLS = range(10)
_I, _U = np.int64, np.uint64

#: A node that is being split, as far as this process knows it.
CUT = records(
    [
        ("node", "i8"),
        ("start", "i8"),  # the rows that are counted
        ("stop", "i8"),
        ("n_left", "i8"),
        ("slot", "i8"),  # of the counted child's histogram; −1: none
        ("at", "i8"),  # where its sums begin among the numbers to be added up
        ("first_block", "i8"),  # of its partition, among those of all cuts
        ("n_blocks", "i8"),
        ("left_is_counted", "u1"),
        ("made", "u1"),  # whether it got its children
    ]
)


@by_address
class Trip(NamedTuple):
    """The nodes that are split at a time, and the tree that one process would have so far."""

    counts: NDArray[np.int64]
    cuts: NDArray[np.void]  # (ahead,) of CUT
    lefts: NDArray[np.int64]  # (ahead, blocks): left rows of each block of a partition
    searched: NDArray[np.int64]  # (2 · ahead,): nodes to be searched
    weighed: NDArray[np.int64]  # (2 · ahead,): nodes whose rows per bin are asked for
    numbers: NDArray[np.int64]  # to be added up over all processes, and then what they add up to
    offsets: NDArray[np.int64]  # (d + 1,): where a feature's bins begin among those of all features
    allowed: NDArray[np.uint8]  # (2 · ahead, d): features that the searched nodes may use
    candidates: NDArray[np.void]  # (2 · ahead, chunks) of NODE: best split per chunk of features
    candidate_sets: NDArray[np.uint32]  # (2 · ahead, chunks, SET_WORDS)
    order: NDArray[np.int64]  # the nodes of the tree, in the order of one process
    open: NDArray[np.uint8]  # by place in that order: whether it is a leaf


def new_trip(binned: Binned, n_nodes: int, ahead: int, workers: int) -> Trip:
    """Room for trips that split ``ahead`` nodes at a time."""
    d, nodes = len(binned.n_bins), 2 * ahead
    offsets = np.concatenate([[0], np.cumsum(binned.n_bins + 1)])
    chunks = 1 if workers == 1 else min(-(-d // _CHUNK), 4 * workers)
    return Trip(
        counts=np.zeros(10, dtype=np.int64),
        cuts=np.zeros(ahead, dtype=CUT),
        lefts=np.zeros((ahead, _BLOCKS), dtype=np.int64),
        searched=np.zeros(nodes, dtype=np.int64),
        weighed=np.zeros(nodes, dtype=np.int64),
        numbers=np.empty(ahead * (1 + 3 * int(offsets[-1])), dtype=np.int64),
        offsets=offsets,
        allowed=np.zeros((nodes, d), dtype=np.uint8),
        candidates=np.zeros((nodes, chunks), dtype=NODE),
        candidate_sets=np.zeros((nodes, chunks, SET_WORDS), dtype=np.uint32),
        order=np.zeros(n_nodes, dtype=np.int64),
        open=np.zeros(n_nodes, dtype=np.uint8),
    )


# --- numbers that are sent ------------------------------------------------------------------------


@inner
def _with_weights(signal, node):
    """Whether the histograms of a node's children hold weights from the start."""
    return signal.packed.size == 0 or (node.counted and node.packed)


@inner
def _kinds(signal, node):
    """How many numbers a bin has in a histogram of the form of this node's."""
    kinds = _I(1)
    if not node.packed:
        kinds += 1
    if _with_weights(signal, node):
        kinds += 1
    return kinds


@inner
def _skip(node, kind):
    """Where the numbers of a kind begin in a feature's cells."""
    if kind == 0:
        return _U(0)
    return _U(CURVATURES) if kind == 1 and not node.packed else _U(WEIGHTS)


@inner
def _put(trip, at, first, last, skip, histogram):
    """Put one kind of numbers of some features among those to be added up."""
    for f in range(first, last):
        size = _U(trip.offsets[f + 1] - trip.offsets[f])
        to, cell = _U(at + trip.offsets[f]), _U(f * CELLS) + skip
        for b in range(size):
            trip.numbers[to + b] = histogram[cell + b]


@inner
def _take(trip, at, first, last, skip, histogram):
    """Take what one kind of numbers of some features adds up to."""
    for f in range(first, last):
        size = _U(trip.offsets[f + 1] - trip.offsets[f])
        start, cell = _U(at + trip.offsets[f]), _U(f * CELLS) + skip
        for b in range(size):
            histogram[cell + b] = trip.numbers[start + b]


# --- tasks ----------------------------------------------------------------------------------------


@inner
def _cut_of(trip, k):
    """The cut that block number k of all partitions belongs to."""
    c = 0
    while k >= trip.cuts[c].first_block + trip.cuts[c].n_blocks:
        c += 1
    return c


@inner
def _count(binned, signal, work, trip, c, first, last, worker):
    """Sum the rows of this process in the child with fewer rows, for some features."""
    cut = trip.cuts[c]
    node, sums = work.nodes[cut.node], work.histograms[cut.slot]
    for f in range(first, last):
        clear(binned, f, node, sums)
    add_rows(binned.rows, signal, work.rows, cut.start, cut.stop, node, first, last, work, worker, sums)
    for kind in range(_kinds(signal, node)):
        _put(trip, cut.at + kind * trip.offsets[-1], first, last, _skip(node, kind), sums)


@inner
def _complete(binned, signal, work, trip, c, first, last):
    """Make the histograms of both children, of some features; small ones get both sums in one number."""
    cut = trip.cuts[c]
    if not cut.made or cut.slot < 0:
        return
    node = work.nodes[cut.node]
    counted_id = node.left if cut.left_is_counted else node.right
    counted, sibling = work.nodes[counted_id], work.nodes[node.left + node.right - counted_id]
    part, whole = work.histograms[counted.slot], work.histograms[sibling.slot]
    for kind in range(_kinds(signal, node)):
        _take(trip, cut.at + kind * trip.offsets[-1], first, last, _skip(node, kind), part)
    for f in range(first, last):
        cells, n_bins = slice(f * CELLS, (f + 1) * CELLS), binned.n_bins[f]
        subtract(n_bins, node.packed != 0, counted, sibling, part[cells], whole[cells])
    for i in range(2):
        child = counted if i == 0 else sibling
        if _to_pack(signal, child):
            histogram = part if i == 0 else whole
            for f in range(first, last):
                for b in range(_U(f * CELLS), _U(f * CELLS + binned.n_bins[f] + 1)):
                    histogram[b] = (histogram[b] << 32) + histogram[b + _U(CURVATURES)]


@inner
def _to_pack(signal, node):
    """Whether gradient and curvature of a node's bins fit in one number, and are not yet."""
    return signal.packed.size > 0 and not node.packed and node.weight <= BLOCK


@inner
def _weigh(binned, work, trip, i, first, last):
    """Count the rows per bin of this process."""
    node, size = work.nodes[trip.weighed[i]], trip.offsets[-1]
    histogram = work.histograms[node.slot]
    add_weights(binned.rows, work.rows, node.start, node.stop, first, last, histogram)
    _put(trip, i * size, first, last, _U(WEIGHTS), histogram)


@inner
def _search(binned, signal, rules, work, trip, i, chunk, first, last, worker):
    """Find the best split of a node among some features, if it may have one."""
    candidate = trip.candidates[i, chunk]
    if may_split(candidate, rules):
        histogram, sets = work.histograms[candidate.slot], trip.candidate_sets[i, chunk]
        room = work.rooms[worker]
        best_split(histogram, trip.allowed[i], binned, signal, rules, room, candidate, sets, first, last)


@inner
def _do(binned, signal, rules, work, trip, phase, k, worker):
    """One task of a phase."""
    if phase <= _MOVE:
        c = _cut_of(trip, k)
        cut = trip.cuts[c]
        if phase == _PARTITION:
            partition(binned, work, trip.lefts[c], cut.node, cut.n_blocks, k - cut.first_block, worker)
        else:
            node = work.nodes[cut.node]
            move(work, trip.lefts[c], node, node.start + cut.n_left, cut.n_blocks, k - cut.first_block)
        return
    n_chunks = trip.candidates.shape[1]
    i, chunk = k // n_chunks, k % n_chunks
    first, last = block(_I(0), _I(binned.n_bins.size), n_chunks, chunk)
    if phase == _COUNT:
        _count(binned, signal, work, trip, i, first, last, worker)
    elif phase == _COMPLETE:
        _complete(binned, signal, work, trip, i, first, last)
    elif phase == _WEIGH:
        _weigh(binned, work, trip, i, first, last)
    else:
        _search(binned, signal, rules, work, trip, i, chunk, first, last, worker)


# --- what follows a phase -------------------------------------------------------------------------


@inner
def _post(work, trip, phase, n_tasks, n_cells):
    """Offer the tasks of a phase; returns it."""
    team.post(work.board, phase, _I(0), n_tasks)
    trip.counts[_PHASE], trip.counts[_CELLS] = phase, n_cells
    return _I(phase)


@inner
def _new_slot(work):
    slot = work.slots[work.counts[SLOTS]]
    work.counts[SLOTS] += 1
    return slot


@inner
def _free(work, slot):
    work.counts[SLOTS] -= 1
    work.slots[work.counts[SLOTS]] = slot


@inner
def _choose(binned, rules, work, trip):
    """Follow the order of one process as far as splits are known, then choose those to be made next."""
    while trip.counts[_LEAVES] < rules.max_leaves:
        best, place = 0.0, _I(-1)
        for i in range(trip.counts[PLACED]):
            if trip.open[i] and work.nodes[trip.order[i]].gain > best:
                best, place = work.nodes[trip.order[i]].gain, i
        if place < 0:
            break
        node = work.nodes[trip.order[place]]
        if node.left < 0:
            return _expand(binned, rules, work, trip, trip.order[place])
        trip.open[place] = 0
        _append(trip, node.left)
        _append(trip, node.right)
        trip.counts[_LEAVES] -= 1
    return _I(_DONE)


@inner
def _append(trip, node_id):
    """Take a node into the tree of one process, as a leaf."""
    place = trip.counts[PLACED]
    trip.order[place], trip.open[place] = node_id, 1
    trip.counts[PLACED] = place + 1
    trip.counts[_LEAVES] += 1


@inner
def _expand(binned, rules, work, trip, chosen):
    """Choose the nodes of a trip: the one whose turn it is, and those that may come next."""
    used, left = work.counts[NODES], rules.max_leaves - trip.counts[_LEAVES]
    # Those that are dropped must leave room for those that the tree may still need.
    spare = (work.nodes.size - used) // 2 - (left - 1)
    most = max(1, min(trip.cuts.size, left, spare))
    count, n_blocks, rows = 0, 0, 0
    while chosen >= 0 and count < most:
        node, cut = work.nodes[chosen], trip.cuts[count]
        size = node.stop - node.start
        cut.node, cut.slot, cut.first_block, cut.made = chosen, -1, n_blocks, 0
        cut.n_blocks = 1
        if work.rooms.size > 1:
            cut.n_blocks = max(1, min(size * binned.n_bins.size // TASK_CELLS, _BLOCKS, 4 * work.rooms.size))
        n_blocks += cut.n_blocks
        rows += size
        count += 1
        chosen = _next_best(work, trip, count)
    trip.counts[_CUTS], trip.counts[_LAST] = count, left == 1
    return _post(work, trip, _I(_PARTITION), n_blocks, rows * binned.n_bins.size)


@inner
def _next_best(work, trip, count):
    """The known node of most gain that is not among the first cuts; −1: none."""
    best, found = 0.0, _I(-1)
    for i in range(work.counts[NODES]):
        if work.nodes[i].left < 0 and work.nodes[i].gain > best:
            taken = False
            for c in range(count):
                taken = taken or trip.cuts[c].node == i
            if not taken:
                best, found = work.nodes[i].gain, _I(i)
    return found


@inner
def _after_partition(work, trip):
    """Know how many rows go left, and which child has fewer; both are moved."""
    for c in range(trip.counts[_CUTS]):
        cut = trip.cuts[c]
        node = work.nodes[cut.node]
        cut.n_left = 0
        for k in range(cut.n_blocks):
            cut.n_left += trip.lefts[c, k]
        # Which child has fewer rows is known where they were counted; else the curvature tells it, mostly.
        if node.counted:
            cut.left_is_counted = 2 * node.left_weight <= node.weight
        else:
            cut.left_is_counted = 2 * node.left_curvature <= node.curvature
        middle = node.start + cut.n_left
        cut.start = node.start if cut.left_is_counted else middle
        cut.stop = middle if cut.left_is_counted else node.stop
    return _post(work, trip, _I(_MOVE), team.tasks(work.board), trip.counts[_CELLS])


@inner
def _after_move(binned, signal, work, trip):
    """Count one child of each node; after the last splits of a tree nobody asks for those of the children."""
    n_cuts = trip.counts[_CUTS]
    at, rows = n_cuts, 0
    trip.counts[_KIND] = _SPLIT
    for c in range(n_cuts):
        cut = trip.cuts[c]
        trip.numbers[c] = cut.n_left
        if not trip.counts[_LAST]:
            cut.slot, cut.at = _new_slot(work), at
            at += trip.offsets[-1] * _kinds(signal, work.nodes[cut.node])
            rows += cut.stop - cut.start
    trip.counts[_NUMBERS] = at
    if trip.counts[_LAST]:
        return _I(_SUM)
    tasks = n_cuts * trip.candidates.shape[1]
    return _post(work, trip, _I(_COUNT), tasks, rows * binned.n_bins.size)


@inner
def _receive(binned, signal, rules, work, trip, totals):
    """Go on with what the numbers of all processes add up to."""
    for i in range(_U(totals.size)):
        trip.numbers[i] = totals[i]
    d = _I(binned.n_bins.size)
    if trip.counts[_KIND] == _ROOT:
        _receive_root(signal, work, trip, d)
        return _begin_search(binned, rules, work, trip)
    if trip.counts[_KIND] == _WEIGHED:
        for i in range(trip.counts[_TO_WEIGH]):
            node = work.nodes[trip.weighed[i]]
            _take(trip, i * trip.offsets[-1], _I(0), d, _U(WEIGHTS), work.histograms[node.slot])
            node.counted = 1
        return _begin_search(binned, rules, work, trip)
    return _receive_splits(binned, signal, rules, work, trip)


@inner
def _receive_root(signal, work, trip, d):
    """The root's sums are those of any feature's bins."""
    root, histogram = work.nodes[0], work.histograms[work.nodes[0].slot]
    for kind in range(_kinds(signal, root)):
        _take(trip, kind * trip.offsets[-1], _I(0), d, _skip(root, kind), histogram)
    if signal.packed.size == 0:
        root.weight = 0
    for b in range(trip.offsets[1]):
        root.gradient += histogram[b] >> 32 if root.packed else histogram[b]
        root.curvature += histogram[b] & LOW if root.packed else histogram[b + CURVATURES]
        if signal.packed.size == 0:
            root.weight += histogram[b + WEIGHTS]
    trip.searched[0], trip.counts[_SEARCHED] = 0, 1


@inner
def _receive_splits(binned, signal, rules, work, trip):
    """Make children; a node whose split leaves too few rows on a side stays a leaf, and is weighed."""
    n_poor, n_fresh = 0, 0
    for c in range(trip.counts[_CUTS]):
        cut, all_left = trip.cuts[c], trip.numbers[c]
        node = work.nodes[cut.node]
        if not node.counted and min(all_left, node.weight - all_left) < rules.min_weight:
            trip.weighed[n_poor] = cut.node
            n_poor += 1
            if cut.slot >= 0:
                _free(work, cut.slot)
            continue
        make_children(signal, rules, work, cut.node, cut.n_left, all_left)
        cut.made = 1
        for child in (node.left, node.right):
            work.nodes[child].packed = node.packed
            work.nodes[child].counted = _with_weights(signal, node)
        if cut.slot >= 0:
            counted = node.left if cut.left_is_counted else node.right
            work.nodes[counted].slot = cut.slot
            work.nodes[node.left + node.right - counted].slot = node.slot
            node.slot = -1
            n_fresh += 1
    trip.counts[_TO_WEIGH] = n_poor
    cells = n_fresh * binned.n_bins.size * BINS
    return _post(work, trip, _I(_COMPLETE), trip.counts[_CUTS] * trip.candidates.shape[1], cells)


@inner
def _after_complete(binned, signal, rules, work, trip):
    """Search the children, and nodes that need another split; count rows per bin where that needs them."""
    n_poor, n_searched, categorical = trip.counts[_TO_WEIGH], 0, False
    for f in range(binned.n_bins.size):
        categorical = categorical or binned.categorical[f] != 0
    for i in range(n_poor):
        trip.searched[n_searched] = trip.weighed[i]
        n_searched += 1
    for c in range(trip.counts[_CUTS]):
        cut = trip.cuts[c]
        if cut.made and cut.slot >= 0:
            for child in (work.nodes[cut.node].left, work.nodes[cut.node].right):
                node = work.nodes[child]
                if _to_pack(signal, node):
                    node.packed = 1
                trip.searched[n_searched] = child
                n_searched += 1
                # Splits by categories need numbers of rows.
                if categorical and node.weight <= COUNTED_ROWS and not node.counted:
                    trip.weighed[trip.counts[_TO_WEIGH]] = child
                    trip.counts[_TO_WEIGH] += 1
    trip.counts[_SEARCHED] = n_searched
    n_weighed = trip.counts[_TO_WEIGH]
    if n_weighed == 0:
        return _begin_search(binned, rules, work, trip)
    trip.counts[_KIND], trip.counts[_NUMBERS] = _WEIGHED, n_weighed * trip.offsets[-1]
    rows = 0
    for i in range(n_weighed):
        rows += work.nodes[trip.weighed[i]].stop - work.nodes[trip.weighed[i]].start
    return _post(work, trip, _I(_WEIGH), n_weighed * trip.candidates.shape[1], rows * binned.n_bins.size)


@inner
def _begin_search(binned, rules, work, trip):
    """Hand the nodes to be searched to every chunk of features."""
    n, n_chunks = trip.counts[_SEARCHED], trip.candidates.shape[1]
    for i in range(n):
        node_id = trip.searched[i]
        allow(rules, work.path_groups[node_id], work.nodes[node_id].key, work.numbers[0], trip.allowed[i])
        for k in range(n_chunks):
            trip.candidates[i, k] = work.nodes[node_id]
    return _post(work, trip, _I(_SEARCH), n * n_chunks, n * binned.n_bins.size * BINS)


@inner
def _end_search(work, trip):
    """Write down the best of the splits found per chunk; what cannot be split needs no histogram."""
    for i in range(trip.counts[_SEARCHED]):
        best, node_id = 0, trip.searched[i]
        for k in range(1, trip.candidates.shape[1]):
            if trip.candidates[i, k].gain > trip.candidates[i, best].gain:
                best = k
        work.nodes[node_id] = trip.candidates[i, best]
        for word in range(SET_WORDS):
            work.sets[node_id, word] = trip.candidate_sets[i, best, word]
        if work.nodes[node_id].gain <= 0.0:
            _free(work, work.nodes[node_id].slot)
            work.nodes[node_id].slot = -1


@inner
def _follow(binned, signal, rules, work, trip):
    """The phase that follows the one that is done."""
    phase = trip.counts[_PHASE]
    if phase == _PARTITION:
        return _after_partition(work, trip)
    if phase == _MOVE:
        return _after_move(binned, signal, work, trip)
    if phase == _COMPLETE:
        return _after_complete(binned, signal, rules, work, trip)
    if phase == _SEARCH:
        _end_search(work, trip)
        return _choose(binned, rules, work, trip)
    return _I(_SUM)


# --- from Python ----------------------------------------------------------------------------------


@kernel
def begin(binned, signal, work, trip, n_rows, all_rows, every):
    """Make the root, to be counted."""
    if every:
        for i in range(n_rows):
            work.rows[i] = i
    new_root(signal, work, n_rows, all_rows)
    cut = trip.cuts[0]
    cut.node, cut.start, cut.stop, cut.slot, cut.at = 0, 0, n_rows, 0, 0
    trip.counts[:] = 0
    _append(trip, _I(0))
    trip.counts[_KIND], trip.counts[_CUTS] = _ROOT, 1
    trip.counts[_NUMBERS] = trip.offsets[-1] * _kinds(signal, work.nodes[0])
    _post(work, trip, _I(_COUNT), trip.candidates.shape[1], n_rows * binned.n_bins.size)


@kernel
def advance(binned, signal, rules, work, trip, totals, worker):
    """Grow until numbers are to be added up, and return how many; or `GROWN`, or `HELP` for more threads.

    ``totals`` are what the last ones have added up to; empty where none were asked for, and for helpers.
    """
    new = worker == 0 and totals.size > 0
    phase = trip.counts[_PHASE]
    if new:
        phase = _receive(binned, signal, rules, work, trip, totals)
    while True:
        if new and phase < 0:
            return trip.counts[_NUMBERS] if phase == _SUM else _I(GROWN)
        if new and work.rooms.size > 1 and trip.counts[_CELLS] > 2 * TASK_CELLS:
            return _I(HELP)
        task = team.claim(work.board)
        new = False
        if task >= 0:
            _do(binned, signal, rules, work, trip, work.board[team.PHASE], task, worker)
            team.finish(work.board)
        elif worker > 0:
            return _I(GROWN)
        else:
            team.wait(work.board)
            phase = _follow(binned, signal, rules, work, trip)
            new = True
