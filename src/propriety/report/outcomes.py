"""Sections about decisions: the outcomes with their costs, other costs, costs known roughly, and budgets."""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety import evaluation
from propriety.costs import ResolvedCosts
from propriety.data import uncertain
from propriety.data.costs import Costs
from propriety.report import figures, interaction
from propriety.report.contents import Report
from propriety.report.markup import Markup, join, table, tag
from propriety.report.numbers import amount, number, percent
from propriety.report.svg import figure
from propriety.report.words import threshold_of

_STEPS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)  # shares of the rows that a budget is shown for


def decisions(report: Report) -> Markup:
    """What was decided for which class, and what that cost."""
    costs, decided, true = report.costs, report.decided, report.rows.y
    of_rows = report.rows.row_costs(decided)
    rows = []
    for k, label in enumerate(report.labels):
        ways = range(len(report.rows.decisions))
        cells = [_cell(report, (true == k) & (decided == d), of_rows, k, d) for d in ways]
        rows.append((f"is {label!r}", *cells))
    columns = ("", *(f"decided {label!r}" for label in report.labels), *(("undecided",) * costs.abstains))
    return join(
        table(f"Decisions at the costs asked for, and what they cost on {report.scale.name}", columns, rows),
        _best_threshold(report),
    )


def _cell(report: Report, rows: Any, of_rows: Any, true: int, decided: int) -> str:
    """How many rows, and what they cost: each of them if that is one number."""
    if not rows.any():
        return "none"
    scale, share = report.scale, 1000 * report.weights.mean(rows)
    cost = 1000 * report.weights.mean(np.where(rows, of_rows, 0.0))
    if report.costs.by_row:
        price = f", costing {scale.cost(cost)}" if cost else ", at no cost"
    else:
        each = float(report.costs.matrix[true, decided])
        price = f", at {amount(each, report.unit)}: {scale.cost(cost)}" if each else ", at no cost"
    n = int(rows.sum())
    many = f"{scale.count(share)} of {scale.cases:,.0f}"
    return f"{many} ({n:,} row{'' if n == 1 else 's'}){price}"


def _best_threshold(report: Report) -> Markup | None:
    """Whether another threshold would have been cheaper, where there is one for all rows."""
    threshold = threshold_of(report)
    if threshold is None or report.budget is not None:
        return None
    c = report.costs
    # The excess over right decisions is what a threshold can change.
    excess = ResolvedCosts.of_mistakes(c.fp_cost, c.fn_cost)
    best = evaluation.best_threshold(
        report.y, report.p, fp_cost=c.fp_cost, fn_cost=c.fn_cost, sample_weight=report.sample_weight
    )
    cost = report.weights.mean(excess.of_rows(report.y, report.decided))
    text = (
        f"The threshold {number(threshold)} follows from the costs. The one that would have been "
        "cheapest on these very "
        f"rows is {number(best.value)}; it would have saved "
        f"{report.scale.cost(1000 * max(cost - best.cost, 0.0))} on {report.scale.name}, chance included."
    )
    return tag("p", text)


def other_costs(report: Report) -> Markup | None:
    """The Murphy diagram; where rows have their own costs, by what is at stake in them."""
    if report.p.ndim == 2:
        return None
    weight, by_stake = report.sample_weight, report.costs.by_row and report.sided
    if by_stake:
        weight = weight * report.costs.stake
        if not np.any(weight):
            return None
    drawn = figures.murphy(report.y, {report.name: report.p, **report.rivals}, weight, threshold_of(report))
    text = (
        "The costs may be uncertain, or change. This judges the same probabilities at every ratio of costs."
    )
    if by_stake:
        text += (
            " Each row counts by what is at stake in it, the sum of both costs: the curve is the "
            "mean cost per unit at stake."
        )
    return join(
        tag("p", text),
        figure(
            "murphy", drawn,
            f"Murphy diagram: mean cost of decisions at every cost of a false alarm, of {report.name} and "
            "others.",
            "Murphy diagram: lower is better. At each c, a false alarm costs c and a miss 1 − c, and "
            "decisions are made "
            "for just these costs. A model whose line is nowhere above another's is the better one "
            "whatever the costs. "
            "The band is the 95% interval at each c; the grey line is one constant probability for everyone.",
            mark=threshold_of(report) if interaction.possible(report) else None,
        ),
        interaction.sliders(report),
    )  # fmt: skip


