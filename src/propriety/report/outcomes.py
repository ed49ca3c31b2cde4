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
        table(f"Decisions at the costs asked for, and what they cost on {study.scale.name}", columns, rows),
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
        f"The threshold {number(threshold)} follows from the costs. The one that would have been "
        "cheapest on these very "
        f"rows is {number(best.value)}; it would have saved "
        f"{study.scale.cost(1000 * max(cost - best.cost, 0.0))} on {study.scale.name}, chance included."
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
            f"Murphy diagram: mean cost of decisions at every cost of a false alarm, of {study.name} and "
            "others.",
            "Murphy diagram: lower is better. At each c, a false alarm costs c and a miss 1 − c, and "
            "decisions are made "
            "for just these costs. A model whose line is nowhere above another's is the better one "
            "whatever the costs. "
            "The band is the 95% interval at each c; the grey line is one constant probability for everyone.",
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
        "if chosen at random",
        f"{study.positive!r} among them",
        "lift",
    )
    text = (
        f"Rows are acted on in order of the saving expected. The model itself would act on "
        f"{curve.worth:,} of {n:,} rows; {curve.best:,} would have been cheapest on these very "
        "rows. Lift is the "
        f"share of {study.positive!r} among those acted on, divided by their share among all."
    )
    if np.any(study.weights.array != 1):
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
