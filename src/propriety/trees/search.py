"""The best split of a node, among some columns in their order or among columns drawn at random.

Functions take the few arrays that they need, not tuples that hold them: a tuple of many arrays is copied with
every call, and takes the compiler long. A record is one pointer.
"""

from __future__ import annotations

import numpy as np

from propriety.trees.criteria import BY_COUNTS, BY_TABLE, EQUAL, FEW, HIGHEST, node_loss
from propriety.trees.histogram import clear, column_start, count, list_bins
from propriety.trees.jit import inner, kernel, small
from propriety.trees.random import draw_below, draw_columns
from propriety.trees.random_cuts import random_cut
from propriety.trees.sets import add_unseen, search_sets
from propriety.trees.splitter import cut_many, cut_pair

_FINE = 1 << 30  # steps of a random share
_U = np.uint64


@inner
def _take_counts(totals, place, cells, K, n_cells, bins):
    """Class sums of bins that were added over processes, as `count` gives them."""
    for i in range(_U(n_cells) * K):
        cells[i] = totals[_U(place) * K + i]
    return list_bins(cells, K, n_cells, bins)


@small
def _search_column(
    rows, n_rows, entries, weights, column, levels, params, panels, few, way, sums, loss, feature, totals,
    found, kept, words, scratch, state,
):  # fmt: skip
    """Compare the splits of a column to the best so far."""
    line, first = _U(params.line), column_start(feature, n_rows, params.line)
    cells, bins, left, K, missing = scratch.cells, scratch.bins, scratch.left, _U(sums.size), column.missing
    if params.random_cuts != 0 and column.categorical == 0:
        better = random_cut(
            rows, first, line, entries, weights, missing, panels, few, way, params.min_weight, sums, loss,
            found, left[0], kept, state,
        )  # fmt: skip
    else:
        if totals.size > 0:
            n_found = _take_counts(totals, column.place, cells, K, missing + 1, bins)
        else:
            n_found = count(
                rows, first, line, entries, _U(found.start), _U(found.stop), weights, cells, K, missing + 1,
                bins, scratch.words,
            )  # fmt: skip
        if column.categorical != 0:
            better = search_sets(
                cells, bins, n_found, missing, levels[feature], panels, few, way, params, sums, loss,
                found, left, kept, words, scratch.shares, state,
            )  # fmt: skip
        else:
            if K == 2:
                better = cut_pair(
                    cells, bins, n_found, missing, panels, few, way, params.min_weight, sums, loss,
                    column.monotone, found, kept,
                )  # fmt: skip
            else:
                better = cut_many(
                    cells, bins, n_found, missing, panels, few, params.min_weight, sums, loss, found, left,
                    kept,
                )  # fmt: skip
            if better:
                found.by_set = 0
        clear(cells, bins, n_found, K)
    if better:
        found.feature = feature


@small
def total_of(sums):
    """The weight of a node."""
    total = np.int64(0)
    for k in range(sums.size):
        total += sums[k]
    return total


@small
def _node_loss(params, panels, few, weights, sums):
    """The loss of a node, and the way in which its splits are judged."""
    if params.criterion != BY_TABLE:
        return sums[0 if params.criterion == HIGHEST else 1] / np.float64(total_of(sums)), params.criterion
    if sums.size == 2 and weights.size == 0 and total_of(sums) < FEW:
        return few[_U(sums[0]) * _U(FEW) + _U(sums[1])], np.int64(BY_COUNTS)
    return node_loss(panels, sums), np.int64(BY_TABLE)


@small
def find_in_columns(
    rows, n_rows, entries, weights, columns, levels, params, panels, few, sums, first, last, totals, found,
    kept, words, scratch, state,
):  # fmt: skip
    """Find the best split of a node among the columns first … last−1."""
    loss, way = _node_loss(params, panels, few, weights, sums)
    found.rank, found.second, found.feature = -np.inf, 0.0, -1
    for feature in range(first, last):
        _search_column(
            rows, n_rows, entries, weights, columns[feature], levels, params, panels, few, way, sums, loss,
            feature, totals, found, kept, words, scratch, state,
        )  # fmt: skip


