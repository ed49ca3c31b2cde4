"""The application: the commands, and the version."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from propriety.cli.commands import CommandGroup, LazyCommand
from propriety.version import __version__

#: The commands, in the order of the help: the name, the module that has ``<name>_command``, which is imported
#: when the command runs, and the first sentence of its help.
COMMANDS = (
    (
        "demo",
        "propriety.cli.demo",
        "Show the main job on 569 tumours: fit for the costs of two mistakes, report, compare, "
        "decide, explain.",
    ),
    (
        "fit",
        "propriety.cli.fit",
        "Fit a model to a table for the costs of its mistakes, and judge it on rows it has not seen.",
    ),
    (
        "predict",
        "propriety.cli.predict",
        "Add probability, decision and expected cost to each row of a table.",
    ),
    (
        "compare",
        "propriety.cli.compare",
        "Compare models by the cost of their decisions: ours, and others' if they are installed.",
    ),
    (
        "validate",
        "propriety.cli.validate",
        "Judge a column of scores that is ready, whatever made it, by the costs of its decisions.",
    ),
    (
        "monitor",
        "propriety.cli.monitor",
        "Hold new rows against what a model remembers of its training rows: drift, and with labels the cost.",
    ),
    (
        "adapt",
        "propriety.cli.adapt",
        "Write a copy of a model with probabilities for another population.",
    ),
    (
        "explain",
        "propriety.cli.explain",
        "Say what a model is, or why it decides as it does on one row of a table.",
    ),
    ("export", "propriety.cli.export", "Write a model in a language that other programs read."),
    ("losses", "propriety.cli.losses_command", "List the losses, describe one, or compare several."),
    (
        "explore",
        "propriety.cli.explore",
        "Shape a loss on a page and see every face of it, its properties, its code and what models "
        "make of it.",
    ),
    (
        "warm",
        "propriety.cli.warm",
        "Compile every kernel once and keep the result on disk, for an image of a container or a new "
        "machine.",
    ),
)


class Commands(CommandGroup):
    """The commands of `COMMANDS`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = {row[0]: LazyCommand(*row) for row in COMMANDS}


app = typer.Typer(
    name="propriety",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Classifiers for the mistakes that matter: say what a false alarm and a miss cost, and get a model, "
    "its probabilities and its decisions.",
    epilog="Exit codes: 0 done, 1 a change that monitor found, 2 wrong usage, 3 a table that cannot be used, "
    "4 a model file that cannot be used, 5 a file that cannot be read or written, 130 interrupted, 143 "
    "terminated. Completion for your shell: propriety --install-completion",
)


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
