"""Which rows a model is fitted to, and which judge it: at random, by groups, or by time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold, StratifiedKFold

from propriety.errors import ArgumentError

Pair = tuple[NDArray[np.intp], NDArray[np.intp]]
_MANY = 5000  # rows from which one held-out part is enough
FOLDS, _SHARE = 5, 0.25
_MOST_FOLDS = 100
_TRIES = 20  # at holding out groups so that either side has every class


@dataclass(frozen=True)
class Role:
    """A column that says how rows are to be split: its name and a number for each row."""

    name: str
    values: NDArray[Any]

    def take(self, rows: NDArray[np.intp]) -> Role:
        """The same of some rows."""
        return Role(self.name, self.values[rows])


@dataclass(frozen=True)
class Split:
    """Pairs of training and test rows, and how they came about."""

    pairs: Sequence[Pair]
    text: str

    @property
    def is_holdout(self) -> bool:
        """Whether one part judges."""
        return len(self.pairs) == 1

    @property
    def rows(self) -> NDArray[np.intp]:
        """The test rows, in the order of the probabilities."""
        return np.concatenate([test for _, test in self.pairs])

    @property
    def parts(self) -> NDArray[np.intp]:
        """The part that each test row was judged in."""
        return np.repeat(np.arange(len(self.pairs)), [len(test) for _, test in self.pairs])


def split_rows(
    y: NDArray[np.intp],
    folds: Any,
    holdout: float | None,
    seed: int,
    *,
    groups: Role | None = None,
    time: Role | None = None,
    gap: float = 0.0,
) -> Split:
    """Split the rows: by folds or a splitter, by a held-out share, or whichever suits their number.

    No group is on both sides of a split, and what judges is later than what it judges was fitted to: by
    `gap` or more, where labels come late.
    """
    _check(folds, holdout, gap, time)
    if hasattr(folds, "split"):
        return _by_splitter(folds, y, groups)
    if folds is None and holdout is None:
        folds, holdout = (None, _SHARE) if len(y) >= _MANY else (FOLDS, None)
    few = int(np.bincount(y).min())
    if few < 2:
        verb = "judged" if holdout is None else "held out"
        raise ArgumentError(
            "y", f"has a class of a single row, so that nothing can be {verb}: give more rows"
        )
    if time is not None:
        return _by_time(y, folds, holdout, time, groups, gap)
    if groups is not None:
        return _by_groups(y, folds, holdout, seed, groups, few)
    if folds is not None:
        folds = min(folds, few)
        pairs = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y))
        return Split(pairs, f"{folds}-fold cross-validation")
    assert holdout is not None
    judges = _held_out(y, holdout, seed)
    return Split(
        [(np.flatnonzero(~judges), np.flatnonzero(judges))],
        f"{holdout:.0%} of the rows held out",
    )


def _check(folds: Any, holdout: float | None, gap: float, time: Role | None) -> None:
    """Refuse what cannot be meant."""
    if folds is not None and holdout is not None:
        raise ArgumentError("holdout", "is one way to split rows and folds are another: give one, not both")
    if folds is not None and not hasattr(folds, "split") and not 2 <= folds <= _MOST_FOLDS:
        raise ArgumentError("cv", f"must be 2 or more folds, and at most {_MOST_FOLDS}, got {folds}")
    if holdout is not None and not 0 < holdout < 1:
        raise ArgumentError("holdout", f"must be between 0 and 1, got {holdout:g}")
    if not gap >= 0 or (gap and time is None):
        raise ArgumentError("gap", f"is 0 or more, between rows that are split by time, got {gap:g}")


def _by_splitter(splitter: Any, y: NDArray[np.intp], groups: Role | None) -> Split:
    """The parts of a splitter of scikit-learn; a row judges once at most."""
    names = None if groups is None else groups.values
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(np.zeros((len(y), 1)), y, names)]
    if len(np.unique(np.concatenate([test for _, test in pairs]))) < sum(len(test) for _, test in pairs):
        raise ArgumentError("cv", f"must judge each row once at most, and {splitter} judges some repeatedly")
    if any(np.intersect1d(train, test).size for train, test in pairs):
        raise ArgumentError("cv", f"must keep test rows from the fit, and {splitter} does not")
    if not all(_has_all(y, train) for train, _ in pairs):
        raise ArgumentError("cv", f"must leave rows of every class to each fit, and {splitter} does not")
    return Split(pairs, f"{len(pairs)} parts of {type(splitter).__name__}")


def _held_out(y: NDArray[np.intp], share: float, seed: int) -> NDArray[np.bool_]:
    """Which rows judge, of each class its share: those of ``train_test_split``, which makes lists of them."""
    from sklearn.utils.extmath import _approximate_mode

    counts, rng = np.bincount(y), np.random.RandomState(seed)
    n_judges = math.ceil(share * len(y))
    if min(n_judges, len(y) - n_judges) < len(counts):
        raise ArgumentError(
            "holdout", f"{share:g} of {len(y)} rows leaves no row of each class in both parts"
        )
    n_learned = _approximate_mode(counts, len(y) - n_judges, rng)
    _approximate_mode(counts - n_learned, n_judges, rng)  # draws, and finds what is left
    judges = np.zeros(len(y), dtype=bool)
    for k, n in enumerate(n_learned):
        judges[np.flatnonzero(y == k)[rng.permutation(counts[k])[n:]]] = True
    return judges


def _by_groups(
    y: NDArray[np.intp], folds: int | None, holdout: float | None, seed: int, groups: Role, few: int
) -> Split:
    apart = f"no {groups.name!r} on both sides"
    if folds is not None:
        folds = min(folds, few, len(np.unique(groups.values)))
        splitter = StratifiedGroupKFold(max(folds, 2), shuffle=True, random_state=seed)
        pairs = [(train, test) for train, test in splitter.split(y, y, groups.values) if len(test)]
        if len(pairs) >= 2 and all(_has_all(y, train) for train, _ in pairs):
            return Split(pairs, f"{len(pairs)}-fold cross-validation, {apart}")
    else:
        splitter = GroupShuffleSplit(_TRIES, test_size=holdout, random_state=seed)
        for train, test in splitter.split(y, y, groups.values):
            if _has_all(y, train) and _has_all(y, test):
                share = len(test) / len(y)
                return Split([(train, test)], f"{share:.0%} of the rows held out, {apart}")
    raise ArgumentError(
        "groups",
        f"{groups.name!r} cannot split the rows so that the training rows have every class: some class is in "
        "one group only",
    )


def _by_time(
    y: NDArray[np.intp], folds: int | None, holdout: float | None, time: Role, groups: Role | None, gap: float
) -> Split:
    """Parts in order of time, each judged by a model of the rows before it; equal times stay together."""
    ordered = np.sort(time.values)
    if folds is not None:
        cuts = [ordered[len(y) * k // (folds + 1)] for k in range(1, folds + 1)]
    else:
        assert holdout is not None
        cuts = [ordered[min(len(y) - 1, round((1 - holdout) * len(y)))]]
    cuts = [*np.unique(cuts), np.inf]
    pairs = []
    for begin, end in pairwise(cuts):
        test = np.flatnonzero((time.values >= begin) & (time.values < end))
        train = np.flatnonzero(time.values < begin - gap)
        if groups is not None:
            train = train[~np.isin(groups.values[train], groups.values[test])]
        if _has_all(y, train):
            pairs.append((train, test))
    if not pairs:
        raise ArgumentError(
            "time",
            f"{time.name!r} cannot split the rows so that the earlier ones have every class: give more rows, "
            "another share of rows that judge, or a smaller gap",
        )
    apart = f", {gap:g} or more before them" if gap else ""
    apart += "" if groups is None else f", no {groups.name!r} on both sides"
    if len(pairs) > 1:
        return Split(
            pairs,
            f"{len(pairs)} parts in order of {time.name!r}, each by a model of the rows before it{apart}",
        )
    share = len(pairs[0][1]) / len(y)
    return Split(
        pairs, f"the latest {share:.0%} of the rows by {time.name!r}, by a model of the rows before{apart}"
    )


def _has_all(y: NDArray[np.intp], rows: NDArray[np.intp]) -> bool:
    """Whether these rows have every class."""
    return len(np.unique(y[rows])) == len(np.unique(y))
