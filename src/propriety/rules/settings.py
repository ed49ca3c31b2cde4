"""The checked parameters of boosted rules, and the losses that they can be boosted for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from propriety import losses
from propriety.costs import ResolvedCosts
from propriety.data.parameters import Parameters
from propriety.separators.bags import read_bag

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


@dataclass(frozen=True)
class RuleSettings:
    """How rules are boosted.

    Attributes
    ----------
    bag : tuple of composites
        The losses to boost: one, or several to choose from.
    choose : {"risk", "edge", "once"}
        How a loss is chosen from the bag: each round by risk or edge, or once.
    costs : ResolvedCosts
        What the risk is counted by: for class 1, or for one class against the rest.
    rounds, max_literals, max_bins : int
    least_weight : float
        Of the rows where a rule holds, and of those where it does not.
    criterion : {"entropy", "edge"}
    intercept, corrective : bool
    """

    bag: tuple[losses.Composite, ...]
    choose: str
    costs: ResolvedCosts
    rounds: int
    max_literals: int
    max_bins: int
    least_weight: float
    criterion: str
    intercept: bool
    corrective: bool

    @classmethod
    def of(cls, estimator: BaseEstimator, costs: ResolvedCosts) -> RuleSettings:
        """Check the parameters of a RuleClassifier whose decisions follow these costs."""
        parameters = Parameters(estimator)
        choose = parameters.choice("choose", ("risk", "edge", "once"))
        return cls(
            bag=read_bag(estimator.loss, estimator.link, estimator.bag, choose),
            choose=choose,
            costs=costs if costs.n_classes == 2 else ResolvedCosts.equal(2),
            rounds=parameters.number("n_rules", 0, whole=True),
            max_literals=parameters.number("max_literals", 1, whole=True),
            max_bins=parameters.number("max_bins", 2, 255, whole=True),
            least_weight=parameters.number("min_samples_rule", 0),
            criterion=parameters.choice("criterion", ("entropy", "edge")),
            intercept=bool(estimator.fit_intercept),
            corrective=parameters.choice("update", ("classical", "corrective")) == "corrective",
        )
