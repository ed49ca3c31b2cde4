"""Proximal Newton steps on a working set of features, for penalties with an L1 part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propriety.linear.descent import Run, iterate, line_search
from propriety.linear.objective import Iterate, Objective
from propriety.separators.linalg import Codes, Floats

_SWEEPS = 2000


@dataclass(frozen=True)
class ProximalState:
    """Where the solver stands; `working` are the columns of X that the last step looked at."""

    point: Iterate
    working: Codes
    tol: float
    stuck: bool = False


def minimize(objective: Objective, theta: Floats, tol: float, max_iter: int) -> Run:
    """Proximal Newton steps from θ on."""
    return iterate(objective, start(objective, theta, tol), step, tol, max_iter)


def start(objective: Objective, theta: Floats, tol: float) -> ProximalState:
    """State at θ; the working set begins with the coefficients that are not zero."""
    d = objective.design.d
    return ProximalState(objective.at(theta), np.flatnonzero(np.any(theta[:d] != 0, axis=1)), tol)


def step(state: ProximalState, objective: Objective) -> ProximalState:
    """Solve the problem on a working set, then look at all features.

    1. Working set: the features in use, and as many again (at least 20) of those that violate the
       optimality conditions most.
    2. Proximal Newton steps on these columns alone, to a third of the tolerance.
    3. One pass over X for the gradient of all features.
    """
    point, d = state.point, objective.design.d
    violation = objective.penalty.violation(point.theta, point.gradient)[:d].max(axis=1, initial=0.0)
    used = np.any(point.theta[:d] != 0, axis=1)
    room = max(20, int(used.sum()))
    worst = np.argsort(-np.where(used, 0.0, violation), kind="stable")[:room]
    working = np.union1d(np.flatnonzero(used), worst[violation[worst] > 0.3 * state.tol]).astype(np.intp)
    small = objective.restrict(working)
    rows = np.append(working, d) if objective.design.intercept else working
    inner = Iterate(point.theta[rows], point.scores, point.value, point.gradient[rows])
    for _ in range(50):
        if small.stationarity(inner) <= 0.3 * state.tol:
            break
        new = _newton(small, inner)
        if new is None:
            break
        inner = new
    theta = np.zeros_like(point.theta)
    theta[rows] = inner.theta
    if np.array_equal(theta, point.theta):
        return replace(state, stuck=True)
    return ProximalState(objective.at(theta), working, state.tol)


def _newton(objective: Objective, point: Iterate) -> Iterate | None:
    """One proximal Newton step with Armijo's line search; None if nothing lowers the objective."""
    from propriety.linear import kernels

    p, K = objective.shape
    l1, l2 = np.tile(objective.penalty.l1[:, 0], K), np.tile(objective.penalty.l2[:, 0], K)
    g, theta = point.gradient.T.ravel(), point.theta.T.ravel()
    accuracy = 0.03 * objective.stationarity(point)
    if K > 1:
        Q = objective.curvature(point)
        Q[np.diag_indices(len(Q))] *= 1 + 1e-12
        d = kernels.lasso_descent(Q, g, theta, l1, accuracy, _SWEEPS)
    else:
        d = _by_columns(objective, point, (g, theta, l1, l2, accuracy, _SWEEPS))
    direction = d.reshape(K, p).T.copy()
    promised = float(g @ d) + float(l1 @ (np.abs(theta + d) - np.abs(theta)))
    return line_search(objective, point, direction, promised, most=40)


def _by_columns(objective: Objective, point: Iterate, arguments: tuple[Any, ...]) -> Floats:
    """The step of one score, from the columns of X as they are."""
    from propriety.linear import kernels

    design = objective.design
    h = np.ascontiguousarray(objective.row_curvatures(point, "fisher")[:, 0, 0])
    centre = np.zeros(design.p)
    centre[: design.d] = 0.0 if design.centre is None else design.centre
    scale = np.append(design.inverse_scale, np.ones(design.p - design.d))
    columns: tuple[Any, Any, Any] = np.asfortranarray(design.X), None, None
    if design.sparse:
        by_column = design.X.tocsc()
        columns = by_column.data, by_column.indices, by_column.indptr
    return np.asarray(kernels.lasso_columns(*columns, centre, scale, h, *arguments))
