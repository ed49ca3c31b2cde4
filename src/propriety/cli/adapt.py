"""``propriety adapt``: a model with probabilities for another population."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import Output, UsageError
from propriety.cli.paths import check_outputs
from propriety.cli.predict import ModelArgument, load_model
from propriety.model.seen import RowsAsked
from propriety.tables import TableModel


@command
def adapt_command(
    model_path: ModelArgument,
    table: Annotated[
        str | None, typer.Argument(help="New rows, with labels or without; not needed with --prevalence.")
    ] = None,
    *,
    save: Annotated[str, typer.Option("--save", "-o", help="Where to write the adapted model.")],
    prevalence: Annotated[
        str | None,
        typer.Option(help="Share of the positive class, such as 0.02; a=0.2,b=0.3,c=0.5 of several."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            help="Rows of the old population that the model was not fitted to, to test whether shares alone "
            "explain the new rows."
        ),
    ] = None,
    use_labels: Annotated[
        bool, typer.Option("--labels/--no-labels", help="Whether to use labels, where the table has them.")
    ] = True,
    opening: o.Opening,
    telling: o.Telling,
) -> None:
    """Write a copy of a model with probabilities for another population.

    Give the known share of the positive class, or new rows. Of rows without labels the shares are estimated
    by maximum likelihood; this and --prevalence are right where only the shares differ, not what rows of a
    class look like. Of rows with labels, few will do, the shift and the slope of the log-odds are estimated,
    with priors about no change.

    \b
    Examples:
      propriety adapt loans.propriety --prevalence 0.02 --save adapted.propriety
      propriety adapt loans.propriety new.csv --no-labels --reference held_out.csv --save adapted.propriety
      propriety adapt loans.propriety labelled.csv --save adapted.propriety
    """  # noqa: D301
    if (prevalence is None) == (table is None):
        raise UsageError("give either --prevalence, or a table of new rows")
    if reference is not None and table is None:
        raise UsageError("--reference is for new rows, and there are none")
    inputs = {"model": model_path, "table": table, "reference": reference}
    check_outputs({"--save": save}, {name: path for name, path in inputs.items() if path is not None})
    out, model = telling.output, load_model(model_path)
    shares = labels = rows = old = None
    if table is None:
        of_classes = o.prevalence_of(prevalence, model.classes_.tolist())
        shares = dict(zip(model.classes_.tolist(), of_classes.tolist(), strict=True))
    else:
        with opening.open(table) as source:
            model.check(source.column_names)
            rows = source.read()
        if use_labels and model.target.name in rows.column_names:
            codes, known = model.target.codes(rows.column(model.target.name), model.columns.missing)
            if known.any():
                places = np.flatnonzero(known)
                rows, labels = rows.take(places), model.classes_[codes[places]]
                _warn_of_old(out, model, rows)
    if labels is not None and reference is not None:
        raise UsageError("--reference is for rows without labels: leave it out, or add --no-labels")
    if reference is not None:
        with opening.open(reference) as source:
            old = source.read()
    try:
        adapted = model.adapt(rows, labels, prevalence=shares, reference=old)
    except ValueError as error:
        raise UsageError(str(error)) from None
    found = adapted.estimator.adaptation_
    assert found is not None
    adapted = replace(adapted, summary=adapted.summary | {"adapted": found.text, "adapted_after": True})
    adapted.save(save)
    out.say(f"probabilities adapted: {found.text}", "bold")
    if found.p_value is not None and found.p_value < 0.01:
        out.warn(
            "the new rows differ by more than the shares of the classes: adapt to rows with labels, or fit "
            "the model to new rows"
        )
    out.say(f"Model written to {save}")
    named = model.classes_.tolist()
    out.result(
        {
            "command": "adapt",
            "saved": save,
            "text": found.text,
            "slope": found.slope,
            "shifts": dict(zip(named, found.shifts, strict=True)),
            "shares": None if found.shares is None else dict(zip(named, found.shares, strict=True)),
            "intervals": None if found.intervals is None else dict(zip(named, found.intervals, strict=True)),
            "p_value": found.p_value,
        }
    )


def _warn_of_old(out: Output, model: TableModel, rows: pa.Table) -> None:
    """Warn of rows that the model was fitted to: their labels say nothing about its probabilities."""
    asked = RowsAsked(model.estimator)
    asked.add(model.features(rows)[0])
    seen = asked.answer
    if seen is not None and seen.some:
        share = "these rows" if seen.share == 1 else f"about {seen.share:.0%} of these rows"
        out.warn(f"the model was fitted to {share}: give rows that it has not seen")
