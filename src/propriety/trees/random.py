"""Random numbers that compiled code draws one after the other, from the state of a tree."""

from __future__ import annotations

import numpy as np

from propriety.trees.jit import small

#: By how much the state grows with every number that is drawn.
STEP = np.uint64(0x9E3779B97F4A7C15)
_U = np.uint64


@small
def scramble(x):
    """A hash of 64 bits (splitmix64)."""
    x = (x ^ (x >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U(27))) * _U(0x94D049BB133111EB)
    return x ^ (x >> _U(31))


@small
def below(state, n):
    """The random number of a state, from 0 to n − 1."""
    return np.int64(((scramble(state) >> _U(32)) * _U(n)) >> _U(32))


@small
def draw_below(state, n):
    """A random number from 0 to n − 1."""
    state.random += STEP
    return below(state.random, n)


@small
def draw_cut(low, high, any_missing, state):
    """A random cut between the least and the largest bin of values, the side of missing ones, and the state.

    A cut of −1 says that there is one value only, or none: then `high` is below `low`. A side of −1 says that
    none is missing.
    """
    cut, side = np.int64(-1), np.int64(-1)
    if high > low:
        state += STEP
        cut = low + below(state, high - low)
    if any_missing and high >= low:
        cut, side = max(cut, low), np.int64(0)
        if high > low:
            state += STEP
            side = below(state, 2)
    return cut, side, state


@small
def draw_columns(features, undrawn, batch, state):
    """Draw some of the first `undrawn` features, and put them after the others; returns the next state."""
    for _ in range(batch):
        state += STEP
        at = _U(below(state, undrawn))
        undrawn -= 1
        last = _U(undrawn)
        features[at], features[last] = features[last], features[at]
    return state
