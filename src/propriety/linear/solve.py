"""Run a solver's steps until the optimality conditions hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from propriety.linear import fisher, lbfgs, proximal
from propriety.linear.design import Design, Floats
from propriety.linear.objective import Objective, Point

SMOOTH = ("fisher", "newton", "lbfgs")
_SAMPLE = 20_000


@dataclass(frozen=True)
class Run:
    """What a solver did: its last point, the objective after each step, and whether it converged."""

    point: Point
    trace: tuple[float, ...]
    n_iter: int
    converged: bool
    stationarity: float


def solve(objective: Objective, theta: Floats, solver: str, tol: float, max_iter: int) -> Run:
    """Minimize from θ on, until the optimality conditions hold to `tol` or the steps run out.

    Where Fisher's curvature is too large to be a matrix, quasi-Newton steps come first: a pass over X each,
    and on well-conditioned problems they suffice. If they do not, Fisher's steps go on where they end.
    """
    if (
        solver == "fisher"
        and max_iter > 1
        and not objective.penalty.has_l1
        and not fisher.is_dense(objective)
    ):
        first = solve(objective, theta, "lbfgs", tol, max_iter // 2)
        if first.stationarity <= tol:
            return first
        rest = _solve(objective, first.point.theta, solver, tol, max_iter - first.n_iter)
        return replace(rest, trace=first.trace + rest.trace[1:], n_iter=first.n_iter + rest.n_iter)
    return _solve(objective, theta, solver, tol, max_iter)


def _solve(objective: Objective, theta: Floats, solver: str, tol: float, max_iter: int) -> Run:
    state: Any
    if objective.penalty.has_l1:
        state, step = proximal.start(objective, theta, tol), proximal.step
    elif solver == "lbfgs":
        state, step = lbfgs.start(objective, theta), lbfgs.step
    else:
        state, step = fisher.start(objective, theta), partial(fisher.step, kind=solver, tol=tol)
    trace, iterations = [state.point.value], 0
    gap = objective.stationarity(state.point)
    while gap > tol and iterations < max_iter and not state.stuck:
        state = step(state, objective)
        iterations += 1
        trace.append(state.point.value)
        gap = objective.stationarity(state.point)
    # A stuck solver has reached what rounding allows; that is the minimum unless the gradient says otherwise.
    converged = gap <= tol or (state.stuck and gap <= max(1e-6, 10 * tol))
    return Run(state.point, tuple(trace), iterations, converged, gap)


def sampled(design: Design, weight: Floats, per_column: int) -> int:
    """Stride of the rows on which a first solution is worth finding; 1 if there are too few rows for that."""
    if design.n < 4 * _SAMPLE or design.p > 1000:
        return 1
    stride = max(1, design.n // max(_SAMPLE, per_column * design.p))
    return stride if stride > 2 and np.count_nonzero(weight[::stride]) > 0 else 1
