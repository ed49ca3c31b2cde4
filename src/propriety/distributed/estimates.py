"""What is said of a fit before it starts: how long it may take, and how often its processes meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from propriety import memory, parallel
from propriety.distributed.tree_allreduce import TreeAllreduce

if TYPE_CHECKING:
    from propriety.model.base import ProperClassifier

#: Processor seconds a value: to read it three times from Parquet and bin it; and in a round, for each score.
_READ, _ROUND = 40e-9, 3e-9
#: The rounds that are neither given nor found, the most where held-out rows find their number, and leaves.
_ROUNDS, _MOST, _LEAVES = 100, 500, 31
_MANY = 1_000_000  # rows, where their number is not known
_OTHER = 4  # of a tree, not for its splits: the scale, the root, the leaves, and one to spare


def rounds_of(model: ProperClassifier) -> int:
    """How many rounds a fit of a model will take at most; 1 for a model without rounds.

    >>> from propriety import BoostingClassifier
    >>> rounds_of(BoostingClassifier(max_iter=30)), rounds_of(BoostingClassifier())
    (30, 500)
    >>> rounds_of(BoostingClassifier(early_stopping=False))
    100
    """
    rounds = getattr(model, "max_iter", 1)
    if not isinstance(rounds, str):
        return int(rounds)
    return _MOST if stops_early(model) else _ROUNDS


def stops_early(model: ProperClassifier) -> bool:
    """Whether a fit of boosting to many rows will hold some of them out.

    >>> from propriety import BoostingClassifier
    >>> stops_early(BoostingClassifier()), stops_early(BoostingClassifier(max_iter=100))
    (True, False)
    """
    if not isinstance(model.early_stopping, str):
        return bool(model.early_stopping)
    return isinstance(model.max_iter, str) and not model.warm_start and model.regularizes


def leaves_of(model: ProperClassifier) -> int:
    """How many leaves a tree of boosting will have at most.

    >>> from propriety import BoostingClassifier
    >>> leaves_of(BoostingClassifier(max_leaf_nodes=8)), leaves_of(BoostingClassifier())
    (8, 31)
    """
    leaves = model.max_leaf_nodes
    return _LEAVES if isinstance(leaves, str) else int(leaves)


def seconds_of(rows: int, columns: int, rounds: int, scores: int = 1, threads: int | None = None) -> float:
    """Seconds that a fit may take on processors of our own, about.

    >>> round(seconds_of(10_000_000, 28, rounds=20, threads=2), 1)
    14.0
    """
    return rows * columns * (_READ + _ROUND * rounds * scores) / parallel.n_threads(threads)


def exchanges(leaves: int, ahead: int) -> int:
    """How often the processes of a fit meet for a tree, about.

    >>> exchanges(31, 1), exchanges(31, 8), exchanges(127, 8)
    (34, 10, 22)
    """
    splits, known, count = leaves - 1, 1, _OTHER
    while splits > 0:
        together = min(known, ahead, splits)
        splits, known, count = splits - together, known + together, count + 1
    return count


def in_words(seconds: float) -> str:
    """A time for people.

    >>> in_words(0.2), in_words(50), in_words(600), in_words(9000)
    ('1 s', '50 s', '10 minutes', '2.5 hours')
    """
    if seconds < 100:
        return f"{max(1.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def words_of(
    model: ProperClassifier, sizes: Sequence[float], columns: int, threads: Sequence[int], machines: int
) -> str:
    """What a fit over workers will be about.

    Parameters
    ----------
    model : estimator
    sizes : sequence of float
        Rows of each partition; NaN where they are not known.
    columns : int
    threads : sequence of int
        Of each worker.
    machines : int

    Examples
    --------
    >>> from propriety import BoostingClassifier
    >>> words_of(BoostingClassifier(max_iter=10), [1e6, 1e6], 28, [1, 1], 1).split("; ")[1:]
    ['a row takes 112 bytes beside its partition, 214 MB in all and 107 MB a worker', 'about 2 s']
    """
    known = not np.isnan(sizes).any()
    n, of_its_own = int(sum(sizes)) if known else 0, hasattr(model, "_row_bytes")
    row = model._row_bytes(columns, 2, max(1, n) if known else _MANY) if of_its_own else 2 * columns + 56
    rows = f"{n:,} rows of " if known else ""
    taken = f"a row takes {row} bytes beside its partition"
    if not model.capabilities.in_turns:
        taken = f"each worker holds the bins of all rows, and a row takes {row} bytes there"
    told = (
        f"{rows}{columns} columns in {len(sizes)} partitions on {len(threads)} workers with "
        f"{sum(threads)} threads; {taken}"
    )
    if known and model.capabilities.in_turns:
        each = memory.in_words(n * row / max(1, len(threads)))
        told += f", {memory.in_words(n * row)} in all and {each} a worker"
    if not of_its_own:
        often = exchanges(leaves_of(model), TreeAllreduce.speculative_splits)
        told += f"; {machines} machines meet about {often} times a tree" if machines > 1 else ""
        lasting = seconds_of(n, columns, rounds_of(model), threads=sum(threads) or 1)
        most = "at most " if stops_early(model) else ""
        told += f"; {most}about {in_words(lasting)}" if known else ""
    return told
