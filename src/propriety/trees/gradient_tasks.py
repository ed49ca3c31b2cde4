"""What threads do for the gradient grower: the tasks of its phases, each a block of rows or some features."""

from __future__ import annotations

import numpy as np

from propriety.trees.binned import BINS, CELLS, CURVATURES, WEIGHTS
from propriety.trees.gradient_histogram import LOW, add_part, clear, count_rows, count_weights, pack, subtract
from propriety.trees.gradient_splitter import best_split, best_split_of_rows
from propriety.trees.jit import inner

_I, _U = np.int64, np.uint64
#: Phases; what is not one: numbers are to be added up, the tree is grown.
BEGIN, PARTITION, MOVE, COUNT, COUNT_AND_SEARCH, SEARCH = range(6)
SUM, GROWN = -1, -2
#: Kinds of cuts.
ROOT, SPLIT, WEIGH = range(3)
#: Rows of a node whose children have weights, unless splits seldom leave too little.
COUNTED_ROWS = 4096


@inner
def _block(start, stop, n_blocks, k):
    """Where block number k of several begins and ends."""
    size = -(-(stop - start) // n_blocks)
    return min(start + k * size, stop), min(start + (k + 1) * size, stop)


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
def _partition(column, side, rows, spare, start, stop):
    """Put left rows at the front of a block's part of the spare index, right ones, reversed, at its back."""
    left, last = _U(start), _U(stop - 1)
    for i in range(_U(start), _U(stop)):
        row = rows[i]
        goes_left = side[column[row]]
        # One store, whose place is chosen: a branch would be guessed wrongly, two stores take longer.
        spare[left if goes_left else last - (i - left)] = row
        left += _U(goes_left)
    return _I(left) - start


@inner
def _move(rows, spare, lefts, cut, node, k):
    """Move the rows of block number k to their final places."""
    start, stop = _block(node.start, node.stop, cut.n_blocks, k)
    before = _I(0)
    for b in range(k):
        before += lefts[b]
    n_left = lefts[k]
    to_left = _U(node.start + before)
    to_right = _U(node.start + cut.n_left + (start - node.start) - before)
    for i in range(_U(n_left)):
        rows[to_left + i] = spare[_U(start) + i]
    for i in range(_U(stop - start - n_left)):
        rows[to_right + i] = spare[_U(stop - 1) - i]


@inner
def _do_rows(table, gradients, index, tree, sums, search, scratch, phase, k, worker):
    """Partition or move a block of rows; the rows of many that are counted are counted as they are moved."""
    c = 0
    while k >= search.cuts[c].first_block + search.cuts[c].n_blocks:
        c += 1
    cut, lefts = search.cuts[c], index.lefts[c]
    node, k = tree.nodes[cut.node], k - cut.first_block
    first, last = _block(node.start, node.stop, cut.n_blocks, k)
    if phase == PARTITION:
        side, f = scratch[worker].sides, node.feature
        _sides(node, tree.sets[cut.node], table.features[f].n_bins, side)
        lefts[k] = _partition(table.columns[f], side, index.rows, index.spare, first, last)
        return
    source = index.rows
    if cut.kind == SPLIT:
        _move(index.rows, index.spare, lefts, cut, node, k)
        source = index.spare
        if cut.left_is_small != 0:
            last = first + lefts[k]
        else:
            first = first + lefts[k]
    if cut.by_rows != 0:
        chunk = _I(0), _I(table.features.size)
        blocks, part = sums.blocks[worker], sums.partials[worker]
        count_rows(table.rows, gradients, source, first, last, cut, chunk, scratch[worker], blocks, part)


@inner
def _transfer(cut, features, chunk, part, other, message, sending):
    """Copy sums of some features to the message, or what they add up to from it."""
    kinds, at = _I(0), cut.at
    for kind in range(4):
        if kind < 2 and (cut.kind == WEIGH or (kind == 1 and cut.packed != 0)):
            continue
        if kind >= 2 and cut.weights < kind - 1:
            continue
        skip = _U(0) if kind == 0 else _U(CURVATURES) if kind == 1 else _U(WEIGHTS)
        cells = other if kind == 3 else part
        for f in range(chunk[0], chunk[1]):
            to, cell = _U(at + features[f].offset), _U(f * CELLS) + skip
            for b in range(_U(features[f].n_bins + 1)):
                if sending:
                    message[to + b] = cells[cell + b]
                else:
                    cells[cell + b] = message[to + b]
        kinds += 1
        at += features[features.size - 1].offset + features[features.size - 1].n_bins + 1


@inner
def _count(table, gradients, index, cut, sums, chunk, scratch, worker):
    """Sum what a cut counts, for some features: rows of this process in the root, or in the small child."""
    features, first, last = table.features, chunk[0], chunk[1]
    part, other = sums.histograms[cut.slot], sums.histograms[max(cut.other_slot, 0)]
    if cut.kind == WEIGH:
        count_weights(table.rows, index.rows, cut.start, cut.stop, first, last, part)
        return
    for f in range(first, last):
        clear(f, features[f].n_bins + 1, cut.packed, cut.weights, part)
    if cut.by_rows == 0:
        blocks, start, stop = sums.blocks[worker], cut.start, cut.stop
        count_rows(table.rows, gradients, index.rows, start, stop, cut, chunk, scratch, blocks, part)
    else:
        for k in range(sums.partials.shape[0]):
            for f in range(first, last):
                add_part(f, features[f].n_bins + 1, cut.packed, cut.weights, sums.partials[k], part)
    if cut.weights == 2:
        count_weights(table.rows, index.rows, cut.other_start, cut.other_stop, first, last, other)


@inner
def _sum_root(params, feature, f, histogram, root):
    """The root's sums are those of any feature's bins."""
    root.gradient, root.curvature = 0, 0
    weight = _I(0)
    for b in range(f * CELLS, f * CELLS + feature.n_bins + 1):
        root.gradient += histogram[b] >> 32 if root.packed else histogram[b]
        root.curvature += histogram[b] & LOW if root.packed else histogram[b + CURVATURES]
        weight += histogram[b + WEIGHTS]
    if params.weighted != 0:
        root.weight, root.few = weight, weight * params.weight_unit <= COUNTED_ROWS


@inner
def _subtract(features, tree, cut, sums, chunk):
    """Complete the histograms of both children, of some features."""
    node = tree.nodes[cut.node]
    small, large = tree.nodes[node.left], tree.nodes[node.right]
    if cut.left_is_small == 0:
        small, large = large, small
    part, whole = sums.histograms[small.slot], sums.histograms[large.slot]
    for f in range(chunk[0], chunk[1]):
        size = features[f].n_bins + 1
        if small.packed != 0 and cut.packed == 0:
            pack(f, size, part)
        subtract(f, size, node.packed, small, large, cut.weights, part, whole)


@inner
def may_split(node, params):
    """Whether a node may have children."""
    return node.depth < params.max_depth and node.weight >= 2 * params.min_weight


@inner
def _search(table, gradients, index, params, tree, sums, search, scratch, c, k):
    """Find the best splits of a cut's nodes among a chunk of features."""
    cut, n_chunks = search.cuts[c], search.candidates.shape[1]
    first, last = _block(_I(0), _I(table.features.size), n_chunks, k)
    whole = cut.kind != SPLIT
    for child in range(1 if whole else 2):
        i = 2 * c + child
        node, bins_left, allowed = search.candidates[i, k], search.candidate_sets[i, k], search.allowed[i]
        if cut.kind == ROOT:
            _sum_root(params, table.features[first], first, sums.histograms[node.slot], node)
        if not may_split(node, params):
            continue
        if node.slot >= 0:
            histogram = sums.histograms[node.slot]
            best_split(histogram, table, allowed, params, scratch, node, bins_left, first, last)
        else:
            rows = index.rows
            best_split_of_rows(table, gradients, rows, allowed, params, scratch, node, bins_left, first, last)


@inner
def do_task(table, gradients, control, index, tree, sums, search, scratch, k, worker):
    """One task of the phase."""
    params, phase = control.params[0], control.state[0].phase
    if phase <= MOVE:
        _do_rows(table, gradients, index, tree, sums, search, scratch, phase, k, worker)
        return
    n_chunks = search.candidates.shape[1]
    c, k = k // n_chunks, k % n_chunks
    cut, chunk = search.cuts[c], _block(_I(0), _I(table.features.size), n_chunks, k)
    if cut.slot >= 0:
        part, other = sums.histograms[cut.slot], sums.histograms[max(cut.other_slot, 0)]
        if phase != SEARCH:
            _count(table, gradients, index, cut, sums, chunk, scratch[worker], worker)
        if params.spread != 0 and (phase == COUNT or cut.made != 0 or cut.kind != SPLIT):
            _transfer(cut, table.features, chunk, part, other, sums.message, phase == COUNT)
        if phase != COUNT and cut.kind == SPLIT and cut.made != 0:
            _subtract(table.features, tree, cut, sums, chunk)
    if phase != COUNT and cut.searched != 0:
        _search(table, gradients, index, params, tree, sums, search, scratch[worker], c, k)
