"""How much room a tree needs while it grows, and how many threads it is worth."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

from propriety import parallel
from propriety.engine.compiling import COMPILED
from propriety.engine.intrinsics import AT_ONCE, LANES
from propriety.engine.layout import BINS, CELLS, Binned

#: Cells (rows × features) that are worth a task of their own.
TASK_CELLS = 32_768
#: Children up to this many rows, fewer than 2⁹, are searched without a histogram.
DIRECT_ROWS = 511
#: Cells may take so much of a processor's first cache while rows are added to all of them: the few that are
#: in the second cache cost less than going over the rows twice (measured on 48 KiB: 28 features of 256 cells
#: .45 ns a cell, of 40 features .57, by tiles .49).
_OF_CACHE = 1.2
_FIRST_CACHE = 32 << 10  # bytes, of a processor that does not say


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


@cache
def features_at_once(caches: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int:
    """Features of a row whose cells are added to at a time; by the size of the first cache, where Linux says.

    >>> LANES <= features_at_once() <= AT_ONCE
    True
    """
    size = _FIRST_CACHE
    for cache_ in caches.glob("index*"):
        with suppress(OSError, ValueError, KeyError):
            level, kind, stated = ((cache_ / name).read_text().strip() for name in ("level", "type", "size"))
            if level == "1" and kind in ("Data", "Unified"):
                size = int(stated[:-1]) * {"K": 1 << 10, "M": 1 << 20}[stated[-1]]
    return min(max(int(_OF_CACHE * size) // (8 * BINS), LANES), AT_ONCE)
