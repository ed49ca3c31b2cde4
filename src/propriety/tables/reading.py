"""Reading a fitted model, of whatever kind: what each feature adds to a score, and how much it counts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.tables.numbers import Numbers

Floats = NDArray[np.float64]


def contributions(model: Any, X: Any, numbers: Numbers | None, d: int) -> tuple[Floats, float]:
    """What each of d features adds to the score of each row, and the score of no feature.

    Shapley values for boosting; for a tree what each split changes on the way to the leaf; for a linear model
    coefficient times distance from the mean; for rules what each adds beyond its mean, in equal parts to its
    columns.
    """
    if hasattr(model, "tree_"):
        return _along_paths(model, X)
    if hasattr(model, "rules_"):
        return _by_rules(model, X, d)
    if numbers is None:
        parts = model.predict_contributions(X)
        return parts[:, :-1], float(parts[0, -1])
    # Terms are centred, so the mean row has the score of the intercept.
    terms, each = X * model.coef_[0], np.zeros((len(X), d))
    for j, term in enumerate(numbers.terms):
        each[:, term.feature] += terms[:, j]
    return each, float(model.intercept_[0])


def _along_paths(model: Any, X: Any) -> tuple[Floats, float]:
    tree, scores = model.tree_, model._measure.score(model.node_probabilities_)[:, 0]
    each = np.zeros((X.num_rows, X.num_columns))
    for i, leaf in enumerate(model.apply(X)):
        for above, below in pairwise(tree.path(leaf)):
            each[i, tree.feature[above]] += scores[below] - scores[above]
    return each, float(scores[0])


def _by_rules(model: Any, X: Any, d: int) -> tuple[Floats, float]:
    table = model._schema.read(X)
    each, base = np.zeros((table.n_rows, d)), float(model.intercept_)
    for rule in model.rules_:
        mean = rule.coefficient * (2 * rule.coverage - 1)
        base += mean
        adds = rule.coefficient * (2.0 * rule.holds(table.column, table.n_rows) - 1) - mean
        for literal in rule.literals:
            each[:, literal.column] += adds / len(rule.literals)
    return each, base


def importances(model: Any, numbers: Numbers | None, d: int) -> Floats:
    """How much each feature counts: its share in the gain of splits, or the spread it gives the score."""
    each = np.zeros(d)
    if hasattr(model, "rules_"):
        for rule in model.rules_:
            spread = 2 * abs(rule.coefficient) * np.sqrt(rule.coverage * (1 - rule.coverage))
            for literal in rule.literals:
                each[literal.column] += spread / len(rule.literals)
        return each
    if numbers is None:
        return np.asarray(model.feature_importances_)
    for j, term in enumerate(numbers.terms):
        spread = 1.0 if term.kind == "value" else np.sqrt(term.centre * (1 - term.centre))
        each[term.feature] += abs(model.coef_[0, j]) * spread
    return each


def rules_met(model: Any, X: Any) -> list[str]:
    """The leaf's rule of a tree, or the rules that hold, for the first row; nothing for other models."""
    if hasattr(model, "tree_"):
        leaf = int(model.apply(X)[0])
        return [str(rule) for rule in model.rules() if rule.node == leaf]
    if hasattr(model, "rules_"):
        table = model._schema.read(X)
        return [str(rule) for rule in model.rules_ if rule.holds(table.column, table.n_rows)[0]]
    return []
