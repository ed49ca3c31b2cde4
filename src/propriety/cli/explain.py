"""``propriety explain``: what a model is, and why it decides as it does on one row."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import Output, UsageError, shown
from propriety.cli.predict import ModelArgument, load_model
from propriety.tables import TableError, TableModel
from propriety.tables.conversion import as_text


@command
def explain_command(
    model_path: ModelArgument,
    table: Annotated[
        str | None, typer.Argument(help="The table with the row; without it the model itself is described.")
    ] = None,
    *,
    row: Annotated[
        int, typer.Option("--row", "-n", help="Which row, the first after the header being 1.")
    ] = 1,
    opening: o.Opening,
    telling: o.Telling,
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
    out = telling.output
    model = load_model(model_path)
    if table is None:
        describe(out, model)
        return
    if row < 1:
        raise UsageError(f"--row counts from 1, got {row}")
    with opening.open(table) as source:
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
    P = model.predict_proba(one)
    p, decided = float(P[0, 1]), int(model.costs.decide(P)[0])
    decision = str(model.classes_[decided])
    out.say(f"row {row}: probability of {model.target.positive!r} {p:.4g}", "bold")
    out.say(
        f"decided {decision}, since {p:.4g} is {'at least' if decided else 'below'} {model.threshold:.4g}; "
        f"expected cost {model.costs.expected(P)[0, decided]:.4g}"
    )
    rules = model.words(one)[0]
    for rule in rules:
        out.say(f"  because: {rule}")
    values = {c.name: as_text(one.column(c.name))[0].as_py() for c in model.columns.columns}
    *parts, base = model.contributions(one)[0].tolist()
    score = sum(parts) + base
    ranked = sorted(zip(model.columns.names, parts, strict=True), key=lambda pair: -abs(pair[1]))
    rows = [(name, values[name] if values[name] is not None else "missing", part) for name, part in ranked]
    title = f"What the columns add to the score {score:.4g} (of no column: {base:.4g})"
    out.table(title, ("column", "value", "adds"), rows[:25])
    out.result(
        {
            "command": "explain",
            "row": row,
            "probability": p,
            "decision": decision,
            "threshold": model.threshold,
            "score": score,
            "base_score": base,
            "contributions": dict(ranked),
            "values": values,
            "because": rules,
        }
    )


def describe(out: Output, model: TableModel) -> None:
    """Show what a model file holds."""
    facts: dict[str, Any] = {
        "model": type(model.estimator).__name__,
        "loss": repr(model.loss_),
        "target": f"{model.target.name!r}, positive is {model.target.positive!r}",
        "costs": f"false alarm {model.costs.fp_cost:g}, miss {model.costs.fn_cost:g}",
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
    shares = model.importances()
    columns = model.columns.columns
    rows = [(columns[i].name, columns[i].kind, float(shares[i])) for i in np.argsort(-shares)]
    out.table("Columns, by what they count", ("column", "kind", "share"), rows[:40])
    out.result(
        {
            "command": "explain",
            **facts,
            "importances": {name: share for name, _, share in rows},
            "summary": model.summary,
        }
    )
