"""Random numbers that compiled code draws one after the other, from a state in the scratch."""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import small

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_U = np.uint64


@small
def scramble(x):
    """A hash of 64 bits (splitmix64)."""
    x = (x ^ (x >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U(27))) * _U(0x94D049BB133111EB)
    return x ^ (x >> _U(31))


@small
def draw_below(scratch, n):
    """A random number from 0 to n − 1."""
    scratch.state += _GOLDEN
    return np.int64(((scramble(scratch.state) >> _U(32)) * _U(n)) >> _U(32))


@small
def draw_columns(features, undrawn, batch, scratch):
    """Draw some of the first `undrawn` features, and put them after the others."""
    for _ in range(batch):
        at = draw_below(scratch, undrawn)
        undrawn -= 1
        features[at], features[undrawn] = features[undrawn], features[at]
