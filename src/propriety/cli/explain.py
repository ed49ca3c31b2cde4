"""``propriety explain``: what a model is, and why it decides as it does on one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import Output, UsageError, shown
from propriety.cli.predict import ModelArgument, load_model
from propriety.cli.words import in_words, stated_by
from propriety.evaluation.flips import Flip, nearest_flip
from propriety.formatting import aligned, loss_text
from propriety.model.reasons import points_of
from propriety.tables import TableCosts, TableError, TableModel
from propriety.tables.conversion import as_text
from propriety.tables.errors import no_such_column
from propriety.weights import Estimate

_LINES = 60  # of a model in words
_POOL = 1000  # rows to compare with
#: What the score of no column is, by the kind of model.
_BASE = "the mean score of the training rows"
_BASES = {
    "LinearClassifier": "the score of a row with every column at its training mean",
    "TreeClassifier": "the score of all training rows together, at the root",
    "ForestClassifier": "the score of all training rows together, at the roots",
    "AutoClassifier": "the weighted mean of the bases of its members",
}
#: Facts of the training: their keys in the file, and their names.
_FACTS = {
    "table": "table",
    "rows": "rows",
    "positives": "positives",
    "classes": "classes",
    "judged_by": "evaluated by",
    "adapted": "adapted",
    "budget": "budget",
    "command": "command",
}


@command
def explain_command(
    model_path: ModelArgument,
    table: Annotated[
        str | None, typer.Argument(help="The table with the row; without it, the model is described.")
    ] = None,
    *,
    row: Annotated[
        int, typer.Option("--row", "-n", help="Number of the row; the first after the header is 1.")
    ] = 1,
    actionable: o.ActionableOption = None,
    reference: Annotated[
        str | None,
        typer.Option(help="Rows to compare with; by default the first 1,000 of the same table."),
    ] = None,
    opening: o.Opening,
    telling: o.Telling,
) -> None:
    """Describe a model, or explain its decision on one row of a table.

    The contributions of the columns add up to the score, which the link turns into a probability. They are
    Shapley values for boosting, coefficient times distance from the mean for a linear model, and the change
    at each split for a tree. Trees and rules also show the rules that the row meets. Points are contributions
    to the score of the decision, less their average over the rows decided otherwise: a refused row is
    compared with the approved ones. A counterfactual is the smallest change of actionable columns that
    reverses the decision.

    \b
    Examples:
      propriety explain loans.propriety
      propriety explain loans.propriety new.csv --row 17
      propriety explain loans.propriety new.csv --row 17 --actionable amount,duration --reference loans.csv
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
        one, others = find_row(source, row, 0 if reference else _POOL)
    if reference is not None:
        with opening.open(reference) as source:
            model.check(source.column_names)
            others = find_row(source, 1, _POOL)[1]
    for name in actionable or ():
        if name not in model.columns.names:
            raise no_such_column(name, list(model.columns.names))
    explain_row(out, model, one, row, others, actionable)


def find_row(source: Any, row: int, n_others: int) -> tuple[Any, Any]:
    """The row as a table of one, and the first rows; only the pieces that have them are read."""
    before, one, first = 0, None, []
    for chunk in source.chunks:
        if before < n_others:
            first.append(chunk.slice(0, n_others - before))
        if one is None and before + chunk.num_rows >= row:
            one = chunk.slice(row - 1 - before, 1)
        before += chunk.num_rows
        if one is not None and before >= n_others:
            break
    if one is None:
        raise TableError(f"{source.name} has {before} rows, so there is no row {row}")
    return one, pa.concat_tables(first) if first else one


