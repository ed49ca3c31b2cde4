"""The arrays that the kernels share, and their meaning.

Kernels are plain functions over these tuples; they own nothing. Indices are unsigned in the hot
loops because a signed index costs a test for negative values (measured: 0.80 → 0.46 ns an update).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.engine.compiling import records
from propriety.engine.handed import by_address

BINS = 256  # cells per feature: at most 255 bins of values and one for missing values
#: Where a feature's weights and curvatures begin, after its 256 gradients (or packed pairs), and how many
#: numbers it has. The padding keeps a bin's sums from lying 4096 bytes apart, where processors take a load of
#: one for a load of the other that was just stored.
WEIGHTS, CURVATURES, CELLS = 264, 528, 792
#: Rows whose bins are copied side by side, at most for so many features, before they are added up.
TILE, SPAN = 512, 128
GROUP = 16  # features counted at once for a node of few rows: their cells fit in the first cache
SET_WORDS = 8  # a set of bins is 8 words of 32 bits

#: A node while its tree grows, with the best split found for it.
NODE = records(
    [
        ("start", "i8"),  # its rows are the set Workspace.rows[start:stop], in no order
        ("stop", "i8"),
        ("others", "i8"),  # those that were not drawn to grow the tree: Workspace.rows[others:others_stop]
        ("others_stop", "i8"),
        ("gradient", "i8"),  # fixed-point sums over its rows
        ("curvature", "i8"),
        ("weight", "i8"),
        ("lower", "f8"),  # bounds on the value, from monotone constraints above it
        ("upper", "f8"),
        ("gain", "f8"),  # of the best split; −1: none
        ("left_gradient", "i8"),
        ("left_curvature", "i8"),
        ("left_weight", "i8"),
        ("feature", "i8"),
        ("bin", "i8"),  # rows with a bin ≤ this go left
        ("left", "i8"),  # −1: a leaf
        ("right", "i8"),
        ("parent", "i8"),
        ("depth", "i8"),
        ("slot", "i8"),  # of its histogram; −1: none
        ("key", "u8"),  # a hash of the way to it, for what is drawn at random
        ("missing_left", "u1"),
        ("by_set", "u1"),  # the split is a set of bins
        ("counted", "u1"),  # its histogram holds weights too
        ("packed", "u1"),  # its histogram holds gradient and curvature in one number
        ("missing_seen", "u1"),  # it holds rows with a missing value of the split's feature
    ],
)


#: What a worker needs for itself while it looks for splits.
ROOM = records(
    [
        ("best", "f8"),  # the score to beat
        ("left", "i8", (3,)),  # gradient, curvature and weight left of the best cut
        ("sums", "i8", (4, BINS)),  # of the bins up to a cut: gradient, curvature, weight; several together
        ("scores", "f8", (BINS,)),  # of the cuts
        ("order", "u8", (BINS,)),  # bins in the order of the cuts
        ("cells", "i8", (CELLS,)),  # one feature's
        ("features", "u8", (GROUP,)),  # counted at once for a node of few rows
        ("together", "i8", (GROUP * BINS,)),  # their cells
        ("bins", "u1", (TILE * SPAN,)),  # of a tile of a node of many rows
        ("values", "i8", (TILE,)),  # their packed gradients
        ("sides", "u1", (BINS,)),  # 1 for bins that go left
        ("apart", "u1", (64,)),  # keeps two workers' numbers off one line of the cache
    ],
)


@by_address
class Binned(NamedTuple):
    """The table as bins, twice: rows for histograms, columns for partitions."""

    rows: NDArray[np.uint8]  # (n, d)
    columns: NDArray[np.uint8]  # (d, n)
    n_bins: NDArray[np.int64]  # per feature; the missing values' bin has this number
    categorical: NDArray[np.uint8]
    levels: NDArray[np.float64] | None  # (d, BINS): categories that share a bin; None if all are numbers
    noise: NDArray[np.float64]  # (d,): how much of what the categories show at the start is noise


@by_address
class Signal(NamedTuple):
    """Gradient and curvature of each row in fixed point: ``real = integer * unit``.

    With unit weights ``packed`` holds gradient · 2³² + curvature and ``parts`` is empty; otherwise
    ``parts`` holds (gradient, curvature, weight), each already multiplied by the row's weight.
    """

    packed: NDArray[np.int64]
    parts: NDArray[np.int32]
    gradient_unit: float
    curvature_unit: float
    weight_unit: float
    dispersion: float  # Σ g²/Σ h: what a category adds to the spread by chance; 0 if none is split


@by_address
class Rules(NamedTuple):
    """What a split must satisfy."""

    max_leaves: int
    max_depth: int
    min_weight: int  # in units of ``Signal.weight_unit``
    min_curvature: float
    min_gain: float
    l2: float
    set_smoothing: float  # curvature added when the categories of a node are put in order
    monotone: NDArray[np.int8]
    any_monotone: bool
    groups: NDArray[np.uint8]  # (groups, d): features that may interact; (0, d): all may
    features: NDArray[np.uint8]  # (d,): features of this tree
    split_features: int  # how many of them each split may look at
    random_cuts: bool  # whether it looks at one cut of each, drawn at random
    seed: np.uint64
    drift: NDArray[np.float64]  # (d,): what categories that were not seen have got so far, summed over rows


@by_address
class Bundles(NamedTuple):
    """The columns of a table in bundles, each of which has at most ``BINS`` combinations of bins."""

    rows: NDArray[np.uint8]  # (n, bundles): combinations
    sizes: NDArray[np.int64]  # (bundles,): how many there are
    of: NDArray[np.int64]  # (d,): the bundle of each feature
    bins: NDArray[np.uint8]  # (d, BINS): the feature's bin in each combination of its bundle
    least: int  # rows from which counting by bundles pays


@by_address
class Workspace(NamedTuple):
    """What growing a tree needs beside the data; made once per fit."""

    rows: NDArray[np.uint32]  # the tree's rows, those of a node side by side and in no order
    scratch: NDArray[np.uint32]
    nodes: NDArray[np.void]  # of NODE
    sets: NDArray[np.uint32]  # (nodes, SET_WORDS): bins that go left
    path_groups: NDArray[np.uint8]  # (nodes, groups): groups that hold all features above the node
    histograms: NDArray[np.int64]  # (slots, d · CELLS)
    slots: NDArray[np.int64]  # (slots,): those in use, then those that are free
    partials: NDArray[np.int64]  # (workers, d · CELLS): what each worker adds to the node at hand
    dirty: NDArray[np.uint8]  # (workers,): whose partial is not zero
    counts: NDArray[np.int64]  # nodes, slots and leaves in use
    lefts: NDArray[np.int64]  # (blocks,): left rows of each block of the node at hand
    allowed: NDArray[np.uint8]  # (2, d): features that the nodes under search may use
    numbers: NDArray[np.uint64]  # (2, d): by which these are drawn
    candidates: NDArray[np.void]  # (2, chunks) of NODE: best split per chunk of features
    candidate_sets: NDArray[np.uint32]  # (2, chunks, SET_WORDS)
    board: NDArray[np.int64]
    block: int  # so many rows of a large node fit into packed cells: all of them if all bins are small
    block_cells: NDArray[np.int64]  # (workers, d · CELLS): these sums, else 0
    rooms: NDArray[np.void]  # (workers,) of ROOM
    at_once: int  # features whose cells are added to row by row, at most
    bundles: Bundles


@by_address
class Harvest(NamedTuple):
    """What becomes of a tree of few rows in the very call that grows it: rows drawn, values, scores.

    Where it is not ``wanted``, the tree is grown over rows that were chosen before, and nothing else is done.
    """

    wanted: bool
    out: NDArray[np.bool_]  # (n,): rows that take no part; empty: all do
    hashes: NDArray[np.uint64]  # (n,): by which rows are drawn; empty: all that take part
    limit: np.uint64  # rows of a number below are
    every_row: bool  # whether rows that the tree has not seen get their scores as well
    G: NDArray[np.float64]  # (n_scores, n): gradients
    H: NDArray[np.float64]
    weights: NDArray[np.float64]  # as those of ``RowWeights``
    folded: bool
    total: float
    l2: NDArray[np.float64]  # (n_scores,)
    by_sign: bool  # values are ±1
    reach: float  # that a value has at most
    rate: float  # by which it is multiplied then
    edges: NDArray[np.float64]  # of the bins
    scores: NDArray[np.float64]  # (n, n_scores)
    nodes: NDArray[np.void]  # where the finished tree goes, as those of ``TreeNodes``


class Turn(NamedTuple):
    """What differs from one tree of a harvest to the next."""

    score: int
    salt: np.uint64  # of the numbers by which rows are drawn
    top_gradient: float
    top_curvature: float
