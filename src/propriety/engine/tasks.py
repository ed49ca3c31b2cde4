"""How the work on a node is divided: into blocks of rows, and by which way its histogram is counted."""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner
from propriety.engine.sizes import TASK_CELLS

MAX_BLOCKS = 64
MANY_ROWS = 8192  # above which the workers share the rows of a child that is counted, else its features
#: Ways to count a node; of the last two, also what a worker's partial sums are of.
FEATURES, ROWS, BUNDLES = range(3)
_I = np.int64


@inner
def block(start, stop, n_blocks, k):
    """Where block number k of several begins and ends."""
    size = -(-(stop - start) // n_blocks)
    return min(start + k * size, stop), min(start + (k + 1) * size, stop)


@inner
def n_blocks_of(work, rows, d):
    """How many blocks so many rows are divided into."""
    if work.partials.shape[0] == 1:
        return _I(1)
    return _I(max(1, min(rows * d // TASK_CELLS, MAX_BLOCKS, 8 * work.partials.shape[0])))


@inner
def small_child(work, node_id):
    """The child of fewer rows, which is counted."""
    node = work.nodes[node_id]
    a, b = work.nodes[node.left], work.nodes[node.right]
    return node.left if a.stop - a.start <= b.stop - b.start else node.right


@inner
def way_to_count(work, counted, itself, n_blocks):
    """How a node is counted: the workers share its features or, as they are moved, its rows."""
    rows = counted.stop - counted.start
    if rows >= work.bundles.least:
        return BUNDLES
    return ROWS if itself or (n_blocks > 1 and rows > MANY_ROWS) else FEATURES


@inner
def searched(work, node_id, itself, i):
    """The node to be searched first or second: the node itself (and no other), or its children."""
    node = work.nodes[node_id]
    if itself:
        return node_id if i == 0 else _I(-1)
    return node.left if i == 0 else node.right
