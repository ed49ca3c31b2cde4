"""The arrays that the kernels of a forest share, and their meaning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.engine.compiling import records
from propriety.engine.layout import BINS, SET_WORDS

#: A row in the bag of a tree is one word: its number, its class and how often it was drawn.
ROW, CLASS = np.uint64(2**32 - 1), np.uint64(255)
TO_CLASS, TO_COUNT = np.uint64(32), np.uint64(40)
#: Largest number of copies of a row, so that a draw of them fits.
MOST_COPIES = 2**20

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


class Sample(NamedTuple):
    """The distinct training rows, in an order that depends on nothing but what they hold."""

    codes: NDArray[np.uint8]  # (d, n): bins of the distinct columns
    n_bins: NDArray[np.int64]  # (d,): a missing value has this number as its bin
    categorical: NDArray[np.uint8]  # (d,)
    levels: NDArray[np.float64]  # (d, BINS): categories that share a bin
    labels: NDArray[np.uint8]
    copies: NDArray[np.int64]
    weights: NDArray[np.int64]  # of one copy, in units; empty: all 1
    unit: float


class Rules(NamedTuple):
    """How a tree is grown."""

    n_classes: int
    max_leaves: int  # 0: no limit
    max_depth: int
    least: int  # weight of a leaf, in units
    split_features: int
    random_cuts: bool
    bootstrap: bool
    poisson: NDArray[np.uint64]  # P(count ≤ c) · 2³² of a draw
    dispersion: float  # by how much more the class sums of a tree vary than numbers of rows


class Room(NamedTuple):
    """What one thread needs to grow a tree."""

    bag: NDArray[np.uint64]
    spare: NDArray[np.uint64]
    spare_codes: NDArray[np.uint8]
    features: NDArray[np.int64]  # (d,): in the order in which they were drawn
    waiting: NDArray[np.void]  # of WAITING
    waiting_left: NDArray[np.int64]  # (waiting, K): class sums on the left of the split
    waiting_sets: NDArray[np.uint32]  # (waiting, SET_WORDS)
    sums: NDArray[np.int64]  # (nodes, K)
    nodes: NDArray[np.void]  # of TREE_NODE
    sets: NDArray[np.uint32]  # (nodes, SET_WORDS)
    cells: NDArray[np.int64]  # (BINS · K,): all 0 between two searches
    bins: NDArray[np.int64]  # (BINS,): bins in the order of the cuts
    shares: NDArray[np.float64]  # (BINS,)
    left: NDArray[np.int64]  # (2, K): sums up to a cut, without and with missing values
    state: NDArray[np.uint64]  # of random numbers
    votes: NDArray[np.int64]  # (n, K) or (0, K): out of bag, in units of 2⁻⁴⁰
    voters: NDArray[np.int64]  # (n,) or (0,)


def make_room(sample: Sample, rules: Rules, max_nodes: int, dtype: np.dtype, out_of_bag: bool) -> Room:
    """Room for trees of at most `max_nodes` nodes."""
    d, n = sample.codes.shape
    K, waiting = rules.n_classes, max_nodes // 2 + 2
    any_set = bool(np.any(sample.categorical))
    return Room(
        np.empty(n, dtype=np.uint64),
        np.empty(n, dtype=np.uint64),
        np.empty(n, dtype=np.uint8),
        np.arange(d),
        np.empty(waiting, dtype=WAITING),
        np.empty((waiting, K), dtype=np.int64),
        np.empty((waiting, SET_WORDS), dtype=np.uint32),
        np.empty((max_nodes, K), dtype=np.int64),
        np.empty(max_nodes, dtype=dtype),
        np.empty((max_nodes if any_set else 0, SET_WORDS), dtype=np.uint32),
        np.zeros(BINS * K, dtype=np.int64),
        np.empty(BINS, dtype=np.int64),
        np.empty(BINS),
        np.empty((2, K), dtype=np.int64),
        np.zeros(1, dtype=np.uint64),
        np.zeros((n if out_of_bag else 0, K), dtype=np.int64),
        np.zeros(n if out_of_bag else 0, dtype=np.int64),
    )
