"""Sliders for the costs: what the script of the page recomputes decisions from, and what stands without it.

A row is alarmed iff what a miss of it is expected to cost, p·fn, is at least what a false alarm is,
(1 − p)·fp. With all costs of misses times a and all of false alarms times b that is r·a/b ≥ 1 for the ratio
r = p·fn/((1 − p)·fp), whether costs differ by row or not. So rows in the order of r and sums from each place
on are all that is needed; equal or near ratios are put together, and the costs asked for are a place of their
own, so that the page begins with the numbers it has elsewhere.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.costs import ResolvedCosts
from propriety.report.markup import Markup, join, table, tag
from propriety.study import Study
from propriety.study.numbers import amount, number

Floats = NDArray[np.float64]
_STEPS = 1000  # places at most
_DECADES = 2  # that costs can be changed by, either way
_FACTORS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)


@dataclass(frozen=True)
class Steps:
    """Rows in increasing order of the ratio, in steps: each sum is over the step and all after it, a row.

    The last entry of each sum is 0: no row is alarmed.
    """

    ratio: Floats
    positives: Floats
    negatives: Floats
    alarm_cost: Floats
    miss_cost: Floats

    @classmethod
    def of(cls, study: Study, most: int = _STEPS) -> Steps:
        """The steps of a report's rows."""
        costs, y, weight = study.costs, study.y, study.weights.array
        alarm, miss = (np.broadcast_to(c, y.shape) for c in (costs.fp_cost, costs.fn_cost))
        passed, alarmed = costs.expected(study.p).T
        r = np.divide(passed, alarmed, out=np.full(len(y), np.inf), where=alarmed > 0)
        ordered = np.sort(r)
        ends = np.unique(ordered[np.linspace(0, len(r) - 1, min(len(r), most)).astype(np.intp)])
        # What is alarmed at the costs asked for begins a step of its own.
        from_one = ordered[np.searchsorted(ordered, 1 - 1e-12) :]
        ends = np.unique(np.append(ends, from_one[:1]))
        step = np.searchsorted(ends, r, side="right") - 1

        def sums(values: Floats) -> Floats:
            each = np.bincount(step, weight * values, minlength=len(ends)) / weight.sum()
            return np.append(np.cumsum(each[::-1])[::-1], 0.0)

        return cls(ends, sums(y), sums(1 - y), sums((1 - y) * alarm), sums(y * miss))

    def document(self) -> dict[str, Any]:
        """As the script reads it: every ratio finite."""
        ratio = np.minimum(self.ratio, 1e300)
        return {
            "ratio": ratio.tolist(),
            "positives": self.positives.tolist(),
            "negatives": self.negatives.tolist(),
            "alarmCost": self.alarm_cost.tolist(),
            "missCost": self.miss_cost.tolist(),
        }


def possible(study: Study) -> bool:
    """Whether both mistakes cost something, right decisions nothing, and no budget binds."""
    if not study.sided or study.budget is not None or len(np.unique(study.y)) < 2:
        return False
    true = study.y.astype(np.intp)
    right = study.costs.of_rows(true, true)
    return not np.any(right) and all(
        np.all(np.asarray(c) > 0) for c in (study.costs.fp_cost, study.costs.fn_cost)
    )


def sliders(study: Study) -> Markup | None:
    """The controls, hidden until the script is there, and a table of other costs for those without it."""
    if not possible(study):
        return None
    stated = None
    if not study.costs.by_row:
        stated = {"fp": float(study.costs.fp_cost), "fn": float(study.costs.fn_cost)}
    scale = study.scale
    data = {
        **Steps.of(study).document(),
        "cases": scale.cases,
        "unit": study.scale.unit,
        "stated": stated,
        "never": f"never {study.positive!r}",
        "always": f"always {study.positive!r}",
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return join(
        _controls(study),
        tag("script", Markup(text), type="application/json", id="costs-data"),
        _others(study),
    )


def _controls(study: Study) -> Markup:
    scale = study.scale
    inputs = [
        tag(
            "div",
            tag("label", f"{what} costs", for_=f"costs-{name}"),
            tag(
                "input", type="range", id=f"costs-{name}", min=-_DECADES, max=_DECADES, step="0.01", value="0"
            ),
            tag("output", "", id=f"costs-{name}-value", for_=f"costs-{name}"),
            class_="control",
        )
        for name, what in (("fp", "A false alarm"), ("fn", "A miss"))
    ]
    labels = study.labels
    cells = (("quiet", "alarms"), ("misses", "hits"))
    rows = [
        tag(
            "tr",
            tag("th", f"is {label!r}", scope="row"),
            *(tag("td", id=f"costs-{c}", class_="number") for c in row),
        )
        for label, row in zip(labels, cells, strict=True)
    ]
    head = tag(
        "tr",
        tag("td", ""),
        *(tag("th", f"decided {label!r}", scope="col", class_="number") for label in labels),
    )
    caption = f"Per {scale.name}"
    content = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *rows))
    confusion = tag(
        "div",
        content,
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=f"Decisions, {caption.lower()}",
    )
    threshold = (
        join("threshold ", tag("b", "", id="costs-threshold"), "; ") if not study.costs.by_row else None
    )
    told = tag(
        "p",
        threshold,
        f"{scale.name} cost ",
        tag("b", "", id="costs-cost"),
        ", and the model saves ",
        tag("b", "", id="costs-saved"),
        " compared with ",
        tag("span", "", id="costs-against"),
        ".",
        aria_live="polite",
    )
    return tag(
        "div",
        tag("h3", "Move the costs", id="costs-title"),
        *inputs,
        tag("button", "Reset to the stated costs", type="button", id="costs-reset"),
        told,
        confusion,
        id="costs-slider",
        class_="slider",
        role="group",
        aria_labelledby="costs-title",
        hidden="hidden",
    )


def _others(study: Study) -> Markup:
    """Some other costs of a miss, worked out beforehand."""
    scale, weight = study.scale, study.weights
    true = study.y.astype(np.intp)
    rows = []
    for factor in _FACTORS:
        costs = ResolvedCosts.of_mistakes(study.costs.fp_cost, study.costs.fn_cost * factor)
        decided = costs.decide(study.p)
        cost = weight.mean(costs.of_rows(true, decided))
        name, c = f"{number(factor)} times as much", ""
        if not costs.by_row:
            name, c = amount(costs.fn_cost, study.scale.unit), number(costs.threshold)
        rows.append(
            (
                f"{name}{' (as stated)' if factor == 1 else ''}",
                c,
                scale.cost(1000 * cost),
                scale.count(1000 * weight.mean(decided > true)),
                scale.count(1000 * weight.mean(decided < true)),
            )
        )
    columns = ("cost of a miss", "threshold", f"cost per {scale.cases:,.0f}", "false alarms", "misses")
    return table("Other costs of a miss, at their thresholds", columns, rows, numeric=(1, 2, 3, 4))


def script() -> str:
    """The script of the page."""
    return files("propriety.report").joinpath("slider.js").read_text(encoding="utf-8")
