"""Parts of the rows: subgroups by a column, and the same over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from propriety import evaluation
from propriety.evaluation.subgroups import Subgroup, in_parts
from propriety.report import figures
from propriety.report.contents import Report
from propriety.report.markup import Markup, interval, join, table, tag
from propriety.report.numbers import number
from propriety.report.svg import figure
from propriety.weights import Estimate

_LEVELS = 10  # values of a column that are shown; the rest are "other"
_QUARTERS, _PERIODS = 4, 6
_OWN = 2  # columns that are taken where none is asked for
_ENOUGH = 30  # rows of a part


def subgroups(report: Report) -> Markup | None:
    """Cost, calibration and rates of error for the values of each column that was asked for."""
    if not report.sided:
        return None
    columns = dict(report.by) or _chosen(report)
    parts: list[Any] = []
    for place, (name, values) in enumerate(columns.items()):
        names, order = named_parts(np.asarray(values))
        if len(order) > 1:
            found = {part.name: part for part in _of(report, names)}
            ranked = [found[part] for part in order if part in found]
            parts += [tag("h3", f"By {name}"), _table(report, f"Decisions by {name}", ranked)]
            parts.append(_figures(report, f"by-{place}", f"by {name}", ranked))
    if not parts:
        return None
    note = (
        "Whether a difference matters is for those who decide; the intervals say whether it may be chance. "
        "A group with more positives has more misses at the same quality of probabilities: compare what "
        "is missed among the positives, and what is stated with what is seen."
    )
    return join(*parts, tag("p", note, class_="quiet"))


def over_time(report: Report) -> Markup | None:
    """The same over consecutive parts of the judging rows, where their order is a time."""
    if not report.time or not report.sided or report.order is None:
        return None
    part = in_parts(report.order, min(_PERIODS, max(1, len(report.y) // _ENOUGH)))
    last = int(part.max())
    if last == 0:
        return None
    labels = [f"part {k + 1}" for k in range(last + 1)]
    labels[0], labels[-1] = f"{labels[0]}, earliest", f"{labels[-1]}, latest"
    found = {p.name: p for p in _of(report, np.array([f"{k:03d}" for k in part]))}
    ranked = [
        Subgroup(label, *(getattr(found[f"{k:03d}"], f) for f in _FIELDS)) for k, label in enumerate(labels)
    ]
    text = (
        f"The judging rows in order of {report.time!r}, in parts of equal size: if the cost or the gap "
        "between stated and seen grows, the model is ageing."
    )
    return join(
        tag("p", text),
        _figures(report, "over-time", "over time", ranked),
        _table(report, f"Decisions in order of {report.time}", ranked),
    )


_FIELDS = ("n", "cost", "rate", "stated", "gap", "alarmed", "missed", "false_alarms")


def _figures(report: Report, name: str, over: str, parts: Sequence[Subgroup]) -> Markup:
    """The cost of a decision and the calibration of parts, side by side."""
    names, unit = [part.name for part in parts], f", {report.unit}" if report.unit else ""
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


def _chosen(report: Report) -> dict[str, Any]:
    """Categories of few values, those first that count most."""
    order = sorted(report.features, key=lambda name: -_size(report.importances.get(name, 0.0)))
    few = {}
    for name in order:
        values = np.asarray(report.features[name])
        if values.dtype.kind == "U" and 2 <= len(np.unique(values)) <= _LEVELS:
            few[name] = values
    return dict(list(few.items())[:_OWN])


def _size(importance: float | Estimate) -> float:
    return importance.value if isinstance(importance, Estimate) else float(importance)


def named_parts(values: Any) -> tuple[Any, list[str]]:
    """The name of each row's part and the names in order: categories by size, or quarters of a number.

    >>> named_parts(np.array(["b", "a", "b"]))
    (array(['b', 'a', 'b'], dtype='<U1'), ['b', 'a'])
    >>> named_parts(np.arange(8.0))[1]
    ['0 to 1', '2 to 3', '4 to 5', '6 to 7']
    """
    if values.dtype.kind == "f":
        known = np.isfinite(values)
        names = np.full(len(values), "missing", dtype=object)
        order = []
        if known.any():
            part = in_parts(values[known], _QUARTERS)
            for k in range(int(part.max()) + 1):
                mine = values[known][part == k]
                order.append(f"{number(mine.min())} to {number(mine.max())}")
            names[known] = np.array(order, dtype=object)[part]
        return names.astype(str), [*order, *(["missing"] if not known.all() else [])]
    names, counts = np.unique(values.astype(str), return_counts=True)
    ranked = names[np.argsort(-counts, kind="stable")].tolist()
    if len(ranked) <= _LEVELS:
        return values.astype(str), ranked
    kept = ranked[: _LEVELS - 1]
    return np.where(np.isin(values.astype(str), kept), values.astype(str), "other"), [*kept, "other"]


def _of(report: Report, names: Any) -> list[Subgroup]:
    return evaluation.subgroups(
        report.y,
        report.p,
        names,
        costs=report.costs,
        decided=report.decided,
        sample_weight=report.sample_weight,
        groups=report.groups,
        pos_label=1,
    )


def _table(report: Report, caption: str, parts: Sequence[Subgroup]) -> Markup:
    scale = report.scale
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
        f"{report.positive!r} seen",
        "stated",
        f"decided {report.positive!r}",
        f"of {report.positive!r}, missed",
        f"of {report.negative!r}, alarmed",
    )
    return table(f"{caption}, with 95% intervals", columns, rows, numeric=range(1, 8))


def _thousand(estimate: Estimate) -> Estimate:
    return Estimate(*(1000 * value for value in (estimate.value, estimate.low, estimate.high)))


def _percent(estimate: Estimate | None) -> Markup | str:
    if estimate is None:
        return "–"
    ends = f"{max(estimate.low, 0):.1%} to {min(estimate.high, 1):.1%}"
    return interval(f"{estimate.value:.1%}", ends)
