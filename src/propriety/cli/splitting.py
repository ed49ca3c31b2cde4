"""Which rows a model is fitted to, and which judge it: at random, by groups, or by time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold, StratifiedKFold

from propriety.cli.output import UsageError
from propriety.cli.training import Role

Pair = tuple[NDArray[np.intp], NDArray[np.intp]]
_MANY = 5000  # rows from which one held-out part is enough
FOLDS, _SHARE = 5, 0.25
_MOST_FOLDS = 100
_TRIES = 20  # at holding out groups so that either side has every class


@dataclass(frozen=True)
class Split:
    """Pairs of training and judging rows, and how they came about."""

    pairs: list[Pair]
    text: str

    @property
    def is_holdout(self) -> bool:
        """Whether one part was held out."""
        return len(self.pairs) == 1

    @property
    def rows(self) -> NDArray[np.intp]:
        """The judging rows, in the order of the probabilities."""
        return np.concatenate([test for _, test in self.pairs])


def split_rows(
    y: NDArray[np.intp],
    folds: int | None,
    holdout: float | None,
    seed: int,
    *,
    groups: Role | None = None,
    time: Role | None = None,
) -> Split:
    """Split the rows: by folds, by a held-out share, or whichever suits their number.

    No group is on both sides of a split, and what judges is later than what it judges was fitted to.
    """
    if folds is not None and holdout is not None:
        raise UsageError("give --folds or --holdout, not both")
    if folds is not None and not 2 <= folds <= _MOST_FOLDS:
        raise UsageError(f"--folds must be 2 or more, and at most {_MOST_FOLDS}, got {folds}")
    if holdout is not None and not 0 < holdout < 1:
        raise UsageError(f"--holdout must be between 0 and 1, got {holdout:g}")
    if folds is None and holdout is None:
        folds, holdout = (None, _SHARE) if len(y) >= _MANY else (FOLDS, None)
    few = int(np.bincount(y).min())
    if few < 2:
        verb = "judged" if holdout is None else "held out"
        raise UsageError(f"one class has a single row, so that nothing can be {verb}: give more rows")
    if time is not None:
        return _by_time(y, folds, holdout, time, groups)
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
        f"{holdout:.0%} of the rows, which the model has not seen",
    )


def _held_out(y: NDArray[np.intp], share: float, seed: int) -> NDArray[np.bool_]:
    """Which rows judge, of each class its share: those of ``train_test_split``, which makes lists of them."""
    from sklearn.utils.extmath import _approximate_mode

    counts, rng = np.bincount(y), np.random.RandomState(seed)
    n_judges = math.ceil(share * len(y))
    if min(n_judges, len(y) - n_judges) < len(counts):
        raise UsageError(f"--holdout {share:g} of {len(y)} rows leaves no row of each class in both parts")
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
        splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
        pairs = [(train, test) for train, test in splitter.split(y, y, groups.values) if len(test)]
        if len(pairs) >= 2 and all(_has_all(y, train) for train, _ in pairs):
            return Split(pairs, f"{len(pairs)}-fold cross-validation, {apart}")
    else:
        splitter = GroupShuffleSplit(_TRIES, test_size=holdout, random_state=seed)
        for train, test in splitter.split(y, y, groups.values):
            if _has_all(y, train) and _has_all(y, test):
                share = len(test) / len(y)
                return Split([(train, test)], f"{share:.0%} of the rows, {apart}")
    raise UsageError(
        f"rows cannot be split by --groups {groups.name!r} so that the training rows have every "
        "class: some class "
        "is in one group only"
    )


def _by_time(
    y: NDArray[np.intp], folds: int | None, holdout: float | None, time: Role, groups: Role | None
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
        train = np.flatnonzero(time.values < begin)
        if groups is not None:
            train = train[~np.isin(groups.values[train], groups.values[test])]
        if _has_all(y, train):
            pairs.append((train, test))
    if not pairs:
        raise UsageError(
            f"rows cannot be split by --time {time.name!r} so that the earlier ones have every "
            "class: give more "
            "rows, or another share by --holdout"
        )
    apart = "" if groups is None else f", no {groups.name!r} on both sides"
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
