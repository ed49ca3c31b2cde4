"""A forest over rows that are spread over processes: each holds the bins of all rows, and grows some trees.

A tree grown to its last rows has as many nodes as rows, and a sum over processes for each of them would take
longer than the rows themselves. But trees know nothing of each other, and a row of bins is an eighth of its
numbers. So the bins travel once, and then each process grows its share of the trees alone: the same trees,
since each has its own seed, and rows an order that depends on what they hold.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety import memory, parallel
from propriety.communicator import Communicator, NotDistributable, refuse_if_spread
from propriety.data.streamed import StreamedTable
from propriety.data.training import Training
from propriety.forest.settings import ForestSettings
from propriety.trees.layout import GrownTree

if TYPE_CHECKING:
    from propriety.forest.joining import Joined

#: Grows a tree, in arrays that are needed until the function beside it is called.
Grow = Callable[[int], tuple[GrownTree, Callable[[], object]]]
_TREES = 4  # that a thread grows before processes tell each other


def row_bytes(d: int, n_classes: int, n_jobs: int, leaves: float = np.inf) -> int:
    """Bytes of a row, in every process, in the arrays of a forest; of trees with so many ``leaves`` a row.

    >>> row_bytes(28, 2, 1), row_bytes(28, 2, 1, leaves=0.01)
    (303, 129)
    """
    sample = 3 * d + 8 + 1 + 8 + 8  # bins of this process, those of all as they come and in order; hashes
    nodes = min(1.0, leaves) * (2 * (24 + 8 * n_classes) + 80 + 8 * n_classes)  # two a leaf, and one waits
    return sample + 2 + round(n_jobs * (16 + nodes))


def check_spread(training: Training, settings: ForestSettings) -> None:
    """Refuse what cannot be done over spread rows, or not in the memory that there is."""
    communicator, streamed = training.communicator, isinstance(training.table, StreamedTable)
    instead = "leave it out, and judge the forest by rows that it has not seen"
    refuse_if_spread(communicator, {"oob_score=True": settings.out_of_bag}, instead, parts=streamed)
    if communicator.size == 1:
        return
    n = int(communicator.sum(np.array([training.n_rows]))[0])
    leaves = min(settings.max_leaves or n, 2 ** min(settings.max_depth or 40, 40))
    need = n * row_bytes(training.n_features, training.n_classes, settings.n_jobs, leaves / n)
    host, room = socket.gethostname(), memory.available()
    here = communicator.gather(host).count(host)
    room = room if memory.is_held() else room // here
    if communicator.max((float(need > room),))[0]:
        raise NotDistributable(
            f"each process of a forest holds the bins of all {n:,} rows, about {memory.in_words(need)}, and "
            f"there are {memory.in_words(room)} for each; give max_leaf_nodes, start fewer processes with "
            "more memory, or fit BoostingClassifier or TreeClassifier, whose rows stay where they are"
        )


def grow_together(n_trees: int, grow: Grow, joined: Joined, n_jobs: int, communicator: Communicator) -> None:
    """Grow all trees, each process every so manyth of them, and join them."""
    size, rank = communicator.size, communicator.rank
    together = n_trees if size == 1 else _TREES * n_jobs * size

    def keep(t: int) -> None:
        tree, release = grow(t)
        if size == 1:
            joined.add(t, tree, release)
        else:
            kept[t] = tuple(part.copy() for part in tree)
            release()

    for first in range(0, n_trees, together):
        last = min(first + together, n_trees)
        kept: dict[int, Any] = {}
        parallel.run([partial(keep, t) for t in range(first + rank, last, size)], n_jobs)
        for part in communicator.gather(kept):
            for t, arrays in part.items():
                joined.add(t, GrownTree(*arrays), _nothing)
        communicator.report(last, n_trees, None)


def _nothing() -> None:
    """Arrays that came from another process serve no other tree."""
