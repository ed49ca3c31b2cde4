"""``propriety fit``: from a table to a judged model."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.loading import load_table, show_table
from propriety.cli.output import UsageError
from propriety.cli.paths import check_outputs, is_streamed
from propriety.cli.study import (
    check_can_report,
    document,
    run,
    show_study,
    split_of,
    study_of,
    table_model,
)
from propriety.study.models import AUTO, OURS, FitRequest, ModelSpec, check_takes_offset, named

_NAMES = [spec.name for spec in OURS]


@command
def fit_command(
    table: o.TableArgument,
    target: o.TargetOption,
    *,
    asking: o.Asking,
    search: Annotated[
        bool, typer.Option("--search", help="Choose the loss by cross-validated cost.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help=f"{', '.join(_NAMES)}. Default: auto, a stack of a linear model, a forest and boosting; "
            "boosting with a loss, a search, an offset or many files.",
        ),
    ] = None,
    rivals: Annotated[
        str | None,
        typer.Option(
            help="Models to compare with, separated by commas, with default settings: logistic, lightgbm, …"
        ),
    ] = None,
    save: Annotated[str | None, typer.Option("--save", "-o", help="Write the model to this file.")] = None,
    report: Annotated[
        str | None,
        typer.Option("--report", help="Write an HTML report to this file."),
    ] = None,
    settings: o.SettingsOption = None,
    showing: o.Showing,
    opening: o.Opening,
    meaning: o.Meaning,
    seed: o.SeedOption = 0,
    jobs: o.JobsOption = None,
    memory: o.MemoryOption = None,
    scheduler: o.SchedulerOption = None,
    telling: o.Telling,
) -> None:
    """Fit a model to a table for the costs of its mistakes, and evaluate it on unseen rows.

    Column types, missing values, dates and the positive class are inferred and shown; options override them.

    \b
    Examples:
      propriety fit loans.csv --target default --fp-cost 1 --fn-cost 9 --save loans.propriety
      propriety fit loans.parquet -t default --folds 10 --report loans.html
      propriety fit loans.csv -t default --fn-cost 900 --unit € --subgroup region --report r.html
      propriety fit loans.csv -t default --loss 'Beta(6, 14)' --model linear
      propriety fit loans.csv -t default --fn-cost amount --fp-cost '0.5 + 0.1*amount' --time issued
      propriety fit patients.csv -t state --cost-matrix costs.csv --groups hospital
      propriety fit 'loans/*.parquet' -t default --memory 8GB --save loans.propriety
      zcat loans.csv.gz | propriety fit - -t default --json
    """  # noqa: D301
    out = telling.output
    request = asking.request(seed, jobs, settings=o.settings(settings), search=search)
    streamed = scheduler is not None or is_streamed(table, memory)
    loss_matters = asking.loss is not None or search or asking.offset is not None
    spec = _spec(model, loss_matters or streamed)
    others = [named(name) for name in o.names(rivals)]
    _check_together(asking, request, spec)
    check_outputs({"--save": save, "--report": report}, {"table": table, "cost matrix": asking.cost_matrix})
    if report is not None:
        check_can_report()
    if streamed:
        if rivals is not None:
            raise UsageError(
                "--rivals needs a table in memory, and this one is read in batches; leave it out"
            )
        from propriety.cli.streaming import fit_streamed

        training, study, facts = fit_streamed(
            out, table, target, asking, opening, meaning, showing, request, spec, memory, scheduler
        )
    else:
        training = load_table(table, opening, meaning, target, asking, showing, jobs)
        show_table(out, training)
        study = study_of(
            training,
            request,
            [spec, *others],
            split_of(training, asking, seed),
            budget=asking.budget,
            showing=showing,
        )
        run(out, study)
        facts = {}
    show_study(out, study, training)
    if save is not None:
        table_model(study, training, **facts).save(save)
        out.say(f"\nModel written to {save}. To predict: propriety predict {shlex.quote(save)} TABLE")
    if report is not None:
        with out.progress("report", 1):
            study.report(report)
        out.say(f"Report written to {report}.")
    rows = {name: facts[name] for name in ("rows",) if name in facts}
    out.result(document(study, training) | rows | {"saved": save, "report": report})


def _check_together(asking: o.Asking, request: FitRequest, spec: ModelSpec) -> None:
    """Refuse options that do not go together."""
    if request.search and asking.loss is not None:
        raise UsageError("give either --loss or --search, not both")
    if request.search and asking.offset is not None:
        raise UsageError("--search takes no --offset: give --loss, or leave one of them out")
    if asking.offset is not None:
        check_takes_offset([spec], request)


def _spec(model: str | None, loss_matters: bool) -> ModelSpec:
    """The model of ``--model``; without it the stack, or boosting for a loss, an offset or many files."""
    if model is None:
        model = "boosting" if loss_matters else AUTO
    if model not in _NAMES:
        raise UsageError(f"--model must be one of {', '.join(_NAMES)}, got {model!r}")
    return named(model)
