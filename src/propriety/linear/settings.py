"""What a user asked for, checked: how to fit, and which loss."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from propriety.costs import ResolvedCosts
from propriety.data.parameters import Parameters
from propriety.linear import solvers
from propriety.linear.row_tailoring import focus_of, tailored_to
from propriety.linear.rows import FittedLoss
from propriety.linear.solvers import Solver
from propriety.model.fitted_loss import fitted_loss


@dataclass(frozen=True)
class LinearSettings:
    """How to fit."""

    solver: Solver
    alpha: float
    l1_ratio: float
    intercept: bool
    tol: float
    max_iter: int
    features: str | int
    p: float
    n_jobs: int | None
    flexible: bool = False  # may stop at an earlier station of a loss that runs off
    chosen: bool = False  # alpha is to be chosen by cross-validation, and
    scaled: bool = False  # is the penalty of columns of unit standard deviation
    found: dict[Any, Any] | None = None  # where the ways of other losses on the same rows led, kept

    @classmethod
    def read(cls, model: Any) -> LinearSettings:
        """The parameters of a LinearClassifier."""
        given = Parameters(model)
        solver = solvers.named(model.solver)
        chosen = isinstance(model.alpha, str) and model.alpha == "cv"
        if chosen and solver.smooth is None:
            raise ValueError(
                f"alpha='cv' needs one of the solvers {', '.join(solvers.SMOOTH)}, got {solver.name!r}"
            )
        max_iter = given.number_or_none("max_iter", 1, whole=True)
        given.choice("multiclass", ("auto", "ovr"))
        return cls(
            solver,
            0.0 if chosen else given.number("alpha", 0),
            given.number("l1_ratio", 0, 1),
            bool(model.fit_intercept),
            given.number("tol", 0, above=True),
            solver.max_iter if max_iter is None else max_iter,
            _features(model.features),
            _norm(model.p),
            model.n_jobs,
            flexible=focus_of(model.loss) is not None,
            chosen=chosen,
            scaled=chosen,
        )


def _features(features: Any) -> str | int:
    if isinstance(features, str) and features in ("one", "all", "active"):
        return features
    if isinstance(features, Integral) and not isinstance(features, bool) and int(features) > 0:
        return int(features)
    raise ValueError(f"features must be 'one', 'all', 'active' or a positive integer, got {features!r}")


def _norm(p: Any) -> float:
    if isinstance(p, Real) and not isinstance(p, bool) and float(p) >= 1:
        return float(p)
    raise ValueError(f"p must be a number of at least 1, or infinite, got {p!r}")


def loss_to_fit(model: Any, costs: ResolvedCosts) -> FittedLoss:
    """The composite that a LinearClassifier fits, or for more than two classes the loss on the simplex.

    "auto" is the log loss, whatever the costs; "tailored" is tailored to them, and to those of each row where
    they differ.
    """
    focus = focus_of(model.loss)
    if focus is not None:
        return tailored_to(costs, focus, model.link)
    return fitted_loss(model.loss, model.link, costs.n_classes, multiclass=model.multiclass)
