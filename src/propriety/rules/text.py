"""From boosted monomials to rules that a person can check by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.data.table import Schema, Table
from propriety.engine.binning import Binner
from propriety.engine.layout import BINS
from propriety.rules import kernels
from propriety.rules.growing import Grower
from propriety.rules.monomials import Condition, Monomial, WeightedRule, conjoin, literal_of, shortest_between

Floats = NDArray[np.float64]


def merged(
    monomials: Sequence[Sequence[Condition]], coefficients: Sequence[float], grower: Grower
) -> dict[Monomial, float]:
    """Monomials without redundant literals, each once, with the sum of its coefficients.

    A single literal and its complement are one rule with the sign turned; it is written so that it says class
    1.
    """
    everything = [(1 << (int(b) + 1)) - 1 for b in grower.n_bins]
    total: dict[Monomial, float] = {}
    first: dict[Monomial, Monomial] = {}
    single: set[Monomial] = set()
    for conditions, coefficient in zip(monomials, coefficients, strict=True):
        rule, a = conjoin(conditions, everything), coefficient
        if len(conditions) == 1:
            if not rule[0].bins & 1:
                rule, a = (Condition(rule[0].feature, grower.complement(rule[0])),), -a
            single.add(rule)
        same = tuple(sorted(rule))
        rule = first.setdefault(same, rule)
        total[rule] = total.get(rule, 0.0) + a
    result: dict[Monomial, float] = {}
    for rule, a in total.items():
        turn = a < 0 and len(rule) == 1 and rule[0].bins & 1
        result[(Condition(rule[0].feature, grower.complement(rule[0])),) if turn else rule] = (
            -a if turn else a
        )
    return result


def round_edges(
    binner: Binner, table: Table, kept: Any, columns: NDArray[np.uint8], monomials: Sequence[Monomial]
) -> Binner:
    """The same bins, with the edges that the monomials use replaced by the shortest numbers that fit.

    A threshold may lie anywhere between two neighbouring values of the training table; the one with fewest
    digits is the one to print, and what is printed is what decides. `columns` are bins of the `kept` rows.
    """
    edges = binner.edges.copy()
    for feature in sorted({condition.feature for monomial in monomials for condition in monomial}):
        if binner.category_bins[feature] is not None:
            continue
        values, bins = table.column(feature)[kept], columns[feature]
        sets = {c.bins for monomial in monomials for c in monomial if c.feature == feature}
        inner = int(binner.n_bins[feature]) - 1
        for b in sorted({b for s in sets for b in range(inner) if (s >> b & 1) != (s >> (b + 1) & 1)}):
            below, above = (values[np.flatnonzero(bins == k)] for k in (b, b + 1))
            if len(below) and len(above):
                edges[feature, b] = shortest_between(float(below.max()), float(above.min()))
    return replace(binner, edges=edges)


class Scorer:
    """The score of binned rows: an intercept, and rules of ±1 with their coefficients."""

    def __init__(self, intercept: float, rules: dict[Monomial, float]) -> None:
        conditions = [c for monomial in rules for c in monomial]
        self.intercept = intercept
        self.coefficients = np.array(list(rules.values()), dtype=np.float64)
        self.features = np.array([c.feature for c in conditions], dtype=np.int64)
        masks = [c.mask() for c in conditions]
        self.masks = np.array(masks, dtype=np.uint8).reshape(len(masks), BINS)
        self.starts = np.cumsum([0, *map(len, rules)]).astype(np.int64)

    def scores(self, columns: NDArray[np.uint8]) -> Floats:
        """Scores of the rows."""
        out = np.full(columns.shape[1], self.intercept)
        kernels.add_scores(
            columns, self.features, self.masks, self.starts, self.coefficients, 0, columns.shape[1], out
        )
        return out

    def holds(self, t: int, columns: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Where rule `t` holds."""
        result = np.ones(columns.shape[1], dtype=np.uint8)
        for k in range(self.starts[t], self.starts[t + 1]):
            kernels.narrow(columns[self.features[k]], self.masks[k], result)
        return result


def readable(
    rules: dict[Monomial, float],
    scorer: Scorer,
    schema: Schema,
    binner: Binner,
    columns: NDArray[np.uint8],
    y: NDArray[np.uint8],
    weight: Floats | None,
    labels: tuple[Any, Any],
) -> tuple[WeightedRule, ...]:
    """The rules in the values of their columns, with what they cover and how often they are right."""
    names = schema.names or [f"x{f}" for f in range(len(schema.categories))]
    total, positive = _mass(np.ones_like(y), weight), _mass(y, weight)
    found = []
    for t, (monomial, coefficient) in enumerate(rules.items()):
        literals = tuple(
            literal_of(
                c,
                binner.edges[c.feature],
                int(binner.n_bins[c.feature]),
                str(names[c.feature]),
                schema.categories[c.feature],
                binner.category_bins[c.feature],
            )
            for c in monomial
        )
        holds = scorer.holds(t, columns)
        covered, inside = _mass(holds, weight), _mass(holds & y, weight)
        shares = [_share(inside, covered), _share(positive - inside, total - covered)]
        says = int(coefficient >= 0)
        precision = shares[0] if says else 1 - shares[0]
        outside = 1 - shares[1] if says else shares[1]
        found.append(
            WeightedRule(
                literals, coefficient, labels[says], labels[1 - says], covered / total, precision, outside
            )
        )
    return tuple(found)


def _mass(there: NDArray[np.uint8], weight: Floats | None) -> float:
    """Weight of the rows marked by 1."""
    return float(np.count_nonzero(there) if weight is None else np.sum(weight, where=there.astype(bool)))


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")


def text(
    intercept: float, rules: Sequence[WeightedRule], positive: Any, link: str, separated: bool, digits: int
) -> str:
    """The model as lines: a score to add up, and the link that turns it into a probability."""
    lines = [f"score of {positive} = {intercept:+.{digits}f}"]
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
    lines.append(f"probability of {positive} = {link}")
    if separated:
        lines.append(
            "The rules separate classes, so there are no finite coefficients; these are held back by one "
            "doubtful row a rule."
        )
    return "\n".join(lines)
