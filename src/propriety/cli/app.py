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
        "Demonstrate fit, compare, predict and explain on a dataset of 569 tumours.",
    ),
    (
        "fit",
        "propriety.cli.fit",
        "Fit a model to a table for the costs of its mistakes, and evaluate it on unseen rows.",
    ),
    (
        "predict",
        "propriety.cli.predict",
        "Add probability, decision and expected cost to each row of a table.",
    ),
    (
        "compare",
        "propriety.cli.compare",
        "Compare models, also from other packages, by the cost of their decisions.",
    ),
    (
        "validate",
        "propriety.cli.validate",
        "Evaluate a column of existing scores, from any model, by the costs of its decisions.",
    ),
    (
        "monitor",
        "propriety.cli.monitor",
        "Compare new rows with the training data of a model: drift and, with labels, cost.",
    ),
    (
        "adapt",
        "propriety.cli.adapt",
        "Write a copy of a model with probabilities for another population.",
    ),
    (
        "explain",
        "propriety.cli.explain",
        "Describe a model, or explain its decision on one row of a table.",
    ),
    ("export", "propriety.cli.export", "Export a model as ONNX or SQL."),
    ("losses", "propriety.cli.losses_command", "List the losses, describe one, or compare several."),
    (
        "explore",
        "propriety.cli.explore",
        "Design a loss in the browser: its weight, properties, code and effect on models.",
    ),
    (
        "warm",
        "propriety.cli.warm",
        "Compile all kernels in advance, for a container image or a new machine.",
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
    help="Classification when mistakes differ in cost: state what a false alarm and a miss cost, and get a "
    "model, calibrated probabilities and decisions.",
    epilog="Exit codes: 0 success, 1 change found by monitor, 2 usage error, 3 unusable table, 4 "
    "unusable model "
    "file, 5 input or output error, 130 interrupted, 143 terminated. Shell completion for your "
    "shell: propriety --install-completion",
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
    """Classification when mistakes differ in cost."""
