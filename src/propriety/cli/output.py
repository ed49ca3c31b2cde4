"""What the user sees: tables and notes for people, JSON for machines, errors."""

from __future__ import annotations

import json
import math
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from propriety.formatting import aligned
from propriety.progress import heard_by

_SHORT = 24  # characters of a cell that is not broken
_WIDTH = 80  # where there is no terminal
#: Control characters, marks of direction, invisible characters and halves of surrogate pairs: they would move
#: the cursor, change what was written before, or show something that is not in the file.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


class UsageError(Exception):
    """A command line that cannot be meant; the message says what to do."""


class Output:
    """Where a command writes: results to standard output, everything else to standard error."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.warnings: list[str] = []

    @property
    def console(self) -> Console:
        """Standard output, as it is now."""
        return _console(sys.stdout)

    @property
    def error(self) -> Console:
        """Standard error, as it is now."""
        return _console(sys.stderr)

    @property
    def shows(self) -> bool:
        """Whether people look at it."""
        return not (self.as_json or self.quiet)

    def say(self, text: str = "", style: str | None = None) -> None:
        """A line for people."""
        if self.shows:
            self.console.print(Text(harmless(text, keep="\n"), style=style or ""))

    def warn(self, text: str) -> None:
        """A warning, on standard error and in the JSON document."""
        self.warnings.append(text)
        if not self.as_json:
            self.error.print(Text.assemble(("warning: ", "yellow"), harmless(text)))

    def table(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, best: int | None = None
    ) -> None:
        """A table for people: numbers to the right with the same digits, the row `best` in bold."""
        if not self.shows:
            return
        self.say(title, "bold")
        table = Table(
            box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False,
            header_style="bold", show_header=any(columns),
        )  # fmt: skip
        cells: list[list[str]] = []
        for j, name in enumerate(columns):
            values = [row[j] for row in rows]
            numeric = bool(rows) and all(isinstance(value, Real) for value in values)
            cells.append(aligned(values) if numeric else [harmless(shown(value)) for value in values])
            longest = max(map(len, cells[j]), default=0)
            # A number is never broken; a heading longer than its numbers takes several lines.
            broken = name.replace(" ", "\n") if longest < len(name) else name
            compact = numeric or (longest < _SHORT and any("–" in cell for cell in cells[j]))
            table.add_column(
                Text(harmless(broken, keep="\n")),
                justify="right" if numeric else "left",
                overflow="fold",
                no_wrap=compact,
            )
        for i, row in enumerate(zip(*cells, strict=True)):
            table.add_row(*map(Text, row), style="bold green" if i == best else None)
        self.console.print(table)

    def result(self, document: dict[str, Any]) -> None:
        """The result for machines."""
        if self.as_json:
            content = {**document, "warnings": self.warnings}
            sys.stdout.write(json.dumps(_plain(content), indent=2) + "\n")

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[[str], None]]:
        """A bar on standard error; call what is given after each step.

        Between steps it shows what is being done, by `propriety.progress`; at the end, how long it took.
        """
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        shown_ = not self.quiet and not self.as_json and sys.stderr.isatty()
        began, done = time.perf_counter(), 0
        with Progress(*columns, console=self.error, transient=True, disable=not shown_) as bar:
            task = bar.add_task(what, total=total)

            def within(share: float, text: str) -> None:
                bar.update(task, completed=done + share, description=harmless(f"{what}: {text}"))

            def step(text: str = "") -> None:
                nonlocal done
                done += 1
                bar.update(task, completed=done, description=harmless(text or what))

            with heard_by(within):
                yield step
        if shown_:
            self.error.print(Text(f"{what} took {time.perf_counter() - began:.0f} s", style="dim"))

    @contextmanager
    def collected_warnings(self) -> Iterator[None]:
        """Warnings of the fits, each said once."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for text in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)):
            self.warn(text)


def show_error(problem: str, advice: str, code: int, *, as_json: bool) -> None:
    """An error: for people on standard error, for machines as the document."""
    if as_json:
        sys.stdout.write(json.dumps({"error": problem, "advice": advice, "code": code}, indent=2) + "\n")
        return
    console = _console(sys.stderr)
    console.print(Text.assemble(("error: ", "bold red"), harmless(problem)))
    if advice:
        console.print(Text.assemble(("  → ", "cyan"), harmless(advice)))


def harmless(text: str, keep: str = "") -> str:
    r"""Text of a table or a file as it may be shown in a terminal: what cannot be seen is written as escapes.

    >>> print(harmless("\x1b[2Jage\u202e"))
    \x1b[2Jage\u202e
    """
    return _UNSEEN.sub(lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text)


def _console(file: Any) -> Console:
    return Console(file=file, width=None if file.isatty() else _WIDTH, soft_wrap=False)


def shown(value: Any) -> str:
    """A value in a table.

    >>> shown(0.123456), shown(1234.56), shown(79989.7)
    ('0.1235', '1,234.6', '79,990')
    """
    if isinstance(value, Real) and not isinstance(value, Integral):
        size = abs(float(value))
        if math.isnan(size):
            return "–"
        return f"{value:.4g}" if size < 100 else f"{value:,.1f}" if size < 10_000 else f"{value:,.0f}"
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if getattr(value, "shape", None) == ():  # a number of NumPy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
