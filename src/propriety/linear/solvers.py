"""The solvers, one row each: what a solver needs of the loss and of the penalty, and how it is run.

There are two kinds. A smooth solver minimizes an `Objective`, the mean loss as a function of the
coefficients of standardized columns, with a penalty; a solver of margins takes rounds on the columns as they
are, without one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from propriety import losses, parallel
from propriety.errors import ArgumentError
from propriety.linear import fisher, lbfgs, proximal, separating
from propriety.linear.descent import Run
from propriety.linear.design import NARROW
from propriety.linear.objective import Objective
from propriety.linear.separating import MarginTask, Rounds
from propriety.linear.updates import update_of
from propriety.losses import Composite
from propriety.losses.simplex import SimplexLoss
from propriety.separators import bregman
from propriety.separators.linalg import Floats

AnyLoss = Composite | SimplexLoss
Minimize = Callable[[Objective, Floats, float, int], Run]


@dataclass(frozen=True)
class Need:
    """Something that a solver needs of the loss, and why a loss does not have it (None if it has)."""

    what: str
    lacks: Callable[[AnyLoss], str | None]


@dataclass(frozen=True)
class Solver:
    """A way to the minimum.

    Attributes
    ----------
    name : str
    max_iter : int
        Steps it is given when the user does not say how many.
    needs : tuple of Need
        Of the loss.
    smooth : function of (objective, theta, tol, max_iter), optional
        Minimizes an objective whose penalty is zero or a ridge.
    lasso : the same, optional
        Minimizes one with an L1 penalty.
    rounds : function of a MarginTask, optional
        For a solver of margins, which has neither of the two.
    """

    name: str
    max_iter: int
    needs: tuple[Need, ...] = ()
    smooth: Minimize | None = None
    lasso: Minimize | None = None
    rounds: Callable[[MarginTask], Rounds] | None = None

    def minimize(self, objective: Objective, theta: Floats, tol: float, max_iter: int) -> Run:
        """Run a smooth solver from θ on."""
        run = self.lasso if objective.penalty.has_l1 else self.smooth
        assert run is not None, f"{self.name} was not checked"
        with parallel.one_blas_thread() if objective.design.p <= NARROW else nullcontext():
            return run(objective, theta, tol, max_iter)

    def lacks(self, loss: AnyLoss, alpha: float, l1_ratio: float) -> str | None:
        """What it needs and does not have, with the reason; None if it would do."""
        if alpha > 0 and self.smooth is None:
            return f"alpha=0, because it minimizes the loss without a penalty, got alpha={alpha:g}"
        if alpha * l1_ratio > 0 and self.lasso is None:
            return f"l1_ratio=0, because it has no L1 penalty, got l1_ratio={l1_ratio:g}"
        for need in self.needs:
            reason = need.lacks(loss)
            if reason is not None:
                return f"{need.what}, and {loss!r} {reason}"
        return None


def check(solver: Solver, loss: AnyLoss, alpha: float, l1_ratio: float) -> None:
    """Raise if the solver cannot minimize this loss with this penalty; the error says which ones can."""
    lacking = solver.lacks(loss, alpha, l1_ratio)
    if lacking is not None:
        able = [s.name for s in SOLVERS.values() if s.lacks(loss, alpha, l1_ratio) is None]
        raise ValueError(f"solver={solver.name!r} needs {lacking}; solvers that would do: {', '.join(able)}")


# -- what a loss may lack ---------------------------------------------------------------------------------


def _margin_composite(loss: AnyLoss) -> Composite | None:
    """The composite whose margin loss is summed; None if the loss is no function of margins."""
    if isinstance(loss, SimplexLoss):
        return None if loss.margin_form is None else _margin_composite(loss.margin_form.composite)
    return loss if loss.has_margin_form else None


def _no_margins(loss: AnyLoss) -> str | None:
    if _margin_composite(loss) is not None:
        return None
    if isinstance(loss, Composite) or loss.one_vs_rest is not None:
        return "has none: its weights or its link are not symmetric about p = 1/2"
    return "has none for several classes (the log loss, PairwiseExponential, MH and multiclass='ovr' have)"


def _not_convex(loss: AnyLoss) -> str | None:
    composite = _margin_composite(loss)
    convex = None if composite is None else composite.properties()["convex"]
    return None if convex is None or convex else f"is not ({convex.reason})"


def _unbounded(loss: AnyLoss) -> str | None:
    composite = _margin_composite(loss)
    if composite is None or np.isfinite(composite.growth):
        return None
    return "has unbounded growth, so that no step is safe"


def _not_logistic(loss: AnyLoss) -> str | None:
    return None if loss in (losses.simplex.Log(), losses.Log().composite()) else "is another"


MARGINS = Need("a loss with a margin form", _no_margins)
CONVEX = Need("a loss that is convex in the score", _not_convex)
GROWTH = Need("bounded growth, sup -phi''/phi' < inf", _unbounded)
LOGISTIC = Need("the log loss with the logit link", _not_logistic)

_ROWS = (
    Solver("fisher", 100, smooth=fisher.minimize, lasso=proximal.minimize),
    Solver("newton", 100, smooth=fisher.newton, lasso=proximal.minimize),
    Solver("lbfgs", 2000, smooth=lbfgs.minimize),
    Solver("uls", 10_000, needs=(MARGINS, CONVEX), rounds=separating.universal_separators),
    *(
        Solver(rule, 10_000, needs=(MARGINS, CONVEX, GROWTH), rounds=separating.bregman_updates(rule))
        for rule in bregman.RULES
    ),
    Solver("gis", 10_000, needs=(LOGISTIC,), rounds=separating.iterative_scaling(improved=False)),
    Solver("iis", 10_000, needs=(LOGISTIC,), rounds=separating.iterative_scaling(improved=True)),
)
#: The solvers by name.
SOLVERS: dict[str, Solver] = {solver.name: solver for solver in _ROWS}
#: Names of those that take a penalty.
SMOOTH = tuple(name for name, solver in SOLVERS.items() if solver.smooth is not None)


def named(name: Any) -> Solver:
    """The solver of that name, or of a value of `updates`.

    >>> named("lbfgs").max_iter, named("uls_corrective").name
    (2000, 'uls')
    """
    name = getattr(update_of(name), "name", name)
    if not isinstance(name, str) or name not in SOLVERS:
        raise ArgumentError("solver", f"must be one of {', '.join(SOLVERS)}, got {name!r}")
    return SOLVERS[name]
