"""The best split of a node among randomly drawn columns.

Functions take the few arrays that they need, not tuples that hold them: a tuple of many arrays is copied with
every call, and takes the compiler long. A record is one pointer.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import once
from propriety.engine.lines import LINE
from propriety.forest.cuts import EQUAL, column_start, count, cut_many, cut_pair
from propriety.forest.draws import draw_below
from propriety.forest.entropy import FEW, node_loss
from propriety.forest.random_cuts import search_random_cuts
from propriety.forest.sets import add_unseen, search_sets

_U = np.uint64


@once
def _search_cuts(
    rows, first, bag, weights, missing, lines, few, least, sums, whole, loss, found, cells, left, kept, scratch
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
        gain, cut, side = cut_many(
            cells, bins, n_found, missing, lines, least, sums, loss, best, left, kept
        )
    if gain > best:
        found.gain, found.by_set, found.cut, found.missing_left = gain, 0, cut, side
    return gain > best


@once
def find_split(
    rows, n_rows, bag, weights, columns, levels, rules, lines, few, sums, in_lanes, features, found, cells, left,
    kept, words, scratch,
):  # fmt: skip
    """Find the best split of a waiting node among randomly drawn columns; returns whether there is one.

    Columns are drawn until there are enough of them and one of them can be split. `in_lanes` says that two
    classes can be summed for many columns at once.
    """
    total, least = np.int64(0), rules.least
    for k in range(sums.size):
        total += sums[k]
    whole = sums.size == 2 and weights.size == 0 and total < FEW
    loss = node_loss(lines, sums)
    found.gain, found.feature, found.cut = -loss, -1, 0
    undrawn, batch = features.size, rules.split_features
    while undrawn > 0 and found.feature < 0:
        batch = min(batch, undrawn)
        for _ in range(batch):  # what is drawn is put after the others
            at = draw_below(scratch, undrawn)
            undrawn -= 1
            features[at], features[undrawn] = features[undrawn], features[at]
        drawn = features[undrawn : undrawn + batch]
        if rules.random_cuts != 0:
            for block in range((columns.size + LINE - 1) // LINE):
                any_drawn = False
                for j in range(batch):
                    any_drawn |= drawn[j] // LINE == block
                if any_drawn:
                    search_random_cuts(
                        rows, _U(block) * _U(n_rows) * _U(LINE), bag, weights, columns, drawn, block * LINE, lines,
                        few, least, sums, total, loss, in_lanes, found, left[0], kept, scratch,
                    )  # fmt: skip
        for j in range(batch - 1, -1, -1):
            feature, better = drawn[j], False
            if found.gain >= loss * (1.0 - EQUAL):
                break  # nothing is left to gain
            first, missing = column_start(feature, n_rows), columns[feature].missing
            if columns[feature].categorical != 0:
                better = search_sets(
                    rows, first, bag, weights, levels[feature], missing, lines, rules, sums, loss, found, cells, left,
                    kept, words, scratch,
                )  # fmt: skip
            elif rules.random_cuts == 0:
                better = _search_cuts(
                    rows, first, bag, weights, missing, lines, few, least, sums, whole, loss, found, cells, left, kept,
                    scratch,
                )  # fmt: skip
            if better:
                found.feature = feature
        batch = 1
    if found.feature < 0:
        return False
    found.gain = max(found.gain, 0.0)
    amount = np.int64(0)
    for k in range(kept.size):
        amount += kept[k]
    # What the node has not seen, missing values or categories, goes where most of its rows go.
    heavier_left = 2 * amount >= total
    if found.missing_left < 0:
        found.missing_left = 1 if heavier_left else 0
    if found.by_set != 0 and heavier_left:
        first = column_start(found.feature, n_rows)
        add_unseen(rows, first, bag, _U(found.start), _U(found.stop), words, scratch)
    return True
