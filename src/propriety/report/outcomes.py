"""Sections about decisions: the outcomes with their costs, other costs, costs known roughly, and budgets."""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety import evaluation
from propriety.costs import ResolvedCosts
from propriety.data import uncertain
from propriety.data.costs import Costs
from propriety.report import figures, interaction
from propriety.report.markup import Markup, join, table, tag
from propriety.report.svg import figure
from propriety.study import Study
from propriety.study.numbers import amount, number, percent
from propriety.study.summary import threshold_of

_STEPS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)  # shares of the rows that a budget is shown for


def decisions(study: Study) -> Markup:
    """What was decided for which class, and what that cost."""
    costs, decided, true = study.costs, study.decided, study.rows.y
    of_rows = study.rows.row_costs(decided)
    rows = []
    for k, label in enumerate(study.labels):
        ways = range(len(study.rows.decisions))
        cells = [_cell(study, (true == k) & (decided == d), of_rows, k, d) for d in ways]
        rows.append((f"is {label!r}", *cells))
    columns = ("", *(f"decided {label!r}" for label in study.labels), *(("undecided",) * costs.abstains))
    return join(
        table(f"Decisions at the stated costs, per {study.scale.name}", columns, rows),
        _best_threshold(study),
    )


def _cell(study: Study, rows: Any, of_rows: Any, true: int, decided: int) -> str:
    """How many rows, and what they cost: each of them if that is one number."""
    if not rows.any():
        return "none"
    scale, share = study.scale, 1000 * study.weights.mean(rows)
    cost = 1000 * study.weights.mean(np.where(rows, of_rows, 0.0))
    if study.costs.by_row:
        price = f", costing {scale.cost(cost)}" if cost else ", at no cost"
    else:
        each = float(study.costs.matrix[true, decided])
        price = f", at {amount(each, study.scale.unit)}: {scale.cost(cost)}" if each else ", at no cost"
    n = int(rows.sum())
    many = f"{scale.count(share)} of {scale.cases:,.0f}"
    return f"{many} ({n:,} row{'' if n == 1 else 's'}){price}"


def _best_threshold(study: Study) -> Markup | None:
    """Whether another threshold would have been cheaper, where there is one for all rows."""
    threshold = threshold_of(study)
    if threshold is None or study.budget is not None:
        return None
    c = study.costs
    # The excess over right decisions is what a threshold can change.
    excess = ResolvedCosts.of_mistakes(c.fp_cost, c.fn_cost)
    best = evaluation.best_threshold(
        study.y, study.p, fp_cost=c.fp_cost, fn_cost=c.fn_cost, sample_weight=study.weights.array
    )
    cost = study.weights.mean(excess.of_rows(study.y, study.decided))
    text = (
        f"The threshold {number(threshold)} follows from the costs. In hindsight, "
        f"{number(best.value)} was the "
        f"cheapest on these rows; it would have saved "
        f"{study.scale.cost(1000 * max(cost - best.cost, 0.0))} per {study.scale.name}, partly by chance."
    )
    return tag("p", text)


def other_costs(study: Study) -> Markup | None:
    """The Murphy diagram; where rows have their own costs, by what is at stake in them."""
    if study.p.ndim == 2:
        return None
    weight, by_stake = study.weights.array, study.costs.by_row and study.sided
    if by_stake:
        weight = weight * study.costs.stake
        if not np.any(weight):
            return None
    drawn = figures.murphy(study.y, {study.name: study.p, **study.rivals}, weight, threshold_of(study))
    text = "If the costs are uncertain or change: the same probabilities, evaluated at every ratio of costs."
    if by_stake:
        text += (
            " Each row is weighted by its stakes, the sum of both costs: the curve is the mean cost per unit "
            "at stake."
        )
    return join(
        tag("p", text),
        figure(
            "murphy", drawn,
            f"Murphy diagram: mean cost of decisions at every cost of a false alarm, of {study.name} and "
            "others.",
            "Murphy diagram: lower is better. At each c, a false alarm costs c, a miss costs 1 − c, and the "
            "threshold is c. A model whose line is nowhere above another's is at least as good for "
            "all costs. "
            "The band is the pointwise 95% confidence interval; the grey line is the base rate for everyone.",
            mark=threshold_of(study) if interaction.possible(study) else None,
        ),
        interaction.sliders(study),
    )  # fmt: skip


def roughly_known(study: Study) -> Markup | None:
    """How much the decisions hang on costs that are known only within a range."""
    terms = study.terms
    if not study.sided or not any(uncertain.is_uncertain(terms[name]) for name in ("fp_cost", "fn_cost")):
        return None
    result = evaluation.cost_sensitivity(
        study.p,
        costs=Costs.of_terms({name: terms[name] for name in terms if name != "cost_matrix"}),
        sample_weight=study.weights.array,
    )
    low, middle, high = (float(np.median(c)) for c in (result.low, result.threshold, result.high))
    changed, regret = result.changed, result.regret
    one = np.ndim(result.threshold) == 0
    text = (
        f"Within the range, the threshold lies between {number(low)} and {number(high)}"
        f"{'' if one else ' for the median row'}; decisions use the mean costs, threshold "
        f"{number(middle)}. "
        f"{percent(changed.value)} of the rows ({percent(changed.low)} to {percent(changed.high)}) "
        "would be decided otherwise somewhere in the range; the others do not depend on it."
    )
    more = (
        "The expected value of knowing the true costs is "
        f"{number(1000 * regret.value)} per 1,000 cases ({number(1000 * regret.low)} to "
        f"{number(1000 * regret.high)}), if the costs are log-uniform in the range and the probabilities are "
        "calibrated."
    )
    return join(tag("p", text), tag("p", more))


def budget(study: Study) -> Markup | None:
    """Cost and lift of acting on some rows only; shown if there is a budget, or an amount in each row."""
    wanted = study.budget is not None or study.costs.by_row or np.any(study.terms["tp_benefit"])
    if not wanted or not study.sided or study.y.sum() == 0:
        return None
    costs, true = study.costs, study.y.astype(np.intp)
    alarm, miss = np.asarray(costs.fp_cost), np.asarray(costs.fn_cost)
    if np.any(alarm < 0) or np.any(miss < 0):
        return None
    # The curve is of the excess over right decisions, whose cost is the same for every number of rows.
    curve = evaluation.budget_curve(true, study.p, fp_cost=alarm, fn_cost=miss, pos_label=1)
    right, n = float(costs.of_rows(true, true).sum()), len(true)
    acted = None if study.budget is None else int(np.sum(study.decided == 1))
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
        "at random",
        f"{study.positive!r} found",
        "lift",
    )
    text = (
        f"Rows are acted on in order of expected saving. Without a budget the model acts on "
        f"{curve.worth:,} of {n:,} rows; in hindsight, {curve.best:,} was the cheapest number. Lift "
        "is the share "
        f"of {study.positive!r} among the rows acted on, divided by their share among all."
    )
    if np.any(study.weights.array != 1):
        text += " Row weights are not used here."
    drawn = figures.budget(curve, right, curve.worth if acted is None else acted, acted is not None)
    pair = tag(
        "div",
        figure("budget", drawn, "Total cost against the number of rows that are acted on.",
               "Total cost over the test rows by the number acted on. The dashed line is a random choice."),
        figure("lift", figures.lift(curve), "Lift against the number of rows that are acted on.",
               "Lift: share of positives among the rows acted on, relative to all rows."),
        class_="pair",
    )  # fmt: skip
    caption = "Acting on part of the rows"
    return join(tag("p", text), pair, table(caption, columns, rows, numeric=(1, 2, 3, 4, 5)))
