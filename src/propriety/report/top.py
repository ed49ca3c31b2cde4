"""The top of the page: the findings in a sentence, some numbers, and the warnings."""

from __future__ import annotations

import numpy as np

from propriety.evaluation.judging import Judgement
from propriety.report.contents import Report
from propriety.report.markup import Markup, join, tag
from propriety.report.numbers import percent
from propriety.weights import Estimate


def headline(report: Report) -> str:
    """What the model saves against the better of deciding without one, in the user's unit and period."""
    simple = report.simplest
    saved, scale = simple.dearer, report.scale
    assert saved is not None
    on = f"on {scale.name}" if scale.period else f"on every {scale.name}"
    against = f"against {simple.name}, {_best_of(report)}"
    if not saved.sure:
        return (
            f"Whether {report.name} saves anything cannot be told from chance: {scale.cost(saved.value)} "
            f"{on} (95% interval {scale.between(saved)}) {against}."
        )
    verb = "saves" if saved.value > 0 else "loses"
    ends = scale.between(saved if saved.value > 0 else _negated(saved))
    name = f"{report.name[:1].upper()}{report.name[1:]}"
    return f"{name} {verb} {scale.cost(abs(saved.value))} {on} (95% interval {ends}) {against}."


def summary(report: Report) -> Markup:
    """The findings in a sentence, and some numbers."""
    model, simple = report.lines[0], report.simplest
    scale = report.scale
    text = (
        f"Decided by {report.name}, {scale.name} cost {scale.cost(model.cost.value)} "
        f"(95% interval {scale.between(model.cost)}); without a model, {simple.name}, they cost "
        f"{scale.cost(simple.cost.value)}."
    )
    assert simple.dearer is not None
    cards = [
        (scale.cost(model.cost.value), f"cost of {scale.name}"),
        (scale.cost(simple.dearer.value), f"saved{scale.often} against {simple.name}, {_best_of(report)}"),
    ]
    share = model.savings
    if share is not None and (report.costs.by_row or not report.sided):
        said = f"of that cost is saved (95% interval {percent(share.low)} to {percent(share.high)})"
        cards.append((percent(share.value), said))
    cards += _mistakes(report, model)
    items = [tag("li", tag("b", value), tag("span", what)) for value, what in cards]
    return join(
        tag("p", headline(report), class_="lead"),
        tag("p", text),
        tag("ul", *items, class_="cards"),
        tag("p", _judged(report), class_="quiet"),
    )


def _negated(estimate: Estimate) -> Estimate:
    return Estimate(-estimate.value, -estimate.high, -estimate.low)


def _best_of(report: Report) -> str:
    if report.budget is not None:
        return "which is within the budget"
    return f"the {'better' if report.sided else 'cheapest'} of deciding without a model"


def _mistakes(report: Report, model: Judgement) -> list[tuple[str, str]]:
    scale = report.scale
    of = f"of {scale.cases:,.0f}{scale.often}"
    if model.misses is not None and model.false_alarms is not None:
        cards = [
            (scale.count(model.misses), f"{of} are missed: {report.positive!r}, decided otherwise"),
            (
                scale.count(model.false_alarms),
                f"{of} are false alarms: {report.negative!r}, decided {report.positive!r}",
            ),
        ]
    else:
        cards = [(scale.count(model.mistakes), f"{of} are decided wrongly")]
        if model.abstained is not None:
            cards.append((scale.count(model.abstained), f"{of} are left undecided"))
    if report.budget is not None:
        acted = int(np.sum(report.decided == 1))
        cards.append((f"{acted:,}", f"of {len(report.y):,} rows are acted on within the budget"))
    return cards


def _judged(report: Report) -> str:
    """How many rows judge, of which classes, and how they were kept from the model."""
    if report.p.ndim == 1:
        of_classes = f"{int(report.y.sum()):,} of them {report.positive!r}"
    else:
        counts = np.bincount(report.y.astype(np.intp), minlength=len(report.labels))
        of_classes = ", ".join(f"{n:,} {label!r}" for n, label in zip(counts, report.labels, strict=True))
    rows = f"{len(report.y):,} rows, {of_classes}"
    if not report.judged_by:
        return f"Judged by {rows}. It is not known whether the model has seen these rows."
    return f"Judged by {report.judged_by}: {rows}."


def warnings(report: Report) -> Markup | None:
    """Warnings, before everything that they bear on."""
    texts = report.findings
    if not texts:
        return None
    heading = "One warning" if len(texts) == 1 else f"{len(texts)} warnings"
    items = [tag("li", text[:1].upper() + text[1:] + ".") for text in texts]
    return tag("aside", tag("h2", heading), tag("ul", *items), class_="warnings", aria_label="Warnings")
