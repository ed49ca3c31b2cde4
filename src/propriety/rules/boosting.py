"""Rounds of boosted rules: universal linear separators whose features are monomials grown on the way.

Reference: Nock & Nielsen (2008), Algorithm 1 and section 6; Nock & Nielsen (2009), Figure 4 and section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import losses
from propriety.rules import leveraging
from propriety.rules.growing import Grower, Grown
from propriety.rules.leveraging import Point, Sample
from propriety.rules.monomials import Condition

_NO_EDGE = 1e-12
Floats = NDArray[np.float64]

#: The bags of [N8 §6]: φ_μ, φ_M, φ_Q and φ_B, or φ_υ instead of φ_B; and all five.
_SHARED = (losses.Mu(1 / 3), losses.Matsushita(), losses.Log())
BAGS = {
    1: (*_SHARED, losses.Squared()),
    2: (*_SHARED, losses.Power(0.3)),
    "all": (*_SHARED, losses.Squared(), losses.Power(0.3)),
}


@lru_cache(maxsize=256)
def _convex(composite: losses.Composite) -> Any:
    return composite.properties()["convex"]


@lru_cache(maxsize=256)
def _permissible(loss: losses.Loss) -> bool:
    return bool(loss.properties()["permissible"])


def composite_of(loss: Any, link: Any) -> losses.Composite:
    """The composite to boost: convex in the score, by the loss's own link or by its canonical one.

    >>> composite_of("Squared()", None).link == losses.Squared().canonical_link
    True
    """
    composite = losses.as_composite(loss, link)
    fact = _convex(composite)
    if fact:
        return composite
    reason = (
        f"{composite!r} is not convex in the score ({fact.reason}), and boosted rules need a loss that is"
    )
    if link is not None or isinstance(loss, losses.Composite):
        raise ValueError(f"{reason}: give a symmetric loss with link=None, or a canonical link")
    if _permissible(composite.loss):
        return composite.loss.with_link(composite.loss.canonical_link)
    raise ValueError(
        f"{reason}. For costs, fit a symmetric loss such as Log() and state fp_cost and fn_cost, which "
        "decide; or use LinearClassifier, TreeClassifier or BoostingClassifier"
    )


@dataclass(frozen=True)
class Settings:
    """How rules are boosted."""

    rounds: int
    intercept: bool
    corrective: bool
    choose: str  # how a loss is chosen from the bag: "risk" or "edge" each round, or "once"
    fp_cost: float
    fn_cost: float


@dataclass(frozen=True)
class State:
    """The rules so far, their coefficients, and the scores they give the rows."""

    composite: losses.Composite
    point: Point
    intercept: float
    coefficients: tuple[float, ...] = ()
    monomials: tuple[tuple[Condition, ...], ...] = ()
    patterns: leveraging.Patterns | None = None  # of the rows; kept by totally corrective boosting
    edges: tuple[float, ...] = ()
    chosen: tuple[losses.Composite, ...] = ()  # the loss of each round
    ended: bool = False  # by a rule without a mistake
    separated: bool = False  # by a combination of rules, so that coefficients have no finite minimum


def boost(sample: Sample, grower: Grower, bag: Sequence[losses.Composite], settings: Settings) -> State:
    """Boost rules for the loss, or for a bag of losses."""
    if settings.choose == "once" and len(bag) > 1:
        # F* of [N8 §6]: one loss for this training set, the one of smallest empirical risk.
        fits = [boost(sample, grower, [c], settings) for c in bag]
        return min(fits, key=lambda fit: empirical_risk(sample, fit, settings))
    state = start(sample, bag[0], settings)
    for _ in range(settings.rounds):
        found = [step(sample, grower, state, c, settings) for c in bag]
        candidates = [c for c in found if c is not None]
        if not candidates:
            break
        if settings.choose == "edge":
            state = max(candidates, key=lambda c: c.edges[-1])
        elif len(candidates) > 1:
            state = min(candidates, key=lambda c: empirical_risk(sample, c, settings))
        else:
            state = candidates[0]
        if state.ended:
            break
    return state


def start(sample: Sample, composite: losses.Composite, settings: Settings) -> State:
    """No rule: the score of the base rate, or 0 without an intercept."""
    intercept = float(composite.link(sample.base_rate())) if settings.intercept else 0.0
    point = sample.at(composite, np.full(len(sample.y), intercept))
    return State(composite, point, intercept)


def empirical_risk(sample: Sample, state: State, settings: Settings) -> float:
    """Cost of the decisions on the training rows; with equal costs, the number of errors."""
    cut = settings.fp_cost / (settings.fp_cost + settings.fn_cost)
    said = np.asarray(state.composite.inverse(state.point.F)) >= cut
    cost = np.where(said, settings.fp_cost, settings.fn_cost) * (said != sample.y)
    return float(np.sum(cost * sample.weight) if sample.weight.size else cost.sum())


def step(
    sample: Sample, grower: Grower, state: State, composite: losses.Composite, settings: Settings
) -> State | None:
    """One round of ULS; None if no rule has an edge.

    1. Weights w = −φ′ of the margins, the Legendre duals (Mα) ⋄ w₀.
    2. A monomial, grown by the loss's entropy on these weights.
    3. Its coefficient, with zero edge on the new weights; or those of all rules.
    4. The constant rule's, likewise: it keeps the classes' weights equal, so that what a monomial tells about
       the classes and its edge vanish together.
    5. A loss with a bounded link has the coefficients renormalized, so that the score stays inside. [N8 §6]
    """
    if composite != state.composite:
        state = _renormalized(sample, replace(state, composite=composite), always=True)
    grown, edge = _grow(sample, grower, state)
    if grown is None:
        return None
    state = replace(
        state,
        monomials=(*state.monomials, grown.conditions),
        edges=(*state.edges, edge),
        chosen=(*state.chosen, composite),
    )
    state = (_correct if settings.corrective else _classical)(sample, state, grown, settings.intercept)
    return _renormalized(sample, state)


def _grow(sample: Sample, grower: Grower, state: State) -> tuple[Grown | None, float]:
    """The monomial and its edge."""
    w = sample.quantized(state.point)
    for criterion in (grower.criterion, "edge"):
        grown = grower.grow(w, state.composite.loss, criterion)
        if grown is not None:
            edge = sample.edge(state.point, grown.holds)
            # Without an intercept the entropy may prefer a rule that, as ±1, has no edge at all.
            if edge > _NO_EDGE:
                return grown, edge
    return None, 0.0


def _classical(sample: Sample, state: State, grown: Grown, intercept: bool) -> State:
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


def _correct(sample: Sample, state: State, grown: Grown, intercept: bool) -> State:
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


def _renormalized(sample: Sample, state: State, always: bool = False) -> State:
    """The state with every score that its rules can give inside the range of the link."""
    link = state.composite.link
    reach = sum(map(abs, state.coefficients))
    factor = 1.0
    for bound, end in ((link.high, state.intercept + reach), (-link.low, reach - state.intercept)):
        if end > bound:
            factor = min(factor, max(bound, 0.0) / end)
    if factor == 1.0 and not always:
        return state
    return replace(
        state,
        intercept=factor * state.intercept,
        coefficients=tuple(factor * a for a in state.coefficients),
        point=sample.at(state.composite, factor * state.point.F),
    )
