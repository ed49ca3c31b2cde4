"""``propriety explain``: what a model is, and why it decides as it does on one row."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from propriety.cli import options as o
from propriety.cli.output import Output, UsageError, command, shown
from propriety.cli.predict import ModelPath, load_model
from propriety.tables import TableError, TableModel
from propriety.tables.conversion import as_text


@command
def explain_command(
    model_path: ModelPath,
    table: Annotated[
        str | None, typer.Argument(help="The table with the row; without it the model itself is described.")
    ] = None,
    row: Annotated[
        int, typer.Option("--row", "-n", help="Which row, the first after the header being 1.")
    ] = 1,
    format_: o.Format = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    sheet: o.Sheet = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Say what a model is, or why it decides as it does on one row of a table.

    What the columns add up to is the score, and the link of the loss makes a probability of it. For boosting
    the parts are Shapley values, for a linear model coefficient times distance from the mean, for a tree what
    each split changes; a tree and rules also say which rules the row meets.

    \b
    Examples:
      propriety explain loans.propriety
      propriety explain loans.propriety new.csv --row 17
    """  # noqa: D301
    out = Output(as_json=as_json, quiet=quiet)
    model = load_model(model_path)
    if table is None:
        describe(out, model)
        return
    if row < 1:
        raise UsageError(f"--row counts from 1, got {row}")
    with o.Reading(format_, delimiter, encoding, no_header, sheet).open(table) as source:
        model.columns.check(source.column_names)
        one = find_row(source, row)
    explain_row(out, model, one, row)


def find_row(source: Any, row: int) -> Any:
    """The row as a table of one; only the pieces before it are read."""
    before = 0
    for chunk in source.chunks:
        if before + chunk.num_rows >= row:
            return chunk.slice(row - 1 - before, 1)
        before += chunk.num_rows
    raise TableError(f"{source.name} has {before} rows, so there is no row {row}")


def explain_row(out: Output, model: TableModel, one: Any, row: int) -> None:
    """Show the decision on a row and what led to it."""
    p = float(model.predict_proba(one)[0, 1])
    yes, (alarm, miss) = p >= model.threshold, model.costs
    decision = model.classes_[int(yes)]
    out.say(f"row {row}: probability of {model.target.positive!r} {p:.4g}", "bold")
    out.say(
        f"decided {decision!s}, since {p:.4g} is {'at least' if yes else 'below'} {model.threshold:.4g}; "
        f"expected cost {(1 - p) * alarm if yes else p * miss:.4g}"
    )
    met = model.because(one)
    for rule in met:
        out.say(f"  because: {rule}")
    values = {c.name: as_text(one.column(c.name))[0].as_py() for c in model.columns.columns}
    parts, base = model.contributions(one)
    found = sorted(zip(model.columns.names, parts[0], strict=True), key=lambda pair: -abs(pair[1]))
    rows = [
        (name, values[name] if values[name] is not None else "missing", float(part)) for name, part in found
    ]
    title = f"What the columns add to the score {parts[0].sum() + base:.4g} (of no column: {base:.4g})"
    out.table(title, ("column", "value", "adds"), rows[:25])
    out.result(
        {
            "command": "explain",
            "row": row,
            "probability": p,
            "decision": str(decision),
            "threshold": model.threshold,
            "score": float(parts[0].sum() + base),
            "base_score": base,
            "contributions": {name: float(part) for name, part in found},
            "values": values,
            "because": met,
        }
    )


def describe(out: Output, model: TableModel) -> None:
    """Show what a model file holds."""
    alarm, miss = model.costs
    facts = {
        "model": type(model.estimator).__name__,
        "loss": model.summary.get("loss", ""),
        "target": f"{model.target.name!r}, positive is {model.target.positive!r}",
        "costs": f"false alarm {alarm:g}, miss {miss:g}",
        "decides from": model.threshold,
    }
    facts |= {
        k: model.summary[k]
        for k in ("table", "rows", "positives", "judged_by", "command")
        if k in model.summary
    }
    judged = model.summary.get("judgement", {})
    if "cost_per_1000" in judged:
        facts["cost of 1,000 decisions"] = (
            f"{judged['cost_per_1000']:.1f} ({judged['cost_low']:.0f} – {judged['cost_high']:.0f})"
        )
    out.table("Model", ("", ""), [(k, shown(v)) for k, v in facts.items()])
    weights = model.importances()
    order = np.argsort(-weights)
    kinds = [c.kind for c in model.columns.columns]
    rows = [(model.columns.names[i], kinds[i], float(weights[i])) for i in order]
    out.table("Columns, by what they count", ("column", "kind", "share"), rows[:40])
    out.result(
        {
            "command": "explain",
            **facts,
            "importances": {name: w for name, _, w in rows},
            "summary": model.summary,
        }
    )