def explain_row(
    out: Output, model: TableModel, one: Any, row: int, others: Any, actionable: Sequence[str] | None
) -> None:
    """Show the decision on a row, what led to it, and what would change it."""
    P, costs = model.predict_proba(one), model.costs_for(one, row)
    decided = int(costs.decide(P)[0])
    two = len(model.classes_) == 2
    # The score that is taken apart: of two classes that of the positive, else that of the class decided.
    explained = 1 if two else decided if decided < len(model.classes_) else int(np.argmax(P[0]))
    label, p = str(model.classes_[explained]), float(P[0, explained])
    out.say(f"row {row}: probability of {label!r} {_chance(p)}", "bold")
    threshold = _say_decision(out, model, costs, P, decided)
    rules = model.words(one)[0]
    for rule in rules:
        out.say(f"  because: {rule}")
    values = {c.name: as_text(one.column(c.name))[0].as_py() for c in model.columns.columns}
    parts = _parts(out, model, one, row, others, explained, values)
    turned = None
    if threshold is not None:
        turned = _turned(model, one, row, others, threshold, actionable)
        _say_turned(out, turned, str(model.decisions[1 - decided]), label, actionable)
    out.result(
        {
            "command": "explain",
            "row": row,
            "class": label,
            "probability": p,
            "probabilities": dict(zip(model.classes_.tolist(), P[0].tolist(), strict=True)),
            "decision": str(model.decisions[decided]),
            "threshold": threshold,
            "expected_costs": dict(zip(model.decisions.tolist(), costs.expected(P)[0].tolist(), strict=True)),
            **parts,
            "values": values,
            "because": rules,
            "counterfactual": None
            if turned is None
            else {"changes": turned.changes, "probability": turned.probability},
        }
    )


def _say_decision(out: Output, model: TableModel, costs: Any, P: Any, decided: int) -> float | None:
    """Say what is decided and why; returns the threshold, if there is one."""
    from propriety.study.numbers import number

    decision, expected = str(model.decisions[decided]), costs.expected(P)[0]
    if len(model.classes_) == 2 and not costs.abstains:
        p, threshold = float(P[0, 1]), float(np.ravel(costs.threshold)[0])
        out.say(
            f"decision: {decision!r}, {'at or above' if p >= threshold else 'below'} the threshold "
            f"{number(threshold)}; expected cost {number(expected[decided])}"
        )
        return threshold
    out.say(f"decision: {decision!r}, which has the least expected cost")
    chances = [*map(float, P[0]), *[float("nan")] * costs.abstains]
    options = zip(model.decisions.tolist(), chances, expected.tolist(), strict=True)
    out.table("Possible decisions", ("decision", "probability", "expected cost"), list(options), best=decided)
    return None


def _parts(
    out: Output, model: TableModel, one: Any, row: int, others: Any, explained: int, values: dict[str, Any]
) -> dict[str, Any]:
    """Show what the columns add to the score, and their points against rows that are decided otherwise."""
    of_score = model.contributions(one)[0]
    *parts, base = (of_score if of_score.ndim == 1 else of_score[explained]).tolist()
    offset = model.offset_for(one, row)
    started = 0.0 if offset is None else float(offset[0])
    points, decided, n_held = points_of(model, one, others)
    decision, label = str(model.classes_[decided[0]]), str(model.classes_[explained])
    n = int(n_held[0])
    ranked = sorted(
        zip(model.columns.names, parts, points[0].tolist(), strict=True), key=lambda row: -abs(row[1])
    )
    shown = [(name, "missing" if values[name] is None else values[name], *rest) for name, *rest in ranked]
    shown = [row for row in shown if any(row[2:])] or shown
    score = sum(parts) + base + started
    start = f"base {base:.3f}" + ("" if offset is None else f", offset {started:.3f}")
    title = f"Contributions to the score of {label!r}: {score:.3f} in all, {start}"
    out.table(title, ("column", "value", "contribution", f"points for {decision!r}"), shown[:25])
    if len(shown) < len(ranked):
        out.say(f"Other columns, which contribute nothing: {len(ranked) - len(shown)}.")
    out.say(f"The base is {_BASES.get(type(model.estimator).__name__, _BASE)}.")
    against = f"the {n:,} of {others.num_rows:,} rows" if n else f"all {others.num_rows:,} rows, as none is"
    out.say(f"Points: contribution to {decision!r}, less its mean over {against} decided otherwise.")
    return {
        "score": score,
        "base_score": base,
        "offset": None if offset is None else started,
        "contributions": {name: part for name, part, _ in ranked},
        "points": {name: point for name, _, point in ranked},
        "compared_with": {"rows": others.num_rows, "decided_otherwise": n},
    }


