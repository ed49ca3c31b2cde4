"""From boosted monomials to rules that a person can check by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.rules.growing import RuleGrower
from propriety.rules.monomials import (
    BinLiteral,
    Monomial,
    WeightedRule,
    conjoin,
    in_words,
    shortest_between,
)
from propriety.rules.rows import BinnedRows
from propriety.rules.rule_lists import BinScorer, Contrast, RuleList, contrasts
from propriety.weights import Weights


def merged(
    monomials: Sequence[Monomial], coefficients: Sequence[float], grower: RuleGrower
) -> dict[Monomial, float]:
    """Monomials without redundant literals, each once, with the sum of its coefficients.

    A single literal and its complement are one rule with the sign turned; it is written so that it says class
    1.
    """
    everything = [(1 << (int(b) + 1)) - 1 for b in grower.n_bins]
    totals: dict[Monomial, float] = {}
    as_first_written: dict[Monomial, Monomial] = {}
    for literals, coefficient in zip(monomials, coefficients, strict=True):
        rule, a = conjoin(literals, everything), coefficient
        if len(literals) == 1 and not rule[0].bins & 1:
            rule, a = _complement(rule, grower), -a
        rule = as_first_written.setdefault(tuple(sorted(rule)), rule)
        totals[rule] = totals.get(rule, 0.0) + a
    result: dict[Monomial, float] = {}
    for rule, a in totals.items():
        turn = a < 0 and len(rule) == 1 and rule[0].bins & 1
        result[_complement(rule, grower) if turn else rule] = -a if turn else a
    return result


def _complement(rule: Monomial, grower: RuleGrower) -> Monomial:
    """The opposite of a rule with one literal."""
    (literal,) = rule
    return (BinLiteral(literal.feature, grower.complement(literal)),)


def round_edges(rows: BinnedRows, monomials: Sequence[Monomial]) -> BinnedRows:
    """The same bins, with the edges that the monomials use replaced by the shortest numbers that fit.

    A threshold may lie anywhere between two neighbouring values of the training table; the one with fewest
    digits is the one to print, and what is printed is what decides.
    """
    binner = rows.binner
    edges = binner.edges.copy()
    used: dict[int, set[int]] = {}
    for literal in chain.from_iterable(monomials):
        used.setdefault(literal.feature, set()).add(literal.bins)
    for feature, sets in used.items():
        if binner.category_bins[feature] is not None:
            continue
        values, bins = rows.values(feature), rows.columns[feature]
        inner = int(binner.n_bins[feature]) - 1
        for b in sorted({b for s in sets for b in range(inner) if (s >> b & 1) != (s >> (b + 1) & 1)}):
            below, above = (values[np.flatnonzero(bins == k)] for k in (b, b + 1))
            if len(below) and len(above):
                edges[feature, b] = shortest_between(float(below.max()), float(above.min()))
    return rows.with_edges(edges)


def described(
    monomials: dict[Monomial, float], scorer: BinScorer, rows: BinnedRows, contrast: Contrast
) -> tuple[WeightedRule, ...]:
    """The rules in the values of their columns, with what they cover and how often they are right."""
    y = (rows.codes == contrast.code).astype(np.uint8)
    total, positive = rows.weights.total, _mass(y, rows.weights)
    rules = []
    for t, (monomial, coefficient) in enumerate(monomials.items()):
        holds = scorer.holds(t, rows.columns)
        covered, inside = _mass(holds, rows.weights), _mass(holds & y, rows.weights)
        inside_share, outside_share = _share(inside, covered), _share(positive - inside, total - covered)
        shares = covered / total, inside_share, 1 - outside_share
        if coefficient < 0:
            shares = covered / total, 1 - inside_share, outside_share
        literals = in_words(monomial, rows.training.schema, rows.binner)
        rules.append(weighted_rule(literals, coefficient, contrast, shares))
    return tuple(rules)


def weighted_rule(
    literals: tuple[Any, ...], coefficient: float, contrast: Contrast, shares: Sequence[float]
) -> WeightedRule:
    """A rule that says the class if its coefficient is positive, else the rest."""
    says, denies = contrast.label, contrast.rest
    if coefficient < 0:
        says, denies = denies, says
    coverage, precision, precision_outside = shares
    return WeightedRule(literals, coefficient, says, denies, coverage, precision, precision_outside)


def _mass(marked: NDArray[np.uint8], weights: Weights) -> float:
    """Weight of the rows marked by 1."""
    if weights.values is None:
        return float(np.count_nonzero(marked))
    return float(np.sum(weights.values, where=marked.astype(bool)))


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")


def in_names(lists: Sequence[RuleList], names: Sequence[str]) -> list[RuleList]:
    """The same lists of rules, which call the classes by these names."""
    return [
        replace(
            rule_list,
            label=contrast.label,
            rules=tuple(
                weighted_rule(
                    rule.literals,
                    rule.coefficient,
                    contrast,
                    (rule.coverage, rule.precision, rule.precision_outside),
                )
                for rule in rule_list.rules
            ),
        )
        for rule_list, contrast in zip(lists, contrasts(np.array(names, dtype=object)), strict=True)
    ]


def text(rule_list: RuleList, rest: str, digits: int) -> str:
    """The list as lines: a score to add up, and the link that turns it into a probability, and the `rest`."""
    label, rules = rule_list.label, rule_list.rules
    lines = [f"score of {label} = {rule_list.scorer.intercept:+.{digits}f}"]
    width = max((len(f"{abs(rule.coefficient):.{digits}f}") for rule in rules), default=0)
    for rule in rules:
        size = f"{abs(rule.coefficient):.{digits}f}".rjust(width)
        first, second = ("+", "-") if rule.coefficient >= 0 else ("-", "+")
        condition = " and ".join(map(str, rule.literals))
        lines.append(f"  {first} {size} if {condition}, else {second} {size.strip()}")
        lines.append(
            f"    {' ' * width} says {rule.says} for {rule.coverage:.1%} of the rows, of which "
            f"{rule.precision:.1%} are; of the others {rule.precision_outside:.1%} are {rule.denies}"
        )
    lines.append(f"probability of {label} = {rule_list.composite.link!r}.inverse(score){rest}")
    if rule_list.separated:
        lines.append(
            "The rules separate classes, so there are no finite coefficients; these are held back by one "
            "doubtful row a rule."
        )
    return "\n".join(lines)
