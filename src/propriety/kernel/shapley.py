"""Shapley values of a kernel machine: what each column adds to the score of a row.

The kernel is a product over the columns, k(x, l) = Π_f k_f(x, l). The game that is shared out is
v(S) = b + Σⱼ aⱼ Π_{f ∈ S} k_f(x, lⱼ) Π_{f ∉ S} c_fj, c_fj being the mean of k_f(·, lⱼ) over the training
rows: columns that are not in S are drawn from these, each on its own. With v extended to shares t of
columns, the Shapley value of a column is ∫₀¹ ∂v/∂t_f (t, …, t) dt, whose integrand is a polynomial of degree
d − 1 in t: Gauss and Legendre's rule of ⌈d/2⌉ nodes is exact.

Reference: Owen (1972), Multilinear extensions of games; Lundberg & Lee (2017).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.kernel.features import Landmarks, gaussian

Floats = NDArray[np.float64]
#: Nodes at most: up to 32 columns the values are exact.
_NODES = 16
_BLOCK_VALUES = 1 << 18
_LEAST = 1e-300  # factors are kept from 0, so that they divide


def contributions(
    Z: Floats, landmarks: Landmarks, rate: float, coef: Floats, intercept: Floats, n_features: int
) -> Floats:
    """Shapley values of the columns, the score of no column last: (n, S, d + 1).

    With more than 32 columns the rule has 16 nodes, and what the values then lack of the score is shared
    out by their sizes.
    """
    columns = [np.flatnonzero(np.asarray(landmarks.numbers.owners) == f) for f in range(n_features)]
    columns = [terms if len(terms) and terms[-1] < Z.shape[1] else terms[:0] for terms in columns]
    used = [f for f, terms in enumerate(columns) if len(terms)]
    points, share = landmarks.points, landmarks.weight / landmarks.weight.sum()
    result = np.zeros((len(Z), len(coef), n_features + 1))
    if not used:
        result[:, :, -1] = intercept + coef.sum(axis=1)
        return result
    means = [share @ gaussian(points[:, columns[f]], points[:, columns[f]], rate) for f in used]
    base = coef @ np.prod(means, axis=0)
    result[:, :, -1] = intercept + base
    nodes, weights = np.polynomial.legendre.leggauss(min(_NODES, (len(used) + 1) // 2))
    shares, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    size = max(1, _BLOCK_VALUES // (len(points) * len(used)))
    for start in range(0, len(Z), size):
        rows = slice(start, start + size)
        each = np.array([gaussian(Z[rows][:, columns[f]], points[:, columns[f]], rate) for f in used])
        gains = each - np.array(means)[:, None, :]
        slopes = np.zeros_like(each)
        for t, weight in zip(shares, weights, strict=True):
            factors = np.maximum(np.array(means)[:, None, :] + t * gains, _LEAST)
            slopes += weight * np.prod(factors, axis=0) / factors
        parts = (gains * slopes) @ coef.T
        whole = np.prod(each, axis=0) @ coef.T - base
        sizes = np.abs(parts)
        total = sizes.sum(axis=0)
        lacking = np.divide(whole - parts.sum(axis=0), total, out=np.zeros_like(whole), where=total > 0)
        result[rows][:, :, used] = np.moveaxis(parts + sizes * lacking, 0, 2)
    return result