def _turned(
    model: TableModel, one: Any, row: int, others: Any, threshold: float, actionable: Sequence[str] | None
) -> Flip | None:
    """The least change with which the model decides otherwise, by values of the other rows."""
    from propriety.study.columns import columns_of, table_of

    mine, frame = (model.columns.encode(table)[0] for table in (one, others))
    own, columns = columns_of(mine), columns_of(frame)
    columns = {name: np.concatenate([own[name], columns[name]]) for name in own}
    # The parts of a date cannot change one without the other.
    free = [name for name in model.columns.names if name in own and (not actionable or name in actionable)]
    offset = model.offset_for(one, row)

    def predict(changed: Any) -> Any:
        table = table_of(mine, changed)
        starting = {} if offset is None else {"offset": np.repeat(offset, table.num_rows)}
        X = table if model.numbers is None else model.numbers(table)
        return model.estimator.predict_proba(X, **starting)[:, 1]

    return nearest_flip(predict, columns, 0, threshold, allowed=free)


def _say_turned(
    out: Output, turned: Flip | None, otherwise: str, label: str, actionable: Sequence[str] | None
) -> None:
    """Say what would change the decision."""
    from propriety.study.flips import in_words_of

    if turned is None:
        of = f"columns {', '.join(actionable)}" if actionable else "at most three columns"
        out.say(f"No change of {of} was found that makes the decision {otherwise!r}.")
        return
    out.say(
        f"Counterfactual: {otherwise!r} with {in_words_of(turned)}, where the probability of {label!r} is "
        f"{_chance(turned.probability)}. This describes the model, not the effect of an intervention."
    )


def _chance(p: float) -> str:
    """A probability, not rounded to 0 or 1."""
    return "> 0.999" if p > 0.999 else "< 0.001" if p < 0.001 else f"{p:.3f}"


def describe(out: Output, model: TableModel) -> None:
    """Show what a model file holds."""
    target, stated = model.target, stated_by(model)
    several = ", ".join(map(repr, target.several))
    meaning = f"classes {several}" if several else f"positive class {target.positive!r}"
    facts: dict[str, Any] = {
        "model": type(model.estimator).__name__,
        "loss": loss_text(model.loss_),
        "target": f"{target.name!r}, {meaning}",
    }
    facts |= _facts_of_costs(model, stated)
    facts |= {} if model.offset is None else {"offset": model.offset.words}
    facts |= {name: model.summary[key] for key, name in _FACTS.items() if key in model.summary}
    judged = model.summary.get("judgement", {})
    if "cost_per_1000" in judged:
        cost, low, high = aligned([judged["cost_per_1000"], judged["cost_low"], judged["cost_high"]])
        facts["cost per 1,000 decisions"] = f"{cost} (95% CI {low} – {high})"
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
    out.table("Feature importance", ("column", "kind", "importance"), rows[:40])
    return {name: share for name, _, share in rows}


def _facts_of_costs(model: TableModel, stated: TableCosts) -> dict[str, Any]:
    """What decisions cost, and from when on the positive class is decided."""
    if model.has_row_costs:
        return {"costs": in_words(stated), "threshold": "one for each row"}
    if stated.matrix is not None:
        return {"costs": "cost matrix"}
    if len(model.classes_) > 2:
        return {"costs": "every mistake costs 1"}
    return {"costs": in_words(stated), "threshold": model.threshold}
