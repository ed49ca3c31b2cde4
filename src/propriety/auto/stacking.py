"""The last stage: one score made of the scores of several members, fitted to what they say out of fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from propriety import parallel
from propriety.boosting.objective import Objective, objective_of
from propriety.linear.objective import row_losses
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.losses import Composite
    from propriety.losses.simplex import SimplexLoss

Floats = NDArray[np.float64]
#: A member's log-odds count no further than this: beyond it, a few rows would decide the weights.
LARGEST = 12.0
#: The probability there.
LEAST = float(1.0 / (1.0 + np.exp(LARGEST)))
#: How many rows the wish for equal weights is worth.
PRIOR = 6.0
_POLISHINGS, _SMALL = 5, 1e-5


@dataclass(frozen=True, eq=False)
class Stack:
    """Scores a + Σ wⱼ·(score of member j), with weights w ≥ 0.

    Attributes
    ----------
    weights : ndarray of shape (J,)
    intercept : ndarray of shape (S,)
        One number for two classes, K for more.
    """

    weights: Floats
    intercept: Floats

    def __call__(self, scores: Floats) -> Floats:
        """The scores of rows, of shape (n, S), from those of the members, of shape (J, n, S)."""
        return np.tensordot(self.weights, scores, axes=1) + self.intercept


def fit_stack(scores: Floats, codes: NDArray[np.intp], weights: Weights, loss: Any, n_jobs: int = 1) -> Stack:
    """The weights that lose least, held back towards equal ones with an intercept of 0.

    The penalty is PRIOR/(2n)·(‖w − 1/J‖² + ‖a‖²) beside the mean loss, so that it matters for few rows only.

    Parameters
    ----------
    scores : ndarray of shape (J, n, S)
        What members say of rows that they were not fitted to, on the scale of the loss.
    codes : ndarray of shape (n,)
        Classes of the rows, as indices.
    weights : Weights
    loss : Composite, or loss on the simplex
    n_jobs : int
        Threads; the weights do not depend on it.
    """
    n_members, _, n_scores = scores.shape
    n_classes = max(2, n_scores)
    objective = objective_of(loss, codes, n_classes)
    fair = np.append(np.full(n_members, 1.0 / n_members), np.zeros(n_scores))
    # In units of the loss, so that a loss and its multiples have the same weights.
    unit = row_losses(loss, codes, n_classes)[0].scale
    strength = unit * PRIOR / weights.total

    def evaluate(theta: Floats) -> tuple[float, Floats]:
        value, slopes = _mean_loss(theta, scores, objective, weights, n_jobs)
        away = theta - fair
        return (value + 0.5 * strength * float(away @ away)) / unit, (slopes + strength * away) / unit

    bounds = [(0.0, None)] * n_members + [(None, None)] * n_scores
    options: Any = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10}
    with parallel.one_blas_thread():
        theta = minimize(evaluate, fair, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        theta = _polished(theta, n_members, lambda at: evaluate(at)[1])
    return Stack(theta[:n_members], theta[n_members:])


def _polished(theta: Floats, n_members: int, slopes: Callable[[Floats], Floats]) -> Floats:
    """The minimum nearby to the last digits: there, values no longer tell where the loss falls, slopes do.

    Steps so short need the second derivatives but once.
    """
    found = slopes(theta)
    # A weight of 0 that would fall stays there.
    free = np.flatnonzero((theta > 0) | (found < 0) | (np.arange(len(theta)) >= n_members))
    small = _SMALL * np.eye(len(theta))[free]
    bends = np.array([slopes(theta + to)[free] - found[free] for to in small]) / _SMALL
    bends = 0.5 * (bends + bends.T)
    for _ in range(_POLISHINGS):
        trial = theta.copy()
        trial[free] -= np.linalg.lstsq(bends, found[free], rcond=None)[0]
        trial[:n_members] = np.maximum(trial[:n_members], 0.0)
        then = slopes(trial)
        if not np.abs(then[free]).max(initial=0.0) < np.abs(found[free]).max(initial=0.0):
            break
        theta, found = trial, then
    return theta


def cross_fitted(
    scores: Floats,
    codes: NDArray[np.intp],
    weights: Weights,
    loss: Composite | SimplexLoss,
    folds: NDArray[np.intp],
    n_jobs: int = 1,
) -> Floats:
    """Scores of the stack, of shape (n, S); no row has had a part in the weights that made its score."""
    result = np.zeros(scores.shape[1:])
    for fold in range(int(folds.max()) + 1):
        rows = folds == fold
        if rows.any():
            stack = fit_stack(scores, codes, weights.without(rows), loss, n_jobs)
            result[rows] = stack(scores[:, rows])
    return result


def on_scale(P: Floats, loss: Any) -> Floats:
    """Probabilities of classes as scores of a loss, of shape (n, S), no further out than `LARGEST`.

    >>> from propriety import losses
    >>> on_scale(np.array([[0.5, 0.5], [0.0, 1.0]]), losses.Log().composite())
    array([[ 0.],
           [12.]])
    """
    P = np.clip(P, LEAST, 1.0 - LEAST)
    if P.shape[1] == 2:
        return np.asarray(loss.link(P[:, 1]))[:, None]
    return np.asarray(loss.link(P / P.sum(axis=1, keepdims=True)))


def _mean_loss(
    theta: Floats, scores: Floats, objective: Objective, weights: Weights, n_jobs: int
) -> tuple[float, Floats]:
    """Mean loss and its slopes in weights and intercept."""
    n_members, n, n_scores = scores.shape
    F = np.tensordot(theta[:n_members], scores, axes=1) + theta[n_members:]
    G, H = np.empty((n_scores, n)), np.empty((n_scores, n))
    objective.derivatives(F, "fisher", G, H, n_jobs)
    G *= weights.array / weights.total
    slopes = np.append(np.einsum("jns,sn->j", scores, G), G.sum(axis=1))
    return weights.mean(objective.values(F, n_jobs)), slopes
