"""The Bregman projection of weights onto linear constraints: the primal problem of boosting. [C §3]

Of all weights p with Mᵀp = b, find the one that is closest to q, by the distance B(p ‖ q) that a convex
margin loss φ defines. By the duality of Theorem 1 it is p = q ⋄ Mλ for the λ that minimizes
Σ φ(v_i + (Mλ)_i) + bᵀλ, v the margins of q: the gradient of that is b − Mᵀp. With b = 0 and q the weights at
margin 0, it is the loss itself, and p the weights at its minimum: AdaBoost for the exponential loss,
logistic regression for the log loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propriety import losses
from propriety.separators.linalg import Floats, inverse_of
from propriety.solve import newton_on_margins

_STEPS = 200
_ROUNDING = 8 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class Projection:
    """The closest weights, with what proves that they are.

    Attributes
    ----------
    weights : array of shape (n,)
        p.
    multipliers : array of shape (d,)
        λ, with p = q ⋄ Mλ.
    distance : float
        Σ B(p_i ‖ q_i).
    gap : float
        The largest |Mᵀp − b| that is left.
    """

    weights: Floats
    multipliers: Floats
    distance: float
    gap: float


def bregman_projection(
    loss: Any, q: ArrayLike, M: ArrayLike, target: ArrayLike | None = None, *, tol: float = 1e-10
) -> Projection:
    """Weights p with Mᵀp = b that are closest to q, by the Bregman distance of a convex margin loss. [C §3]

    Parameters
    ----------
    loss : loss, composite or str
        Its example weights are the domain: positive numbers for the exponential loss, whose distance is the
        unnormalized relative entropy, (0, 1) for the log loss, whose distance is the binary one.
    q : float or array of shape (n,)
    M : array of shape (n, d)
    target : array of shape (d,), optional
        b; 0 if it is not given, as in boosting.
    tol : float
        Largest |Mᵀp − b| that is left, beside |M|ᵀq.

    Returns
    -------
    Projection

    Examples
    --------
    >>> M = np.array([[1.0], [1.0], [-1.0]])
    >>> projection = bregman_projection("Exponential", 1.0, M)
    >>> projection.weights.round(4)  # AdaBoost's weights after the step ½ log 2
    array([0.7071, 0.7071, 1.4142])
    >>> round(float(projection.multipliers[0]), 4)
    0.3466
    """
    composite = losses.as_composite(loss)
    M = np.asarray(M, dtype=np.float64)
    if M.ndim != 2 or not np.isfinite(M).all():
        raise ValueError(f"M must be a matrix of finite numbers, got shape {M.shape}")
    n, d = M.shape
    q = np.broadcast_to(np.asarray(q, dtype=np.float64), n)
    b = np.zeros(d) if target is None else np.asarray(target, dtype=np.float64)
    if b.shape != (d,):
        raise ValueError(f"target must have a number for each of the {d} columns of M, got shape {b.shape}")
    start = np.asarray(composite._margin_of(q))
    if not np.isfinite(start).all():
        raise ValueError(f"q must be weights that examples have at some margin of {composite!r}")
    multipliers, p = _dual(composite, start, M, b, tol * np.maximum(np.abs(M).T @ q, np.abs(b)))
    gap = float(np.max(np.abs(M.T @ p - b), initial=0.0))
    return Projection(p, multipliers, float(np.sum(composite.bregman(p, q))), gap)


def _dual(composite: losses.Composite, start: Floats, M: Floats, b: Floats, enough: Floats) -> Any:
    """λ by Newton's method with a line search, and the weights there."""
    ones = np.ones(len(start))

    def direction(v: Floats, gradient: Floats) -> Floats:
        bend = composite.derivatives(ones, v, curvature="newton")[1]
        return -inverse_of(M.T @ (M * np.maximum(bend, 0.0)[:, None]))(gradient)

    found = newton_on_margins(
        M,
        start,
        lambda v, coef: float(np.sum(composite.values(ones, v)) + b @ coef),
        lambda v: M.T @ composite.derivatives(ones, v)[0] + b,
        direction,
        enough,
    )
    if found.met:
        return found.delta, -composite.derivatives(ones, found.margins)[0]
    raise ValueError(
        "no weights were found that meet the constraints Mᵀp = target: none of the loss's range may do, or "
        "only ones at its end"
    )
