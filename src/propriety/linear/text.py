"""A linear model in words: the points of a scorecard, with the names of the table's columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from propriety.data.numbers import Numbers, Term
from propriety.data.table import Schema
from propriety.losses.simplex import OrderedLoss

if TYPE_CHECKING:
    from propriety.linear.classifier import LinearClassifier


def scorecard(
    model: LinearClassifier,
    schema: Schema,
    numbers: Numbers | None = None,
    *,
    decimals: int = 3,
    class_names: Sequence[str] | None = None,
) -> str:
    """Points to add up: so many for each unit of a number, for a missing value, for a category.

    `numbers` are what the model reads of the columns of `schema`; without them it reads these themselves.
    """
    classes = model.classes_.tolist() if class_names is None else list(class_names)
    if isinstance(model.loss_, OrderedLoss):
        return _ordered(model, classes, _own(schema) if numbers is None else numbers.terms, schema, decimals)
    of = classes[1:] if len(classes) == 2 else classes
    terms = _own(schema) if numbers is None else numbers.terms
    blocks = []
    for label, coef, intercept in zip(of, model.coef_, model.intercept_, strict=True):
        pairs = list(zip(terms, coef.tolist(), strict=False))  # without terms there is one of zeros
        base = float(intercept) - sum(c * t.centre / t.scale for t, c in pairs)
        lines = [f"score of {label} = {base:+.{decimals}f}"]
        lines += [f"  {_points(t, c / t.scale, schema, decimals)}" for t, c in pairs if c != 0]
        blocks.append("\n".join(lines))
    link = "probabilities = softmax of the scores"
    if len(classes) == 2:
        link = f"probability of {of[0]} = {model.loss_.link!r}.inverse(score)"
    return "\n\n".join([*blocks, link])


def _ordered(model: Any, classes: Sequence[Any], terms: Sequence[Term], schema: Schema, decimals: int) -> str:
    """Of ordered classes: the slopes once, and what each threshold adds."""
    pairs = list(zip(terms, model.coef_[1].tolist(), strict=False))
    moved = sum(c * t.centre / t.scale for t, c in pairs)
    lines = ["score =", *(f"  {_points(t, c / t.scale, schema, decimals)}" for t, c in pairs if c != 0)]
    inverse = f"{model.loss_.threshold_loss.link!r}.inverse"
    for label, cut in zip(classes[1:], model.intercept_[1:].tolist(), strict=True):
        lines.append(f"probability of {label} or above = {inverse}(score {cut - moved:+.{decimals}f})")
    return "\n".join(lines)


def _own(schema: Schema) -> tuple[Term, ...]:
    """A term for each column as it is: none may be missing."""
    return tuple(Term(f, "value", fill=math.nan) for f in range(len(schema.labels)))


def _points(term: Term, points: float, schema: Schema, decimals: int) -> str:
    """What a term adds.

    >>> import numpy as np
    >>> schema, _ = Schema.fit(np.array([[1.0], [2.0]]))
    >>> _points(Term(0, "value", fill=1.5), 0.25, schema, 3), _points(Term(0, "missing"), -1.0, schema, 1)
    ('+0.25 × x0, which counts as 1.5 if it is missing', '-1.0 if x0 is missing')
    """
    name = schema.labels[term.feature]
    if term.kind == "value":
        lost = "" if math.isnan(term.fill) else f", which counts as {term.fill:.4g} if it is missing"
        return f"{points:+.{decimals}g} × {name}{lost}"
    if term.kind == "missing":
        return f"{points:+.{decimals}f} if {name} is missing"
    return f"{points:+.{decimals}f} if {name} is {term.level}"
