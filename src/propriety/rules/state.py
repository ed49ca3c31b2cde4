"""Rules in a file: each as the sets of bins that its literals admit, its coefficient and what it covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import losses
from propriety.data.table import Schema
from propriety.rules.monomials import BinLiteral, Monomial, WeightedRule, in_words
from propriety.rules.rule_lists import BinScorer, Contrast, RuleList, Unseen, contrasts
from propriety.rules.text import weighted_rule
from propriety.storage.checks import require, take
from propriety.storage.values import decode, encode
from propriety.trees.binned import BINS
from propriety.trees.binning import Binner
from propriety.trees.stored import LARGEST

_SHARES = ("coverage", "precision", "precision_outside")


def list_state(rule_list: RuleList) -> dict[str, Any]:
    """A list of rules as plain values."""
    scorer = rule_list.scorer
    return {
        "loss": encode(rule_list.composite, "the loss"),
        "chosen": [encode(c, "a loss of the bag") for c in rule_list.chosen],
        "edges": encode(rule_list.edges, "the edges"),
        "intercept": float(scorer.intercept),
        "separated": bool(rule_list.separated),
        "rules": [_rule_state(scorer, t, rule) for t, rule in enumerate(rule_list.rules)],
    }


def _rule_state(scorer: BinScorer, t: int, rule: WeightedRule) -> dict[str, Any]:
    span = range(int(scorer.starts[t]), int(scorer.starts[t + 1]))
    literals = [[int(scorer.features[j]), _hexadecimal(scorer.masks[j])] for j in span]
    shares = {name: encode(float(getattr(rule, name)), name) for name in _SHARES}
    state = {"literals": literals, "coefficient": float(scorer.coefficients[t]), **shares}
    if scorer.unseen is not None and not np.all(np.isnan(scorer.unseen.shares[span])):
        state["unseen"] = [None if np.isnan(s) else float(s) for s in scorer.unseen.shares[span]]
    return state


def _hexadecimal(mask: NDArray[np.uint8]) -> str:
    """A set of 256 bins, bin 0 in the lowest bit."""
    return np.packbits(mask, bitorder="little")[::-1].tobytes().hex()


def read_lists(
    states: Sequence[Any], classes: NDArray[Any], schema: Schema, binner: Binner
) -> tuple[RuleList, ...]:
    """The lists of rules for these classes, checked."""
    against = contrasts(classes)
    require(len(states) == len(against), "it has not one score for each class")
    return tuple(
        _read_list(state, contrast, schema, binner) for state, contrast in zip(states, against, strict=True)
    )


def _read_list(state: Any, contrast: Contrast, schema: Schema, binner: Binner) -> RuleList:
    require(isinstance(state, dict), "a score is no mapping")
    intercept = float(take(state, "intercept", (int, float)))
    require(abs(intercept) < LARGEST, "an intercept is too large")
    given = take(state, "rules", list)
    monomials = [_read_monomial(rule, len(schema.categories)) for rule in given]
    n_bins = [int(binner.n_bins[f]) for monomial, _ in monomials for f, _ in monomial]
    shares = [
        s for (monomial, _), rule in zip(monomials, given, strict=True) for s in _read_unseen(rule, monomial)
    ]
    unseen = Unseen(np.array(n_bins, dtype=np.int64), np.array(shares, dtype=np.float64))
    scorer = BinScorer(intercept, dict(monomials), unseen)
    require(len(scorer.coefficients) == len(given), "a rule occurs twice")
    rules = tuple(
        weighted_rule(in_words(monomial, schema, binner), coefficient, contrast, _read_shares(rule))
        for (monomial, coefficient), rule in zip(monomials, given, strict=True)
    )
    rule_list = RuleList(
        contrast.label,
        rules,
        scorer,
        _read_composite(state.pop("loss", None)),
        tuple(_read_composite(c) for c in take(state, "chosen", list)),
        _read_edges(state.pop("edges", None)),
        take(state, "separated", bool),
    )
    require(not state, "a score has more than it should")
    return rule_list


def _read_monomial(rule: Any, d: int) -> tuple[Monomial, float]:
    require(isinstance(rule, dict), "a rule is no mapping")
    literals = []
    for literal in take(rule, "literals", list):
        require(isinstance(literal, list) and len(literal) == 2, "a literal is no pair")
        feature, bins = literal
        good = isinstance(feature, int) and 0 <= feature < d and not isinstance(feature, bool)
        require(good and isinstance(bins, str) and len(bins) == BINS // 4, "a literal is of no feature")
        literals.append(BinLiteral(feature, int(bins, 16)))
    coefficient = float(take(rule, "coefficient", (int, float)))
    require(abs(coefficient) < LARGEST, "a coefficient is too large")
    return tuple(literals), coefficient


def _read_unseen(rule: dict[str, Any], monomial: Monomial) -> list[float]:
    """How far each literal holds for unseen categories; older files have decided that by its bins."""
    given = rule.pop("unseen", [None] * len(monomial))
    right = isinstance(given, list) and len(given) == len(monomial)
    right = right and all(s is None or (type(s) in (int, float) and 0 <= s <= 1) for s in given)
    require(right, "a literal holds for unseen categories to no share")
    return [np.nan if s is None else float(s) for s in given]


def _read_shares(rule: dict[str, Any]) -> list[float]:
    """What is left of a rule: what it covers and how precise it is."""
    shares = [decode(rule.pop(name, None)) for name in _SHARES]
    right = all(isinstance(share, float) and not (share < 0 or share > 1) for share in shares)
    require(right and not rule, "a rule has no shares")
    return shares


def _read_composite(given: Any) -> losses.Composite:
    loss = decode(given)
    require(isinstance(loss, losses.Composite), "it has no loss")
    return loss


def _read_edges(given: Any) -> NDArray[np.float64]:
    edges = decode(given)
    right = isinstance(edges, np.ndarray) and edges.ndim == 1 and edges.dtype == np.float64
    require(right, "it has no edges")
    return edges
