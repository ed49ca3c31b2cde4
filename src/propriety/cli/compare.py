"""``propriety compare``: models side by side on the same rows that none of them has seen."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.judging import Judgement, baselines, judge, left_out
from propriety.cli.loading import load_table, show_table
from propriety.cli.recipes import RECIPES, check_takes_offset, named
from propriety.cli.splitting import split_rows
from propriety.cli.study import show_judgements
from propriety.cli.words import has_threshold
from propriety.weights import Z95

ModelsOption = Annotated[
    str, typer.Option("--models", "-m", help="Names separated by commas; all: every one that is installed.")
]


@command
def compare_command(
    table: o.TableArgument,
    target: o.TargetOption,
    *,
    models: ModelsOption = "all",
    asking: o.Asking,
    opening: o.Opening,
    meaning: o.Meaning,
    seed: o.SeedOption = 0,
    jobs: o.JobsOption = None,
    telling: o.Telling,
) -> None:
    """Compare models by the cost of their decisions: ours, and others' if they are installed.

    Others are scikit-learn's, LightGBM's and XGBoost's. Every model is fitted with its default settings to
    the same rows, and decides by the costs.

    \b
    Examples:
      propriety compare loans.csv --target default --fn-cost 9
      propriety compare loans.csv -t default --models linear,boosting,lightgbm --folds 10
      propriety compare loans.csv -t default --fn-cost amount --groups customer
    """  # noqa: D301
    out, order = telling.output, asking.order(seed, jobs, budget=asking.budget)
    every = [name for name, recipe in RECIPES.items() if recipe.installed]
    if asking.offset is not None:
        every = [name for name in every if RECIPES[name].takes_offset(order)]
    recipes = named(every if models == "all" else [m.strip() for m in models.split(",") if m.strip()])
    if asking.offset is not None:
        check_takes_offset(recipes, order)
    training = load_table(table, opening, meaning, target, asking, jobs=jobs)
    show_table(out, training, brief=True)
    split = split_rows(
        training.y, asking.folds, asking.holdout, seed, groups=training.groups, time=training.time
    )
    with out.progress("fitting", len(recipes) * len(split.pairs)) as step, out.collected_warnings():
        judged = [judge(recipe, order, training, split, step)[0] for recipe in recipes]
    judged.sort(key=lambda j: j.weights.mean(j.row_costs))
    everything = [*judged, *baselines(training.classes, judged[0])]
    show_judgements(out, f"Cost of 1,000 decisions, judged by {split.text}", everything)
    for line in (left_out(training.classes, judged[0]), verdict(judged)):
        if line:
            out.say(line)
    costs = training.costs
    out.result(
        {
            "command": "compare",
            "rows": len(training.y),
            "judged_by": split.text,
            "costs": training.stated.document(),
            "threshold": costs.threshold if has_threshold(costs) else None,
            "judgements": [j.numbers for j in everything],
            "differences": [difference(judged[0], j) for j in judged[1:]],
        }
    )


def difference(best: Judgement, other: Judgement) -> dict[str, Any]:
    """What the other model costs more in 1,000 decisions, row by row, with its standard error."""
    more = other.row_costs - best.row_costs
    mean, error = best.weights.mean(more), best.weights.standard_error(more, best.groups)
    return {"model": other.name, "more_per_1000": 1000 * mean, "error": 1000 * error}


def verdict(judged: list[Judgement]) -> str:
    """Whether the cheapest is told apart from the others."""
    if len(judged) < 2:
        return ""
    apart = [difference(judged[0], other) for other in judged[1:]]
    like = [d["model"] for d in apart if d["more_per_1000"] <= Z95 * max(d["error"], np.finfo(float).tiny)]
    if not like:
        return f"{judged[0].name} is cheaper than every other by more than chance explains."
    return f"{judged[0].name} is the cheapest; on these rows it cannot be told apart from {', '.join(like)}."
