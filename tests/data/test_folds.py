"""Folds follow the content of the rows: order, copies, weights and columns change nothing."""

import numpy as np
import pandas as pd
import pytest

from propriety.data.costs import Costs
from propriety.data.folds import fold_numbers, row_hashes, with_folds
from propriety.data.training import Training


def read(X, y, weight=None, **reading):
    return Training.read("T", X, y, weight, **reading)


@pytest.fixture
def data(rng):
    X = np.column_stack((rng.normal(size=200), rng.integers(0, 2, size=(200, 3)), rng.integers(0, 3, 200)))
    X[::7, 4] = np.nan
    return X, rng.integers(0, 3, 200)


def test_classes_are_shared_out_evenly(data):
    X, y = data
    folds = fold_numbers(read(X, y), 5)
    counts = np.array([[np.sum((folds == k) & (y == c)) for c in range(3)] for k in range(5)])
    assert folds.min() == 0
    assert np.all(np.ptp(counts, axis=0) <= 1)


def test_the_order_of_rows_and_columns_changes_nothing(data, rng):
    X, y = data
    folds = fold_numbers(read(X, y), 5)
    rows = rng.permutation(len(y))
    assert np.array_equal(fold_numbers(read(X[rows], y[rows]), 5), folds[rows])
    for columns in ([4, 3, 2, 1, 0], [1, 0, 3, 2, 4]):
        assert np.array_equal(fold_numbers(read(X[:, columns], y), 5), folds)


def test_weights_are_copies_and_a_weight_of_zero_takes_no_part(data, rng):
    X, y = data
    weight = rng.integers(0, 4, len(y))
    training = read(X, y, weight)
    copies = np.repeat(np.flatnonzero(weight), weight[weight > 0])
    folds = np.repeat(fold_numbers(training, 5), weight[weight > 0])
    assert np.array_equal(fold_numbers(read(X[copies], y[copies]), 5), folds)
    assert np.array_equal(training.places, np.flatnonzero(weight))


def contents(training, folds):
    """The rows of each fold with their weights, sorted."""
    X = np.column_stack([training.table.matrix, training.codes, folds, training.weights.array])
    rows, place = np.unique(X[:, :-1], axis=0, return_inverse=True)
    weights = np.bincount(place, weights=X[:, -1]) if training.weights.copies else None
    return np.column_stack([rows, weights]) if weights is not None else X[np.lexsort(X.T)]


@pytest.mark.parametrize("kind", ["copies", "many copies", "relative"])
def test_equal_rows_of_several_classes_are_dealt_by_what_they_hold(kind, rng):
    """Columns that can be exchanged give (a, b) and (b, a) one hash; equal rows differ in their weights."""
    few = rng.integers(0, 2, (30, 2)).astype(float)
    X, y = np.concatenate([few, few[:, ::-1]]), np.tile(rng.integers(0, 2, 30), 2)
    weight = {
        "copies": rng.integers(1, 4, 60),
        "many copies": rng.integers(4000, 9000, 60),  # more than are made rows of their own
        "relative": rng.choice([0.5, 1.25, 1.5], 60),
    }[kind]
    expected = contents(*with_folds(read(X, y, weight), 4))
    rows = rng.permutation(60)
    assert np.array_equal(contents(*with_folds(read(X[rows], y[rows], weight[rows]), 4)), expected)
    if kind != "relative":
        copies = rng.permutation(np.repeat(np.arange(60), weight))
        assert np.array_equal(contents(*with_folds(read(X[copies], y[copies]), 4)), expected)


def test_rows_that_are_dealt_have_the_order_of_their_offsets_and_costs(rng):
    X, y, rows = np.zeros((12, 1)), np.repeat([0, 1], 6), rng.permutation(12)
    values = rng.normal(size=12)
    for given in ({"offset": values}, {"costs": Costs(fp=np.exp(values))}):
        other = {name: v.take(rows) if name == "costs" else v[rows] for name, v in given.items()}
        folds = fold_numbers(read(X, y, **given), 3)
        assert np.array_equal(fold_numbers(read(X, y[rows], **other), 3), folds[rows])


