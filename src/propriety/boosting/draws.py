"""What a round draws at random, by its number: the same for all models of one seed."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.data.hashing import mixed, mixed_number


class Draws(NamedTuple):
    """The draws of a round."""

    salt: np.uint64  # of the numbers by which rows are drawn
    features: tuple[NDArray[np.uint8], ...]  # for each score, (d,): 1 for features of its learner
    seeds: tuple[np.uint64, ...]  # for each score: of the features of its splits


@lru_cache(maxsize=8)  # models of folds grow in lockstep
def draws_of(
    seed: int, number: int, n_scores: int, n_features: int, count: int, rows: bool, splits: bool
) -> Draws:
    """The draws of round ``number``: ``count`` features for each score and, if asked for, rows and splits.

    >>> draws = draws_of(1, 0, n_scores=2, n_features=3, count=2, rows=True, splits=False)
    >>> [int(mask.sum()) for mask in draws.features], draws.seeds
    ([2, 2], ())
    """
    salt = mixed_number(mixed_number(seed) + number)
    bases = [mixed_number(salt + k) for k in range(1, n_scores + 1)]
    features = tuple(_mask(base, n_features, count) for base in bases)
    seeds = tuple(np.uint64(mixed_number(base + 1)) for base in bases) if splits else ()
    return Draws(np.uint64(salt if rows else 0), features, seeds)


def _mask(base: int, d: int, count: int) -> NDArray[np.uint8]:
    """A mask of ``count`` features, or of all."""
    if count >= d:
        return _every(d)
    numbers = mixed(np.uint64(base) + np.arange(2, d + 2, dtype=np.uint64))
    features = np.zeros(d, dtype=np.uint8)
    features[np.argsort(numbers)[:count]] = 1
    return features


@lru_cache(maxsize=4)
def _every(d: int) -> NDArray[np.uint8]:
    """The mask of all features, one for all draws."""
    return np.ones(d, dtype=np.uint8)
