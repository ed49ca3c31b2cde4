"""RuleClassifier in a file: each rule as the sets of bins that its literals admit, and its coefficient."""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety import losses
from propriety.engine.layout import BINS
from propriety.engine.stored import LARGEST, binner_arrays, read_binner
from propriety.storage.checks import Arrays, require, take
from propriety.storage.estimators import (
    Arrayed,
    estimator_kind,
    read_schema,
    read_shared,
    schema_state,
    shared_state,
)
from propriety.storage.values import decode, encode

_SHARES = ("coverage", "precision", "precision_outside")


def _write(model: Any) -> tuple[dict[str, Any], Arrayed]:
    two = len(model.classes_) == 2
    each = (lambda value: (value,)) if two else tuple
    scores = [
        {
            "loss": encode(loss, "the loss"),
            "chosen": [encode(c, "a loss of the bag") for c in chosen],
            "edges": encode(np.asarray(edges, dtype=np.float64), "the edges"),
            "intercept": float(intercept),
            "separated": bool(separated),
            "rules": [_rule(scorer, t, rule) for t, rule in enumerate(rules)],
        }
        for loss, chosen, edges, intercept, separated, scorer, rules in zip(
            each(model.loss_),
            each(model.chosen_),
            each(model.edges_),
            each(model.intercept_),
            each(model.separated_),
            model._scorers,
            each(model.rules_),
            strict=True,
        )
    ]
    state = {**shared_state(model), "columns": schema_state(model._schema), "scores": scores}
    return state, binner_arrays(model._binner)


def _rule(scorer: Any, t: int, rule: Any) -> dict[str, Any]:
    span = range(int(scorer.starts[t]), int(scorer.starts[t + 1]))
    literals = [[int(scorer.features[j]), _hexadecimal(scorer.masks[j])] for j in span]
    shares = {name: encode(float(getattr(rule, name)), name) for name in _SHARES}
    return {"literals": literals, "coefficient": float(scorer.coefficients[t]), **shares}


def _hexadecimal(mask: Any) -> str:
    """A set of 256 bins, bin 0 in the lowest bit."""
    return np.packbits(mask, bitorder="little")[::-1].tobytes().hex()


def _fill(model: Any, state: dict[str, Any], arrays: Arrays) -> None:
    from propriety.rules.text import Scorer

    k, d = read_shared(model, state)
    model._schema = read_schema(state.pop("columns", None), d)
    model._binner = read_binner(arrays, model._schema.n_categories)
    scores = take(state, "scores", list)
    require(len(scores) == (1 if k == 2 else k), "it has not one score for each class")
    found: dict[str, list[Any]] = {
        name: [] for name in ("loss", "chosen", "edges", "intercept", "separated", "rules")
    }
    model._scorers = []
    for index, score in enumerate(scores):
        require(isinstance(score, dict), "a score is no mapping")
        intercept = float(take(score, "intercept", (int, float)))
        require(abs(intercept) < LARGEST, "an intercept is too large")
        rules = take(score, "rules", list)
        monomials = [_monomial(rule, d) for rule in rules]
        model._scorers.append(Scorer(intercept, dict(monomials)))
        require(len(model._scorers[-1].coefficients) == len(rules), "a rule occurs twice")
        found["intercept"].append(intercept)
        found["separated"].append(take(score, "separated", bool))
        found["loss"].append(_composite(score.pop("loss", None)))
        found["chosen"].append(tuple(_composite(c) for c in take(score, "chosen", list)))
        found["edges"].append(_edges(score.pop("edges", None)))
        labels = model.classes_ if k == 2 else (f"not {model.classes_[index]}", model.classes_[index])
        found["rules"].append(
            tuple(_weighted(model, m, a, labels, rule) for (m, a), rule in zip(monomials, rules, strict=True))
        )
        require(not score, "a score has more than it should")
    one = {name: values[0] if k == 2 else tuple(values) for name, values in found.items()}
    model.rules_, model.loss_, model.chosen_, model.edges_ = (
        one[name] for name in ("rules", "loss", "chosen", "edges")
    )
    model.intercept_ = one["intercept"] if k == 2 else np.array(one["intercept"])
    model.separated_ = one["separated"] if k == 2 else np.array(one["separated"])
    model.n_iter_ = max(len(edges) for edges in found["edges"])


def _monomial(rule: Any, d: int) -> tuple[Any, float]:
    from propriety.rules.monomials import Condition

    require(isinstance(rule, dict), "a rule is no mapping")
    conditions = []
    for literal in take(rule, "literals", list):
        require(isinstance(literal, list) and len(literal) == 2, "a literal is no pair")
        feature, bins = literal
        good = isinstance(feature, int) and 0 <= feature < d and not isinstance(feature, bool)
        require(good and isinstance(bins, str) and len(bins) == BINS // 4, "a literal is of no feature")
        conditions.append(Condition(feature, int(bins, 16)))
    coefficient = float(take(rule, "coefficient", (int, float)))
    require(abs(coefficient) < LARGEST, "a coefficient is too large")
    return tuple(conditions), coefficient


def _weighted(model: Any, monomial: Any, coefficient: float, labels: Any, rule: dict[str, Any]) -> Any:
    """The rule in words, from the sets of bins and what the columns are."""
    from propriety.rules.monomials import WeightedRule, literal_of

    binner, schema = model._binner, model._schema
    names = schema.names or [f"x{f}" for f in range(len(schema.categories))]
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
    says = int(coefficient >= 0)
    shares = [decode(rule.pop(name, None)) for name in _SHARES]
    require(
        all(isinstance(s, float) and not (s < 0 or s > 1) for s in shares) and not rule,
        "a rule has no shares",
    )
    return WeightedRule(literals, coefficient, labels[says], labels[1 - says], *shares)


def _composite(given: Any) -> Any:
    loss = decode(given)
    require(isinstance(loss, losses.Composite), "it has no loss")
    return loss


def _edges(given: Any) -> Any:
    edges = decode(given)
    require(
        isinstance(edges, np.ndarray) and edges.ndim == 1 and edges.dtype == np.float64, "it has no edges"
    )
    return edges


RULES = estimator_kind("propriety.tree", "RuleClassifier", _write, _fill)