def test_fractional_weights_are_cut_evenly(data, rng):
    X, y = data
    weight = rng.uniform(0.5, 2, len(y))
    folds = fold_numbers(read(X, y, weight), 4)
    for c in range(3):
        parts = np.bincount(folds[y == c], weights=weight[y == c])
        assert np.ptp(parts) <= 4


def test_columns_of_equal_values_are_told_apart():
    # Each of the first three columns holds two ones and two zeros.
    X = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1.0]])
    hashes = row_hashes(read(X, [0, 1, 0, 1]), np.arange(4))
    assert len(np.unique(hashes)) == 4


def test_the_seed_makes_other_folds(data):
    X, y = data
    folds = [fold_numbers(read(X, y), 5, seed=seed) for seed in (0, 1)]
    assert 0.6 < np.mean(folds[0] != folds[1]) < 0.95


def test_zeros_and_missing_values_have_one_hash_each():
    X = np.array([[0.0, np.nan], [-0.0, -np.nan], [0.0, 1.0]])
    hashes = row_hashes(read(X, [0, 1, 1]), np.arange(3))
    assert hashes[0] == hashes[1] != hashes[2]


def test_categories_of_rows_without_weight_do_not_count(data):
    X, y = data
    names = np.array(["b", "c", "d"])[X[:, 1:4].sum(axis=1).astype(int) % 3].astype(object)
    frame = pd.DataFrame({"x": X[:, 0], "name": pd.Categorical(names)})
    folds = fold_numbers(read(frame, y, categorical="from_dtype"), 5)
    more = pd.concat([frame, pd.DataFrame({"x": [1.0], "name": ["a"]})], ignore_index=True)
    more["name"] = more["name"].astype("category")
    weight = np.append(np.ones(len(y)), 0)
    assert np.array_equal(
        fold_numbers(read(more, np.append(y, 0), weight, categorical="from_dtype"), 5), folds
    )


def test_a_class_that_one_fold_would_hold_is_never_held_out():
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1, 2], [10, 9, 1])
    folds = fold_numbers(read(X, y), 5)
    assert folds[-1] == -1
    assert folds[:-1].min() == 0


def test_groups_stay_together_and_classes_even(data, rng):
    X, y = data
    groups = rng.integers(0, 40, len(y))
    folds = fold_numbers(read(X, y, groups=groups), 4)
    assert all(len(np.unique(folds[groups == g])) == 1 for g in range(40))
    for c in range(3):
        counts = np.bincount(folds[y == c], minlength=4)
        assert np.ptp(counts) <= 8
    rows = rng.permutation(len(y))
    assert np.array_equal(fold_numbers(read(X[rows], y[rows], groups=groups[rows]), 4), folds[rows])
    with pytest.raises(ValueError, match="groups must have one entry for each of 200 rows, got 40"):
        read(X, y, groups=np.arange(40))
    with pytest.raises(ValueError, match="at least two groups"):
        fold_numbers(read(X, y, groups=np.zeros(200)), 4)


@pytest.mark.parametrize(
    "groups",
    [
        ["a", None, "b", "b"],
        [1.0, np.nan, 2.0, 2.0],
        pd.Series(["a", pd.NA, "b", "b"], dtype="string"),
        pd.to_datetime(pd.Series(["2020-01-01", None, "2020-01-02", "2020-01-02"])),
        np.array(["2020-01-01", "NaT", "2020-01-02", "2020-01-02"], dtype="datetime64[ns]"),
    ],
)
def test_a_row_without_a_group_is_refused_by_its_number(groups):
    with pytest.raises(ValueError, match="groups must name a group in every row, and none is named in row 1"):
        read([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], groups=groups)


def test_groups_that_cannot_be_sorted_are_refused():
    with pytest.raises(ValueError, match="groups must be all numbers or all text"):
        read([[1.0], [2.0]], [0, 1], groups=np.array(["a", 1], dtype=object))


def test_costs_of_rows_where_no_rows_have_the_same_values():
    X, y = np.arange(8.0)[:, None], [0, 1] * 4
    costs = Costs(fp=np.arange(1.0, 9.0))
    folds = fold_numbers(Training.read("T", X, y, costs=costs), 2)
    np.testing.assert_array_equal(folds, fold_numbers(Training.read("T", X, y), 2))
