"""Rounds on margins: boosting of columns and Bregman updates, on the columns as they are, with a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from propriety.losses import Composite
from propriety.losses.simplex import SimplexLoss
from propriety.separators import bregman, margins, uls
from propriety.separators.linalg import Codes, Floats

#: gradient that is left when the objective is flat to rounding
_FLAT = 1e-6
_ROUNDING = 8 * np.finfo(float).eps
_IDLE = 50  # rounds without any gain after which rounding is all that happens


@dataclass(frozen=True)
class MarginTask:
    """Columns, classes, a loss, weights that sum to one unit of it, and a solver's value, if it has one."""

    X: Any
    codes: Codes
    n_classes: int
    loss: Composite | SimplexLoss
    weight: Floats
    update: Any = None

    def margins(self) -> margins.Margins:
        """The problem as one of margins."""
        if isinstance(self.loss, Composite):
            return margins.binary(self.X, self.codes, self.loss, self.weight)
        return margins.several(self.X, self.codes, self.n_classes, self.loss, self.weight)


class RoundState(Protocol):
    """What the loop must know of a state."""

    @property
    def coef(self) -> Floats:
        """Coefficients, class by class."""
        ...

    @property
    def value(self) -> float:
        """The objective."""
        ...

    @property
    def edges(self) -> Floats:
        """Minus the gradient."""
        ...


@dataclass(frozen=True)
class Rounds:
    """A solver that is ready: its first state, a round, and what it has to report in the end."""

    start: Callable[[Floats], Any]
    step: Callable[[Any], Any]
    report: Callable[[Any], Any] = lambda state: None


def universal_separators(task: MarginTask) -> Rounds:
    """Boosting of the columns."""
    problem = task.margins()
    return Rounds(
        lambda coef: uls.start(problem, coef),
        lambda state: uls.step(state, problem, task.update.features),
        lambda state: uls.report(state, problem),
    )


def bregman_updates(rule: str) -> Callable[[MarginTask], Rounds]:
    """One of the Bregman-distance updates."""

    def rounds(task: MarginTask) -> Rounds:
        updates = bregman.Updates.make(task.margins(), rule, getattr(task.update, "p", 2.0))
        return Rounds(updates.start, updates.step)

    return rounds


def iterative_scaling(improved: bool) -> Callable[[MarginTask], Rounds]:
    """Generalized or improved iterative scaling."""

    def rounds(task: MarginTask) -> Rounds:
        scaling = bregman.IterativeScaling.make(task.X, task.codes, task.n_classes, task.weight, improved)
        return Rounds(scaling.start, scaling.step)

    return rounds


@dataclass(frozen=True)
class MarginRun:
    """What a solver did: coefficients, the objective after each round, its convergence and its report."""

    coef: Floats
    trace: tuple[float, ...]
    converged: bool
    gap: float
    report: Any


def separate(rounds: Rounds, coef: Floats, tol: float, max_iter: int) -> MarginRun:
    """Take rounds until no edge exceeds `tol`, nothing is gained any more, or the rounds run out."""
    state: RoundState = rounds.start(coef)
    trace, idle = [state.value], 0
    gap = least = _largest_edge(state)
    while len(trace) <= max_iter and gap > tol and idle < _IDLE:
        new: RoundState = rounds.step(state)
        gap = _largest_edge(new)
        # In the last rounds the objective moves by less than its rounding, while the edges still shrink.
        if new.value > state.value + _ROUNDING * abs(state.value):
            idle = _IDLE
            break
        idle = idle + 1 if gap >= least and new.value >= trace[-1] else 0
        state, least = new, min(least, gap)
        trace.append(min(trace[-1], state.value))
    gap = _largest_edge(state)
    converged = gap <= tol or (idle == _IDLE and gap <= _FLAT)
    return MarginRun(state.coef, tuple(trace), converged, gap, rounds.report(state))


def _largest_edge(state: RoundState) -> float:
    return float(np.max(np.abs(state.edges), initial=0.0))
