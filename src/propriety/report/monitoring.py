"""The page of a monitor: what has changed since the fit, in all and by month."""

from __future__ import annotations

from typing import Any

from propriety.report.markup import Markup, bar, interval, join, table, tag
from propriety.report.page import contents, document, section
from propriety.study.monitor import CHANGED, SOMEWHAT, Drift, Monitor
from propriety.study.numbers import between, number, percent
from propriety.weights import Estimate

_MOST = 1.0  # index that fills a bar
_CHANGES = {
    "cost": "cost of 1,000 decisions",
    "slope": "slope of the calibration, which should be 1",
    "gap": "mean of the probabilities less the share seen, which should be 0",
}


def html(monitor: Monitor, title: str) -> str:
    """The whole document."""
    parts = [
        ("drift", "Scores, decisions and columns", _drift(monitor)),
        ("judged", "Cost and calibration", _judged(monitor)),
        ("months", "By month", _by_month(monitor)),
    ]
    written = [(name, heading, content) for name, heading, content in parts if content is not None]
    found = monitor.findings
    said = [tag("li", finding.text[:1].upper() + finding.text[1:] + ".") for finding in found]
    lead = "Nothing has changed beyond chance." if not found else "What has changed:"
    rows = f"{monitor.n_rows:,} new rows, against {monitor.reference.n_rows:,} rows of the fit."
    header = join(
        tag("h1", title),
        tag("p", lead, class_="lead"),
        tag("ul", *said) if said else None,
        tag("p", rows, class_="quiet"),
        contents([(name, heading) for name, heading, _ in written]),
    )
    main = join(*(section(*part) for part in written))
    return document(title=title, header=header, main=main, skip="Skip to the numbers")


def _drift(monitor: Monitor) -> Markup:
    rows = [_row(drift) for drift in (*monitor.scores, monitor.decisions, *monitor.columns)]
    columns = ("", "index", "", "p-value (Holm)", "", "most at", "was", "is")
    note = (
        "The population stability index is Σ (q − p) log(q/p) over the parts of a distribution. From "
        f"{SOMEWHAT} it has changed somewhat, from {CHANGED} much, if that is more than chance: χ², with "
        "Holm's correction."
    )
    return join(
        table("Population stability index against the rows of the fit", columns, rows, numeric=(1, 3, 6, 7)),
        tag("p", note, class_="quiet"),
    )


def _row(drift: Drift) -> tuple[Any, ...]:
    size, chance = bar(drift.psi / _MOST), number(drift.p_holm)
    shares = percent(drift.was), percent(drift.now)
    return (drift.name, number(drift.psi), size, chance, drift.kind, drift.part, *shares)


def _judged(monitor: Monitor) -> Markup | None:
    if not monitor.changes:
        return None
    rows = [
        (_CHANGES[change.name], *map(_cell, (change.was, change.now, change.difference)))
        for change in monitor.changes
    ]
    caption = "Rows whose class is known, with 95% intervals"
    return table(caption, ("", "was", "is", "difference"), rows, numeric=(1, 2, 3))


def _by_month(monitor: Monitor) -> Markup | None:
    if not monitor.months:
        return None
    months = monitor.months
    rows = []
    for name, month in months.items():
        cost = "–" if month.judged is None else _cell(month.judged.cost)
        known = 0 if month.judged is None else month.judged.positives
        drifts = (month.scores[0], month.decisions)
        changed = ", ".join(drift.name for drift in month.columns if drift.changed)
        counts = f"{month.n_rows:,}", *map(_index, drifts)
        rows.append((name, *counts, changed or "none", f"{known:,.0f}", cost))
    columns = ("month", "rows", "scores", "decisions", "changed columns", "known positives", "cost of 1,000")
    names = [drift.name for drift in monitor.columns]
    found = {name: {drift.name: drift for drift in month.columns} for name, month in months.items()}
    each = [(name, *(_index(found[month][name]) for month in months)) for name in names]
    return join(
        table("Stability index of scores and decisions, and cost", columns, rows, numeric=(1, 2, 3, 5, 6)),
        table("Stability index of the columns", ("", *months), each, numeric=range(1, len(months) + 1)),
        tag("p", "What has changed much, beyond chance within its month, is in bold.", class_="quiet"),
    )


def _index(drift: Drift) -> Markup | str:
    text = number(drift.psi)
    return tag("b", text) if drift.changed else text


def _cell(estimate: Estimate) -> Markup:
    return interval(number(estimate.value), between(estimate))
