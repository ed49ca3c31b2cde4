"""Folds that depend on what the rows hold and on nothing else.

A row's place is a hash of its values, so the folds do not change with the order of the rows or of the
columns. Rows with the same values and the same class may be copies of one another, and share a fold, so that
nobody is judged by a copy of what was learned. Where rows with the same values have several classes, they
are observations that happen to agree, as in a table of few categories: these are dealt out to the folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from propriety.data.hashing import Hashes, mixed
from propriety.data.parameters import number
from propriety.data.training import Training

_NAN = np.float64(np.nan)


def fold_numbers(training: Training, n_folds: int, *, seed: int = 0) -> NDArray[np.intp]:
    """A fold 0 … n_folds−1 for each row, every class in proportion; −1 is never held out.

    Rows of a class are put in the order of their hashes, which `seed` changes, and cut into parts of equal
    weight; a row of weight k has one fold, so `Training.expanded` comes first where it should have several.
    The fold −1 is that of rows of weight 0 and of a class that would lie in one fold alone: without that fold
    nobody could learn it. Few rows, or heavy ones, may leave a fold empty. Rows of a group share a fold.

    Parameters
    ----------
    training : Training
    n_folds : int
    seed : int

    Examples
    --------
    >>> training = Training.read("T", [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1], [2, 2, 1, 1])
    >>> fold_numbers(training, 2).tolist()
    [0, 1, 1, 0]
    >>> together = Training.read("T", [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1], groups=["a", "b", "a", "b"])
    >>> fold_numbers(together, 2).tolist()
    [1, 0, 1, 0]
    """
    n_folds = number("n_folds", n_folds, 2, whole=True)
    rows = np.flatnonzero(training.weights.array > 0)
    codes, weight = training.codes[rows], training.weights.array[rows]
    if training.groups is None:
        units = codes
        folds = _cut(row_hashes(training, rows, seed), codes, weight, n_folds)
    else:
        names, units = np.unique(training.groups[rows], return_inverse=True)
        if len(names) < 2:
            raise ValueError(
                "groups must hold at least two groups, or they cannot be divided into folds; got 1"
            )
        folds = _share_out(units, codes, weight, n_folds, seed)
    for code in np.unique(codes):
        if len(np.unique(folds[codes == code])) == 1:
            folds[np.isin(units, units[codes == code])] = -1
    result = np.full(training.n_rows, -1, dtype=np.intp)
    result[rows] = folds
    return result


def read_folds(folds: Any, training: Training) -> NDArray[np.intp]:
    """Folds that a user gives: a whole number for each row, −1 for one that is never held out.

    >>> training = Training.read("T", [[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
    >>> read_folds([0, 0, 1, -1], training)
    array([ 0,  0,  1, -1])
    """
    given, n_rows = np.asarray(folds), training.n_given
    if given.shape != (n_rows,):
        raise ValueError(f"folds must have one entry for each of {n_rows} rows, got shape {given.shape}")
    whole = given.dtype.kind in "iuf" and np.all(np.isfinite(given)) and np.all(given == np.floor(given))
    if not whole or np.any(given < -1):
        raise ValueError("folds must be whole numbers from 0 on, or -1 for a row that is never held out")
    numbers = given.astype(np.intp)[training.places]
    every = np.unique(numbers[numbers >= 0])
    if len(every) < 2:
        raise ValueError("folds must hold at least two folds")
    present = training.weights.array > 0
    for fold in every:
        known = np.unique(training.codes[present & (numbers != fold)])
        if len(known) < training.n_classes:
            lost = np.setdiff1d(np.arange(training.n_classes), known)
            raise ValueError(
                f"folds must leave rows of every class to learn from, and without fold {fold} there are none "
                f"of {training.classes[lost].tolist()}"
            )
    return numbers


def splits_of(cv: Any, training: Training, seed: int = 0) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to learn from and rows held out: by a number of folds, a splitter, or pairs of the rows given.

    A number makes the folds of `fold_numbers`; a splitter sees the rows that have a weight, and no others.

    >>> training = Training.read("T", [[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], [1, 1, 0, 1])
    >>> splits_of([([0, 2, 3], [1])], training)
    [(array([0, 2]), array([1]))]
    """
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        numbers = fold_numbers(training, int(cv), seed=seed)
        every = np.unique(numbers[numbers >= 0])
        return [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in every]
    if hasattr(cv, "split"):
        return list(cv.split(np.zeros((training.n_rows, 1)), training.codes, training.groups))
    given, place = np.arange(training.n_given), np.full(training.n_given, -1)
    place[training.places] = np.arange(training.n_rows)
    pairs = [(place[given[train]], place[given[test]]) for train, test in check_cv(cv).split()]
    return [(train[train >= 0], test[test >= 0]) for train, test in pairs]


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


def _cut(
    hashes: Hashes, codes: NDArray[np.intp], weight: NDArray[np.float64], n_folds: int
) -> NDArray[np.intp]:
    """Folds by cumulative weight: the part of its class in which the middle of a row and its copies lies.

    Rows of cells with several classes are dealt out one by one, from a fold that the cell's hash says.
    """
    folds = np.empty(len(codes), dtype=np.intp)
    alone = ~in_mixed_cells(hashes, codes)
    for code in np.unique(codes):
        members = np.flatnonzero((codes == code) & alone)
        if len(members):
            _, place = np.unique(hashes[members], return_inverse=True)
            together = np.bincount(place, weights=weight[members])
            end = np.cumsum(together)
            middle = (end - 0.5 * together) / end[-1]
            folds[members] = np.minimum(np.floor(n_folds * middle).astype(np.intp), n_folds - 1)[place]
        dealt = np.flatnonzero((codes == code) & ~alone)
        order = dealt[np.argsort(hashes[dealt], kind="stable")]
        # One after the other over all cells, so that cells of one row are spread as well.
        folds[order] = np.arange(len(order)) % n_folds
    return folds


def in_mixed_cells(hashes: Hashes, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether rows with the values of a row have several classes.

    >>> in_mixed_cells(np.array([7, 7, 8, 8], dtype=np.uint64), np.array([0, 1, 1, 1]))
    array([ True,  True, False, False])
    """
    _, place = np.unique(hashes, return_inverse=True)
    lowest, highest = np.full(place.max() + 1, codes.max()), np.zeros(place.max() + 1, dtype=np.intp)
    np.minimum.at(lowest, place, codes)
    np.maximum.at(highest, place, codes)
    return np.asarray((lowest < highest)[place])


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
