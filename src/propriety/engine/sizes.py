"""How much room a tree needs while it grows, and how many threads it is worth."""

from __future__ import annotations

from propriety import parallel
from propriety.engine.compiling import COMPILED
from propriety.engine.layout import CELLS, Binned

#: Cells (rows × features) that are worth a task of their own.
TASK_CELLS = 32_768
#: Children up to this many rows, fewer than 2⁹, are searched without a histogram.
DIRECT_ROWS = 511


def n_threads(binned: Binned, n_jobs: int, n_trees: int = 1) -> int:
    """Threads that so many trees are worth: grown by all of them together, or side by side."""
    n, d = binned.rows.shape
    threads = parallel.n_threads(None) if COMPILED else 1
    return min(n_jobs, threads, max(1, n_trees * n * d // (2 * TASK_CELLS)))


def n_histograms_of(n: int, max_leaves: int) -> int:
    """Leaves of more than a few rows keep a histogram, one more is being searched."""
    return min(max_leaves, n // (DIRECT_ROWS + 1) + 1)


def histogram_bytes(binned: Binned, max_leaves: int) -> int:
    """The size of the histograms of a tree that grows."""
    n, d = binned.rows.shape
    return n_histograms_of(n, max_leaves) * d * CELLS * 8
