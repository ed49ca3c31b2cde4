"""The arrays that the kernels of the grower share, and their meaning.

Bins of columns are one array: of one byte, `LINE` columns of a row side by side, or column after column. A
column of numbers has bins in their order, and the next one for missing values; exact splits have a bin for
each value, of two or four bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import memory
from propriety.trees.binned import BINS, SET_WORDS
from propriety.trees.jit import records

#: Columns whose bins lie side by side, for each row, where they do.
LINE = 32
#: A row of a tree is one word, its entry: its number, its class and how often it counts.
ROW, CLASS = np.uint64(2**32 - 1), np.uint64(255)
TO_CLASS, TO_COUNT = np.uint64(32), np.uint64(40)
#: Largest number of copies of a row, so that a draw of them fits.
MOST_COPIES = 2**20

#: Bytes of the lines of a node whose subtree works on copies of them: they stay in the second cache.
_NEAR = 1 << 18
#: A node of a tree as it is grown.
GROWN = records(
    [
        ("gain", "f8"),
        ("left", "i4"),  # of a leaf −1, beside the root's number where trees are joined
        ("feature", "i4"),  # −1: a leaf; a column of the sample, and of the table where trees are joined
        ("set", "i4"),  # −1: a cut
        ("bin", "i2"),  # the last one on the left of a cut
        ("missing_left", "i2"),
    ],
)
#: What else is kept of a node where rows are found again after the tree is grown.
MADE = records(
    [
        ("start", "i8"),  # its rows are the set Work.entries[start:stop], in no order
        ("stop", "i8"),
        ("below", "i8"),  # the last bin with rows on the left of a cut
        ("above", "i8"),  # the first one on the right; −1: there is none
        ("missing_seen", "i8"),
    ],
)
#: A node that waits to be split, with its best split.
WAITING = records(
    [
        ("start", "i8"),  # its rows are the set Work.entries[start:stop], in no order
        ("stop", "i8"),
        ("node", "i8"),
        ("depth", "i8"),
        ("lower", "f8"),  # bounds on the share of class 1, from monotone constraints above
        ("upper", "f8"),
        ("rank", "f8"),  # the gain as a whole number of steps, and −∞ of none: equal ones are equal
        ("second", "f8"),  # the gain in squared loss, in the same way
        ("gain", "f8"),
        ("feature", "i8"),
        ("cut", "i8"),  # bins ≤ this go left
        ("below", "i8"),  # the last bin with rows on the left
        ("above", "i8"),  # the first one on the right; −1: there is none
        ("missing_left", "i8"),  # −1: not seen
        ("missing_seen", "i8"),
        ("by_set", "i8"),
    ],
)
#: What a column holds.
COLUMN = records(
    [
        ("missing", "i8"),  # the bin of missing values
        ("categorical", "i8"),  # 0 or 1
        ("monotone", "i8"),  # −1, 0 or 1
        ("place", "i8"),  # of its first cell among those of all columns
    ]
)
#: How a tree is grown.
PARAMS = records(
    [
        ("n_classes", "i8"),
        ("criterion", "i8"),  # BY_TABLE, HIGHEST or LOWEST of criteria
        ("max_leaves", "i8"),  # 0: no limit
        ("best_first", "i8"),  # whether the leaf that gains most is split next, or else depth first
        ("max_depth", "i8"),
        ("min_weight", "i8"),  # of a leaf, in units
        ("min_gain", "f8"),  # as a share of the root's loss; of other criteria, as it is
        ("split_features", "i8"),  # drawn for a split; all: 0
        ("random_cuts", "i8"),
        ("random_unseen", "i8"),  # whether what a split has not seen goes to a random side
        ("batch", "i8"),  # nodes that are split before their children are searched; 0: searched at once
        ("line", "i8"),  # columns side by side
        ("dispersion", "f8"),  # by how much more the class sums of a tree vary than numbers of rows
        ("unit", "f8"),  # of weights
        ("loss_unit", "f8"),
    ],
)
#: Where a tree has come to.
STATE = records(
    [
        ("random", "u8"),  # state of random numbers
        ("n_nodes", "i8"),
        ("n_sets", "i8"),
        ("n_waiting", "i8"),
        ("unsearched", "i8"),  # those that wait from here on have not been searched
        ("asked", "i8"),  # 1: the caller was asked to search them
        ("near_start", "i8"),  # the node whose rows' bins are in Work.near
        ("near_stop", "i8"),
        ("root_loss", "f8"),
    ],
)


class Sample(NamedTuple):
    """The rows that a tree is grown on."""

    rows: NDArray[np.unsignedinteger]  # bins
    columns: NDArray[np.void]  # (d,) of COLUMN
    levels: NDArray[np.float64]  # (d, 256): categories that share a bin; (0, 256) if there are none
    labels: NDArray[np.uint8]
    copies: NDArray[np.int64]  # (0,): all 1
    weights: NDArray[np.int64]  # of one copy, in units; (0,): all 1


class GrownTree(NamedTuple):
    """A tree as it is grown, or arrays for one."""

    nodes: NDArray[np.void]  # of GROWN
    sums: NDArray[np.int64]  # (nodes, K)
    sets: NDArray[np.uint32]  # (sets, SET_WORDS)


class Found(NamedTuple):
    """The best splits of nodes."""

    waiting: NDArray[np.void]  # of WAITING
    left: NDArray[np.int64]  # (waiting, K): class sums on the left
    sets: NDArray[np.uint32]  # (waiting, 2, SET_WORDS): bins on the left, and those with rows


class Scratch(NamedTuple):
    """What one thread needs to search a node."""

    cells: NDArray[np.int64]  # (cells · K,) of one column: all 0 between two searches
    bins: NDArray[np.int64]  # those that hold rows, in the order of cuts
    words: NDArray[np.uint64]  # bins that hold rows, and words of these, as bits; all 0 between two searches
    shares: NDArray[np.float64]  # of the bins
    left: NDArray[np.int64]  # (2, K): sums up to a cut, without and with missing values


class Work(NamedTuple):
    """What a tree needs to be grown."""

    state: NDArray[np.void]  # (1,) of STATE
    entries: NDArray[np.uint64]  # a word for each row, those of a node side by side
    spare: NDArray[np.uint64]
    near: NDArray[np.unsignedinteger]  # bins of a node's rows, one after the other
    near_weights: NDArray[np.int64]
    features: NDArray[np.int64]  # (d,): in the order in which they were drawn
    order: NDArray[np.int64]  # (waiting,): places of the nodes that wait
    made: NDArray[np.void]  # (nodes,) of MADE, or (0,)
    no_totals: NDArray[np.int64]  # (0,)
    votes: NDArray[np.int64]  # (n, K) or (0, K): out of bag, in units of 2⁻⁴⁰
    voters: NDArray[np.int64]  # (n,) or (0,)


def make_tree(sample: Sample, n_classes: int, max_nodes: int) -> GrownTree:
    """Arrays for a tree of at most `max_nodes` nodes."""
    most_sets = max_nodes if len(sample.levels) else 0
    return GrownTree(
        np.empty(max_nodes, dtype=GROWN),
        np.empty((max_nodes, n_classes), dtype=np.int64),
        np.empty((most_sets, SET_WORDS), dtype=np.uint32),
    )


def make_found(n_classes: int, size: int) -> Found:
    """Arrays for the splits of so many nodes."""
    return Found(
        np.empty(size, dtype=WAITING),
        np.empty((size, n_classes), dtype=np.int64),
        np.empty((size, 2, SET_WORDS), dtype=np.uint32),
    )


def make_scratch(sample: Sample, n_classes: int) -> Scratch:
    """What a thread needs to search such a sample."""
    n_cells = max(BINS, int(sample.columns["missing"].max(initial=0)) + 1)
    n_words = -(-n_cells // 64)
    return Scratch(
        np.zeros(n_cells * n_classes, dtype=np.int64),
        np.empty(n_cells, dtype=np.int64),
        np.zeros(n_words + -(-n_words // 64), dtype=np.uint64),
        np.empty(BINS),
        np.empty((2, n_classes), dtype=np.int64),
    )


def most_waiting(max_nodes: int, batch: int) -> int:
    """How many nodes of such a tree may wait, with those that are being split."""
    return max_nodes // 2 + 2 + max(batch, 1)


def make_work(
    sample: Sample, n_classes: int, max_nodes: int, batch: int, *, near: bool, made: bool, votes: bool
) -> Work:
    """What is needed to grow such trees: of rows copied side by side, found again, or judged out of bag."""
    n, d = len(sample.labels), len(sample.columns)
    return Work(
        np.zeros(1, dtype=STATE),
        memory.empty(n, np.uint64),
        memory.empty(n, np.uint64),
        np.empty(_NEAR if near else 0, dtype=sample.rows.dtype),
        np.empty(_NEAR // LINE if near and len(sample.weights) else 0, dtype=np.int64),
        np.arange(d),
        np.arange(most_waiting(max_nodes, batch)),
        np.zeros(max_nodes if made else 0, dtype=MADE),
        np.empty(0, dtype=np.int64),
        np.zeros((n if votes else 0, n_classes), dtype=np.int64),
        np.zeros(n if votes else 0, dtype=np.int64),
    )
