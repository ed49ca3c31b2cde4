"""The search of a split's children, for a chunk of features: the histograms completed, the best splits found.

It is half of what the tree grower does, compiled apart from the other half.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from propriety.engine.addresses import Address, address_of, caller
from propriety.engine.compiling import addressed, inner
from propriety.engine.handed import by_address
from propriety.engine.histogram import (
    add_bundled,
    add_part,
    add_weights,
    clear,
    count_rows,
    for_count_rows,
    subtract,
)
from propriety.engine.layout import CELLS, Binned, Rules, Signal, Workspace
from propriety.engine.splitting import COUNTED_ROWS, best_split, best_split_of_rows
from propriety.engine.tasks import (
    BUNDLES,
    FEATURES,
    ROWS,
    block,
    n_blocks_of,
    searched,
    small_child,
    way_to_count,
)

_I = np.int64
count = caller(count_rows)


@by_address
class Addresses(NamedTuple):
    """Where those parts of the tree grower lie that are compiled apart from it."""

    count_rows: Address
    search: Address


def addresses(
    binned: Binned, signal: Signal, rules: Rules, work: Workspace, find: Callable[..., Address] = address_of
) -> Addresses:
    """Where these parts lie for a tree of such types; ``find`` says it of one of them."""
    count_at = find(count_rows, *for_count_rows(binned, signal, work))
    return Addresses(count_at, find(search, count_at, binned, signal, rules, work, *range(5)))


@addressed
def search(count_at, binned, signal, rules, work, node_id, itself, chunk, n_chunks, worker):
    """Complete the histograms of a chunk of features, and find the best split of each node there."""
    first, last = block(_I(0), binned.n_bins.size, n_chunks, chunk)
    node, room, index = work.nodes[node_id], work.rooms[worker], work.rows
    _complete(count_at, binned, signal, work, node_id, itself, first, last, worker)
    # The smaller child first: one of few rows is taken from its parent's histogram as it is searched.
    small = _I(not itself and small_child(work, node_id) == node.right)
    for turn in range(1 if itself else 2):
        i = small ^ turn
        split, bins_left, allowed = work.candidates[i, chunk], work.candidate_sets[i, chunk], work.allowed[i]
        if split.slot >= 0:
            histogram = work.histograms[split.slot]
            best_split(histogram, allowed, binned, signal, rules, room, split, bins_left, first, last)
            continue
        sibling = work.nodes[node.left + node.right - searched(work, node_id, itself, i)]
        whole = work.histograms[max(sibling.slot, 0)]  # of a sibling without one any, which nobody looks at
        best_split_of_rows(
            allowed, binned, signal, rules, index, room, split, bins_left, first, last, node, sibling, whole
        )


@inner
def _complete(count_at, binned, signal, work, node_id, itself, first, last, worker):
    """Complete the histograms of the nodes to be searched, for some features: the node's or its children's.

    For rows in several processes :mod:`~propriety.engine.trips` does the same.
    """
    node, d = work.nodes[node_id], binned.n_bins.size
    if itself:
        _add_partials(binned, work, node, first, last)
        return
    counted_id = small_child(work, node_id)
    counted, sibling = work.nodes[counted_id], work.nodes[node.left + node.right - counted_id]
    whole = work.histograms[max(sibling.slot, 0)]
    if counted.slot >= 0:
        # 1. Sum the rows of the counted node.
        sums, start, stop = work.histograms[counted.slot], counted.start, counted.stop
        for f in range(first, last):
            clear(binned, f, counted, sums)
        if way_to_count(work, counted, False, n_blocks_of(work, node.stop - node.start, d)) == FEATURES:
            where = binned.rows, signal, work.rows, start, stop, counted, first, last, work, worker, sums
            count(count_at, where)
        _add_partials(binned, work, counted, first, last)
        # 2. Its sibling has the rest of their parent.
        for f in range(first, last):
            cells, n_bins = slice(f * CELLS, (f + 1) * CELLS), binned.n_bins[f]
            subtract(n_bins, node.packed != 0, counted, sibling, sums[cells], whole[cells])
    if sibling.slot >= 0 and not sibling.counted and sibling.weight <= COUNTED_ROWS:
        for f in range(first, last):
            if binned.categorical[f]:
                add_weights(binned.rows, work.rows, sibling.start, sibling.stop, f, f + 1, whole)


@inner
def _add_partials(binned, work, node, first, last):
    """Add up what the workers have counted for some features."""
    for worker in range(work.dirty.size):
        part, sums = work.partials[worker], work.histograms[node.slot]
        for f in range(first, last):
            if work.dirty[worker] == ROWS:
                add_part(binned, f, node, part, sums)
            elif work.dirty[worker] == BUNDLES:
                add_bundled(work.bundles, f, node, part, sums)
