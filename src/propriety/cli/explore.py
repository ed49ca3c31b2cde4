"""``propriety explore``: a page on this machine to shape a loss, and to see what it does to models."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.loading import load_table, show_table
from propriety.cli.output import UsageError
from propriety.costs import ResolvedCosts


@command
def explore_command(
    table: Annotated[
        str | None, typer.Argument(help="A table to try losses on; two datasets are built in.")
    ] = None,
    *,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column to predict.")] = None,
    positive: Annotated[str | None, typer.Option(help="Positive class; inferred by default.")] = None,
    fp_cost: Annotated[
        float | None, typer.Option(help="Cost of a false alarm; sets the initial threshold.")
    ] = None,
    fn_cost: Annotated[float | None, typer.Option(help="Cost of a miss.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to serve on; by default 8777, or any free one.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    jobs: o.JobsOption = None,
    opening: o.Opening,
    meaning: o.Meaning,
    telling: o.Telling,
) -> None:
    """Design a loss in the browser: its weight, properties, code and effect on models.

    The page is served to this machine only, until Ctrl-C. It needs the extra "explore".

    \b
    Examples:
      propriety explore
      propriety explore loans.csv --target default --fp-cost 1 --fn-cost 9
    """  # noqa: D301
    try:
        from propriety.explore import datasets, server
    except ImportError as error:
        raise UsageError(
            f'explore needs {error.name}, which is not installed: pip install "propriety[explore]"'
        ) from None
    costs = _costs(fp_cost, fn_cost)
    if (table is None) != (target is None):
        raise UsageError("give a table and its --target, or neither")
    out, data = telling.output, datasets.built_in()
    if table is not None and target is not None:
        read = load_table(table, opening, meaning, target, o.Asking(positive=positive), jobs=jobs)
        if len(read.classes) != 2:
            raise UsageError(
                f"explore is for two classes, and {target!r} has {len(read.classes)}: say by --positive "
                f"which of {', '.join(map(repr, read.classes))} is the one that can be missed"
            )
        show_table(out, read, brief=True)
        data = (datasets.of_table(Path(read.source.name).name, read.frame, read.y, read.classes[1]), *data)
    try:
        explorer = server.Explorer(data, **costs, n_jobs=jobs)
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        listening = server.listen(port)
    except OSError as error:
        raise UsageError(f"port {port} cannot be used ({error.strerror}): give another with --port") from None
    where = server.address(listening)
    out.say(f"The loss explorer is at {where} (this machine only). Ctrl-C ends it.")
    out.result({"command": "explore", "address": where})
    out.console.file.flush()
    if browser:
        # Some browsers run in the terminal and come back when they are closed.
        threading.Thread(target=webbrowser.open, args=(where,), daemon=True).start()
    server.serve(explorer, listening)
    out.say("Ended.")


def _costs(fp_cost: float | None, fn_cost: float | None) -> dict[str, float]:
    """Costs that were given, a missing one being 1; nothing if neither was."""
    if fp_cost is None and fn_cost is None:
        return {}
    given = {"fp_cost": 1.0 if fp_cost is None else fp_cost, "fn_cost": 1.0 if fn_cost is None else fn_cost}
    ResolvedCosts.of_mistakes(given["fp_cost"], given["fn_cost"])
    return given
