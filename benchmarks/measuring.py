"""What every benchmark shares: tables as values, timing in turns, and the machine that was measured on.

A part is a file of this folder that ends with ``PART = Part(...)``: its cases are functions that take the
`Options` of the command line and give `Table` values. ``python benchmarks/boosting.py large`` prints them;
`collect.py` runs every part, keeps the tables as JSON and writes RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"

Cell = str | float | None


# --- tables -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unit:
    """The relative change that is taken for noise, and what more and less of it are called."""

    tolerance: float
    more: str
    less: str


#: Units of columns that are compared with the run before; a column with another unit, or none, is not.
UNITS = {
    "s": Unit(0.15, "slower", "faster"),
    "ms": Unit(0.15, "slower", "faster"),
    "µs": Unit(0.15, "slower", "faster"),
    "peer ÷ ours": Unit(0.10, "faster", "slower"),
    "ours ÷ other": Unit(0.10, "slower", "faster"),
    "MB": Unit(0.10, "more memory", "less memory"),
    "loss": Unit(0.01, "worse", "better"),
}
#: Seconds mean something beside other seconds of the same machine only.
SECONDS_UNITS = ("s", "ms", "µs")


@dataclass(frozen=True)
class Column:
    """A head, the unit of its numbers, and how they are written."""

    name: str
    unit: str = ""
    format: str = ""

    def text(self, cell: Cell) -> str:
        """A cell as it is printed."""
        return "" if cell is None else cell if isinstance(cell, str) else format(cell, self.format)


SECONDS = Column("seconds", "s", ".3f")
RATIO = Column("time ÷ ours", "peer ÷ ours", ".2f")
MEMORY = Column("MB beyond X", "MB", ".0f")
LOSS = Column("held-out log loss", "loss", ".5f")


@dataclass(frozen=True)
class Table:
    """Rows of texts and numbers, what they reach of `goals.py`, and sentences of numbers to stand below.

    `measured` says when and where, once the table is kept, and `elsewhere` what goals came to on other
    processors, by their name, with the date; `note` is a line to print below it.
    """

    name: str
    title: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    goals: Mapping[str, float] = field(default_factory=dict)
    measured: Mapping[str, Any] = field(default_factory=dict)
    elsewhere: Mapping[str, Any] = field(default_factory=dict)

    @property
    def processor(self) -> str:
        """The name of the one that it was measured on, if it was kept."""
        return str(self.measured.get("machine", {}).get("processor", ""))

    def following(self, before: Table) -> Table:
        """This table in the place of an earlier one, whose goals are kept if they are another processor's."""
        elsewhere = dict(before.elsewhere)
        if before.goals and before.processor:
            elsewhere[before.processor] = {"date": before.measured["date"], "goals": dict(before.goals)}
        elsewhere.pop(self.processor, None)
        return Table(**{**vars(self), "elsewhere": elsewhere})

    def __post_init__(self) -> None:
        columns = [c if isinstance(c, Column) else Column(c) for c in self.columns]
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "rows", [[plain(cell) for cell in row] for row in self.rows])
        for row in self.rows:
            if len(row) != len(columns):
                raise ValueError(
                    f"table {self.name!r} has {len(columns)} columns, a row has {len(row)}: {row}"
                )

    def markdown(self) -> str:
        """The table; columns of numbers to the right."""
        numbers = [any(isinstance(row[i], float) for row in self.rows) for i in range(len(self.columns))]
        lines = [[c.name for c in self.columns], ["---:" if number else "---" for number in numbers]]
        lines += [[c.text(cell) for c, cell in zip(self.columns, row, strict=True)] for row in self.rows]
        head, rule, *body = ("| " + " | ".join(line) + " |" for line in lines)
        text = "\n".join([head, rule.replace(" ", ""), *body])
        return f"{text}\n\n{self.note}" if self.note else text

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> Table:
        """The table of a file."""
        return cls(**{**stored, "columns": [Column(**column) for column in stored["columns"]]})


