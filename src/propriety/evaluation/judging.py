"""Decisions on rows that a model has not seen: what they cost, against deciding without a model.

Every printout of costs reads these numbers: the command line, reports, `AutoClassifier` and `cost_summary`.
Intervals are over the judged rows (or groups of them), given the fitted models: they say how much the numbers
would differ on other rows, not how much they would differ had the models been fitted to other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize
from sklearn.metrics import roc_auc_score

from propriety import losses
from propriety.cached_properties import cached_property
from propriety.costs import ResolvedCosts
from propriety.evaluation.comparison import holm
from propriety.weights import Estimate, SampledMean, Weights

Floats = NDArray[np.float64]
#: Costs and counts are stated for so many decisions.
CASES = 1000
#: Where a logarithm is taken, no probability is nearer to 0 or 1.
CLIP = 1e-15
#: What decides: the model judged, another model, one decision for everyone, or the offset without a model.
MODEL, RIVAL, CONSTANT, OFFSET = "model", "rival", "constant", "offset"
#: What a decision to say nothing is called.
ABSTAIN = "abstain"
_CONSTANTS = 3  # decisions for everyone that are shown of several classes
_LEVEL = 0.05  # of the tests between models
_FARTHEST = 1e6  # share saved


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """What was decided for each of the judged rows, and by what.

    Attributes
    ----------
    name : str
    kind : str
        "model", "rival", "constant" or "offset".
    decided : array of shape (n,)
        The decision on each row as a class index; K is to abstain.
    p : array of shape (n,) or (n, K), or None
        Probabilities of the positive one of two classes, or of every class; None without a model.
    seconds : float
        Spent on fitting and predicting.
    """

    name: str
    kind: str
    decided: NDArray[np.intp]
    p: Floats | None = None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Evaluation: their classes, what decisions on them cost, and how they count.

    Attributes
    ----------
    y : array of shape (n,)
        The class of each row, 0 … K − 1.
    labels : sequence of str
        Names of the classes.
    costs : ResolvedCosts
    weights : Weights
    groups : array of shape (n,), or None
        Rows of a group are one observation in intervals.
    budget : float or None
        How many rows may be acted on, or which share of them.
    sampled : Weights or None
        Of the rows as they were drawn, where `weights` are those of another population.

    Examples
    --------
    >>> rows = JudgedRows(np.array([0, 0, 1]), ("paid", "late"), ResolvedCosts.of_mistakes(1, 9), Weights(3))
    >>> model, never, always = judge(rows, [rows.rule("mine", np.array([0.0, 0.3, 0.8])), *rows.constants])
    >>> model.cost.value, never.name, never.cost.value, round(always.dearer.value)
    (333.3..., "never 'late'", 3000.0, 333)
    """

    y: NDArray[np.intp]
    labels: Sequence[Any]
    costs: ResolvedCosts
    weights: Weights
    groups: NDArray[np.intp] | None = None
    budget: float | None = None
    sampled: Weights | None = None

    @property
    def sided(self) -> bool:
        """Whether there are two classes and two decisions: false alarms and misses."""
        return self.costs.n_classes == 2 and not self.costs.abstains

    @property
    def decisions(self) -> tuple[Any, ...]:
        """What may be decided: the classes, and to abstain if that has a cost."""
        return (*self.labels, ABSTAIN) if self.costs.abstains else tuple(self.labels)

    def decide(self, p: ArrayLike) -> NDArray[np.intp]:
        """Decisions of least expected cost, within the budget."""
        return self.costs.decide(p) if self.budget is None else self.costs.decide_within(p, self.budget)

    def rule(self, name: str, p: ArrayLike, kind: str = MODEL, seconds: float = 0.0) -> DecisionRule:
        """Decisions by probabilities: of the positive one of two classes, or of every class."""
        p = np.asarray(p, dtype=np.float64)
        p = p[:, self.costs.positive] if p.ndim == 2 and p.shape[1] == 2 else p
        return DecisionRule(name, kind, self.decide(p), p, seconds)

    def row_costs(self, decided: NDArray[np.intp]) -> Floats:
        """What the decision on each row cost."""
        return self.costs.of_rows(self.y, decided)

    @property
    def positives(self) -> float:
        """Rows of the positive one of two classes or of the rarest of several, on which intervals rest."""
        counts = self._drawn.by_class(self.y, self.costs.n_classes) / self._drawn.overdispersion
        return float(counts[self.costs.positive] if self.costs.n_classes == 2 else counts.min())

    @cached_property
    def _mean_costs(self) -> Floats:
        """What a decision on a row of a class costs on average: of shape (K, D), as `_as_drawn`."""
        mean = self.costs.mean(self.weights.array).matrix
        if self.sampled is None:
            return mean
        k = self.costs.n_classes
        drawn = np.maximum(self.sampled.by_class(self.y, k), CLIP)
        return mean * (self.weights.by_class(self.y, k) / drawn)[:, None]

    @property
    def _drawn(self) -> Weights:
        return self.weights if self.sampled is None else self.sampled

    def _as_drawn(self, values: Floats) -> Floats:
        """Values of rows that have the mean over `sampled` that the values given have over `weights`."""
        if self.sampled is None:
            return values
        drawn = self.sampled.array
        return values * np.divide(self.weights.array, drawn, out=np.zeros_like(drawn), where=drawn > 0)

    def difference(
        self, decided: NDArray[np.intp], other: NDArray[np.intp], scale: float = CASES
    ) -> tuple[Estimate, float]:
        """What other decisions cost more than these, with its interval, and the p-value of no difference."""
        ways, others = (_possible(chosen, self._mean_costs.shape[1]) for chosen in (decided, other))
        more = self._mean_costs[:, others, None] - self._mean_costs[:, None, ways]
        reach = float(more.min()), float(more.max())
        values = self.row_costs(other) - self.row_costs(decided)
        sampled = SampledMean.of(self._drawn, self._as_drawn(values), self.groups, reach)
        low, high = sampled.interval()
        return Estimate(scale * sampled.value, scale * low, scale * high), sampled.p_value

    def cost(self, row_costs: Floats, scale: float = CASES) -> Estimate:
        """The mean cost with its interval, which ends at 0 if no decision can bring anything."""
        reach = float(self._mean_costs.min()), float(self._mean_costs.max())
        values = self._as_drawn(row_costs)
        return self._drawn.estimate(values, scale=scale, groups=self.groups, reach=reach)

    def log_losses(self, p: Floats) -> Floats:
        """The log loss of each row."""
        return log_losses(self._positives if p.ndim == 1 else self.y, p)

    def log_loss(self, P: Floats) -> float:
        """Mean log loss of probabilities."""
        two = P.ndim == 2 and P.shape[1] == 2
        return float(self.weights.mean(self.log_losses(P[:, self.costs.positive] if two else P)))

    @property
    def _positives(self) -> NDArray[np.intp]:
        return (self.y == self.costs.positive).astype(np.intp)

    @cached_property
    def cheapest(self) -> tuple[int, ...]:
        """Decisions that may be taken for everyone, the cheapest first; everyone is beyond any budget."""
        n = self.costs.matrix.shape[-1]
        allowed = range(n) if self.budget is None else (1 - self.costs.positive,)
        means = [self.weights.mean(self.row_costs(np.full(len(self.y), k))) for k in allowed]
        return tuple(int(allowed[k]) for k in np.argsort(means, kind="stable"))

    def constant(self, decision: int) -> DecisionRule:
        """One decision for everyone."""
        word = "never" if self.sided and decision != self.costs.positive else "always"
        label = self.labels[self.costs.positive] if self.sided else self.decisions[decision]
        return DecisionRule(f"{word} {label!r}", CONSTANT, np.full(len(self.y), decision))

    @property
    def constants(self) -> tuple[DecisionRule, ...]:
        """Deciding without a model: the positive class never and always, or the cheapest for everyone."""
        if not self.sided:
            return tuple(self.constant(k) for k in self.cheapest[:_CONSTANTS])
        positive = self.costs.positive
        return tuple(self.constant(k) for k in (1 - positive, positive) if k in self.cheapest)

    @property
    def left_out(self) -> str:
        """A sentence on decisions for everyone that `constants` leaves out, or nothing."""
        n_shown, n_decisions = len(self.constants), len(self.decisions)
        if n_decisions in (2, n_shown):
            return ""
        return (
            f"Of {n_decisions} decisions that could be taken for everyone, the {n_shown} cheapest are shown."
        )

    def savings(self, row_costs: Floats) -> Estimate | None:
        """Share saved of what the cheapest decision for everyone costs; None if that costs nothing."""
        best = self.row_costs(np.full(len(self.y), self.cheapest[0]))
        if self.weights.mean(best) <= 0:
            return None
        costs, constant = self._as_drawn(row_costs), self._as_drawn(best)
        return savings_estimate(costs, constant, self._drawn, self.groups, self._mean_costs, self.cheapest[0])


