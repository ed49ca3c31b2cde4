"""Nyström features of a Gaussian kernel: landmarks drawn by what rows hold, and the map to their span."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.data.folds import row_hashes
from propriety.data.numbers import Numbers
from propriety.data.table import Schema, Table
from propriety.data.training import Training

Floats = NDArray[np.float64]
#: Standard deviations from the mean beyond which a number counts no further.
LIMIT = 1e4
_BLOCK_VALUES = 1 << 20  # of kernel values that are made at a time
#: Shares of the largest eigenvalue below which directions are left out: of the kernel of the landmarks, and
#: of the covariance of the features.
_RANK, _VARIANCE = 1e-10, 1e-9


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Rows of the training table that stand for all of it.

    Attributes
    ----------
    numbers : Numbers
        What is made of the columns: standardized numbers, indicators of missing values and of categories.
    points : ndarray of shape (m, terms)
    weight : ndarray of shape (m,)
        Total weight of the training rows that are equal to a landmark.
    scale : float
        The mean squared distance of two training rows.
    """

    numbers: Numbers
    points: Floats
    weight: Floats
    scale: float

    @classmethod
    def of(cls, training: Training, hashes: NDArray[np.uint64], n_landmarks: int) -> tuple[Landmarks, Floats]:
        """So many distinct rows, those of the least hashes, and the numbers of all rows.

        A few more are taken where rows that differ have the same hash, as those that are symmetric have.
        """
        numbers = Numbers.learn(training.table, training.schema, training.weights)
        Z = read(numbers, training.table, training.schema)
        last = np.unique(hashes)[:n_landmarks][-1]
        chosen = np.flatnonzero(hashes <= last)
        points, place = np.unique(Z[chosen], axis=0, return_inverse=True)
        weight = np.bincount(place.ravel(), weights=training.weights.array[chosen], minlength=len(points))
        share = training.weights.array / training.weights.total
        centred = Z - share @ Z
        scale = 2.0 * float(share @ np.einsum("ij,ij->i", centred, centred))
        return cls(numbers, points, weight.astype(np.float64), scale or 1.0), Z

    def rate(self, width: float) -> float:
        """What multiplies squared distances: 1/(2 width²), the width in units of the root of `scale`."""
        return 0.5 / (width**2 * self.scale)


def content_hashes(training: Training, seed: int) -> NDArray[np.uint64]:
    """Hashes of what the rows hold, whatever the order of rows and columns."""
    return row_hashes(training, np.arange(training.n_rows), seed)


def read(numbers: Numbers, table: Table, schema: Schema) -> Floats:
    """The numbers of a table, none of them beyond `LIMIT`."""
    Z = numbers.of(table, schema)
    return np.clip(Z, -LIMIT, LIMIT, out=Z)


def gaussian(Z: Floats, points: Floats, rate: float) -> Floats:
    """exp(−rate · ‖z − point‖²) for each row and each point.

    >>> gaussian(np.array([[0.0], [1.0]]), np.array([[0.0]]), 1.0).round(3).ravel().tolist()
    [1.0, 0.368]
    """
    K = (-2.0 * rate) * (Z @ points.T)
    K += rate * np.einsum("ij,ij->i", Z, Z)[:, None]
    K += rate * np.einsum("ij,ij->i", points, points)
    np.maximum(K, 0.0, out=K)
    return np.exp(np.negative(K, out=K), out=K)


def scores_of(Z: Floats, points: Floats, rate: float, coef: Floats) -> Floats:
    """Σⱼ coefⱼ · k(z, pointⱼ), of shape (n, S), a block of rows at a time; coef has shape (m, S)."""
    result = np.empty((len(Z), coef.shape[1]))
    with parallel.one_blas_thread():
        for rows in _blocks(len(Z), len(points)):
            result[rows] = gaussian(Z[rows], points, rate) @ coef
    return result


def features_of(Z: Floats, weight: Floats, points: Floats, rate: float) -> tuple[Floats, Floats]:
    """Features φ with φ(x)·φ(z) ≈ k(x, z), uncorrelated over these rows, and the map k(x, points) ↦ φ.

    They are a rotation of K(x, L) K(L, L)^(−½), so that a ridge on their coefficients is the norm of the
    kernel's space.
    """
    with parallel.one_blas_thread():
        values, vectors = np.linalg.eigh(gaussian(points, points, rate))
        kept = values > _RANK * values[-1]
        to = vectors[:, kept] / np.sqrt(values[kept])
    features = scores_of(Z, points, rate, to)
    share, blocks = weight / weight.sum(), _blocks(len(Z), len(points))
    with parallel.one_blas_thread():
        mean, covariance = share @ features, np.zeros((to.shape[1],) * 2)
        for rows in blocks:
            centred = features[rows] - mean
            covariance += centred.T @ (centred * share[rows, None])
        values, vectors = np.linalg.eigh(covariance)
        rotation = vectors[:, values > _VARIANCE * values[-1]] if values[-1] > 0 else vectors[:, -1:]
        for rows in blocks:
            features[rows, : rotation.shape[1]] = features[rows] @ rotation
    return np.ascontiguousarray(features[:, : rotation.shape[1]]), to @ rotation


def _blocks(n_rows: int, n_points: int) -> list[slice]:
    """Rows whose kernel values are made at a time."""
    size = max(256, _BLOCK_VALUES // n_points)
    return [slice(start, start + size) for start in range(0, n_rows, size)]
