"""From training data to a kernel machine: landmarks, a width, a ridge, and the coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.data.table import Schema
from propriety.data.training import Training
from propriety.kernel.features import Landmarks, content_hashes, features_of
from propriety.kernel.settings import KernelSettings
from propriety.linear import solvers
from propriety.linear.learning import LinearFit, learn
from propriety.linear.rows import LinearRows
from propriety.linear.settings import LinearSettings
from propriety.linear.strength import HeldOut, held_out

Floats = NDArray[np.float64]
#: Numbers that the features of all rows may have: with more than 100,000 rows there are fewer landmarks.
_VALUES = 30_000_000
#: Distinct rows that choose a width and a ridge, if there are more, and the least number of a class.
_TRIAL, _LEAST = 3_000, 50
#: Ridges that all rows then choose from, as multiples of the one that these have chosen.
_NEARBY = np.array([5.0, 1.0, 0.2, 0.04])
#: How exact the fits are that folds compare, and how many steps they take at most.
_ROUGH, _STEPS = 3e-4, 2_000
#: Ridges without a lesser loss after which no weaker one is tried.
_PATIENCE = 2


@dataclass(frozen=True, eq=False)
class KernelFit:
    """What a fit has found.

    Attributes
    ----------
    landmarks : Landmarks
    width, alpha : float
    coef : ndarray of shape (S, m)
        What multiplies the kernel between a row and each landmark.
    intercept : ndarray of shape (S,)
    fit : LinearFit
        In the coordinates of the features.
    curve : ndarray of shape (widths, alphas), or None
        Mean loss of held-out rows, of those that chose the width; NaN for pairs that were not tried.
    scores : ndarray of shape (n, S), or None
        Of training rows by models that were not fitted to them.
    """

    landmarks: Landmarks
    width: float
    alpha: float
    coef: Floats
    intercept: Floats
    fit: LinearFit
    curve: Floats | None = None
    scores: Floats | None = None


def fit_kernel(
    training: Training, loss: Any, settings: KernelSettings, folds: NDArray[np.intp] | None
) -> KernelFit:
    """Landmarks, features, and the fit of the width and the ridge that folds choose; None: nothing to choose.

    The features are those of all rows, and shared by the folds: they know no labels.
    """
    hashes = content_hashes(training, settings.seed)
    most = max(1, min(settings.n_landmarks, _VALUES // training.n_rows))
    landmarks, Z = Landmarks.of(training, hashes, most)
    width, alphas, curve = float(settings.widths[0]), settings.alphas, None
    kept: HeldOut | None = None
    if folds is not None and settings.chosen:
        few = _few(training, hashes, folds)
        part, part_folds, part_Z = training, folds, Z
        if few is not None:
            part, part_folds, part_Z = training.take(few), folds[few], Z[few]
        tried: list[HeldOut] = []
        for each in settings.widths:
            featured, _ = _with_features(part, part_Z, landmarks, each)
            tried.append(held_out(featured, loss, _rough(settings), part_folds, alphas, _PATIENCE))
            if len(tried) > 1 and tried[-1].curve.min() > tried[-2].curve.min():
                break  # narrower ones would lose more
        curve = np.full((len(settings.widths), len(alphas)), np.nan)
        for row, held in zip(curve, tried, strict=False):
            row[: len(held.curve)] = held.curve
        best = int(np.argmin([held.curve.min() for held in tried]))
        width, kept = float(settings.widths[best]), tried[best] if few is None else None
        if few is not None and len(alphas) > 1:
            alphas = tried[best].alpha * _NEARBY
    featured, to = _with_features(training, Z, landmarks, width)
    if folds is not None and kept is None:
        kept = held_out(featured, loss, _rough(settings), folds, alphas)
    alpha = float(alphas[-1]) if kept is None else kept.alpha
    linear = replace(_rough(settings), solver=solvers.named("fisher"), alpha=alpha, tol=settings.tol)
    fit = learn(LinearRows.of(featured, loss), loss, linear)
    coef = np.ascontiguousarray(fit.coef @ to.T)
    scores = None if kept is None else kept.scores
    return KernelFit(landmarks, width, alpha, coef, fit.intercept, fit, curve, scores)


def _rough(settings: KernelSettings) -> LinearSettings:
    """How fits are made that folds compare: the ridge is that of the coefficients as they are."""
    solver = solvers.named("lbfgs")
    return LinearSettings(solver, 0.0, 0.0, True, _ROUGH, _STEPS, None, settings.n_jobs)


def _with_features(
    training: Training, Z: Floats, landmarks: Landmarks, width: float
) -> tuple[Training, Floats]:
    """The training with the features in the place of its columns, and the map that made them."""
    features, to = features_of(Z, training.weights.array, landmarks.points, landmarks.rate(width))
    return replace(training, table=Schema.fit(features, None)[1]), to


def _few(training: Training, hashes: NDArray[np.uint64], folds: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Rows that choose a width, of each class in proportion, by what they hold; None: all of them."""
    distinct = [np.unique(hashes[training.codes == k]) for k in range(training.n_classes)]
    total = sum(map(len, distinct))
    if total <= _TRIAL:
        return None
    chosen = np.zeros(training.n_rows, dtype=bool)
    for k, own in enumerate(distinct):
        count = min(len(own), max(_LEAST, len(own) * _TRIAL // total))
        chosen |= (training.codes == k) & (hashes <= own[count - 1])
    held = np.flatnonzero(chosen & (folds >= 0))
    several = len(np.unique(folds[held])) > 1 and len(np.unique(training.codes[held])) > 1
    return np.flatnonzero(chosen) if several else None