def roughly_known(report: Report) -> Markup | None:
    """How much the decisions hang on costs that are known only within a range."""
    if not report.sided or not any(map(uncertain.is_uncertain, (report.fp_cost, report.fn_cost))):
        return None
    result = evaluation.cost_sensitivity(
        report.p,
        costs=Costs(
            report.fp_cost, report.fn_cost, tp_benefit=report.tp_benefit, tn_benefit=report.tn_benefit
        ),
        sample_weight=report.sample_weight,
    )
    low, middle, high = (float(np.median(c)) for c in (result.low, result.threshold, result.high))
    changed, regret = result.changed, result.regret
    one = np.ndim(result.threshold) == 0
    text = (
        f"Within the range, the threshold lies between {number(low)} and {number(high)}"
        f"{'' if one else ' for the row in the middle'}; decisions are made for the mean costs, at "
        f"{number(middle)}. "
        f"{percent(changed.value)} of the rows ({percent(changed.low)} to {percent(changed.high)}) "
        "would be decided "
        "otherwise somewhere within it; the rest do not depend on it."
    )
    more = (
        "Deciding for the mean instead of the true costs is expected to cost "
        f"{number(1000 * regret.value)} per 1,000 "
        f"cases ({number(1000 * regret.low)} to {number(1000 * regret.high)}): that is what "
        "knowing them would be worth. It is worked out from the probabilities, with every order of magnitude "
        "in the range equally likely, and is as good as they are."
    )
    return join(tag("p", text), tag("p", more))


def budget(report: Report) -> Markup | None:
    """Cost and lift of acting on some rows only; shown if there is a budget, or an amount in each row."""
    wanted = report.budget is not None or report.costs.by_row or np.any(report.tp_benefit)
    if not wanted or not report.sided or report.y.sum() == 0:
        return None
    costs, true = report.costs, report.y.astype(np.intp)
    alarm, miss = np.asarray(costs.fp_cost), np.asarray(costs.fn_cost)
    if np.any(alarm < 0) or np.any(miss < 0):
        return None
    # The curve is of the excess over right decisions, whose cost is the same for every number of rows.
    curve = evaluation.budget_curve(true, report.p, fp_cost=alarm, fn_cost=miss, pos_label=1)
    right, n = float(costs.of_rows(true, true).sum()), len(true)
    acted = None if report.budget is None else int(np.sum(report.decided == 1))
    counts = sorted({max(1, round(share * n)) for share in _STEPS} | ({acted} if acted else set()) | {n})
    rows = [
        (
            f"{k:,}{' (the budget)' if k == acted else ''}",
            percent(k / n),
            number(right + curve.costs[k]),
            number(right + curve.costs[0] + k / n * (curve.costs[n] - curve.costs[0])),
            number(curve.hits[k]),
            f"{curve.lift(k):.3g}",
        )
        for k in counts
    ]
    columns = (
        "acted on",
        "share",
        "total cost",
        "if chosen at random",
        f"{report.positive!r} among them",
        "lift",
    )
    text = (
        f"Rows are acted on in order of the saving expected. The model itself would act on "
        f"{curve.worth:,} of {n:,} rows; {curve.best:,} would have been cheapest on these very "
        "rows. Lift is the "
        f"share of {report.positive!r} among those acted on, divided by their share among all."
    )
    if np.any(report.sample_weight != 1):
        text += " Every row counts once here, whatever its weight."
    drawn = figures.budget(curve, right, curve.worth if acted is None else acted, acted is not None)
    pair = tag(
        "div",
        figure("budget", drawn, "Total cost against the number of rows that are acted on.",
               "Cost: the total over the judging rows if that many are acted on, the best first. "
               "The dashed line is rows chosen at random."),
        figure("lift", figures.lift(curve), "Lift against the number of rows that are acted on.",
               "Lift: how much denser the positives are among the first rows than among all."),
        class_="pair",
    )  # fmt: skip
    caption = "Acting on some rows only"
    return join(tag("p", text), pair, table(caption, columns, rows, numeric=(1, 2, 3, 4, 5)))
