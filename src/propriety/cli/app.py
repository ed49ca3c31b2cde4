"""The application: one command each, and the version."""

from __future__ import annotations

from typing import Annotated

import typer

from propriety import __version__
from propriety.cli.bench import bench_command
from propriety.cli.compare import compare_command
from propriety.cli.demo import demo_command
from propriety.cli.explain import explain_command
from propriety.cli.fit import fit_command
from propriety.cli.losses_command import losses_command
from propriety.cli.predict import predict_command

app = typer.Typer(
    name="propriety",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Classifiers for the mistakes that matter: say what a false alarm and a miss cost, and get a model, "
    "its probabilities and its decisions.",
    epilog="Exit codes: 0 done, 2 wrong use, 3 a table that cannot be used, 4 a model file that cannot be "
    "used, 5 a file that cannot be read or written, 130 interrupted. Completion for your shell: "
    "propriety --install-completion",
)
app.command("demo")(demo_command)
app.command("fit")(fit_command)
app.command("predict")(predict_command)
app.command("compare")(compare_command)
app.command("explain")(explain_command)
app.command("losses")(losses_command)
app.command("bench")(bench_command)


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
