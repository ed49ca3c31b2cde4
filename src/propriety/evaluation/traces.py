"""Q–Q traces of two samples of costs, with null traces by permutation. [B §14, Figure 6]"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import RandomState
from propriety.evaluation.condensing import refuse_collections
from propriety.evaluation.inputs import Array
from propriety.losses.point import as_float
from propriety.losses.value import number


@dataclass(frozen=True, eq=False)
class Trace:
    """Sorted values of one sample against those of another; `qq_trace` makes it.

    Attributes
    ----------
    x, y : arrays of shape (m,)
        Quantiles of the first and of the second sample, at the same levels.
    null_x, null_y : arrays of shape (n_permutations, m)
        The same for random exchanges of values between the samples.
    pvalue : float
        Share of exchanges whose means differ by as much as those of the samples.
    """

    x: Array
    y: Array
    null_x: Array
    null_y: Array
    pvalue: float

    def band(self, at: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """Limits of y − x of the null traces at positions x, each with the given level by itself."""
        at = as_float("at", at)
        level = number("level", level, 0, 1)
        gaps = np.array([np.interp(at, x, y - x) for x, y in zip(self.null_x, self.null_y, strict=True)])
        low, high = np.quantile(gaps, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def outside(self, level: float = 0.95) -> np.ndarray:
        """Where the trace leaves the band of null traces."""
        low, high = self.band(self.x, level)
        gap = self.y - self.x
        return (gap < low) | (gap > high)


def qq_trace(
    x: ArrayLike, y: ArrayLike, *, n_permutations: int = 100, random_state: RandomState = 0
) -> Trace:
    """Compare two samples of costs, such as those of two learners on random test sets, by their quantiles.

    If both came from one distribution, values could be exchanged between the samples at random; the traces of
    such exchanges show how far a trace strays by chance. The two samples must not share their splits, or
    the exchange is not fair: use `compare` for values that come in pairs.

    >>> trace = qq_trace([1.0, 2.0, 3.0], [4.0, 2.0, 3.0])
    >>> trace.x, trace.y
    (array([1., 2., 3.]), array([2., 3., 4.]))
    """
    a, b = _sample("x", x), _sample("y", y)
    if isinstance(n_permutations, bool) or int(n_permutations) != n_permutations or n_permutations < 1:
        raise ValueError(f"n_permutations must be a positive whole number, got {n_permutations!r}")
    rng = np.random.default_rng(random_state)
    pooled, m = np.concatenate([a, b]), min(len(a), len(b))
    observed = abs(a.mean() - b.mean())
    null_x, null_y = np.empty((n_permutations, m)), np.empty((n_permutations, m))
    as_far = 0
    for r in range(n_permutations):
        mixed = rng.permutation(pooled)
        first, second = mixed[: len(a)], mixed[len(a) :]
        null_x[r], null_y[r] = _quantiles(first, m), _quantiles(second, m)
        as_far += abs(first.mean() - second.mean()) >= observed * (1 - 1e-12)
    return Trace(_quantiles(a, m), _quantiles(b, m), null_x, null_y, (as_far + 1) / (n_permutations + 1))


def _sample(name: str, values: ArrayLike) -> Array:
    refuse_collections(**{name: values})
    array = as_float(name, values)
    if array.ndim != 1 or len(array) < 2 or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be two finite numbers or more, got shape {array.shape}")
    return array


def _quantiles(values: Array, m: int) -> Array:
    """The sorted values themselves if there are m, else quantiles at the m levels (i + ½)/m."""
    return np.sort(values) if len(values) == m else np.quantile(values, (np.arange(m) + 0.5) / m)