def plain(cell: Any) -> Cell:
    """Texts and missing cells as they are, every number a float of six digits."""
    return cell if cell is None or isinstance(cell, str) else float(f"{cell:.6g}")


# --- what is kept -------------------------------------------------------------------------------------------


def load(path: Path) -> dict[str, Table]:
    """The tables of a file of results by their names; none without the file."""
    stored = json.loads(path.read_text(encoding="utf-8"))["tables"] if path.exists() else []
    return {table["name"]: Table.parse(table) for table in stored}


def keep(path: Path, tables: Iterable[Table]) -> None:
    """Put tables into a file in place of those of the same name; a line a row, so that changes show."""
    found = load(path) | {table.name: table for table in tables}
    blocks = []
    for table in found.values():
        stored = asdict(table)
        rows = ",\n        ".join(json.dumps(row, ensure_ascii=False) for row in stored.pop("rows"))
        lines = [
            f"      {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in stored.items()
        ]
        lines.append(f'      "rows": [\n        {rows}\n      ]')
        blocks.append("    {\n" + ",\n".join(lines) + "\n    }")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{\n  "tables": [\n' + ",\n".join(blocks) + "\n  ]\n}\n", encoding="utf-8")


def compare(before: Table, after: Table) -> list[str]:
    """What differs from the kept table by more than its unit's tolerance, a line each."""
    same = all(before.measured.get(k) == after.measured.get(k) for k in ("machine", "clock"))
    then = {_key(before, row): row for row in before.rows}
    places = {column.name: i for i, column in enumerate(before.columns)}
    changes = []
    for row in after.rows:
        old = then.get(_key(after, row))
        for i, column in enumerate(after.columns):
            unit = UNITS.get(column.unit)
            if old is None or unit is None or column.name not in places:
                continue
            a, b = old[places[column.name]], row[i]
            if not (isinstance(a, float) and isinstance(b, float)) or a <= 0:
                continue
            if column.unit in SECONDS_UNITS and not same:
                continue
            change = b / a - 1
            if abs(change) > unit.tolerance:
                word = unit.more if change > 0 else unit.less
                changes.append(
                    f"{after.name}, {', '.join(_key(after, row))}: {column.name} {column.text(a)} → "
                    f"{column.text(b)}: {word} than before by {100 * abs(change):.0f} % "
                    f"(tolerance {100 * unit.tolerance:.0f} %)"
                )
    return changes


def _key(table: Table, row: Sequence[Cell]) -> tuple[str, ...]:
    """The texts of a row: what it is about."""
    return tuple(cell for cell in row if isinstance(cell, str))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """What a long run has put into a file, a line each."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def add_line(path: Path, found: Mapping[str, Any]) -> None:
    """Put one more line into the file of a long run."""
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(found) + "\n")


# --- timing -------------------------------------------------------------------------------------------------

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}
_clock = "wall"


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one call by the clock of this run, and what it gave."""
    start = CLOCKS[_clock]()
    result = call()
    return CLOCKS[_clock]() - start, result


def best_of(calls: Mapping[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Least seconds and last result of each call; the calls take turns, there and back."""
    best, results = dict.fromkeys(calls, float("inf")), {}
    for repeat in range(repeats):
        for name in list(calls)[:: -1 if repeat % 2 else 1]:
            seconds, results[name] = seconds_of(calls[name])
            best[name] = min(best[name], seconds)
    return best, results


def alternate(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Least seconds of each call, the calls taking turns."""
    return best_of(calls, repeats)[0]


# --- the machine --------------------------------------------------------------------------------------------

#: Packages whose versions are kept, if a part has imported them or names them: of a module, its distribution.
PACKAGES = {
    "propriety": "propriety", "numpy": "numpy", "scipy": "scipy", "numba": "numba", "sklearn": "scikit-learn",
    "lightgbm": "lightgbm", "xgboost": "xgboost", "catboost": "catboost", "interpret": "interpret-core",
    "glum": "glum", "statsmodels": "statsmodels", "skglm": "skglm", "empulse": "empulse", "pandas": "pandas",
    "pyarrow": "pyarrow", "dask": "dask", "distributed": "distributed",
}  # fmt: skip


def versions(named: Iterable[str] = ()) -> dict[str, str]:
    """Of Python and of every known package that was imported or is named."""
    found = {"Python": platform.python_version()}
    for module, package in PACKAGES.items():
        if module in sys.modules or package in named:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                continue
    return found


def machine() -> dict[str, Any]:
    """Cores and the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return {"cores": os.cpu_count(), "processor": name}


def load_average() -> float | None:
    """Processes that wanted to run in the last minute."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def commit() -> str | None:
    """The commit of the working tree, with a plus if it has changes."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    found = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


# --- parts --------------------------------------------------------------------------------------------------


class Options(argparse.Namespace):
    """The command line of a part; `quick` runs are small, and show no more than that it runs."""

    quick: bool = False
    repeats: int | None = None

    def size(self, n: int) -> int:
        """Rows (or trees, or rounds) in place of n: all, or a hundredth of a large number."""
        return max(n // 100, min(n, 500)) if self.quick else n

    def times(self, repeats: int) -> int:
        """How often a call is repeated."""
        return self.repeats or (1 if self.quick else repeats)


Case = Callable[[Options], Iterable[Table]]


@dataclass(frozen=True)
class Part:
    """A file of benchmarks: its docstring, its cases, and options of its own."""

    doc: str
    cases: Mapping[str, Case]
    packages: Sequence[str] = ()
    arguments: Callable[[argparse.ArgumentParser], None] | None = None

    def parser(self) -> argparse.ArgumentParser:
        """The command line."""
        parser = argparse.ArgumentParser(
            description=self.doc, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("cases", nargs="*", metavar="case", help=f"some of: {', '.join(self.cases)}")
        parser.add_argument("--list", action="store_true", help="list the cases and leave")
        parser.add_argument("--quick", action="store_true", help="small, to see that it runs")
        parser.add_argument("--repeats", type=int, help="how often each call is timed; the best counts")
        parser.add_argument(
            "--clock", choices=CLOCKS, default="wall", help="the processor's is fairer on a busy machine"
        )
        parser.add_argument("--keep", type=Path, metavar="FILE", help="keep the tables in this JSON file")
        if self.arguments is not None:
            self.arguments(parser)
        return parser

    def main(self, words: Sequence[str] | None = None) -> None:
        """Run cases, print their tables, and keep them if asked to."""
        global _clock  # noqa: PLW0603
        given = self.parser().parse_args(words, namespace=Options())
        unknown = [case for case in given.cases if case not in self.cases]
        if given.list or unknown:
            print("\n".join(self.cases))
            sys.exit(f"no such case: {', '.join(unknown)}" if unknown else 0)
        _clock = given.clock
        for case in given.cases or self.cases:
            self._run(case, given)

    def _run(self, case: str, given: Options) -> None:
        before = load_average()
        for table in self.cases[case](given):
            print(f"\n### {table.title}\n\n{table.markdown()}", flush=True)
            for goal, value in table.goals.items():
                print(f"\ngoal: {goal}: {value:.3g}", flush=True)
            if given.keep is None:
                continue
            measured = {
                "case": case,
                "date": f"{datetime.now(UTC):%Y-%m-%d}",
                "commit": commit(),
                "versions": versions(self.packages),
                "machine": machine(),
                "load": [before, load_average()],
                "clock": given.clock,
            }
            known = load(given.keep).get(table.name)
            table = Table(**{**vars(table), "measured": measured})  # noqa: PLW2901
            for change in compare(known, table) if known else []:
                print(change, flush=True)
            keep(given.keep, [table.following(known) if known else table])
