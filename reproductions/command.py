"""The command line: ``python -m reproductions``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from reproductions import registry
from reproductions.data import Data
from reproductions.experiment import Experiment
from reproductions.page import page
from reproductions.running import ADOPTED, FULL, QUICK, OtherNumbers, Progress, Result, run_all
from reproductions.text import markdown, section, updated, verdict_lines

ALL = "all"
#: The page of results that is kept beside the code.
RESULTS = Path(__file__).with_name("RESULTS.md")
_EXAMPLES = """\
examples:
  python -m reproductions
  python -m reproductions buja-trees --data uci
  python -m reproductions all --out results --quick
  python -m reproductions buja-6 --out results --update
"""


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m reproductions",
        description="Repeat the papers' experiments: every number that they print beside ours, and a verdict "
        "for each claim.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("name", nargs="?", help="an experiment, or 'all'; without it, the list of them")
    made.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where the page goes; a second run continues from it"
    )
    made.add_argument("--quick", action="store_true", help="fewer repeats and smaller sets: minutes")
    made.add_argument("--data", type=Path, metavar="FOLDER", help="UCI files; default $PROPRIETY_DATA")
    made.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; -1: all cores; default 1")
    kept = made.add_mutually_exclusive_group()
    kept.add_argument("--again", action="store_true", help="use no result that is kept in the folder")
    kept.add_argument(
        "--adopt",
        type=int,
        nargs="?",
        const=ADOPTED,
        default=0,
        metavar="N",
        help="use results that other code left in the folder, if N of each part, run again, give the same "
        f"numbers; default {ADOPTED}",
    )
    made.add_argument(
        "--update", action="store_true", help="write the results into reproductions/RESULTS.md too"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; gives the exit status."""
    made = parser()
    asked = made.parse_args(arguments)
    if asked.name is None:
        _list()
        return 0
    try:
        experiments = _checked(asked)
    except ValueError as error:
        made.error(str(error))
    try:
        results = run_all(
            experiments,
            Data.found(asked.data),
            size=QUICK if asked.quick else FULL,
            folder=None if asked.out is None else asked.out / "results",
            again=asked.again,
            adopt=asked.adopt,
            n_jobs=asked.jobs,
            tell=_teller(),
        )
    except OtherNumbers as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; the same command with --out goes on.", file=sys.stderr)
        return 130
    _show(results, asked.out, asked.name)
    if asked.update:
        lacking = [result.experiment.name for result in results if not result.outcome.tables]
        if lacking:
            print(f"error: {RESULTS.name} is as it was: no data for {', '.join(lacking)}", file=sys.stderr)
            return 1
        RESULTS.write_text(updated(RESULTS.read_text(encoding="utf-8"), results), encoding="utf-8")
        print(f"Updated {RESULTS}.")
    return 0


def _checked(asked: argparse.Namespace) -> list[Experiment]:
    """The experiments that are asked for; an error says which option cannot be meant."""
    experiments = registry.every() if asked.name == ALL else [registry.named(asked.name)]
    if asked.name == ALL and asked.out is None:
        raise ValueError("all needs --out FOLDER: its page and its results go there")
    if asked.update and asked.quick:
        raise ValueError("--update needs a full run, without --quick")
    if asked.adopt < 0:
        raise ValueError(f"--adopt must be at least 1, got {asked.adopt}")
    if asked.adopt and asked.out is None:
        raise ValueError("--adopt needs --out FOLDER, where the results are kept")
    if asked.jobs == 0:
        raise ValueError("--jobs must be at least 1, or -1 for all cores")
    if asked.data is not None and not asked.data.is_dir():
        raise ValueError(f"--data: there is no folder {asked.data}")
    if asked.out is not None and asked.out.exists() and not asked.out.is_dir():
        raise ValueError(f"--out: {asked.out} is not a folder")
    return experiments


def _list() -> None:
    """All experiments, a line each."""
    experiments = registry.every()
    wide = max(len(experiment.name) for experiment in experiments)
    for e in experiments:
        print(f"{e.name:{wide}}  {e.minutes:5g} min  [{e.paper.key}] {e.place}: {e.title}")
    print("\npython -m reproductions NAME runs one, all --out FOLDER all of them.")


def _teller() -> Callable[[Progress], None]:
    """How far it is, on standard error: a line that changes in a terminal, else a line an experiment."""
    if sys.stderr.isatty():
        return lambda progress: print(f"\r\x1b[2K{progress}", end="", file=sys.stderr, flush=True)

    def tell(progress: Progress) -> None:
        if not progress.part:
            print(progress, file=sys.stderr, flush=True)

    return tell


def _show(results: Sequence[Result], folder: Path | None, name: str) -> None:
    """Verdicts, the tables of a single experiment, and the pages in the folder."""
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if name != ALL:
        print(section(results[0]) + "\n")
    print("\n".join(line for result in results for line in verdict_lines(result)))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        written = folder / f"{name}.html"
        written.write_text(page(results), encoding="utf-8")
        written.with_suffix(".md").write_text(markdown(results), encoding="utf-8")
        print(f"\nThe page is {written}.")
