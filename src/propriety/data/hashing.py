"""Hashes of numbers, and of what the rows of a table hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.data.table import Table, is_sparse

Hashes = NDArray[np.uint64]
#: What `mixed` adds to a number before it mixes the bits.
SALT = np.uint64(0x9E3779B97F4A7C15)
#: Hashes of rows that a model keeps.
LEAST = 256
_CELLS = 1 << 15  # that are hashed at a time


def mixed(x: Hashes) -> Hashes:
    """SplitMix64's finalizer: a one-to-one function of 64 bits each of which depends on all."""
    x = x + SALT
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def mixed_number(x: int) -> int:
    """`mixed` of one number.

    >>> mixed_number(5) == int(mixed(np.array([5], dtype=np.uint64))[0])
    True
    """
    x = (x + int(SALT)) % 2**64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
    return x ^ (x >> 31)


def row_hashes(table: Table) -> Hashes:
    """A hash of what each row holds, its numbers to single precision.

    It is a sum over the columns of odd multiples of their 32 bits, whose upper half is nearly universal.
    """
    salts = mixed(np.arange(table.n_features, dtype=np.uint64)) | np.uint64(1)
    total = np.zeros(table.n_rows, dtype=np.uint64)
    plain = not any(table.schema.n_categories)
    if plain and is_sparse(table.matrix):
        cells = table.matrix.tocoo()
        np.add.at(total, cells.row, _bits(cells.data) * salts[cells.col])
    elif plain and table.dense is not None:
        step = max(1, _CELLS // table.n_features)
        for start in range(0, table.n_rows, step):
            total[start : start + step] = _bits(table.dense[start : start + step]) @ salts
    else:
        for f in range(table.n_features):
            total += _bits(table.column(f)) * salts[f]
    return mixed(total)


def _bits(values: NDArray[np.floating]) -> Hashes:
    """The bits of numbers in single precision, 0 for both zeros, the same for every NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
        single += np.float32(0)
    missing = np.isnan(single)
    if missing.any():
        single[missing] = np.nan
    return single.view(np.uint32).astype(np.uint64)


def least(hashes: Hashes, n: int = LEAST) -> Hashes:
    """The n least of the distinct hashes, ascending; all of them if they are fewer.

    >>> least(np.array([7, 3, 3, 9], dtype=np.uint64), 2).tolist()
    [3, 7]
    """
    most = 2 * n
    while True:
        lowest = hashes if most >= len(hashes) else np.partition(hashes, most)[:most]
        distinct = np.unique(lowest)
        if len(distinct) >= n or most >= len(hashes):
            return distinct[:n].copy()
        most *= 8  # rows are repeated
