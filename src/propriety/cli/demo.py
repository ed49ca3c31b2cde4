"""``propriety demo``: the main job on a data set that ships with scikit-learn, command by command."""

from __future__ import annotations

import contextlib
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from propriety import demonstration
from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.compare import compare_command
from propriety.cli.explain import explain_command
from propriety.cli.fit import fit_command
from propriety.cli.predict import predict_command

_MODELS = "linear,boosting,logistic"


@command
def demo_command(
    *,
    folder: Annotated[
        str | None,
        typer.Option("--folder", help="Folder for the files; by default a new temporary one."),
    ] = None,
    seed: o.SeedOption = 0,
    jobs: o.JobsOption = None,
    telling: o.Telling,
) -> None:
    """Demonstrate fit, compare, predict and explain on a dataset of 569 tumours.

    \b
    Examples:
      propriety demo
      propriety demo --folder demo
    """  # noqa: D301
    out, began = telling.output, time.perf_counter()
    place = Path(tempfile.mkdtemp(prefix="propriety-demo-") if folder is None else folder)
    place.mkdir(parents=True, exist_ok=True)
    names = ("tumours.csv", "tumours.propriety", "scored.csv", "report.html")
    table, model, scored, page = (str(place / name) for name in names)
    demonstration.write_table(table)
    out.say("Is a tumour malignant? Missing a malignant one costs nine times a false alarm.", "bold")
    out.say("The first fit compiles for some seconds.")
    costs = {"fp_cost": f"{demonstration.FP_COST:g}", "fn_cost": f"{demonstration.FN_COST:g}"}
    shared: dict[str, Any] = {"seed": seed, "jobs": jobs, "quiet": not out.shows}
    target = demonstration.TARGET
    options = f"--target {target} --fp-cost {costs['fp_cost']} --fn-cost {costs['fn_cost']}"
    steps = (
        ("Fit a model for these costs and evaluate it",
         f"fit tumours.csv {options} --model auto --save tumours.propriety --report report.html",
         lambda: fit_command(table, target, model="auto", save=model, report=page, **costs, **shared)),
        ("Compare models on the same rows", f"compare tumours.csv {options} --models {_MODELS}",
         lambda: compare_command(table, target, models=_MODELS, **costs, **shared)),
        ("Predict", "predict tumours.propriety tumours.csv --out scored.csv",
         lambda: predict_command(model, table, out_path=scored, quiet=not out.shows)),
        ("Explain a decision", "explain tumours.propriety tumours.csv --row 1",
         lambda: explain_command(model, table, quiet=not out.shows)),
    )  # fmt: skip
    for number, (title, line, run) in enumerate(steps, 1):
        out.say()
        out.say(f"{number}. {title}", "bold cyan")
        out.say(f"$ propriety {line}", "dim")
        run()
    seconds = time.perf_counter() - began
    out.say(f"\nDone in {seconds:.0f} s. The files are in {place}. See also: propriety --help", "bold")
    out.result(
        {"command": "demo", "folder": str(place), "seconds": seconds, "files": [table, model, scored, page]}
    )
    with contextlib.suppress(ValueError):
        out.console.file.flush()
