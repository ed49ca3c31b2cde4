"""The best split of a node among randomly drawn columns.

Functions take the few arrays that they need, not tuples that hold them: a tuple of many arrays is copied with
every call, and takes the compiler long. A record is one pointer.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import small
from propriety.forest.cuts import EQUAL, clear, column_start, count, cut_many, cut_pair
from propriety.forest.draws import draw_below, draw_columns
from propriety.forest.entropy import FEW, node_loss
from propriety.forest.random_cuts import search_random_cuts
from propriety.forest.sets import add_unseen, search_sets

_FINE = 1 << 30  # steps of a random share
_U = np.uint64


@small
def _search_cuts(
    rows,
    first,
    bag,
    weights,
    missing,
    lines,
    few,
    least,
    sums,
    whole,
    loss,
    found,
    cells,
    left,
    kept,
    scratch,
):
    """Compare the cuts of a column of numbers to the best split so far; returns whether one is better."""
    K, bins, best = _U(sums.size), scratch.bins, found.gain
    start, stop = _U(found.start), _U(found.stop)
    n_found = count(rows, first, bag, start, stop, weights, cells, K, missing + 1, bins)
    if K == 2:
        gain, cut, side, a, b = cut_pair(
            cells, bins, n_found, missing, lines, few, whole, least, sums[0], sums[1], loss, best
        )
        if gain > best:
            kept[0], kept[1] = a, b
    else:
        gain, cut, side = cut_many(cells, bins, n_found, missing, lines, least, sums, loss, best, left, kept)
        clear(cells, bins, n_found, K)
    if gain > best:
        found.gain, found.by_set, found.cut, found.missing_left = gain, 0, cut, side
    return gain > best


@small
def _search_column(
    rows, n_rows, bag, weights, column, levels, random, rules, lines, few, sums, whole, loss, feature, found,
    cells, left, kept, words, scratch,
):  # fmt: skip
    """Compare the splits of a column that are not random cuts of numbers to the best split so far."""
    first, better = column_start(feature, n_rows), False
    if random is None and column.categorical == 0:
        better = _search_cuts(
            rows, first, bag, weights, column.missing, lines, few, rules.least, sums, whole, loss, found,
            cells, left, kept, scratch,
        )  # fmt: skip
    if levels is not None and column.categorical != 0:
        better = search_sets(
            rows, first, bag, weights, levels[feature], random, column.missing, lines, rules, sums, loss,
            found, cells, left, kept, words, scratch,
        )  # fmt: skip
    if better:
        found.feature = feature


@small
def _send_unseen(rows, n_rows, bag, levels, total, found, kept, words, scratch):
    """Send what the node has not seen: missing numbers where most rows go, categories at random.

    A category goes each way with the share of the rows that go there, so that over the trees it ends up where
    an average row does.
    """
    amount = np.int64(0)
    for k in range(kept.size):
        amount += kept[k]
    goes_left = 2 * amount >= total
    if levels is not None and found.by_set != 0:
        goes_left = draw_below(scratch, _FINE) * (total / _FINE) < amount
    if found.missing_left < 0:
        found.missing_left = 1 if goes_left else 0
    if levels is not None and found.by_set != 0 and goes_left:
        first = column_start(found.feature, n_rows)
        add_unseen(rows, first, bag, _U(found.start), _U(found.stop), words, scratch)


@small
def find_split(
    rows, n_rows, bag, weights, columns, levels, random, rules, lines, few, sums, features, found,
    cells, left, kept, words, scratch,
):  # fmt: skip
    """Find the best split of a waiting node among randomly drawn columns; returns whether there is one.

    Columns are drawn until there are enough of them and one of them can be split. What `levels` or `random`
    are None for is not compiled: searches for sets, for random cuts, or else for the best.
    """
    total = np.int64(0)
    for k in range(sums.size):
        total += sums[k]
    whole = sums.size == 2 and weights.size == 0 and total < FEW
    loss = few[_U(sums[0]) * _U(FEW) + _U(sums[1])] if whole else node_loss(lines, sums)
    found.gain, found.feature, found.cut = -loss, -1, 0
    undrawn, batch = features.size, rules.split_features
    while undrawn > 0 and found.feature < 0:
        batch = min(batch, undrawn)
        scratch.state = draw_columns(features, undrawn, batch, scratch.state)
        undrawn -= batch
        drawn = features[undrawn : undrawn + batch]
        if random is not None:
            search_random_cuts(
                rows, n_rows, bag, weights, columns, drawn, lines, few, rules.least, sums, whole, loss,
                found, left[0], kept, scratch,
            )  # fmt: skip
        for j in range(batch - 1, -1, -1):
            if found.gain >= loss * (1.0 - EQUAL):
                break  # nothing is left to gain
            _search_column(
                rows, n_rows, bag, weights, columns[drawn[j]], levels, random, rules, lines, few, sums, whole,
                loss, drawn[j], found, cells, left, kept, words, scratch,
            )  # fmt: skip
        batch = 1
    if found.feature < 0:
        return False
    found.gain = max(found.gain, 0.0)
    _send_unseen(rows, n_rows, bag, levels, total, found, kept, words, scratch)
    return True
