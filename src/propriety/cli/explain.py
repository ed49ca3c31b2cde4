"""``propriety explain``: what a model is, and why it decides as it does on one row."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import Output, UsageError, shown
from propriety.cli.predict import ModelArgument, load_model
from propriety.cli.words import in_words, stated_by
from propriety.tables import TableCosts, TableError, TableModel
from propriety.tables.conversion import as_text
from propriety.weights import Estimate

_LINES = 60  # of a model in words


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
        model.check(source.column_names)
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
    P, costs = model.predict_proba(one), model.costs_for(one, row)
    decided = int(costs.decide(P)[0])
    expected = costs.expected(P)[0]
    decision = str(model.decisions[decided])
    two = len(model.classes_) == 2
    # The score that is taken apart: of two classes that of the positive, else that of the class decided.
    explained = 1 if two else decided if decided < len(model.classes_) else int(np.argmax(P[0]))
    label, p = str(model.classes_[explained]), float(P[0, explained])
    out.say(f"row {row}: probability of {label!r} {p:.4g}", "bold")
    threshold = float(np.ravel(costs.threshold)[0]) if two and not costs.abstains else None
    if threshold is not None:
        out.say(
            f"decided {decision}, since {p:.4g} is {'at least' if decided else 'below'} {threshold:.4g}; "
            f"expected cost {expected[decided]:.4g}"
        )
    else:
        out.say(f"decided {decision}, whose expected cost is the least")
        chances = [*map(float, P[0]), *[float("nan")] * costs.abstains]
        options = zip(model.decisions.tolist(), chances, expected.tolist(), strict=True)
        out.table(
            "What may be decided", ("decision", "probability", "expected cost"), list(options), best=decided
        )
    rules = model.words(one)[0]
    for rule in rules:
        out.say(f"  because: {rule}")
    values = {c.name: as_text(one.column(c.name))[0].as_py() for c in model.columns.columns}
    of_score = model.contributions(one)[0]
    *parts, base = (of_score if of_score.ndim == 1 else of_score[explained]).tolist()
    offset = model.offset_for(one, row)
    started = 0.0 if offset is None else float(offset[0])
    score = sum(parts) + base + started
    ranked = sorted(zip(model.columns.names, parts, strict=True), key=lambda pair: -abs(pair[1]))
    rows = [(name, values[name] if values[name] is not None else "missing", part) for name, part in ranked]
    start = f"without columns: {base:.4g}" + ("" if offset is None else f", from the offset: {started:.4g}")
    title = f"What the columns add to the score of {label!r}, {score:.4g} ({start})"
    out.table(title, ("column", "value", "adds"), rows[:25])
    out.result(
        {
            "command": "explain",
            "row": row,
            "class": label,
            "probability": p,
            "probabilities": dict(zip(model.classes_.tolist(), P[0].tolist(), strict=True)),
            "decision": decision,
            "threshold": threshold,
            "expected_costs": dict(zip(model.decisions.tolist(), expected.tolist(), strict=True)),
            "score": score,
            "base_score": base,
            "offset": None if offset is None else started,
            "contributions": dict(ranked),
            "values": values,
            "because": rules,
        }
    )


def describe(out: Output, model: TableModel) -> None:
    """Show what a model file holds."""
    target, stated = model.target, stated_by(model)
    meaning = ", ".join(map(repr, target.several)) if target.several else f"positive is {target.positive!r}"
    facts: dict[str, Any] = {
        "model": type(model.estimator).__name__,
        "loss": repr(model.loss_),
        "target": f"{target.name!r}, {meaning}",
    }
    facts |= _facts_of_costs(model, stated)
    facts |= {} if model.offset is None else {"offset": model.offset.words}
    known = ("table", "rows", "positives", "classes", "judged_by", "budget", "command")
    facts |= {k: model.summary[k] for k in known if k in model.summary}
    judged = model.summary.get("judgement", {})
    if "cost_per_1000" in judged:
        facts["cost of 1,000 decisions"] = (
            f"{shown(judged['cost_per_1000'])} ({judged['cost_low']:,.0f} – {judged['cost_high']:,.0f})"
        )
    out.table("Model", ("", ""), [(k, shown(v)) for k, v in facts.items()])
    if stated.matrix is not None:
        decided = [f"decided {label}" for label in model.decisions]
        of_labels = zip(stated.matrix.labels, stated.matrix.values.tolist(), strict=True)
        out.table("Costs", ("", *decided), [(f"is {label}", *row) for label, row in of_labels])
    importances = _importances(out, model)
    text = model.export_text()
    if text:
        out.say("\nThe model in words", "bold")
        out.say(shortened(text))
    out.result(
        {
            "command": "explain",
            **facts,
            "stated_costs": stated.document(),
            "importances": importances,
            "text": text,
            "summary": model.summary,
        }
    )


def shortened(text: str, most: int = _LINES) -> str:
    """The first lines of a text, and how many more there are.

    >>> print(shortened("a" + chr(10) + "b" + chr(10) + "c", 2))
    a
    b
    … and 1 line more: --json has all
    """
    lines = text.splitlines()
    more = len(lines) - most
    rest = [f"… and {more} line{'' if more == 1 else 's'} more: --json has all"] if more > 0 else []
    return "\n".join([*lines[:most], *rest])


def _importances(out: Output, model: TableModel) -> dict[str, float]:
    """What the columns count for: as it was measured on rows that judged, or by the model's own account."""
    measured = model.summary.get("importances")
    if measured:
        from propriety.cli.study import show_importances

        show_importances(out, {name: Estimate(*ends) for name, ends in measured.items()}, most=40)
        return {name: value for name, (value, _, _) in measured.items()}
    shares, columns = model.importances(), model.columns.columns
    rows = [(columns[i].name, columns[i].kind, float(shares[i])) for i in np.argsort(-shares)]
    out.table("Columns, by what they count in the model", ("column", "kind", "share"), rows[:40])
    return {name: share for name, _, share in rows}


def _facts_of_costs(model: TableModel, stated: TableCosts) -> dict[str, Any]:
    """What decisions cost, and from when on the positive class is decided."""
    if model.has_row_costs:
        return {"costs": in_words(stated), "decides from": "a threshold of each row"}
    if stated.matrix is not None:
        return {"costs": "a matrix, cost[true, decided]"}
    if len(model.classes_) > 2:
        return {"costs": "every mistake costs 1"}
    return {"costs": in_words(stated), "decides from": model.threshold}
