"""``propriety papers``: the experiments of the five papers, what was printed beside what is found here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import Output, UsageError
from propriety.papers import Experiment, Table, registry
from propriety.papers.data import Data
from propriety.papers.page import page, shown
from propriety.papers.running import FULL, QUICK, Progress, Result, run_all
from propriety.papers.text import markdown

_ALL = "all"


@command
def papers_command(
    name: Annotated[
        str | None, typer.Argument(help="An experiment, or 'all'; without it, the list of them.")
    ] = None,
    *,
    out_path: Annotated[
        str | None,
        typer.Option(
            "--out", help="A folder for the page of results; a second run continues from what is there."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats and smaller sets: minutes.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Do not use what is kept in the folder.")] = False,
    data: Annotated[
        str | None,
        typer.Option(help="A folder with files of the UCI repository; else $PROPRIETY_DATA, ../shared/data."),
    ] = None,
    jobs: o.JobsOption = None,
    telling: o.Telling,
) -> None:
    """Repeat the papers' experiments: every number that they print beside ours, and a verdict for each claim.

    \b
    Examples:
      propriety papers
      propriety papers buja-trees
      propriety papers all --out results --quick
    """  # noqa: D301
    out = telling.output
    if name is None:
        _list(out)
        return
    try:
        experiments = registry.every() if name == _ALL else [registry.named(name)]
    except ValueError as error:
        raise UsageError(str(error)) from None
    if name == _ALL and out_path is None:
        raise UsageError("propriety papers all needs --out FOLDER: its page and what it finds go there")
    folder = None if out_path is None else Path(out_path)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with _telling(out) as tell:
        results = run_all(
            experiments,
            Data.found(data),
            size=QUICK if quick else FULL,
            folder=None if folder is None else folder / "results",
            again=again,
            n_jobs=jobs,
            tell=tell,
        )
    written = None if folder is None else folder / f"{'papers' if name == _ALL else name}.html"
    if name != _ALL:
        _show(out, results[0])
    _verdicts(out, results)
    if written is not None:
        written.write_text(page(results), encoding="utf-8")
        written.with_suffix(".md").write_text(markdown(results), encoding="utf-8")
        out.say(f"The page is {written}.", "bold")
    out.result(_document(results, written))


def _list(out: Output) -> None:
    experiments = registry.every()
    rows = [(e.name, f"[{e.paper.key}] {e.place}", e.title, e.minutes) for e in experiments]
    out.table("Experiments", ("name", "where", "what", "minutes"), rows)
    out.say(
        "propriety papers NAME runs one, propriety papers all --out FOLDER all of them; --quick in minutes."
    )
    out.result(
        {
            "command": "papers",
            "experiments": [
                {
                    "name": e.name,
                    "paper": e.paper.key,
                    "place": e.place,
                    "title": e.title,
                    "data": list(e.data),
                }
                for e in experiments
            ],
        }
    )


@contextmanager
def _telling(out: Output) -> Iterator[Callable[[Progress], None]]:
    """How far it is: a line that changes in a terminal, else a line for each experiment."""
    if not out.shows:
        yield lambda progress: None
    elif sys.stderr.isatty():
        with out.error.status("") as status:
            yield lambda progress: status.update(str(progress))
    else:

        def tell(progress: Progress) -> None:
            if not progress.part:
                print(progress, file=sys.stderr, flush=True)

        yield tell


def _show(out: Output, result: Result) -> None:
    """The tables of one experiment."""
    experiment = result.experiment
    out.say(f"[{experiment.paper.key}] {experiment.place}: {experiment.title}", "bold")
    for table in result.outcome.tables:
        out.table(f"{table.name}, {table.place}", ("", "", *table.columns), _rows(table))
        if table.note:
            out.say(table.note)
    for note in result.outcome.notes:
        out.say(note)


def _rows(table: Table) -> list[Sequence[Any]]:
    rows: list[Sequence[Any]] = []
    for row in table.rows:
        cells = [table.cell(row, column) for column in table.columns]
        printed = ["" if c is None else shown(c.printed, table.digits) for c in cells]
        ours = ["" if c is None else shown(c.ours, table.digits) for c in cells]
        if any(c is not None and c.printed is not None for c in cells):
            rows.append((row, "printed", *printed))
            rows.append(("", "ours", *ours))
        else:
            rows.append((row, "ours", *ours))
    return rows


def _verdicts(out: Output, results: Sequence[Result]) -> None:
    rows = [(r.experiment.name, v.claim, v.word, v.reason) for r in results for v in r.outcome.verdicts]
    out.table("Verdicts", ("experiment", "claim", "verdict", "why"), rows)


def _document(results: Sequence[Result], written: Path | None) -> dict[str, Any]:
    def one(result: Result) -> dict[str, Any]:
        experiment: Experiment = result.experiment
        return {"name": experiment.name, "seconds": result.seconds, **result.outcome.as_json()}

    return {
        "command": "papers",
        "page": None if written is None else str(written),
        "experiments": [one(result) for result in results],
    }
