"""Splits: no group on both sides, and what judges is later than what was learned from."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit, train_test_split

from propriety.errors import ArgumentError
from propriety.study.ordering import _direction, _is_mixed
from propriety.study.splitting import Role, split_rows

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 300)
GROUPS = Role("customer", RNG.integers(0, 40, 300))
TIME = Role("day", RNG.integers(0, 50, 300).astype(float))
WAYS = [{"folds": 4, "holdout": None}, {"folds": None, "holdout": 0.3}, {"folds": None, "holdout": None}]


@pytest.mark.parametrize("way", WAYS)
def test_no_group_is_on_both_sides(way):
    split = split_rows(Y, seed=1, groups=GROUPS, **way)
    assert "no 'customer' on both sides" in split.text
    for train, test in split.pairs:
        assert not set(GROUPS.values[train]) & set(GROUPS.values[test])
        assert len(set(train) | set(test)) == 300
    if way["holdout"] is None:
        assert sorted(split.rows) == list(range(300))


@pytest.mark.parametrize("way", WAYS)
def test_what_judges_is_later(way):
    split = split_rows(Y, seed=1, time=TIME, **way)
    assert "'day'" in split.text
    for train, test in split.pairs:
        assert TIME.values[train].max() < TIME.values[test].min()
    assert len(set(split.rows)) == len(split.rows)
    assert len(split.pairs) == (1 if way["holdout"] else way["folds"] or 5)


def test_the_latest_share_is_held_out_and_equal_times_stay_together():
    time = Role("day", np.repeat([1.0, 2, 3, 4], 25))
    y = np.tile([0, 1], 50)
    ((train, test),) = split_rows(y, None, 0.3, 0, time=time).pairs
    assert (len(train), len(test)) == (50, 50)
    assert time.values[test].min() == 3


def test_training_rows_end_a_gap_before_those_that_judge():
    split = split_rows(Y, 3, None, 0, time=TIME, gap=4.0)
    assert "4 or more before them" in split.text
    for train, test in split.pairs:
        assert TIME.values[train].max() < TIME.values[test].min() - 4
    with pytest.raises(ArgumentError, match="gap is 0 or more, between rows that are split by time"):
        split_rows(Y, 3, None, 0, gap=4.0)


@pytest.mark.parametrize(
    ("folds", "holdout", "message"),
    [(3, 0.2, "not both"), (1, None, "2 or more"), (None, 1.0, "between 0 and 1")],
)
def test_a_split_that_cannot_be_meant_is_refused(folds, holdout, message):
    with pytest.raises(ArgumentError, match=message):
        split_rows(Y, folds, holdout, 0)


def test_a_splitter_judges_each_row_once_and_none_that_it_learned_from():
    split = split_rows(Y, KFold(4), None, 0)
    assert split.text == "4 parts of KFold"
    assert sorted(split.rows) == list(range(300))
    with pytest.raises(ArgumentError, match="once at most"):
        split_rows(Y, ShuffleSplit(3, test_size=0.5, random_state=0), None, 0)


def test_groups_and_time_together_leave_rows_out_of_the_training():
    split = split_rows(Y, 3, None, 0, groups=GROUPS, time=TIME)
    for train, test in split.pairs:
        assert TIME.values[train].max() < TIME.values[test].min()
        assert not set(GROUPS.values[train]) & set(GROUPS.values[test])


def test_three_classes_are_in_every_training_part():
    y = np.repeat([0, 1, 2], [280, 10, 10])
    for train, _ in split_rows(y, 5, None, 0, time=TIME).pairs:
        assert set(y[train]) == {0, 1, 2}


def test_a_class_of_one_group_cannot_be_split_by_groups():
    y = (GROUPS.values == 0).astype(np.intp)
    for folds, holdout in ((3, None), (None, 0.3)):
        with pytest.raises(ArgumentError, match="some class is in one group only"):
            split_rows(y, folds, holdout, 0, groups=GROUPS)


def test_a_class_that_comes_last_cannot_be_split_by_time():
    y = (TIME.values > 45).astype(np.intp)
    with pytest.raises(ArgumentError, match="so that the earlier ones have every class"):
        split_rows(y, None, 0.3, 0, time=TIME)


def test_a_column_that_is_sorted_is_never_taken_for_a_mixed_one():
    rng = np.random.default_rng(0)
    for n in (10, 100, 5_000):
        for share in (0.0, 0.004, 0.02, 0.5):
            values = np.arange(n, dtype=float)
            moved = rng.random(n) < share
            moved[n // 40 :] = False  # all of the disorder comes first
            values[moved] = rng.permutation(n)[: moved.sum()]
            for column in (values, -values, rng.permutation(values)):
                if _is_mixed(column):
                    assert _direction(column) == 0
    assert _is_mixed(rng.normal(size=1000))
    assert not _is_mixed(np.arange(1000.0))


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_are_held_out_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.concatenate([np.repeat(np.arange(seed + 2), 4), rng.integers(0, seed + 2, 91)]))
    for share in (0.25, 0.3, 0.5, rng.uniform(0.2, 0.8)):
        train, test = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=seed)
        ((learned, judging),) = split_rows(y, None, share, seed).pairs
        assert learned.tolist() == sorted(train)
        assert judging.tolist() == sorted(test)


@pytest.mark.parametrize("share", [0.01, 0.99])
def test_a_part_without_room_for_each_class_is_refused(share):
    with pytest.raises(ArgumentError, match="leaves no row of each class in both parts"):
        split_rows(np.tile([0, 1, 2], 30), None, share, 0)
