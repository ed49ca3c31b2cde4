"""``propriety compare``: models side by side on the same rows that none of them has seen."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from propriety.cli import options as o
from propriety.cli.fit import load_data, show_judgements
from propriety.cli.judging import Judgement, constant, judge, split_rows
from propriety.cli.output import Output, command
from propriety.cli.recipes import RECIPES, Order, named

Models = Annotated[
    str, typer.Option("--models", "-m", help="Names with commas between; all: every one that is installed.")
]


@command
def compare_command(
    table: o.Table,
    target: o.Target,
    models: Models = "all",
    positive: o.Positive = None,
    fp_cost: o.FpCost = 1.0,
    fn_cost: o.FnCost = 1.0,
    loss: o.Loss = None,
    holdout: o.Holdout = None,
    folds: o.Folds = None,
    weight: o.Weight = None,
    format_: o.Format = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    sheet: o.Sheet = None,
    missing: o.Missing = None,
    decimal: o.Decimal = None,
    numeric: o.Numeric = None,
    category: o.Category = None,
    date: o.Date = None,
    drop: o.Drop = None,
    keep: o.Keep = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Compare models by the cost of their decisions: ours, and others' if they are installed.

    Others are scikit-learn's, LightGBM's and XGBoost's. Every model is fitted with its default settings to
    the same rows, and decides at the threshold of the costs.

    \b
    Examples:
      propriety compare loans.csv --target default --fn-cost 9
      propriety compare loans.csv -t default --models linear,boosting,lightgbm --folds 10
    """  # noqa: D301
    out = Output(as_json=as_json, quiet=quiet)
    o.check_costs(fp_cost, fn_cost)
    order = Order(fp_cost, fn_cost, o.check_loss(loss), seed, jobs)
    every = [name for name, recipe in RECIPES.items() if recipe.installed]
    recipes = named(every if models == "all" else [m.strip() for m in models.split(",") if m.strip()])
    reading = o.Reading(format_, delimiter, encoding, no_header, sheet)
    said = o.overrides(numeric, category, date, drop, keep, missing, decimal)
    data = load_data(out, table, reading, target, positive, weight, said, brief=True)
    split = split_rows(data.y, folds, holdout, seed)
    judged: list[Judgement] = []
    with out.progress("fitting", len(recipes) * len(split.pairs)) as step, out.collected_warnings():
        for recipe in recipes:
            judged.append(judge(recipe, order, data.frame, data.y, data.weight, split, step)[0])
    judged.sort(key=lambda j: j.mean(j.row_costs))
    label = data.findings.target.positive
    everything = [
        *judged,
        constant(f"never {label!r}", judged[0], 0.0),
        constant(f"always {label!r}", judged[0], 1.0),
    ]
    show_judgements(out, f"Cost of 1,000 decisions, judged by {split.text}", everything)
    out.say(verdict(judged))
    out.result(
        {
            "command": "compare",
            "rows": len(data.y),
            "judged_by": split.text,
            "threshold": order.threshold,
            "judgements": [j.numbers() for j in everything],
            "differences": [difference(judged[0], j) for j in judged[1:]],
        }
    )


def difference(best: Judgement, other: Judgement) -> dict[str, Any]:
    """What the other model costs more in 1,000 decisions, row by row, with its standard error."""
    more = other.row_costs - best.row_costs
    return {"model": other.name, "more_per_1000": 1000 * best.mean(more), "error": 1000 * best.error(more)}


def verdict(judged: list[Judgement]) -> str:
    """Whether the cheapest is told apart from the others."""
    if len(judged) < 2:
        return ""
    apart = [difference(judged[0], other) for other in judged[1:]]
    like = [d["model"] for d in apart if d["more_per_1000"] <= 1.96 * max(d["error"], np.finfo(float).tiny)]
    if not like:
        return f"{judged[0].name} is cheaper than every other by more than chance explains."
    return f"{judged[0].name} is the cheapest; on these rows it cannot be told apart from {', '.join(like)}."
