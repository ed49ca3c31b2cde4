"""The application: the commands, and the version."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from propriety.cli.commands import Commands
from propriety.version import __version__

#: The commands, in the order of the help: the name, and the module that has ``<name>_command``.
COMMANDS = (
    ("demo", "propriety.cli.demo"),
    ("fit", "propriety.cli.fit"),
    ("predict", "propriety.cli.predict"),
    ("compare", "propriety.cli.compare"),
    ("explain", "propriety.cli.explain"),
    ("export", "propriety.cli.export"),
    ("losses", "propriety.cli.losses_command"),
    ("explore", "propriety.cli.explore"),
    ("bench", "propriety.cli.bench"),
    ("warm", "propriety.cli.warm"),
)

app = typer.Typer(
    name="propriety",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Classifiers for the mistakes that matter: say what a false alarm and a miss cost, and get a model, "
    "its probabilities and its decisions.",
    epilog="Exit codes: 0 done, 2 wrong usage, 3 a table that cannot be used, 4 a model file that cannot be "
    "used, 5 a file that cannot be read or written, 130 interrupted, 143 terminated. Completion for "
    "your shell: propriety --install-completion",
)
for _name, _module in COMMANDS:
    app.command(_name)(getattr(import_module(_module), f"{_name}_command"))


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"propriety {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Classifiers for the mistakes that matter."""
