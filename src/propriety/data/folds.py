"""Folds that depend on what the rows hold and on nothing else.

A row's place is a hash of its values, so the folds do not change with the order of the rows or of the
columns. Rows with the same values and the same class may be copies of one another, and share a fold, so that
nobody is judged by a copy of what was learned. Where rows with the same values have several classes, they
are observations that happen to agree, as in a table of few categories: these are dealt out to the folds, a
row of weight k as the k rows that it stands for. Those that are dealt out have the order of their values,
weights, offsets and costs, so that rows that change places are the same in all that matters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from propriety.aliases import Folds
from propriety.data.hashing import Hashes, mixed
from propriety.data.parameters import number
from propriety.data.training import Training
from propriety.weights import Weights

_NAN = np.float64(np.nan)


def fold_numbers(training: Training, n_folds: int, *, seed: int = 0) -> NDArray[np.intp]:
    """A fold 0 … n_folds−1 for each row, every class in proportion; −1 is never held out.

    Rows of a class are put in the order of their hashes, which `seed` changes, and cut into parts of equal
    weight. A row has one fold, the first of those that its copies are dealt to: see `with_folds`.
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
    shares = _shares(training, n_folds, seed)
    result = np.full(training.n_rows, -1, dtype=np.intp)
    result[shares.row[::-1]] = shares.fold[::-1]
    return result


def with_folds(training: Training, n_folds: int, *, seed: int = 0) -> tuple[Training, NDArray[np.intp]]:
    """The training and its folds as `fold_numbers` has them, a row having one row for each of its folds.

    Where rows with the same values have several classes, copies of a row lie in several folds, and a row of
    weight k is k copies of it.

    >>> training = Training.read("T", [[1.0], [1.0], [2.0]], [0, 1, 1], [4, 1, 1])
    >>> parted, folds = with_folds(training, 2)
    >>> parted.places.tolist(), parted.weights.array.tolist(), folds.tolist()
    ([0, 0, 0, 0, 1, 2], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [0, 1, 0, 1, 0, 1])
    """
    training = training.expanded()
    shares = _shares(training, n_folds, seed)
    if len(shares.row) == len(np.unique(shares.row)):
        return training, fold_numbers(training, n_folds, seed=seed)
    return replace(training.take(shares.row), weights=Weights(len(shares.row), shares.amount)), shares.fold


class _Shares(NamedTuple):
    """What of each row's weight lies in which fold, in the order of rows and folds."""

    row: NDArray[np.intp]
    fold: NDArray[np.intp]
    amount: NDArray[np.float64]


def _shares(training: Training, n_folds: int, seed: int) -> _Shares:
    n_folds = number("n_folds", n_folds, 2, whole=True)
    rows = np.flatnonzero(training.weights.array > 0)
    codes, weight = training.codes[rows], training.weights.array[rows]
    if training.groups is None:
        at, folds, amounts = _cut(training, rows, n_folds, seed)
        units = codes
    else:
        names, units = np.unique(training.groups[rows], return_inverse=True)
        if len(names) < 2:
            raise ValueError(
                "groups must hold at least two groups, or they cannot be divided into folds; got 1"
            )
        at, amounts = np.arange(len(rows)), weight
        folds = _share_out(units, codes, weight, n_folds, seed)
    for code in np.unique(codes):
        if len(np.unique(folds[codes[at] == code])) == 1:
            folds[np.isin(units, units[codes == code])[at]] = -1
    return _Shares(rows[at], folds, amounts)


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


def splits_of(
    cv: Folds, training: Training, seed: int = 0
) -> tuple[Training, list[tuple[NDArray[np.intp], NDArray[np.intp]]]]:
    """Rows to learn from and rows held out: by a number of folds, a splitter, or pairs of the rows given.

    A number makes the folds of `with_folds`, and the rows are those of the training that it returns; a
    splitter sees the rows that have a weight, and no others.

    >>> training = Training.read("T", [[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], [1, 1, 0, 1])
    >>> splits_of([([0, 2, 3], [1])], training)[1]
    [(array([0, 2]), array([1]))]
    """
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        training, numbers = with_folds(training, int(cv), seed=seed)
        every = np.unique(numbers[numbers >= 0])
        return training, [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in every]
    if hasattr(cv, "split"):
        return training, list(cv.split(np.zeros((training.n_rows, 1)), training.codes, training.groups))
    given, place = np.arange(training.n_given), np.full(training.n_given, -1)
    place[training.places] = np.arange(training.n_rows)
    pairs = [(place[given[train]], place[given[test]]) for train, test in check_cv(cv).split()]
    return training, [(train[train >= 0], test[test >= 0]) for train, test in pairs]


