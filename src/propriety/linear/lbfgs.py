"""L-BFGS with the Fisher weights' diagonal as its first guess: for many features."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from propriety.linear.descent import Pairs, Run, iterate, line_search
from propriety.linear.objective import Iterate, Objective
from propriety.separators.linalg import Floats

_MEMORY = 20


@dataclass(frozen=True)
class LbfgsState:
    """Where the solver stands."""

    point: Iterate
    diagonal: Floats
    pairs: Pairs = field(default_factory=Pairs)
    stuck: bool = False


def minimize(objective: Objective, theta: Floats, tol: float, max_iter: int) -> Run:
    """Quasi-Newton steps from θ on."""
    return iterate(objective, start(objective, theta), step, tol, max_iter)


def start(objective: Objective, theta: Floats) -> LbfgsState:
    """State at θ, with the diagonal of the Fisher curvature there."""
    point = objective.at(theta)
    diagonal = objective.curvature_diagonal(point, "fisher")
    return LbfgsState(point, np.where(diagonal > 0, diagonal, 1.0))


def step(state: LbfgsState, objective: Objective) -> LbfgsState:
    """One step along −H∇f, H from the last 20 steps."""
    point, scale = state.point, 1.0
    if state.pairs.pairs:
        s, y = state.pairs.pairs[-1]
        scale = float(np.vdot(s, y) / np.vdot(y, y / state.diagonal))
    direction = state.pairs.direction(point.gradient, lambda q: scale * q / state.diagonal)
    new = line_search(objective, point, direction)
    if new is None:
        if state.pairs.pairs:
            return replace(state, pairs=Pairs())
        return replace(state, stuck=True)
    pairs = state.pairs.add(new.theta - point.theta, new.gradient - point.gradient, _MEMORY)
    return LbfgsState(new, state.diagonal, pairs)
