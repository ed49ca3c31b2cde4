"""What the smooth solvers share: the loop, the line search, and the memory of quasi-Newton steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from propriety.linear.objective import Iterate, Objective
from propriety.separators.linalg import Floats, Solve

_SUFFICIENT = 1e-4
_ROUNDING = 8 * np.finfo(float).eps


class DescentState(Protocol):
    """What the loop must know of a solver's state."""

    @property
    def point(self) -> Iterate:
        """Where it stands."""
        ...

    @property
    def stuck(self) -> bool:
        """Whether no step lowers the objective any more."""
        ...


S = TypeVar("S", bound=DescentState)


@dataclass(frozen=True)
class Run:
    """What a solver did: its last point, the objective after each step, and whether it converged."""

    point: Iterate
    trace: tuple[float, ...]
    n_iter: int
    converged: bool
    stationarity: float


def iterate(
    objective: Objective, state: S, step: Callable[[S, Objective], S], tol: float, max_iter: int
) -> Run:
    """Take steps until the optimality conditions hold to `tol`, or the steps run out."""
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


@dataclass(frozen=True)
class Pairs:
    """The last steps s and changes of gradient y, newest last: what L-BFGS remembers."""

    pairs: tuple[tuple[Floats, Floats], ...] = ()

    def add(self, s: Floats, y: Floats, most: int) -> Pairs:
        """With one more pair, unless it has no positive curvature."""
        if np.vdot(s, y) <= 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            return self
        return Pairs((*self.pairs, (s, y))[-most:])

    def direction(self, gradient: Floats, solve: Solve) -> Floats:
        """−H g by the two-loop recursion around ``solve``, the inverse of a first guess of the curvature."""
        q, kept = gradient.copy(), []
        for s, y in reversed(self.pairs):
            rho = 1 / np.vdot(s, y)
            a = rho * np.vdot(s, q)
            q -= a * y
            kept.append((s, y, rho, a))
        r = solve(q)
        for s, y, rho, a in reversed(kept):
            r += (a - rho * np.vdot(y, r)) * s
        return -r


def line_search(
    objective: Objective,
    point: Iterate,
    direction: Floats,
    promised: float | None = None,
    most: int = 50,
) -> Iterate | None:
    """The first point along the direction that lowers the objective enough; None if there is none.

    Armijo's rule with halving, the full step first. ``promised`` is the change that a full step promises, by
    default that of the slope. Near the minimum, where it is below rounding, a step is taken only if the value
    does not rise beyond rounding and, where the slope promises, the gradient shrinks by a tenth.
    """
    slope = float(np.vdot(point.gradient, direction)) if promised is None else promised
    if not slope < 0:
        return None
    step = 1.0
    for _ in range(most):
        new = objective.at(point.theta + step * direction)
        finite = np.isfinite(new.value)
        if finite and new.value <= point.value + _SUFFICIENT * step * slope:
            return new
        if finite and -slope * step <= 64 * _ROUNDING * max(abs(point.value), 1e-300):
            quiet = new.value <= point.value + _ROUNDING * abs(point.value)
            if promised is None:
                shrunk = np.linalg.norm(new.gradient) < 0.9 * np.linalg.norm(point.gradient)
                return new if quiet and shrunk else None
            if quiet:
                return new
        step *= 0.5
    return None
