"""Learning rules: universal linear separators whose features are monomials grown on the way.

Reference: Nock & Nielsen (2008), Algorithm 1 and section 6; Nock & Nielsen (2009), Figure 4 and section 5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from propriety import losses
from propriety.costs import ResolvedCosts
from propriety.data.training import Training
from propriety.rules import leveraging
from propriety.rules.growing import GrownRule, RuleGrower
from propriety.rules.leveraging import RuleSample, ScoredRows
from propriety.rules.monomials import Monomial
from propriety.rules.rows import BinnedRows
from propriety.rules.rule_lists import BinScorer, RuleList, contrasts
from propriety.rules.settings import RuleSettings
from propriety.rules.text import described, merged, round_edges
from propriety.rules.unseen import unseen_of
from propriety.separators.bags import first_of_least
from propriety.trees.binning import Binner
from propriety.weights import Weights

_NO_EDGE = 1e-9  # leveraging leaves a rule an edge of up to 1e-11
_PARTS = 1_000_000  # of a row, in which weights are counted


def learn(training: Training, settings: RuleSettings, n_jobs: int) -> tuple[Binner, tuple[RuleList, ...]]:
    """The bins, and a list of rules for class 1, or for each of several classes against the rest."""
    rows = BinnedRows.read(training, settings.max_bins, n_jobs)
    against = contrasts(training.classes)
    boosted = [_boost_class(rows, contrast.code, settings, n_jobs) for contrast in against]
    rows = round_edges(rows, [monomial for _, monomials in boosted for monomial in monomials])
    lists = []
    for contrast, (state, monomials) in zip(against, boosted, strict=True):
        scorer = BinScorer(state.intercept, monomials, unseen_of(monomials, rows))
        lists.append(
            RuleList(
                contrast.label,
                described(monomials, scorer, rows, contrast),
                scorer,
                state.composite,
                state.chosen,
                np.array(state.edges),
                state.ended or state.separated,
            )
        )
    return rows.binner, tuple(lists)


def _boost_class(
    rows: BinnedRows, code: int, settings: RuleSettings, n_jobs: int
) -> tuple[RuleState, dict[Monomial, float]]:
    """Boost rules for one class against the rest: the last state, and the rules with equal ones merged."""
    order = np.argsort(rows.codes == code, kind="stable")  # the rest first
    y = (rows.codes == code)[order].astype(np.uint8)
    weights = rows.weights.take(order)
    grower = RuleGrower(
        rows.binned._replace(columns=np.take(rows.columns, order, axis=1)),
        y,
        _counts(weights) if settings.least_weight > 1 else None,
        max_literals=settings.max_literals,
        least=_PARTS * settings.least_weight,
        criterion=settings.criterion,
        constant=settings.intercept,
        n_jobs=n_jobs,
    )
    state = boost(RuleSample(y, weights, n_jobs), grower, settings)
    return state, merged(state.monomials, state.coefficients, grower)


def _counts(weights: Weights) -> NDArray[np.int64]:
    """Weights of the rows in fixed point."""
    return np.rint(_PARTS * weights.array).astype(np.int64)


@dataclass(frozen=True)
class RuleState:
    """The rules so far, their coefficients, and the scores they give the rows."""

    composite: losses.Composite
    point: ScoredRows
    intercept: float
    coefficients: tuple[float, ...] = ()
    monomials: tuple[Monomial, ...] = ()
    patterns: leveraging.Patterns | None = None  # of the rows; kept by totally corrective boosting
    edges: tuple[float, ...] = ()
    chosen: tuple[losses.Composite, ...] = ()  # the loss of each round
    ended: bool = False  # by a rule without a mistake
    separated: bool = False  # by a combination of rules, so that coefficients have no finite minimum


def boost(sample: RuleSample, grower: RuleGrower, settings: RuleSettings) -> RuleState:
    """Boost rules for the loss, or for a bag of losses."""
    if settings.choose == "once" and len(settings.bag) > 1:
        # F* of [N8 §6]: one loss for this training set, the one of smallest empirical risk.
        return _of_least_risk(
            sample, [boost(sample, grower, replace(settings, bag=(c,))) for c in settings.bag], settings
        )
    state = start(sample, settings.bag[0], settings.intercept)
    for _ in range(settings.rounds):
        proposals = [
            proposal
            for composite in settings.bag
            if (proposal := propose(sample, grower, state, composite)) is not None
        ]
        if not proposals:
            break
        if settings.choose == "edge":
            states = [proposed for proposed, _ in proposals]
            largest = first_of_least([-s.edges[-1] for s in states], [s.composite for s in states])
            proposals = [proposals[largest]]
        state = _of_least_risk(
            sample, [take(sample, *proposal, settings) for proposal in proposals], settings
        )
        if state.ended:
            break
    return state


def _of_least_risk(sample: RuleSample, states: list[RuleState], settings: RuleSettings) -> RuleState:
    """The one of least empirical risk, by the rule for ties of the bags."""
    if len(states) == 1:
        return states[0]
    risks = [empirical_risk(sample, state, settings.costs) for state in states]
    return states[first_of_least(risks, [state.composite for state in states])]


def start(sample: RuleSample, composite: losses.Composite, intercept: bool) -> RuleState:
    """No rule: the score of the base rate, or 0 without an intercept."""
    score = float(composite.link(sample.base_rate())) if intercept else 0.0
    return RuleState(composite, sample.at(composite, np.full(len(sample.y), score)), score)


def empirical_risk(sample: RuleSample, state: RuleState, costs: ResolvedCosts) -> float:
    """Mean cost of the decisions on the training rows; with equal costs, the share of errors."""
    p = np.asarray(state.composite.inverse(state.point.F))
    decided = costs.decide(np.column_stack([1 - p, p]))
    return sample.mean(np.asarray(costs.of_rows(sample.y, decided), dtype=np.float64))


def propose(
    sample: RuleSample, grower: RuleGrower, state: RuleState, composite: losses.Composite
) -> tuple[RuleState, GrownRule] | None:
    """The first half of a round of ULS: a rule and its edge; None if no rule has one.

    1. Weights w = −φ′ of the margins, the Legendre duals (Mα) ⋄ w₀.
    2. A monomial, grown by the loss's entropy on these weights.
    """
    if composite != state.composite:
        state = _renormalized(sample, replace(state, composite=composite), always=True)
    grown, edge = _grow(sample, grower, state)
    if grown is None:
        return None
    proposed = replace(
        state,
        monomials=(*state.monomials, grown.literals),
        edges=(*state.edges, edge),
        chosen=(*state.chosen, composite),
    )
    return proposed, grown


def take(sample: RuleSample, state: RuleState, grown: GrownRule, settings: RuleSettings) -> RuleState:
    """The second half: coefficients.

    3. The rule's, with zero edge on the new weights; or those of all rules.
    4. The constant rule's, likewise: it keeps the classes' weights equal, so that what a monomial tells about
       the classes and its edge vanish together.
    5. A loss with a bounded link has the coefficients renormalized, so that the score stays inside. [N8 §6]
    """
    state = (_correct if settings.corrective else _classical)(sample, state, grown, settings.intercept)
    return _renormalized(sample, state)


def _grow(sample: RuleSample, grower: RuleGrower, state: RuleState) -> tuple[GrownRule | None, float]:
    """The monomial and its edge.

    Without an intercept the entropy may prefer a rule that, as ±1, has no edge, such as the last one: then it
    is the rule of largest edge.
    """
    w = sample.quantized(state.point)
    dispersion = sample.dispersion(w) if grower.any_categories else 0.0
    for criterion in dict.fromkeys((grower.criterion, "edge")):
        grown = grower.grow(w, state.composite.loss, criterion, dispersion)
        if grown is not None:
            edge = sample.edge(state.point, grown.holds)
            if edge > _NO_EDGE:
                return grown, edge
    return None, 0.0


def _classical(sample: RuleSample, state: RuleState, grown: GrownRule, intercept: bool) -> RuleState:
    delta, point, errs = leveraging.leverage(sample, state.composite, state.point, grown.holds)
    change = 0.0
    if intercept and errs:
        change, point = leveraging.leverage_constant(sample, state.composite, point, grown.holds)
    return replace(
        state,
        point=point,
        intercept=state.intercept + change,
        coefficients=(*state.coefficients, delta),
        ended=not errs,
    )


def _correct(sample: RuleSample, state: RuleState, grown: GrownRule, intercept: bool) -> RuleState:
    patterns = (state.patterns or leveraging.Patterns.of(sample)).split(sample, grown.holds)
    coefficients = np.array([*state.coefficients, 0.0])
    base, coefficients, finite = leveraging.correct(
        state.composite, patterns, state.intercept if intercept else None, coefficients
    )
    F = (base + patterns.rules @ coefficients)[patterns.group]
    return replace(
        state,
        point=sample.at(state.composite, F),
        intercept=base,
        coefficients=tuple(coefficients.tolist()),
        patterns=patterns,
        separated=not finite,
        ended=not sample.errs(grown.holds),
    )


def _renormalized(sample: RuleSample, state: RuleState, always: bool = False) -> RuleState:
    """The state with every score that its rules can give inside the range of the link.

    A margin loss of the user's own is a loss on the whole line, whatever its link.
    """
    link = state.composite.link
    inside = link.has_real_range or state.composite._form is not None
    reach = sum(map(abs, state.coefficients))
    factor = 1.0
    for bound, end in ((link.high, state.intercept + reach), (-link.low, reach - state.intercept)):
        if end > bound and not inside:
            factor = min(factor, max(bound, 0.0) / end)
    if factor == 1.0 and not always:
        return state
    return replace(
        state,
        intercept=factor * state.intercept,
        coefficients=tuple(factor * a for a in state.coefficients),
        point=sample.at(state.composite, factor * state.point.F),
    )
