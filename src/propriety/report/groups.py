"""Parts of the rows: subgroups by a column, and the same over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from propriety.evaluation.subgroups import Subgroup
from propriety.report import figures
from propriety.report.markup import Markup, interval, join, table, tag
from propriety.report.svg import figure
from propriety.study import Study
from propriety.study.parts import LEVELS
from propriety.weights import Estimate

_OWN = 2  # columns that are taken where none is asked for


def subgroups(study: Study) -> Markup | None:
    """Cost, calibration and rates of error for the values of each column that was asked for."""
    if not study.sided:
        return None
    parts: list[Any] = []
    for place, name in enumerate(list(study.judging.by) or _chosen(study)):
        found = study.subgroups(name)
        if len(found) > 1:
            parts += [tag("h3", f"By {name}"), _table(study, f"Decisions by {name}", found)]
            parts.append(_figures(study, f"by-{place}", f"by {name}", found))
    if not parts:
        return None
    note = (
        "Whether a difference matters is for those who decide; the intervals say whether it may be chance. "
        "A group with more positives has more misses at the same quality of probabilities: compare what "
        "is missed among the positives, and what is stated with what is seen."
    )
    return join(*parts, tag("p", note, class_="quiet"))


def over_time(study: Study) -> Markup | None:
    """The same over consecutive parts of the judging rows, where their order is a time."""
    if not study.time_name or not study.sided:
        return None
    found = study.over_time()
    if len(found) < 2:
        return None
    text = (
        f"The judging rows in order of {study.time_name!r}, in parts of equal size: if the cost or the gap "
        "between stated and seen grows, the model is ageing."
    )
    return join(
        tag("p", text),
        _figures(study, "over-time", "over time", found),
        _table(study, f"Decisions in order of {study.time_name}", found),
    )


def _figures(study: Study, name: str, over: str, parts: Sequence[Subgroup]) -> Markup:
    """The cost of a decision and the calibration of parts, side by side."""
    names, unit = [part.name for part in parts], f", {study.scale.unit}" if study.scale.unit else ""
    costs = figures.parts(names, [part.cost for part in parts], f"cost of a decision{unit}")
    gaps = figures.parts(names, [part.gap for part in parts], "stated less seen share", 0.0)
    return tag(
        "div",
        figure(
            f"{name}-cost", costs, f"Mean cost of a decision {over}, with 95% intervals.",
            f"The mean cost of a decision {over}, with its 95% interval.",
        ),
        figure(
            f"{name}-gap", gaps, f"Stated less seen share {over}, with 95% intervals.",
            "The mean of the stated probabilities less the share that was seen: above 0 they are too high.",
        ),
        class_="pair",
    )  # fmt: skip


def _chosen(study: Study) -> list[str]:
    """Categories of few values, those first that count most."""
    order = sorted(study.features, key=lambda name: -_size(study.importance.get(name, 0.0)))
    few = []
    for name in order:
        values = np.asarray(study.features[name])
        if values.dtype.kind == "U" and 2 <= len(np.unique(values)) <= LEVELS:
            few.append(name)
    return few[:_OWN]


def _size(importance: float | Estimate) -> float:
    return importance.value if isinstance(importance, Estimate) else float(importance)


def _table(study: Study, caption: str, parts: Sequence[Subgroup]) -> Markup:
    scale = study.scale
    rows = [
        (
            part.name,
            f"{part.n:,}",
            interval(scale.cost(1000 * part.cost.value), scale.between(_thousand(part.cost))),
            _percent(part.rate),
            _percent(part.stated),
            _percent(part.alarmed),
            _percent(part.missed),
            _percent(part.false_alarms),
        )
        for part in parts
    ]
    columns = (
        "",
        "rows",
        f"cost of {scale.cases:,.0f}",
        f"{study.positive!r} seen",
        "stated",
        f"decided {study.positive!r}",
        f"of {study.positive!r}, missed",
        f"of {study.negative!r}, alarmed",
    )
    return table(f"{caption}, with 95% intervals", columns, rows, numeric=range(1, 8))


def _thousand(estimate: Estimate) -> Estimate:
    return Estimate(*(1000 * value for value in (estimate.value, estimate.low, estimate.high)))


def _percent(estimate: Estimate | None) -> Markup | str:
    if estimate is None:
        return "–"
    ends = f"{max(estimate.low, 0):.1%} to {min(estimate.high, 1):.1%}"
    return interval(f"{estimate.value:.1%}", ends)
