"""``propriety compare``: models side by side on the same rows that none of them has seen."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.judging import judged_rows, out_of_sample
from propriety.cli.loading import load_table, show_table
from propriety.cli.recipes import RECIPES, check_takes_offset, named
from propriety.cli.splitting import split_rows
from propriety.cli.study import show_judgements
from propriety.cli.words import has_threshold
from propriety.evaluation.judging import Difference, differences, judge

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
        rules = [out_of_sample(recipe, order, training, split, step)[0] for recipe in recipes]
    rows = judged_rows(training, order, split.rows)
    rules.sort(key=lambda rule: rows.weights.mean(rows.row_costs(rule.decided)))
    judged, paired = judge(rows, [*rules, *rows.constants]), differences(rows, rules)
    show_judgements(out, f"Cost of 1,000 decisions, judged by {split.text}", judged)
    for line in (rows.left_out, verdict(paired)):
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
            "judgements": [j.to_dict() for j in judged],
            "differences": [_document(difference) for difference in paired],
        }
    )


def _document(difference: Difference) -> dict[str, Any]:
    more = difference.estimate
    numbers = {"more_per_1000": more.value, "more_low": more.low, "more_high": more.high}
    tests = {"p_value": difference.p_value, "p_holm": difference.p_holm}
    return {"model": difference.second, **numbers, **tests}


def verdict(paired: tuple[Difference, ...]) -> str:
    """Whether the model of least cost is significantly cheaper than the others."""
    if not paired:
        return ""
    alike = [difference.second for difference in paired if not difference.significant]
    if not alike:
        others = "the other" if len(paired) == 1 else f"each of the {len(paired)} others"
        return f"{paired[0].first} is the cheapest: significantly cheaper than {others} (Holm, 5%)."
    return (
        f"{paired[0].first} has the lowest cost on these rows; it is not significantly cheaper than "
        f"{', '.join(alike)}."
    )
