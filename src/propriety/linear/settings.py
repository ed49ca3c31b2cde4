"""What a user asked for, checked: how to fit, and which loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from propriety.costs import ResolvedCosts
from propriety.data.parameters import Parameters
from propriety.linear import solvers
from propriety.linear.bags import Bag
from propriety.linear.row_tailoring import focus_of, tailored_to
from propriety.linear.rows import FittedLoss
from propriety.linear.solvers import Solver
from propriety.linear.updates import Uls, update_of
from propriety.model.fitted_loss import fitted_loss
from propriety.separators.bags import read_bag

if TYPE_CHECKING:
    from propriety.linear.classifier import LinearClassifier
    from propriety.losses import Composite
    from propriety.losses.simplex import SimplexLoss

_ROUNDS = 100  # of a bag of losses, as in the longer runs of the paper


@dataclass(frozen=True)
class LinearSettings:
    """How to fit."""

    solver: Solver
    alpha: float
    l1_ratio: float
    intercept: bool
    tol: float
    max_iter: int
    update: Any  # the value of a solver with parameters
    n_jobs: int | None
    flexible: bool = False  # may stop at an earlier station of a loss that runs off
    chosen: bool = False  # alpha is to be chosen by cross-validation, and
    scaled: bool = False  # is the penalty of columns of unit standard deviation
    bag: Bag | None = None  # losses to choose from
    thresholds: int = 0  # last columns that are thresholds between classes, and not penalized
    found: dict[Any, Any] | None = None  # where the ways of other losses on the same rows led, kept

    @classmethod
    def read(cls, model: LinearClassifier, costs: ResolvedCosts | None = None) -> LinearSettings:
        """The parameters of a LinearClassifier; `costs` the mean ones of its training rows."""
        given = Parameters(model)
        solver, update = solvers.named(model.solver), update_of(model.solver)
        bag = _bag(model, solver, costs)
        chosen = isinstance(model.alpha, str) and model.alpha == "cv"
        if chosen and solver.smooth is None:
            raise ValueError(
                f"alpha='cv' needs one of the solvers {', '.join(solvers.SMOOTH)}, got {solver.name!r}"
            )
        max_iter = given.number_or_none("max_iter", 1, whole=True)
        given.choice("multiclass", ("auto", "ovr", "ordinal"))
        return cls(
            solver,
            0.0 if chosen else given.number("alpha", 0),
            given.number("l1_ratio", 0, 1),
            bool(model.fit_intercept),
            given.number("tol", 0, above=True),
            (solver.max_iter if bag is None else _ROUNDS) if max_iter is None else max_iter,
            update,
            model.n_jobs,
            flexible=focus_of(model.loss) is not None,
            chosen=chosen,
            scaled=chosen,
            bag=bag,
        )


def _bag(model: Any, solver: Solver, costs: ResolvedCosts | None) -> Bag | None:
    """The losses of loss="bag"; None for any other loss."""
    update = update_of(model.solver)
    if not is_bag(model.loss):
        if isinstance(update, Uls):
            read_bag("auto", None, update.bag, update.choose)  # refuses a bag for another loss
        return None
    if not isinstance(update, Uls):
        raise ValueError(f"loss='bag' chooses a loss in every round of solver='uls', got {solver.name!r}")
    composites, choose = read_bag(model.loss, model.link, update.bag, update.choose), update.choose
    for composite in composites:
        solvers.check(solver, composite, 0.0, 0.0)
    if costs is None:
        return Bag(composites, choose, ResolvedCosts.equal(2))
    if costs.n_classes != 2:
        raise ValueError(f"loss='bag' is for two classes, and y has {costs.n_classes}; use RuleClassifier")
    return Bag(composites, choose, costs)


def is_bag(loss: Composite | SimplexLoss) -> bool:
    """Whether a loss is to be chosen from several."""
    return isinstance(loss, str) and loss == "bag"


def loss_to_fit(model: LinearClassifier, costs: ResolvedCosts) -> FittedLoss:
    """The composite that a LinearClassifier fits, or for more than two classes the loss on the simplex.

    "auto" is the log loss, whatever the costs; "tailored" is tailored to them, and to those of each row where
    they differ.
    """
    if is_bag(model.loss):
        update = update_of(model.solver)
        return read_bag(model.loss, model.link, update.bag, update.choose)[0]
    focus = focus_of(model.loss)
    if focus is not None:
        return tailored_to(costs, focus, model.link)
    return fitted_loss(model.loss, model.link, costs.n_classes, multiclass=model.multiclass)