@dataclass(frozen=True)
class Judgement:
    """What 1,000 decisions of one rule cost, and how good its probabilities are.

    Attributes
    ----------
    name, kind : str
        Of the rule.
    cost : Estimate
        Of 1,000 decisions, with its 95% CI.
    total : float
        Of all judged rows.
    dearer : Estimate or None
        What 1,000 decisions cost more than by the first rule, over the same rows; None for the first.
    savings : Estimate or None
        Share saved of what the cheapest decision for everyone costs; None if that costs nothing.
    false_alarms, misses : float or None
        Of 1,000 decisions, where there are two.
    mistakes : float
        Wrong decisions of 1,000.
    abstained, acted_on : float or None
        Cases of 1,000 that were left undecided, if that has a cost; that were acted on, within a budget.
    quality : dict
        What `METRICS` say of the probabilities: ``log_loss``, ``brier``, and ``area_under_roc`` of two
        classes; None without probabilities.
    seconds : float
    positives : float
        Rows of the positive one of two classes, or of the rarest of several, on which the intervals rest.
    """

    name: str
    kind: str
    cost: Estimate
    total: float
    dearer: Estimate | None
    savings: Estimate | None
    false_alarms: float | None
    misses: float | None
    mistakes: float
    abstained: float | None
    acted_on: float | None
    quality: Mapping[str, float | None]
    seconds: float

    @property
    def log_loss(self) -> float | None:
        """Of the probabilities."""
        return self.quality["log_loss"]

    positives: float

    def to_dict(self) -> dict[str, Any]:
        """The numbers for machines."""
        result: dict[str, Any] = {"model": self.name, "cost_per_1000": self.cost.value}
        result |= {"cost_low": self.cost.low, "cost_high": self.cost.high, "total_cost": self.total}
        result |= {"positives": self.positives}
        sided = self.false_alarms is not None
        counts = {
            "false_alarms_per_1000": self.false_alarms,
            "misses_per_1000": self.misses,
            "mistakes_per_1000": None if sided else self.mistakes,
            "abstained_per_1000": self.abstained,
            "acted_on_per_1000": self.acted_on,
        }
        result |= {key: value for key, value in counts.items() if value is not None}
        if self.savings is not None:
            result |= {"savings": self.savings.value}
            result |= {"savings_low": self.savings.low, "savings_high": self.savings.high}
        return result | dict(self.quality) | {"seconds": self.seconds}


