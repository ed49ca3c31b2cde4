"""What a user asked for, checked: how to fit, and which loss."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from propriety import losses
from propriety.costs import Costs
from propriety.data.parameters import Parameters
from propriety.linear import solvers
from propriety.linear.solvers import AnyLoss, Solver
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
    n_jobs: int | None
    flexible: bool = False  # may stop at an earlier station of a loss that runs off

    @classmethod
    def read(cls, model: Any) -> LinearSettings:
        """The parameters of a LinearClassifier."""
        given = Parameters(model)
        solver = solvers.named(model.solver)
        max_iter = given.number_or_none("max_iter", 1, whole=True)
        given.choice("multiclass", ("auto", "ovr"))
        return cls(
            solver,
            given.number("alpha", 0),
            given.number("l1_ratio", 0, 1),
            bool(model.fit_intercept),
            given.number("tol", 0, above=True),
            solver.max_iter if max_iter is None else max_iter,
            _features(model.features),
            model.n_jobs,
            isinstance(model.loss, str) and model.loss == "auto",
        )


def _features(features: Any) -> str | int:
    if isinstance(features, str) and features in ("one", "all", "active"):
        return features
    if isinstance(features, Integral) and not isinstance(features, bool) and int(features) > 0:
        return int(features)
    raise ValueError(f"features must be 'one', 'all', 'active' or a positive integer, got {features!r}")


def loss_to_fit(model: Any, costs: Costs) -> AnyLoss:
    """The composite that a LinearClassifier fits, or for more than two classes the loss on the simplex.

    "auto" is tailored to costs that all rows share; where each row has its own, no one threshold counts, and
    it is the log loss.
    """
    loss, n_classes = model.loss, costs.n_classes
    shared = n_classes == 2 and not costs.by_row
    if isinstance(loss, str) and loss == "auto" and shared and costs.boundary != 0.5:
        loss = losses.Tailored(costs.boundary)
    return fitted_loss(loss, model.link, n_classes, multiclass=model.multiclass)
