"""Costs in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety.data import uncertain
from propriety.report.markup import Markup, join, table, tag
from propriety.study import Study
from propriety.study.numbers import number

_TERMS = {
    "fp_cost": "a false alarm costs",
    "fn_cost": "a miss costs",
    "tp_benefit": "a hit brings",
    "tn_benefit": "a correct negative brings",
}


def times(ratio: float) -> str:
    """How a miss compares with a false alarm."""
    if ratio == 1:
        return "A miss costs as much as a false alarm"
    if ratio > 1:
        return f"A miss costs {number(ratio)} times as much as a false alarm"
    return f"A false alarm costs {number(1 / ratio)} times as much as a miss"


def started(study: Study) -> Markup | None:
    """What the scores start from, if each row has an offset."""
    if study.offset is None:
        return None
    spread = f"{number(study.offset.min())} to {number(study.offset.max())}"
    return tag(
        "p",
        f"Scores include an offset for each row ({spread} here): the model was fitted to the rest, and the "
        "contributions of columns come on top of the offset.",
    )


def asked(study: Study) -> Markup:
    """What decisions cost, and what follows from it."""
    matrix = study.terms["cost_matrix"]
    if matrix is not None and np.ndim(matrix) == 2:
        return _matrix(study)
    if study.p.ndim == 2 and study.terms["cost_matrix"] is None:
        return tag("p", "All mistakes cost the same: the most probable class is decided.")
    if study.costs.by_row:
        return _of_rows(study)
    c, benefits = study.costs, bool(study.terms["tp_benefit"] or study.terms["tn_benefit"])
    said = f"{number(c.fp_cost)} for a false alarm, {number(c.fn_cost)} for a miss"
    text = (
        f"{times(c.fn_cost / c.fp_cost)} "
        f"({said}{', relative to the right decision' if benefits else ''}). So "
        f"{study.positive!r} is decided at a probability of {number(c.threshold)} or more."
    )
    parts: list[Any] = [tag("p", text)]
    if benefits or any(uncertain.is_uncertain(study.terms[name]) for name in _TERMS):
        parts.append(_terms(study))
    if study.budget is not None:
        parts.append(tag("p", _budget(study)))
    return join(*parts)


def _of_rows(study: Study) -> Markup:
    """Costs that differ by row: each term, and the thresholds that follow."""
    if study.terms["cost_matrix"] is not None:
        return tag(
            "p", "Each row has its own cost matrix; the decision with the least expected cost is taken."
        )
    low, middle, high = np.quantile(np.clip(study.costs.threshold, 0, 1), [0.05, 0.5, 0.95])
    if number(low) == number(high):
        text = (
            "Costs differ by row, almost all in the same proportion: "
            f"{study.positive!r} is decided at a probability of {number(middle)} or more."
        )
    else:
        text = (
            f"Costs, and so the threshold for {study.positive!r}, differ by row: median {number(middle)}, "
            f"90% within {number(low)} – {number(high)}."
        )
    budget = None if study.budget is None else tag("p", _budget(study))
    return join(tag("p", text), _terms(study), budget)


def _terms(study: Study) -> Markup:
    rows = []
    for name, meaning in _TERMS.items():
        value = study.terms[name]
        if name.endswith("benefit") and not np.any(value):
            continue
        if np.ndim(value) and not uncertain.is_uncertain(value):
            spread = f"{number(np.mean(value))} ({number(np.min(value))} to {number(np.max(value))})"
            shown = study.stated.get(name, "one for each row")
        elif uncertain.is_uncertain(value):
            ends = uncertain.ends(uncertain.read(name, value))
            spread = number(uncertain.mean(name, value))
            shown = f"{number(ends[0])} to {number(ends[1])}, uncertain"
        else:
            shown, spread = study.stated.get(name, number(float(value))), number(float(value))
        rows.append((meaning, shown, spread))
    return table("Costs and benefits", ("", "stated", "mean"), rows, numeric=(2,))


def _budget(study: Study) -> str:
    assert study.budget is not None
    if study.budget < 1:
        most = f"{100 * study.budget:.3g}% of the rows, here {int(study.budget * len(study.y)):,}"
    else:
        most = f"{study.budget:,.0f}"
    return (
        f"At most {most} of the {len(study.y):,} test rows are acted on: those with the largest positive "
        "expected saving."
    )


def _matrix(study: Study) -> Markup:
    values = np.asarray(study.terms["cost_matrix"], dtype=np.float64)
    rows = [
        (f"is {label!r}", *(number(cost) for cost in row))
        for label, row in zip(study.labels, values.tolist(), strict=True)
    ]
    columns = (
        "",
        *(f"decided {label!r}" for label in study.labels),
        *(("undecided",) * study.costs.abstains),
    )
    text = "Each decision has a cost for each class; the one with the least expected cost is taken"
    text += ", including abstention." if study.costs.abstains else "."
    if study.sided:
        text += f" That is {study.positive!r} at a probability of {number(study.costs.threshold)} or more."
    budget = None if study.budget is None else tag("p", _budget(study))
    numeric = tuple(range(1, len(columns)))
    return join(tag("p", text), table("Cost matrix", columns, rows, numeric=numeric), budget)
