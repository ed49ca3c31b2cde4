"""Parts of the rows: subgroups by a column, and the same over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from propriety.evaluation.subgroups import COMPARED, Subgroup
from propriety.report import figures
from propriety.report.markup import Markup, interval, join, table, tag
from propriety.report.svg import figure
from propriety.study import Study
from propriety.study.numbers import number, percent
from propriety.study.parts import columns_of_people
from propriety.weights import Estimate

#: What a difference between groups of people says of fairness.
FAIRNESS = (
    "Equal cost, equal calibration and equal rates of error are different demands, and where the shares of "
    "positives differ, no decisions meet all of them. A difference says that the decisions fall out "
    "differently, not why: the model, the labels, or who came into the data may be the reason. An interval "
    "that includes 0 does not say that there is no difference, only that these rows do not show one. Whether "
    "a difference is unfair or unlawful is for people to judge who know what the decisions do to those "
    "concerned, and leaving the column out of the model does not remove it."
)


def subgroups(study: Study) -> Markup | None:
    """Cost, calibration and rates of error for the values of each column that was asked for."""
    if not study.sided:
        return None
    parts: list[Any] = []
    for place, name in enumerate(list(study.judging.by) or columns_of_people(study.features)):
        found = study.subgroups(name)
        if len(found) > 1:
            parts += [tag("h3", f"By {name}"), _table(study, f"Decisions by {name}", found)]
            parts.append(_differences(study, f"Each part of {name} less all other rows", found))
            parts.append(_figures(study, f"by-{place}", f"by {name}", found))
    return join(*parts, tag("p", FAIRNESS, class_="quiet")) if parts else None


def over_time(study: Study) -> Markup | None:
    """The same over consecutive parts of the test rows, where their order is a time."""
    if not study.time_name or not study.sided:
        return None
    found = study.over_time()
    if len(found) < 2:
        return None
    text = (
        f"The test rows in order of {study.time_name!r}, in parts of equal size. If the cost or the "
        "calibration error grows, the model is ageing."
    )
    return join(
        tag("p", text),
        _figures(study, "over-time", "over time", found),
        _table(study, f"Decisions in order of {study.time_name}", found),
    )


def _figures(study: Study, name: str, over: str, parts: Sequence[Subgroup]) -> Markup:
    """The cost of a decision and the calibration of parts, side by side."""
    names, unit = [part.name for part in parts], f", {study.scale.unit}" if study.scale.unit else ""
    costs = figures.parts(names, [part.cost for part in parts], f"cost per decision{unit}")
    gaps = figures.parts(names, [part.gap for part in parts], "predicted minus observed", 0.0)
    return tag(
        "div",
        figure(
            f"{name}-cost", costs, f"Mean cost per decision {over}, with 95% confidence intervals.",
            f"Mean cost per decision {over}, with 95% confidence intervals.",
        ),
        figure(
            f"{name}-gap", gaps, f"Predicted minus observed share {over}, with 95% confidence intervals.",
            "Mean predicted probability minus observed share: above 0, the probabilities are too high.",
        ),
        class_="pair",
    )  # fmt: skip


def _differences(study: Study, caption: str, parts: Sequence[Subgroup]) -> Markup:
    scale = study.scale

    def points(estimate: Estimate | None) -> Markup | str:
        if estimate is None:
            return "–"
        return interval(percent(estimate.value), f"{percent(estimate.low)} to {percent(estimate.high)}")

    rows = []
    for part in parts:
        cost, *rates = (part.differences.get(name) for name in COMPARED)
        assert cost is not None
        more = interval(scale.cost(1000 * cost.value), scale.between(_thousand(cost)))
        rows.append((part.name, more, *map(points, rates)))
    columns = (
        "",
        f"cost of {scale.cases:,.0f}",
        "stated less seen",
        f"decided {study.positive!r}",
        f"of {study.positive!r}, missed",
        f"of {study.negative!r}, alarmed",
    )
    return table(f"{caption}, with 95% confidence intervals", columns, rows, numeric=range(1, 6))


def _table(study: Study, caption: str, parts: Sequence[Subgroup]) -> Markup:
    scale, by_row = study.scale, study.costs.by_row
    rows = [
        (
            part.name,
            f"{part.n:,}",
            f"{part.positives:,}",
            interval(scale.cost(1000 * part.cost.value), scale.between(_thousand(part.cost))),
            _percent(part.rate),
            _percent(part.stated),
            _percent(part.alarmed),
            _percent(part.missed),
            _percent(part.false_alarms),
            *([number(part.threshold)] if by_row else []),
        )
        for part in parts
    ]
    columns = (
        "",
        "rows",
        f"{study.positive!r}",
        f"cost per {scale.cases:,.0f}",
        f"{study.positive!r} observed",
        "predicted",
        f"decided {study.positive!r}",
        "miss rate",
        "false-alarm rate",
        *(["threshold by the mean costs"] if by_row else []),
    )
    return table(f"{caption}, with 95% confidence intervals", columns, rows, numeric=range(1, len(columns)))


def _thousand(estimate: Estimate) -> Estimate:
    return Estimate(*(1000 * value for value in (estimate.value, estimate.low, estimate.high)))


def _percent(estimate: Estimate | None) -> Markup | str:
    if estimate is None:
        return "–"
    ends = f"{max(estimate.low, 0):.1%} to {min(estimate.high, 1):.1%}"
    return interval(f"{estimate.value:.1%}", ends)
