"""What the smooth solvers share: the line search, and the memory of quasi-Newton steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from propriety.linear.design import Floats
from propriety.linear.objective import Objective, Point

_SUFFICIENT = 1e-4
_ROUNDING = 8 * np.finfo(float).eps


@dataclass(frozen=True)
class Pairs:
    """The last steps s and changes of gradient y, newest last: what L-BFGS remembers."""

    pairs: tuple[tuple[Floats, Floats], ...] = ()

    def add(self, s: Floats, y: Floats, most: int) -> Pairs:
        """With one more pair, unless it has no positive curvature."""
        if np.vdot(s, y) <= 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            return self
        return Pairs((*self.pairs, (s, y))[-most:])

    def direction(self, gradient: Floats, solve) -> Floats:
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


def line_search(objective: Objective, point: Point, direction: Floats, most: int = 50) -> Point | None:
    """The first point along the direction that lowers the objective enough; None if there is none.

    Armijo's rule with halving, the full step first. Near the minimum, where the promised descent is below
    rounding, a step is taken only if the value does not rise beyond rounding and the gradient shrinks by a
    tenth.
    """
    slope = float(np.vdot(point.gradient, direction))
    if not slope < 0:
        return None
    step, size = 1.0, float(np.linalg.norm(point.gradient))
    for _ in range(most):
        theta = point.theta + step * direction
        new = objective.at(theta)
        if np.isfinite(new.value):
            if new.value <= point.value + _SUFFICIENT * step * slope:
                return new
            flat = -slope * step <= 64 * _ROUNDING * max(abs(point.value), 1e-300)
            if flat:
                quiet = new.value <= point.value + _ROUNDING * abs(point.value)
                return new if quiet and np.linalg.norm(new.gradient) < 0.9 * size else None
        step *= 0.5
    return None
