"""The arrays that the gradient grower's functions share, and their meaning.

Scalars are fields of records, each of which is one pointer to compiled code; arrays come in a few small
tuples. Indices are unsigned in hot loops because a signed index costs a test for negative values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.trees.binned import BINS, CELLS, SET_WORDS
from propriety.trees.handed import by_address
from propriety.trees.jit import records
from propriety.trees.split_score import SPLIT_FIELDS

#: Rows whose bins are copied side by side, at most for so many features, before they are added up.
TILE, SPAN = 512, 128
GROUP = 16  # features counted at once for a node of few rows: their cells fit in the first cache
MAX_BLOCKS = 64  # of the rows of a node

#: A node while its tree grows, with the best split found for it.
NODE = records(
    [
        ("start", "i8"),  # its rows are the set Index.rows[start:stop], in no order
        ("stop", "i8"),
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
        ("missing_seen", "u1"),  # it holds rows with a missing value of the split's feature
        ("packed", "u1"),  # its histogram holds gradient and curvature in one number
        ("has_weights", "u1"),  # its histogram holds weights too
        ("few", "u1"),  # its parent has so few rows that bins hold no more categories than rows
        (
            "wants_weights",
            "u1",
        ),  # its split leaves too little weight on a side, as was found when it was made
    ],
)

#: A node that is being counted or split.
CUT = records(
    [
        ("node", "i8"),
        ("kind", "i8"),  # ROOT, SPLIT or WEIGH
        ("start", "i8"),  # the rows that are counted
        ("stop", "i8"),
        ("other_start", "i8"),  # those of the sibling
        ("other_stop", "i8"),
        ("n_left", "i8"),
        ("slot", "i8"),  # of what is counted; −1: nothing is
        ("other_slot", "i8"),
        ("at", "i8"),  # where its sums begin in the message
        ("first_block", "i8"),  # of its partition, among those of all cuts
        ("n_blocks", "i8"),
        ("packed", "i8"),  # what is counted has gradient and curvature in one number
        ("weights", "i8"),  # 0: no weights are counted, 1: of the small child, 2: of both
        ("block", "i8"),  # so many of its rows fit into packed cells
        ("by_rows", "i8"),  # threads share its rows, not its features
        ("left_is_small", "i8"),
        ("made", "i8"),  # whether it got its children
        ("searched", "i8"),  # whether splits of its children are looked for
        ("direct", "i8"),  # without histograms, from their rows
    ]
)

#: What a column is.
FEATURE = records(
    [
        ("n_bins", "i8"),  # the missing values' bin has this number
        ("offset", "i8"),  # where its bins begin among those of all columns
        ("noise", "f8"),  # how much of what the categories show at the start is noise
        ("drift", "f8"),  # what categories that were not seen have got so far, summed over rows
        ("monotone", "i8"),
        ("categorical", "i8"),
        ("used", "i8"),  # by this tree
    ]
)

#: Settings of a tree.
PARAMS = records(
    [
        *SPLIT_FIELDS,
        ("any_monotone", "i8"),
        ("any_categorical", "i8"),
        ("gradient_unit", "f8"),
        ("curvature_unit", "f8"),
        ("weight_unit", "f8"),
        ("dispersion", "f8"),  # Σ g²/Σ h: what a category adds to the spread by chance
        ("weighted", "i8"),
        ("block", "i8"),  # so many rows of a large node fit into packed cells
        ("n_rows", "i8"),  # of this process
        ("all_rows", "i8"),  # of all processes
        ("every_row", "i8"),  # whether these are all rows of the table
        ("spread", "i8"),  # whether rows are spread over processes
        ("total_bins", "i8"),  # of all columns, missing values' included
    ]
)

#: How far a tree is.
STATE = records(
    [
        ("phase", "i8"),
        ("n_tasks", "i8"),
        ("n_nodes", "i8"),
        ("n_slots", "i8"),  # histograms in use
        ("n_placed", "i8"),
        ("n_leaves", "i8"),
        ("n_cuts", "i8"),
        ("n_numbers", "i8"),  # of the message
        ("last", "i8"),  # whether no split follows
    ]
)

#: What a thread needs for itself while it counts and looks for splits.
SCRATCH = records(
    [
        ("best", "f8"),  # the score to beat
        ("left", "i8", (3,)),  # gradient, curvature and weight left of the best cut
        ("sums", "i8", (4, BINS)),  # of the bins up to a cut: gradient, curvature, weight; several together
        ("scores", "f8", (BINS,)),  # of the cuts
        ("order", "u8", (BINS,)),  # bins in the order of the cuts
        ("features", "u8", (GROUP,)),  # counted at once for a node of few rows
        ("together", "i8", (GROUP * BINS,)),  # their cells
        ("bins", "u1", (TILE * SPAN,)),  # of a tile of a node of many rows
        ("values", "i8", (TILE,)),  # their packed gradients
        ("sides", "u1", (BINS,)),  # 1 for bins that go left
        ("apart", "u1", (64,)),  # keeps two threads' numbers off one line of the cache
    ],
)


@by_address
class Table(NamedTuple):
    """The table in bins, twice: rows for histograms, columns for partitions."""

    rows: NDArray[np.uint8]  # (n, d)
    columns: NDArray[np.uint8]  # (d, n)
    features: NDArray[np.void]  # (d,) of FEATURE
    levels: NDArray[np.float64]  # (d, BINS): categories that share a bin; (0, BINS) if all are numbers
    groups: NDArray[np.uint8]  # (groups, d): features that may interact; (0, d): all may


@by_address
class Gradients(NamedTuple):
    """The arrays of :class:`~propriety.trees.gradients.QuantizedGradients`."""

    packed: NDArray[np.int64]
    parts: NDArray[np.int32]


@by_address
class Control(NamedTuple):
    """Settings, the state of the tree, and the queue of tasks."""

    params: NDArray[np.void]  # (1,) of PARAMS
    state: NDArray[np.void]  # (1,) of STATE
    board: NDArray[np.int64]


@by_address
class Index(NamedTuple):
    """Rows of the table, those of a node side by side and in no order."""

    rows: NDArray[np.uint32]
    spare: NDArray[np.uint32]
    lefts: NDArray[np.int64]  # (batch, MAX_BLOCKS): left rows of each block of a partition


@by_address
class Tree(NamedTuple):
    """The nodes made so far, and the tree that one process would have."""

    nodes: NDArray[np.void]  # of NODE
    sets: NDArray[np.uint32]  # (nodes, SET_WORDS): bins that go left
    path_groups: NDArray[np.uint8]  # (nodes, groups): groups that hold all features above the node
    order: NDArray[np.int64]  # the nodes of the tree, in the order of one process
    open: NDArray[np.uint8]  # by place in that order: whether it is a leaf


@by_address
class Sums(NamedTuple):
    """Histograms."""

    histograms: NDArray[np.int64]  # (slots, d · CELLS)
    slots: NDArray[np.int64]  # (slots,): those in use, then those that are free
    partials: NDArray[np.int64]  # (threads, d · CELLS): what each thread adds to the node at hand; else 0
    blocks: NDArray[np.int64]  # (threads, d · CELLS): packed sums of some rows of a large node; else 0
    message: NDArray[np.int64]  # to be added up over all processes


@by_address
class Search(NamedTuple):
    """The nodes that are split at a time, and what is found for their children."""

    cuts: NDArray[np.void]  # (batch,) of CUT
    candidates: NDArray[np.void]  # (2 · batch, chunks) of NODE: best split per chunk of features
    candidate_sets: NDArray[np.uint32]  # (2 · batch, chunks, SET_WORDS)
    allowed: NDArray[np.uint8]  # (2 · batch, d): features that the searched nodes may use
    drawn: NDArray[np.uint64]  # (d,): numbers by which these are drawn


__all__ = [
    "BINS",
    "CELLS",
    "CUT",
    "FEATURE",
    "GROUP",
    "MAX_BLOCKS",
    "NODE",
    "PARAMS",
    "SCRATCH",
    "SET_WORDS",
    "SPAN",
    "STATE",
    "TILE",
    "Control",
    "Gradients",
    "Index",
    "Search",
    "Sums",
    "Table",
    "Tree",
]