@small
def find_in_drawn(
    rows, n_rows, entries, weights, columns, levels, params, panels, few, sums, features, totals, found, kept,
    words, scratch, state,
):  # fmt: skip
    """The same among random columns, drawn until there are enough of them and one can be split."""
    loss, way = _node_loss(params, panels, few, weights, sums)
    found.rank, found.second, found.gain, found.feature = -np.inf, 0.0, 0.0, -1
    undrawn, batch = features.size, params.split_features
    while undrawn > 0 and found.feature < 0:
        batch = min(batch, undrawn)
        state.random = draw_columns(features, undrawn, batch, state.random)
        undrawn -= batch
        for j in range(undrawn + batch - 1, undrawn - 1, -1):
            if found.feature >= 0 and found.gain >= loss * (1.0 - EQUAL):
                break  # nothing is left to gain
            feature = features[j]
            _search_column(
                rows, n_rows, entries, weights, columns[feature], levels, params, panels, few, way, sums,
                loss, feature, totals, found, kept, words, scratch, state,
            )  # fmt: skip
        batch = 1


@inner
def send_unseen(params, sums, found, kept, words, state):
    """Send what the node has not seen where most rows go; categories of a forest to a random side.

    A category goes each way with the share of the rows that go there, so that over the trees it ends up where
    an average row does.
    """
    amount, total = total_of(kept), total_of(sums)
    goes_left = 2 * amount >= total
    if params.random_unseen != 0 and found.by_set != 0:
        goes_left = draw_below(state, _FINE) * (total / _FINE) < amount
    if found.by_set != 0 and goes_left:
        add_unseen(words)
    return goes_left


@kernel
def search_nodes(sample, params, table, work, tree, found, best, scratch, first, last, totals):
    """Find the best splits of the nodes that wait unsearched, among the columns first … last−1.

    The k-th of them is written to place k of `best`. Where ``totals[k]`` is not empty, it holds the class
    sums of its bins over all processes.
    """
    params, state = params[0], work.state[0]
    n_rows = sample.labels.size
    for k in range(state.n_waiting - state.unsearched):
        waits, here = found.waiting[work.order[state.unsearched + k]], best.waiting[k]
        here.start, here.stop, here.lower, here.upper = waits.start, waits.stop, waits.lower, waits.upper
        find_in_columns(
            sample.rows, n_rows, work.entries, sample.weights, sample.columns, sample.levels, params,
            table.panels, table.few, tree.sums[waits.node], first, last, totals[k], here, best.left[k],
            best.sets[k], scratch, state,
        )  # fmt: skip


@kernel
def count_nodes(sample, params, work, found, scratch, first, last, totals):
    """Class sums of the bins of the columns first … last−1, of the nodes that wait unsearched."""
    params, state, n_rows, cells = params[0], work.state[0], sample.labels.size, scratch.cells
    K, line = _U(params.n_classes), _U(params.line)
    for k in range(state.n_waiting - state.unsearched):
        node = found.waiting[work.order[state.unsearched + k]]
        for feature in range(first, last):
            column, at = sample.columns[feature], column_start(feature, n_rows, params.line)
            n_found = count(
                sample.rows, at, line, work.entries, _U(node.start), _U(node.stop), sample.weights, cells, K,
                column.missing + 1, scratch.bins, scratch.words,
            )  # fmt: skip
            for i in range(_U(column.missing + 1) * K):
                totals[k, _U(column.place) * K + i] = cells[i]
            clear(cells, scratch.bins, n_found, K)


@kernel
def take_better(work, found, best):
    """Take the splits of `best` where they are better than those found so far."""
    state = work.state[0]
    for k in range(state.n_waiting - state.unsearched):
        slot, new = work.order[state.unsearched + k], best.waiting[k]
        old = found.waiting[slot]
        if new.feature < 0 or new.rank < old.rank or (new.rank == old.rank and new.second <= old.second):
            continue
        old.rank, old.second, old.gain, old.feature = new.rank, new.second, new.gain, new.feature
        old.cut, old.below, old.above = new.cut, new.below, new.above
        old.missing_left, old.by_set = new.missing_left, new.by_set
        for i in range(best.left.shape[1]):
            found.left[slot, i] = best.left[k, i]
        for side in range(2):
            for i in range(best.sets.shape[2]):
                found.sets[slot, side, i] = best.sets[k, side, i]