def row_hashes(training: Training, rows: NDArray[np.intp], seed: int = 0) -> Hashes:
    """A hash of the values of each of these rows, the same for any order of rows and columns.

    Columns are told apart by what they hold: first by their values in the rows that differ, then by the
    hashes of the rows in which these are. Columns that are alike even so, such as the cells of a board in all
    its symmetries, can be exchanged in a row without changing its hash.
    """
    return _hashes(training, rows, seed)[0]


def _hashes(training: Training, rows: NDArray[np.intp], seed: int) -> tuple[Hashes, Hashes]:
    """`row_hashes`, and hashes that tell apart all rows that differ, which depend on the order of columns."""
    columns = [_column_hashes(training, f, rows) for f in range(training.n_features)]
    # Whether two rows are copies does not depend on the salts of the columns, so that places will do here.
    identities = _combined(columns, mixed(np.arange(len(columns), dtype=np.uint64)))
    distinct = np.unique(identities, return_index=True)[1]
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for _ in range(2):
        # Sums of unsigned integers wrap around, and depend on no order.
        salts = [mixed(column[distinct] + hashes[distinct]).sum() for column in columns]
        hashes = _combined(columns, np.array(salts, dtype=np.uint64))
    return mixed(hashes + mixed(np.array([seed % 2**64], dtype=np.uint64))), identities


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


def _cut(training: Training, rows: NDArray[np.intp], n_folds: int, seed: int) -> _Shares:
    """Folds by cumulative weight: the part of its class in which the middle of a row and its copies lies.

    Rows of cells with several classes are dealt out one by one, each copy of a row being one.
    """
    hashes, identities = _hashes(training, rows, seed)
    codes, weight = training.codes[rows], training.weights.array[rows]
    alone = ~in_mixed_cells(identities, codes)
    folds = np.empty(len(codes), dtype=np.intp)
    shares = []
    for code in np.unique(codes):
        members = np.flatnonzero((codes == code) & alone)
        if len(members):
            _, place = np.unique(hashes[members], return_inverse=True)
            together = np.bincount(place, weights=weight[members])
            end = np.cumsum(together)
            middle = (end - 0.5 * together) / end[-1]
            folds[members] = np.minimum(np.floor(n_folds * middle).astype(np.intp), n_folds - 1)[place]
        shares.append(_Shares(members, folds[members], weight[members]))
        dealt = np.flatnonzero((codes == code) & ~alone)
        # One after the other over all cells, so that cells of one row are spread as well.
        order = dealt[np.lexsort([*_differences(training, rows[dealt]), identities[dealt], hashes[dealt]])]
        shares.append(_deal(order, weight[order], training.weights.copies, n_folds))
    row, fold, amount = (np.concatenate(part) for part in zip(*shares, strict=True))
    order = np.lexsort((fold, row))
    return _Shares(row[order], fold[order], amount[order])


def _deal(order: NDArray[np.intp], weight: NDArray[np.float64], copies: bool, n_folds: int) -> _Shares:
    """Each row to the next fold, or each of its copies."""
    if not copies:
        return _Shares(order, np.arange(len(order)) % n_folds, weight)
    # Of the places from 0 to x − 1 those of fold f are ⌈(x − f) / n⌉.
    ends = np.cumsum(weight.astype(np.int64))
    before = -((np.arange(n_folds) - np.concatenate([[0], ends])[:, None]) // n_folds)
    counts = np.diff(before, axis=0)
    at, folds = np.nonzero(counts)
    return _Shares(order[at], folds, counts[at, folds].astype(np.float64))


def _differences(training: Training, rows: NDArray[np.intp]) -> list[NDArray[np.float64]]:
    """Columns of numbers by which rows of the same values and class may still differ, if not as copies."""
    columns: list[NDArray[np.float64]] = []
    if not training.weights.copies:
        columns.append(training.weights.array[rows])
    if training.offset is not None:
        columns.extend(training.offset[rows].T)
    if training.costs.by_row:
        matrix = training.costs.matrix[rows]
        columns.extend(matrix.reshape(len(rows), matrix.shape[1] * matrix.shape[2]).T)
    return columns


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
