"""If only so many can be checked: gains, lift, precision and recall."""

from __future__ import annotations

from propriety import evaluation
from propriety.report import figures
from propriety.report.markup import Markup, join, table, tag
from propriety.report.svg import figure
from propriety.study import Study
from propriety.study.numbers import number, percent

_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


def ranking(study: Study) -> Markup | None:
    """How many positives are found by checking the most probable rows, for every share of them."""
    if study.p.ndim == 2 or len(set(study.y.tolist())) < 2:
        return None
    curve = evaluation.ranking_curve(study.y, study.p, sample_weight=study.weights.array, pos_label=1)
    scale = study.scale
    capacity = None if study.capacity is None else study.capacity / scale.cases
    shares = sorted({*_SHARES, *(() if capacity is None else (capacity,))})
    rows = [
        (
            f"{number(share * scale.cases)} of {scale.cases:,.0f}"
            f"{' (the capacity)' if share == capacity else ''}",
            percent(share),
            number(curve.gain(share) * curve.rate * scale.cases),
            percent(curve.gain(share)),
            percent(curve.precision(share)),
            f"{curve.lift(share):.3g}",
        )
        for share in shares
        if share * len(study.y) >= 1 or share == capacity
    ]
    columns = (
        f"checked{scale.often}",
        "share",
        f"{study.positive!r} found",
        "recall",
        "precision",
        "lift",
    )
    text = (
        f"If only some cases can be checked, the most probable come first. The table shows how many "
        f"{study.positive!r} are found. Lift is their share among the cases checked, relative to "
        f"{percent(curve.rate)} among all."
    )
    if capacity is not None:
        found, there = curve.gain(capacity) * curve.rate * scale.cases, curve.rate * scale.cases
        text += (
            f" Checking {number(capacity * scale.cases)}{scale.often} finds {number(found)} of "
            f"{number(there)} ({percent(curve.gain(capacity))}); {percent(curve.precision(capacity))} of "
            f"those checked are {study.positive!r}."
        )
    pair = tag(
        "div",
        figure(
            "gains", figures.gains(curve, study.positive),
            f"Gains: the share of {study.positive} found, against the share of cases checked.",
            "Cumulative gains: recall by the share checked. The dashed line is a random order, the dotted "
            "line a perfect one.",
        ),
        figure(
            "precision", figures.precision_recall(curve),
            "Precision against recall.",
            f"Precision against recall for {study.positive!r}. Average precision "
            f"{number(curve.average_precision)}; the dashed line is a random order. ROC AUC "
            f"{number(curve.area)}.",
        ),
        class_="pair",
    )  # fmt: skip
    caption = f"Checking part of {scale.name}, the most probable first"
    return join(tag("p", text), table(caption, columns, rows, numeric=(1, 2, 3, 4, 5)), pair)
