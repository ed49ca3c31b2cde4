"""One command line: it ends with a documented exit code, without a traceback, and says JSON if asked to.

An input is text: the name of a command, then its arguments, one a line. If it ends with a line end people
read the output, else machines.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from copy import copy
from pathlib import Path
from typing import Any
from unittest import mock

#: As the help of the command line has them.
CODES = {0, 2, 3, 4, 5}
VALUES = (
    "t.csv", "m.propriety", "sick", "age", "color", "when", "id", "yes", "0", "1", "2", "-1", "0.5",
    "nan", "inf", "1e400", "99999999999999999999", "csv", "tsv", "excel", "jsonl", "parquet", "arrow",
    ";", ",", "utf-16", "hex", "age=%d", "color=%Q", "max_iter=1", "max_iter=x", "tol=nan", "linear",
    "logistic", "Log", "Beta(6,14)", "Tailored(0.1,20)", "CostWeighted(0.3)", "Log().with_link(Probit())",
    "out.csv", "out.parquet", "out.arrow", "out.jsonl.gz", "out.csv.zst", "out.html", "out.png", "é", "-",
    "--", "", "\x1b[2J", " ",
)  # fmt: skip
#: Fits take long, and how they go does not depend on the arguments of this command.
SLOW = {
    **{f"propriety.cli.demo.{name}_command": None for name in ("fit", "compare", "predict", "explain")},
}


def names() -> list[str]:
    """The commands."""
    from propriety.cli.app import COMMANDS

    return [name for name, *_ in COMMANDS]


def arguments_of(data: bytes) -> tuple[list[str], bool]:
    """The arguments, and whether machines read the output."""
    command, *words = data.decode("utf-8", "surrogateescape").rstrip("\n").split("\n")
    # A name that is none stands for one; names of files stay in the folder; no system passes a NUL on.
    chosen = command if command in names() else names()[len(data) % len(names())]
    machines = not data.endswith(b"\n")
    words = [word.translate(dict.fromkeys(map(ord, "/\\\0"), "")) for word in words]
    return [chosen, *["--json"] * machines, *words], machines


def run_command(data: bytes) -> int:
    """Run a command in the folder that `prepare` has filled; its exit code."""
    from typer.testing import CliRunner

    from propriety.cli.app import app

    arguments, machines = arguments_of(data)
    with ExitStack() as stack:
        for place, value in SLOW.items():
            stack.enter_context(
                mock.patch(place, mock.Mock(side_effect=lambda *_, value=value, **__: copy(value)))
            )
        # A page is served until Ctrl-C, which nobody presses here.
        stack.enter_context(mock.patch("propriety.explore.server.serve", _served))
        stack.enter_context(mock.patch("propriety.cli.explore.webbrowser.open"))
        result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{arguments} raised") from result.exception
    assert result.exit_code in CODES, (result.exit_code, arguments)
    assert "Traceback" not in result.output, arguments
    if machines and not {"-h", "--help"} & set(arguments):
        json.loads(result.stdout, parse_constant=_refuse)
    return result.exit_code


def _served(explorer: object, listening: Any) -> None:
    listening.close()


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def prepare(folder: Path) -> None:
    """Write what commands read: a table and a model."""
    from samples import columns, write
    from typer.testing import CliRunner

    from propriety.cli.app import app

    table = write(folder / "t.csv", columns(60))
    given = ["fit", table, "--target", "sick", "--model", "linear", "--save", folder / "m.propriety"]
    result = CliRunner().invoke(app, [*map(str, given), "--folds", "2"])
    assert result.exit_code == 0, result.output


def words() -> list[str]:
    """What arguments are made of: every option of every command, names of files and columns, odd values."""
    from typer.main import get_command

    from propriety.cli.app import app

    options = [o for c in get_command(app).commands.values() for p in c.loaded.params for o in p.opts]
    return [*dict.fromkeys(o for o in options if o.startswith("-")), *VALUES]
