"""``propriety compare``: models side by side on the same rows that none of them has seen."""

from __future__ import annotations

from typing import Annotated

import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.loading import load_table, show_table
from propriety.cli.study import run, show_judgements, split_of, study_of
from propriety.evaluation.judging import judge
from propriety.study.models import SPECS, check_takes_offset, named
from propriety.study.summary import difference_document, threshold_of, title_of
from propriety.study.verdict import of_intervals, of_models

ModelsOption = Annotated[
    str, typer.Option("--models", "-m", help="Names separated by commas; all means every installed one.")
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
    """Compare models, also from other packages, by the cost of their decisions.

    Other packages are scikit-learn, LightGBM and XGBoost, if installed. All models are fitted with their
    defaults to the same rows and decide at the threshold of the costs.

    \b
    Examples:
      propriety compare loans.csv --target default --fn-cost 9
      propriety compare loans.csv -t default --models linear,boosting,lightgbm --folds 10
      propriety compare loans.csv -t default --fn-cost amount --groups customer
    """  # noqa: D301
    out, request = telling.output, asking.request(seed, jobs)
    every = [name for name, spec in SPECS.items() if spec.installed]
    if asking.offset is not None:
        every = [name for name in every if SPECS[name].takes_offset(request)]
    specs = [named(name) for name in (every if models == "all" else o.names(models))]
    if asking.offset is not None:
        check_takes_offset(specs, request)
    training = load_table(table, opening, meaning, target, asking, jobs=jobs)
    show_table(out, training, brief=True)
    split = split_of(training, asking, seed)
    study = run(out, study_of(training, request, specs, split, budget=asking.budget, refit=False))
    judged = judge(study.rows, [*study.models, *study.rows.constants])
    show_judgements(out, title_of(study), judged)
    for line in (study.rows.left_out, of_models(study.differences), of_intervals(study.rows)):
        if line:
            out.say(line)
    out.result(
        {
            "command": "compare",
            "rows": len(training.y),
            "judged_by": study.split.text,
            "positives": study.rows.positives,
            "costs": training.stated.document(),
            "threshold": threshold_of(study),
            "judgements": [j.to_dict() for j in judged],
            "differences": [difference_document(difference) for difference in study.differences],
        }
    )
