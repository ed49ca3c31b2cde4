"""One tree of a forest: its bag, its splits, and what it says of the rows that are not in the bag."""

from __future__ import annotations

import numpy as np

from propriety.trees.grower import advance, begin
from propriety.trees.histogram import bin_of, column_start
from propriety.trees.jit import inner, kernel, small
from propriety.trees.layout import LINE, TO_CLASS, TO_COUNT
from propriety.trees.quickscorer import contains
from propriety.trees.random import scramble

#: Votes out of bag are whole numbers of this unit, so that the order of the trees does not matter.
VOTE = 2.0**-40
_ROW_STEP, _COPY_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


@small
def _draw(copies, poisson, seed, row):
    """How often the copies of a row are drawn in all, and how many of them not at all.

    ``poisson[c]`` is P(count ≤ c) · 2³² of one copy.
    """
    if poisson.size == 0:
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
def _fill_bag(copies, labels, weights, poisson, seed, bag, sums):
    """Draw the rows of a tree, all of them once if that gives none; returns how many rows there are."""
    n = 0
    for k in range(sums.size):
        sums[k] = 0
    for all_rows in (False, True):
        for row in range(labels.size):
            count = copies[row]
            if not all_rows:
                count, _ = _draw(copies, poisson, seed, row)
            if count > 0:
                label = np.uint64(labels[row])
                bag[n] = np.uint64(row) | (label << TO_CLASS) | (np.uint64(count) << TO_COUNT)
                sums[label] += count * (weights[row] if weights.size > 0 else 1)
                n += 1
        if n > 0:
            break
    return n


@kernel
def grow_tree(sample, params, poisson, table, seed, work, tree, found, scratch):
    """Grow the tree of a seed on rows drawn by it; `poisson` is empty if each is taken once."""
    n_drawn = _fill_bag(
        sample.copies, sample.labels, sample.weights, poisson, seed, work.entries, tree.sums[0]
    )
    begin(params[0], table, work, tree, found, n_drawn, seed)
    advance(sample, params[0], table, work, tree, found, scratch)


@inner
def _find_leaf(rows, n_rows, columns, row, nodes, sets):
    at = np.int64(0)
    while nodes[at].left >= 0:
        node = nodes[at]
        code = np.int64(
            bin_of(rows, column_start(node.feature, n_rows, LINE), np.uint64(LINE), np.uint64(row))
        )
        if code == columns[node.feature].missing:
            left = node.missing_left != 0
        elif node.set >= 0:
            left = contains(sets, node.set, code)
        else:
            left = code <= node.bin
        at = np.int64(node.left) + (0 if left else 1)
    return at


@kernel
def vote_out_of_bag(sample, poisson, seed, base_rates, work, tree):
    """Add what a tree says of rows with copies that it was not grown on."""
    copies, n_rows, any_drawn = sample.copies, sample.labels.size, False
    for row in range(n_rows):
        drawn, _ = _draw(copies, poisson, seed, row)
        if drawn > 0:
            any_drawn = True
            break
    if not any_drawn:
        return  # the bag was filled with every row: none is new to the tree
    sums, alone = tree.sums, tree.nodes[0].left < 0
    for row in range(n_rows):
        _, out = _draw(copies, poisson, seed, row)
        if out == 0:
            continue
        leaf = _find_leaf(sample.rows, n_rows, sample.columns, row, tree.nodes, tree.sets)
        total = np.int64(0)
        for k in range(sums.shape[1]):
            total += sums[leaf, k]
        for k in range(sums.shape[1]):
            share = base_rates[k] if alone else np.float64(sums[leaf, k]) / np.float64(total)
            work.votes[row, k] += np.int64(np.rint(share / VOTE)) * out
        work.voters[row] += out