@dataclass(frozen=True)
class Difference:
    """What 1,000 decisions of one rule cost more than those of another, over the same rows.

    ``p_value`` is of the test that they cost the same, ``p_holm`` is corrected for the number of tests.
    """

    first: str
    second: str
    estimate: Estimate
    p_value: float
    p_holm: float

    @property
    def significant(self) -> bool:
        """Whether the costs differ at the level of 5%, after correction for the number of tests."""
        return self.p_holm < _LEVEL


def judge(rows: JudgedRows, rules: Sequence[DecisionRule]) -> tuple[Judgement, ...]:
    """A judgement of each rule; the others are compared with the first."""
    first: DecisionRule | None = None
    found = []
    for rule in rules:
        row_costs = rows.row_costs(rule.decided)
        dearer = None if first is None else rows.difference(first.decided, rule.decided)[0]
        first = rule if first is None else first
        cost = rows.cost(row_costs)
        found.append(
            Judgement(
                rule.name,
                rule.kind,
                cost,
                cost.value / CASES * rows.weights.total,
                dearer,
                None if rule.kind == CONSTANT else rows.savings(row_costs),
                **_counts(rows, rule.decided),
                quality={name: None if rule.p is None else metric(rows, rule.p) for name, metric in METRICS},
                seconds=rule.seconds,
                positives=rows.positives,
            )
        )
    return tuple(found)


def differences(rows: JudgedRows, rules: Sequence[DecisionRule]) -> tuple[Difference, ...]:
    """The paired differences of each rule from the cheapest one, with p-values corrected by Holm's method.

    >>> rows = JudgedRows(np.array([0, 1] * 50), ("no", "yes"), ResolvedCosts.of_mistakes(), Weights(100))
    >>> rules = [rows.rule(name, p + 0.1 * (rows.y == 1)) for name, p in (("a", np.full(100, 0.45)),)]
    >>> [(d.first, d.second, d.estimate.value) for d in differences(rows, [*rules, *rows.constants])]
    [('a', "never 'yes'", 500.0), ('a', "always 'yes'", 500.0)]
    """
    decided = {rule.name: rule.decided for rule in rules}
    order = sorted(decided, key=lambda name: rows.weights.mean(rows.row_costs(decided[name])))
    pairs = [pair for pair in combinations(order, 2) if pair[0] == order[0]]
    more = [rows.difference(decided[best], decided[other]) for best, other in pairs]
    corrected = holm([p for _, p in more]) if more else np.empty(0)
    return tuple(
        Difference(*pair, estimate, p, float(p_holm))
        for pair, (estimate, p), p_holm in zip(pairs, more, corrected, strict=True)
    )


