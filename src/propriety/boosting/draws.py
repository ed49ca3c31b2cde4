"""What a round draws at random, by its number: the same for all models of one seed."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.data.folds import mixed_number

_LARGEST = 2**63


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
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, number])))
    salt = np.uint64(mixed_number(int(rng.integers(_LARGEST))) if rows else 0)
    features, seeds = [], []
    for _ in range(n_scores):
        features.append(_mask(rng, n_features, count))
        if splits:
            seeds.append(np.uint64(rng.integers(_LARGEST)))
    return Draws(salt, tuple(features), tuple(seeds))


def _mask(rng: np.random.Generator, d: int, count: int) -> NDArray[np.uint8]:
    """A mask of ``count`` features, or of all."""
    if count >= d:
        return _every(d)
    features = np.zeros(d, dtype=np.uint8)
    features[rng.permutation(d)[:count]] = 1
    return features


@lru_cache(maxsize=4)
def _every(d: int) -> NDArray[np.uint8]:
    """The mask of all features, one for all draws."""
    return np.ones(d, dtype=np.uint8)
