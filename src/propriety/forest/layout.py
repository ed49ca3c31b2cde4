"""The arrays that the kernels of a forest share, and their meaning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.engine.compiling import records
from propriety.engine.layout import BINS, SET_WORDS

#: Columns whose bins lie side by side, for each row.
LINE = 32
#: A row in the bag of a tree is one word: its number, its class and how often it was drawn.
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
#: A node that waits to be split, with its best split.
WAITING = records(
    [
        ("start", "i8"),  # its rows are Room.bag[start:stop]
        ("stop", "i8"),
        ("node", "i8"),
        ("depth", "i8"),
        ("gain", "f8"),
        ("feature", "i8"),
        ("cut", "i8"),  # bins ≤ this go left
        ("missing_left", "i8"),
        ("by_set", "i8"),
    ],
)


#: What a column holds.
COLUMN = records([("missing", "i8"), ("categorical", "i8")])  # the bin of missing values; 0 or 1
#: How a tree is grown.
RULES = records(
    [
        ("n_classes", "i8"),
        ("max_leaves", "i8"),  # 0: no limit
        ("max_depth", "i8"),
        ("least", "i8"),  # weight of a leaf, in units
        ("split_features", "i8"),
        ("bootstrap", "i8"),
        ("dispersion", "f8"),  # by how much more the class sums of a tree vary than numbers of rows
        ("unit", "f8"),  # of weights
        ("loss_unit", "f8"),
    ],
)
#: What a search for a split needs for itself.
SCRATCH = records(
    [
        ("state", "u8"),  # of random numbers
        ("bins", "i8", (BINS,)),  # bins in the order of the cuts
        ("shares", "f8", (BINS,)),
    ],
)


class Sample(NamedTuple):
    """The distinct training rows, in an order that depends on nothing but what they hold."""

    rows: NDArray[np.uint8]  # (blocks · n · LINE,): bins of the distinct columns, LINE of them in a block
    columns: NDArray[np.void]  # (d,) of COLUMN
    labels: NDArray[np.uint8]
    copies: NDArray[np.int64]
    weights: NDArray[np.int64]  # of one copy, in units; empty: all 1
    unit: float


class GrownTree(NamedTuple):
    """A tree as it is grown, or room for one."""

    nodes: NDArray[np.void]  # of GROWN
    sums: NDArray[np.int64]  # (nodes, K)
    sets: NDArray[np.uint32]  # (sets, SET_WORDS)


class Room(NamedTuple):
    """What one thread needs to grow a tree."""

    bag: NDArray[np.uint64]
    spare: NDArray[np.uint64]
    near: NDArray[np.uint8]  # lines of a node's rows, one after the other
    near_weights: NDArray[np.int64]
    features: NDArray[np.int64]  # (d,): in the order in which they were drawn
    waiting: NDArray[np.void]  # of WAITING
    waiting_left: NDArray[np.int64]  # (waiting, K): class sums on the left of the split
    waiting_sets: NDArray[np.uint32]  # (waiting, SET_WORDS), or (0, SET_WORDS) if there are no categories
    order: NDArray[np.int64]  # (waiting,): places of the nodes that wait
    sums: NDArray[np.int64]  # (nodes, K)
    nodes: NDArray[np.void]  # of GROWN
    sets: NDArray[np.uint32]  # (nodes, SET_WORDS)
    cells: NDArray[np.int64]  # (BINS · K,): all 0 between two searches
    left: NDArray[np.int64]  # (2, K): sums up to a cut, without and with missing values
    scratch: NDArray[np.void]  # (1,) of SCRATCH
    votes: NDArray[np.int64]  # (n, K) or (0, K): out of bag, in units of 2⁻⁴⁰
    voters: NDArray[np.int64]  # (n,) or (0,)


def make_tree(sample: Sample, n_classes: int, max_nodes: int) -> GrownTree:
    """Room for a tree of at most `max_nodes` nodes."""
    most_sets = max_nodes if np.any(sample.columns["categorical"]) else 0
    return GrownTree(
        np.empty(max_nodes, dtype=GROWN),
        np.empty((max_nodes, n_classes), dtype=np.int64),
        np.empty((most_sets, SET_WORDS), dtype=np.uint32),
    )


def make_room(sample: Sample, tree: GrownTree, out_of_bag: bool) -> Room:
    """Room to grow such trees in."""
    n, d, K, waiting = len(sample.labels), len(sample.columns), tree.sums.shape[1], len(tree.nodes) // 2 + 2
    any_set = len(tree.sets) > 0
    return Room(
        np.empty(n, dtype=np.uint64),
        np.empty(n, dtype=np.uint64),
        np.empty(_NEAR, dtype=np.uint8),
        np.empty(_NEAR // LINE if len(sample.weights) else 0, dtype=np.int64),
        np.arange(d),
        np.empty(waiting, dtype=WAITING),
        np.empty((waiting, K), dtype=np.int64),
        np.empty((waiting if any_set else 0, SET_WORDS), dtype=np.uint32),
        np.arange(waiting),
        tree.sums,
        tree.nodes,
        tree.sets,
        np.zeros(BINS * K, dtype=np.int64),
        np.empty((2, K), dtype=np.int64),
        np.zeros(1, dtype=SCRATCH),
        np.zeros((n if out_of_bag else 0, K), dtype=np.int64),
        np.zeros(n if out_of_bag else 0, dtype=np.int64),
    )
