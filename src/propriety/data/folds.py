"""Folds that depend on what the rows hold and on nothing else.

A row's place is a hash of its values. So the folds do not change with the order of the rows or of the
columns, copies of a row share a fold, and a row of weight k lies where its k copies would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from propriety.data.parameters import number
from propriety.data.training import Training

Hashes = NDArray[np.uint64]
_NAN = np.float64(np.nan)
_SALT = np.uint64(0x9E3779B97F4A7C15)


def fold_numbers(training: Training, n_folds: int, *, seed: int = 0, groups: Any = None) -> NDArray[np.intp]:
    """A fold 0 … n_folds−1 for each row, every class in proportion; −1 is never held out.

    Rows of a class are put in the order of their hashes, which `seed` changes, and cut into parts of equal
    weight. The fold −1 is that of rows of weight 0 and of a class that would lie in one fold alone: without
    that fold nobody could learn it. Few rows, or heavy ones, may leave a fold empty.

    Parameters
    ----------
    training : Training
    n_folds : int
    seed : int
    groups : array of shape (n,), optional
        Rows of a group share a fold.

    Examples
    --------
    >>> training = Training.read("T", [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1], [2, 2, 1, 1])
    >>> fold_numbers(training, 2).tolist()
    [0, 1, 1, 0]
    >>> fold_numbers(training, 2, groups=["a", "b", "a", "b"]).tolist()
    [1, 0, 1, 0]
    """
    n_folds = number("n_folds", n_folds, 2, whole=True)
    rows = np.flatnonzero(training.weights.array > 0)
    codes, weight = training.codes[rows], training.weights.array[rows]
    if groups is None:
        units = codes
        folds = _cut(row_hashes(training, rows, seed), codes, weight, n_folds)
    else:
        units = _group_codes(groups, training.n_rows, rows)
        folds = _share_out(units, codes, weight, n_folds, seed)
    for code in np.unique(codes):
        if len(np.unique(folds[codes == code])) == 1:
            folds[np.isin(units, units[codes == code])] = -1
    result = np.full(training.n_rows, -1, dtype=np.intp)
    result[rows] = folds
    return result


def read_folds(folds: Any, n_rows: int) -> NDArray[np.intp]:
    """Folds that a user gives: a whole number for each row, −1 for one that is never held out.

    >>> read_folds([0, 1, -1], 3)
    array([ 0,  1, -1])
    """
    given = np.asarray(folds)
    if given.shape != (n_rows,):
        raise ValueError(f"folds must have one entry for each of {n_rows} rows, got shape {given.shape}")
    if given.dtype.kind not in "iuf" or np.any(given != np.floor(given)) or np.any(given < -1):
        raise ValueError("folds must be whole numbers from 0 on, or -1 for a row that is never held out")
    numbers = given.astype(np.intp)
    if len(np.unique(numbers[numbers >= 0])) < 2:
        raise ValueError("folds must hold at least two folds")
    return numbers


def row_hashes(training: Training, rows: NDArray[np.intp], seed: int = 0) -> Hashes:
    """A hash of the values of each of these rows, the same for any order of rows and columns.

    Columns are told apart by what they hold: first by their values in the rows that differ, then by the
    hashes of the rows in which these are. Columns that are alike even so, such as the cells of a board in all
    its symmetries, can be exchanged in a row without changing its hash.
    """
    columns = [_column_hashes(training, f, rows) for f in range(training.n_features)]
    # Whether two rows are copies does not depend on the salts of the columns, so that places will do here.
    identities = _combined(columns, mixed(np.arange(len(columns), dtype=np.uint64)))
    distinct = np.unique(identities, return_index=True)[1]
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for _ in range(2):
        # Sums of unsigned integers wrap around, and depend on no order.
        salts = [mixed(column[distinct] + hashes[distinct]).sum() for column in columns]
        hashes = _combined(columns, np.array(salts, dtype=np.uint64))
    return mixed(hashes + mixed(np.array([seed % 2**64], dtype=np.uint64)))


def _column_hashes(training: Training, f: int, rows: NDArray[np.intp]) -> Hashes:
    """A hash of each value of a column; categories count from the first that these rows hold."""
    values = training.table.column(f)[rows].astype(np.float64)
    if training.schema.categories[f] is not None:
        _, ranks = np.unique(values, return_inverse=True)
        values = np.where(np.isnan(values), values, ranks)
    # Both zeros are one number, and every NaN means missing.
    return mixed(np.where(np.isnan(values), _NAN, values + 0.0).view(np.uint64))


def _combined(columns: list[Hashes], salts: Hashes) -> Hashes:
    """Hashes of rows: sums, over the columns, of their values' hashes mixed with the columns' salts."""
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, salt in zip(columns, salts, strict=True):
        total += mixed(column ^ salt)
    return total


def mixed(x: Hashes) -> Hashes:
    """SplitMix64's finalizer: a one-to-one function of 64 bits each of which depends on all."""
    x = x + _SALT
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _cut(
    hashes: Hashes, codes: NDArray[np.intp], weight: NDArray[np.float64], n_folds: int
) -> NDArray[np.intp]:
    """Folds by cumulative weight: the part of its class in which the middle of a row and its copies lies."""
    folds = np.empty(len(codes), dtype=np.intp)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        _, place = np.unique(hashes[members], return_inverse=True)
        together = np.bincount(place, weights=weight[members])
        end = np.cumsum(together)
        middle = (end - 0.5 * together) / end[-1]
        folds[members] = np.minimum(np.floor(n_folds * middle).astype(np.intp), n_folds - 1)[place]
    return folds


def _group_codes(groups: Any, n_rows: int, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """The number of each row's group, in the sorted order of their names."""
    names = column_or_1d(groups)
    if len(names) != n_rows:
        raise ValueError(f"groups must have one entry for each of {n_rows} rows, got {len(names)}")
    names, codes = np.unique(names[rows], return_inverse=True)
    if len(names) < 2:
        raise ValueError("groups must hold at least two groups, or they cannot be divided into folds; got 1")
    return codes


def _share_out(
    units: NDArray[np.intp],
    codes: NDArray[np.intp],
    weight: NDArray[np.float64],
    n_folds: int,
    seed: int,
) -> NDArray[np.intp]:
    """Folds of groups, the largest first, each to the fold that has least of what the group is made of."""
    n_groups, n_classes = int(units.max()) + 1, int(codes.max()) + 1
    amounts = np.zeros((n_groups, n_classes))
    np.add.at(amounts, (units, codes), weight)
    totals = amounts.sum(axis=0)
    parts = amounts / np.where(totals > 0, totals, 1.0)
    chance = mixed(np.arange(n_groups, dtype=np.uint64) + np.uint64(seed % 2**64))
    fold_of = np.empty(n_groups, dtype=np.intp)
    filled = np.zeros((n_folds, n_classes))
    for group in np.lexsort((chance, -parts.sum(axis=1))):
        # Of the squares of the folds' parts of each class, the sum that grows least.
        fold = int(np.argmin(filled @ parts[group]))
        fold_of[group] = fold
        filled[fold] += parts[group]
    return fold_of[units]
