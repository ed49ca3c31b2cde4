"""``propriety validate``: a column of ready scores, judged by what decisions by it cost."""

from __future__ import annotations

from typing import Annotated

import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.loading import load_table, show_table
from propriety.cli.output import UsageError
from propriety.cli.paths import check_outputs
from propriety.cli.study import check_can_report, show_judged, validation
from propriety.data.score_scales import PROBABILITY
from propriety.evaluation.judging import MODEL, RIVAL
from propriety.study import Study
from propriety.study.candidates import Candidate, scores_of
from propriety.study.study import judged_as_given

ScoreOption = Annotated[
    list[str],
    typer.Option("--score", "-s", help="A column of scores. Repeat it to compare several."),
]
_OF_FITS = ("loss", "offset", "folds", "holdout", "gap")


@command
def validate_command(
    table: o.TableArgument,
    target: o.TargetOption,
    *,
    score: ScoreOption,
    report: Annotated[
        str | None,
        typer.Option("--report", help="Write an HTML report to this file."),
    ] = None,
    asking: o.Asking,
    showing: o.Showing,
    opening: o.Opening,
    meaning: o.Meaning,
    jobs: o.JobsOption = None,
    telling: o.Telling,
) -> None:
    """Evaluate a column of existing scores, from any model, by the costs of its decisions.

    Nothing is fitted and all rows are test rows: the model behind the scores should not have seen them.

    \b
    Examples:
      propriety validate scores.csv --score p --target late --fn-cost 9
      propriety validate scores.csv -s p -s old -t late --fn-cost amount --groups customer --report r.html
    """  # noqa: D301
    out = telling.output
    for name in _OF_FITS:
        if getattr(asking, name) is not None:
            raise UsageError(f"{o.option(name)} is for models that are fitted; leave it out")
    check_outputs({"--report": report}, {"table": table, "cost matrix": asking.cost_matrix})
    if report is not None:
        check_can_report()
    training = load_table(table, opening, meaning, target, asking, showing, jobs, apart=score)
    if len(training.classes) > 2:
        raise UsageError("validate is for two classes; in Python, Study.from_predictions takes several")
    show_table(out, training, brief=True)
    question, scale = training.question(asking.budget), asking.score_scale or PROBABILITY
    candidates = [
        Candidate(name, kind, p=scores_of("score", training.apart[name], question, scale, name))
        for name, kind in zip(score, [MODEL, *[RIVAL] * len(score)], strict=False)
    ]
    facts, split = training.facts, judged_as_given("")
    study = Study.of(question, candidates, split, facts, showing.scale, showing.capacity, showing.actionable)
    show_judged(out, study, training)
    if report is not None:
        with out.progress("report", 1):
            study.report(report)
        out.say(f"Report written to {report}.")
    out.result({"command": "validate", "scores": score} | validation(study, training) | {"report": report})
