"""From what columns add to probabilities to what they add to scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_NEAR = 1e-9  # probabilities that differ by less, relative to 4p(1 − p), have a slope, no difference quotient
_STEP = 1e-6


def score_parts(measure: Any, start: Floats, P: Floats, parts: Floats) -> Floats:
    """What each column adds to the scores of the probabilities P, the scores of `start` last.

    A forest adds up probabilities, and its score is a curve of them. Along the straight line from the
    `start`, of shape (1, K), to P, the score rises by (F(P) − F(start))/(P − start) for each unit of
    probability, and so much each column's part, of shape (n, 1 or K, d), is worth.
    """
    scores, first = measure.score(P), measure.score(start)
    result = np.empty((*parts.shape[:2], parts.shape[2] + 1))
    result[:, :, -1] = first
    if parts.shape[1] == 1:
        step = np.minimum(_STEP, 0.5 * np.min(start, axis=1))  # or the ends would have infinite scores
        low, high = start[:, 1] - step, start[:, 1] + step
        ends = measure.score(np.concatenate([np.column_stack([1 - p, p]) for p in (low, high)]))
        rate = _quotient(scores, first, P[:, 1:], start[:, 1:], (ends[1] - ends[0]) / (high - low))
        result[:, :, :-1] = rate[:, :, None] * parts
        return result
    # Scores on the simplex are curves of one class's probability each, but for what is the same for all.
    shifted = bool(getattr(measure.fitted, "shift_invariant", False))
    F, F0 = (np.log(P), np.log(start)) if shifted else (scores, first)
    rate = _quotient(F, F0, P, start, 1 / (start if shifted else start * (1 - start)))
    added = rate[:, :, None] * parts
    if shifted:
        added -= added.mean(axis=1, keepdims=True)
    # What that leaves out, for other links, is shared out by how far each column went the whole way.
    way = P - start
    length = np.sum(way**2, axis=1)
    along = np.einsum("nkf,nk->nf", parts, way) / np.where(length > 0, length, 1.0)[:, None]
    rest = scores - first - added.sum(axis=2)
    result[:, :, :-1] = added + rest[:, :, None] * along[:, None, :]
    return result


def _quotient(F: Floats, F0: Floats, P: Floats, P0: Floats, slope: Any) -> Floats:
    """(F − F0)/(P − P0), or the slope where that is 0/0."""
    way = P - P0
    near = np.abs(way) <= _NEAR * 4 * P0 * (1 - P0)
    return np.where(near, slope, (F - F0) / np.where(near, 1.0, way))