def log_losses(y: NDArray[Any], p: Floats) -> Floats:
    """Log loss of each row, by probabilities of class 1 or of every class, which are kept away from 0.

    >>> log_losses(np.array([1, 0]), np.array([0.0, 0.5])).round(2)
    array([34.54,  0.69])
    """
    if p.ndim == 1:
        return np.asarray(losses.Log().loss(y.astype(np.float64), np.clip(p, CLIP, 1 - CLIP)))
    return -np.log(np.clip(p[np.arange(len(y)), y], CLIP, 1))


def share_saved(cost: float, constant: float) -> float:
    """The share of the cost of one decision for everyone that is saved."""
    if constant <= 0:
        raise ValueError(
            "one decision for everyone costs nothing, or brings a benefit, so no share of its cost can be "
            "saved; look at cost_summary(...).saved, the saving of a row"
        )
    return 1 - cost / constant


def savings_estimate(
    costs: Floats,
    constant: Floats,
    weights: Weights,
    groups: NDArray[np.intp] | None = None,
    mean_costs: Floats | None = None,
    decision: int = 0,
) -> Estimate:
    """The share saved of what one decision for everyone costs, with its 95% CI.

    The interval holds the shares R for which that of the mean of (1 − R) constant − cost holds 0 [Fieller].
    `mean_costs` are those of decisions on rows of a class, and `decision` is the one for everyone.

    >>> savings_estimate(np.array([0.0, 1.0]), np.array([2.0, 2.0]), Weights(2)).value
    0.75
    """
    share = share_saved(float(weights.mean(costs)), float(weights.mean(constant)))

    def beyond(saved: float, side: int) -> float:
        reach = None
        if mean_costs is not None:
            more = (1 - saved) * mean_costs[:, [decision]] - mean_costs
            reach = float(more.min()), float(more.max())
        return SampledMean.of(weights, (1 - saved) * constant - costs, groups, reach).interval()[side]

    ends = []
    for side, step in ((0, -1.0), (1, 1.0)):
        far = share + step
        while beyond(far, side) * step > 0 and abs(far) < _FARTHEST:
            far = share + 2 * (far - share)
        inside = beyond(share, side) * step > 0 and beyond(far, side) * step <= 0
        ends.append(optimize.brentq(beyond, share, far, (side,), 1e-6) if inside else share)
    most = 1.0 if mean_costs is None or mean_costs.min() >= 0 else np.inf
    return Estimate(share, float(ends[0]), float(min(ends[1], max(most, share))))


def _counts(rows: JudgedRows, decided: NDArray[np.intp]) -> dict[str, Any]:
    def share(holds: NDArray[np.bool_]) -> float:
        return CASES * float(rows.weights.mean(holds))

    positive, abstained = rows.costs.positive, decided == rows.costs.n_classes
    wrong = (decided != rows.y) & ~abstained
    return {
        "false_alarms": share(wrong & (decided == positive)) if rows.sided else None,
        "misses": share(wrong & (decided != positive)) if rows.sided else None,
        "mistakes": share(wrong),
        "abstained": share(abstained) if rows.costs.abstains else None,
        "acted_on": None if rows.budget is None else share(decided == positive),
    }


def _log_loss(rows: JudgedRows, p: Floats) -> float:
    return float(rows.weights.mean(rows.log_losses(p)))


def _brier(rows: JudgedRows, p: Floats) -> float:
    if p.ndim == 1:
        return float(rows.weights.mean((p - rows._positives) ** 2))
    return float(rows.weights.mean(((p - np.eye(p.shape[1])[rows.y]) ** 2).sum(axis=1)))


def _area_under_roc(rows: JudgedRows, p: Floats) -> float | None:
    y = rows._positives
    if p.ndim > 1 or not 0 < y.sum() < len(y):
        return None
    return float(roc_auc_score(y, p, sample_weight=rows.weights.values))


#: What is said of probabilities: a name, and a function of the rows and probabilities of class 1, or of all.
METRICS: tuple[tuple[str, Callable[[JudgedRows, Floats], float | None]], ...] = (
    ("log_loss", _log_loss),
    ("brier", _brier),
    ("area_under_roc", _area_under_roc),
)


def _possible(decided: NDArray[np.intp], n_decisions: int) -> list[int]:
    """Decisions that a rule may take: one if it takes it for everyone, else any."""
    return [int(decided[0])] if np.all(decided == decided[0]) else list(range(n_decisions))
