"""A model that can be read, in words: a scorecard, a tree or rules, with the names of the table's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.auto.members import READABLE, Member
from propriety.auto.stacking import Stack
from propriety.data.numbers import Numbers, Term
from propriety.data.table import Schema

Floats = NDArray[np.float64]


def can_be_read(members: tuple[Member, ...]) -> bool:
    """Whether the model is one member that can be read."""
    return len(members) == 1 and members[0].name in READABLE


def text_of(
    member: Member,
    stack: Stack,
    schema: Schema,
    loss: Any,
    decimals: int,
    class_names: Sequence[str] | None = None,
) -> str:
    """The member, and how its probabilities are restated by what the folds say of them."""
    if member.numbers is not None:
        text = _scorecard(member.model, member.numbers, schema, decimals, class_names)
    else:
        text = member.model.export_text(**({} if class_names is None else {"class_names": class_names}))
    shift = ", ".join(f"{a:+.{decimals}f}" for a in stack.intercept)
    return (
        f"{text}\nBy the folds these probabilities are restated: a score is {stack.weights[0]:.{decimals}f} "
        f"times theirs, {shift}, by {loss!r}."
    )


def _scorecard(
    model: Any, numbers: Numbers, schema: Schema, decimals: int, class_names: Sequence[str] | None
) -> str:
    """Points to add up: so many for each unit of a number, for a missing value, for a category."""
    classes = model.classes_.tolist() if class_names is None else list(class_names)
    of = classes[1:] if len(classes) == 2 else classes
    blocks = []
    for label, coef, intercept in zip(of, model.coef_, model.intercept_, strict=True):
        terms = list(zip(numbers.terms, coef.tolist(), strict=False))  # without terms there is one of zeros
        base = float(intercept) - sum(c * t.centre / t.scale for t, c in terms)
        lines = [f"score of {label} = {base:+.{decimals}f}"]
        lines += [f"  {_points(t, c / t.scale, schema, decimals)}" for t, c in terms if c != 0]
        blocks.append("\n".join(lines))
    link = "probabilities = softmax of the scores"
    if len(classes) == 2:
        link = f"probability of {of[0]} = {model.loss_.link!r}.inverse(score)"
    return "\n\n".join([*blocks, link])


def _points(term: Term, points: float, schema: Schema, decimals: int) -> str:
    """What a term adds.

    >>> schema, _ = Schema.fit(np.array([[1.0], [2.0]]))
    >>> _points(Term(0, "value", fill=1.5), 0.25, schema, 3), _points(Term(0, "missing"), -1.0, schema, 1)
    ('+0.25 × x0, which counts as 1.5 if it is missing', '-1.0 if x0 is missing')
    """
    name = schema.labels[term.feature]
    if term.kind == "value":
        return f"{points:+.{decimals}g} × {name}, which counts as {term.fill:.4g} if it is missing"
    if term.kind == "missing":
        return f"{points:+.{decimals}f} if {name} is missing"
    return f"{points:+.{decimals}f} if {name} is {term.level}"
