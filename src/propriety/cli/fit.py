"""``propriety fit``: from a table to a judged model."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from propriety.cli import options as o
from propriety.cli.judging import Judgement, Split, choose, constant, judge, split_rows
from propriety.cli.output import Output, UsageError, command
from propriety.cli.recipes import RECIPES, Fitted, Order, Recipe, fit, named
from propriety.cli.reporting import check_can_report, report_of
from propriety.tables import Findings, Overrides, Source, TableError, TableModel, infer
from propriety.tables.conversion import as_number
from propriety.tables.errors import no_such_column

AUTO = ("linear", "tree", "boosting")
_SHOWN = 30  # columns in the table of columns


@dataclass(frozen=True)
class Data:
    """A table that was read: what was found in it, its features, labels and weights."""

    source: Source
    findings: Findings
    frame: Any
    y: NDArray[np.bool_]
    weight: NDArray[np.float64] | None


@dataclass(frozen=True)
class Study:
    """A model with everything that is known of it: what a report is written from."""

    model: TableModel
    data: Data
    order: Order
    recipe: Recipe
    split: Split
    judgement: Judgement
    baselines: tuple[Judgement, ...]
    verdict: str


@command
def fit_command(
    table: o.Table,
    target: o.Target,
    positive: o.Positive = None,
    fp_cost: o.FpCost = 1.0,
    fn_cost: o.FnCost = 1.0,
    loss: o.Loss = None,
    search: Annotated[
        bool, typer.Option("--search", help="Choose the loss by cross-validated cost.")
    ] = False,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            help="boosting, linear, tree, rules, or auto: the best of linear, tree and boosting.",
        ),
    ] = "boosting",
    save: Annotated[str | None, typer.Option("--save", "-o", help="Where to write the model file.")] = None,
    report: Annotated[
        str | None, typer.Option("--report", help="Where to write a report, one HTML page for people.")
    ] = None,
    holdout: o.Holdout = None,
    folds: o.Folds = None,
    weight: o.Weight = None,
    settings: o.Settings = None,
    format_: o.Format = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    sheet: o.Sheet = None,
    missing: o.Missing = None,
    decimal: o.Decimal = None,
    numeric: o.Numeric = None,
    category: o.Category = None,
    date: o.Date = None,
    drop: o.Drop = None,
    keep: o.Keep = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Fit a model to a table for the costs of its mistakes, and judge it on rows it has not seen.

    Kinds of columns, missing values, dates and the positive class are worked out and shown; each can be said
    instead.

    \b
    Examples:
      propriety fit loans.csv --target default --fp-cost 1 --fn-cost 9 --save loans.propriety
      propriety fit loans.parquet -t default --model auto --folds 10 --report loans.html
      propriety fit loans.csv -t default --loss 'Beta(6, 14)' --model linear
      zcat loans.csv.gz | propriety fit - -t default --json
    """  # noqa: D301
    out = Output(as_json=as_json, quiet=quiet)
    o.check_costs(fp_cost, fn_cost)
    order = Order(fp_cost, fn_cost, o.check_loss(loss), seed, jobs, o.settings(settings))
    recipes = candidates(model)
    if search and loss is not None:
        raise UsageError("give --loss or --search, not both")
    if report is not None:
        check_can_report()
    reading = o.Reading(format_, delimiter, encoding, no_header, sheet)
    said = o.overrides(numeric, category, date, drop, keep, missing, decimal)
    data = load_data(out, table, reading, target, positive, weight, said)
    study = run_study(out, data, order, recipes, search=search, folds=folds, holdout=holdout)
    show_study(out, study)
    if save is not None:
        study.model.save(save)
        out.say(f"\nModel written to {save}. Use it: propriety predict {shlex.quote(save)} TABLE")
    if report is not None:
        with out.progress("report", 2) as step:
            report_of(study, details, step).save(report)
        out.say(f"Report written to {report}: open it in a browser.")
    out.result(document(study, save) | {"report": report})


def candidates(model: str) -> list[Recipe]:
    """The recipes that ``--model`` stands for."""
    if model == "auto":
        return named([name for name in AUTO if name in RECIPES])
    ours = [name for name, recipe in RECIPES.items() if recipe.ours]
    if model not in ours:
        raise UsageError(f"--model must be one of {', '.join(ours)} or auto, got {model!r}")
    return named([model])


def load_data(
    out: Output,
    path: str,
    reading: o.Reading,
    target: str,
    positive: str | None,
    weight: str | None,
    said: Overrides,
    *,
    brief: bool = False,
) -> Data:
    """Read a table, work out its columns, and show what was found."""
    with reading.open(path) as source:
        if target not in source.column_names:
            raise no_such_column(target, source.column_names)
        table = source.read()
    findings = infer(table, target, positive=positive, overrides=said, weight=weight)
    if len(findings.rows) < table.num_rows:
        table = table.take(pa.array(findings.rows))
    weights = None if weight is None else _weights(table, weight)
    frame, _ = findings.columns.encode(table)
    data = Data(source, findings, frame, findings.positive, weights)
    show_data(out, data, brief=brief)
    return data


def _weights(table: Any, name: str) -> NDArray[np.float64]:
    if name not in table.column_names:
        raise no_such_column(name, table.column_names)
    try:
        values = as_number(table.column(name), ("",)).to_numpy()
    except pa.ArrowInvalid:
        raise TableError(f"the weights in column {name!r} are not all numbers") from None
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise TableError(
            f"the weight in row {int(np.argmax(bad)) + 1} of column {name!r} is missing or negative"
        )
    if not values.any():
        raise TableError(f"the weights in column {name!r} are zero everywhere")
    return values


def show_data(out: Output, data: Data, *, brief: bool) -> None:
    """What was found in the table; in brief without the list of columns."""
    found, target = data.findings, data.findings.target
    positives = int(data.y.sum())
    out.say(
        f"{data.source.name}: {len(data.y):,} rows, {len(found.columns.columns)} columns to learn from "
        f"({data.source.format}{''.join(', ' + n for n in data.source.notes)})",
        "bold",
    )
    share = positives / len(data.y)
    rest = " or ".join(map(repr, target.negatives[:3])) + (" …" if len(target.negatives) > 3 else "")
    out.say(
        f"target {target.name!r}: the positive class is {target.positive!r} ({target.because}), "
        f"{positives:,} rows ({share:.1%}); the negative is {rest}"
    )
    if not brief:
        show_columns(out, data)
    for note in found.notes:
        out.say(f"note: {note}")
    for warning in found.warnings:
        out.warn(warning)


def show_columns(out: Output, data: Data) -> None:
    """The columns that are used and those that are not."""
    found, rows = data.findings, []
    for column in found.columns.columns[:_SHOWN]:
        lost = found.missing_cells.get(column.name, 0)
        share = f"{lost / len(data.y):.1%}" if lost else ""
        rows.append((column.name, column.kind, share, details(column)))
    more = len(found.columns.columns) - _SHOWN
    title = "Columns" if more <= 0 else f"Columns (the first {_SHOWN} of {more + _SHOWN})"
    out.table(title, ("column", "kind", "missing", "values"), rows)
    if found.left_out:
        out.table("Left out (keep one by --keep)", ("column", "because"), list(found.left_out.items()))


def details(column: Any) -> str:
    """What a column holds, in a few words."""
    if column.kind == "category":
        shown = ", ".join(column.categories[:4])
        return f"{len(column.categories)}: {shown}{', …' if len(column.categories) > 4 else ''}"
    if column.kind == "date":
        return f"as {', '.join(column.parts)}" + (
            "" if column.form.startswith("iso") else f"; read as {column.form}"
        )
    return ""


def run_study(
    out: Output,
    data: Data,
    order: Order,
    recipes: list[Recipe],
    *,
    search: bool,
    folds: int | None,
    holdout: float | None,
) -> Study:
    """Choose among the recipes if there are several, judge the model, and fit the one to keep."""
    y, weight = data.y, data.weight
    split = split_rows(y, folds, holdout, order.seed, one=len(recipes) > 1)
    steps = len(split.pairs) + (0 if split.is_holdout else 1) + (len(recipes) * 5 if len(recipes) > 1 else 0)
    order = replace(order, search=search)
    with out.progress("fitting", steps) as step, out.collected_warnings():
        recipe = recipes[0]
        if len(recipes) > 1:
            # The choice must not see the rows that judge it.
            train = split.pairs[0][0] if split.is_holdout else np.arange(len(y))
            own = None if weight is None else weight[train]
            recipe = choose(recipes, order, data.frame.take(pa.array(train)), y[train], own, step)
        judgement, fitted = judge(recipe, order, data.frame, y, weight, split, step)
        if not split.is_holdout:
            fitted = fit(recipe, order, data.frame, y, weight)
            step("all rows")
    baselines = (
        constant(f"never {data.findings.target.positive!r}", judgement, 0.0),
        constant(f"always {data.findings.target.positive!r}", judgement, 1.0),
    )
    model = TableModel(fitted.model, data.findings.columns, data.findings.target, fitted.numbers, {})
    study = Study(model, data, order, recipe, split, judgement, baselines, fitted.verdict)
    return replace(study, model=replace(model, summary=summary(study, fitted)))


def summary(study: Study, fitted: Fitted) -> dict[str, Any]:
    """What the model file keeps of the training."""
    from propriety import __version__

    return {
        "table": study.data.source.name,
        "rows": len(study.data.y),
        "positives": int(study.data.y.sum()),
        "rows_fitted": len(study.split.pairs[0][0]) if study.split.is_holdout else len(study.data.y),
        "model": study.recipe.name,
        "loss": loss_of(fitted.model),
        "chosen": fitted.verdict,
        "judged_by": study.split.text,
        "judgement": {k: v for k, v in study.judgement.numbers().items() if k not in ("model", "seconds")},
        "left_out": dict(study.data.findings.left_out),
        "seed": study.order.seed,
        "command": shlex.join(["propriety", *sys.argv[1:]]),
        "version": __version__,
    }


def loss_of(estimator: Any) -> str:
    """The loss that was fitted, as text."""
    fitted = getattr(estimator, "loss_", None)
    return repr(
        estimator._resolve_composite()
        if fitted is None and estimator.loss == "auto"
        else fitted or estimator.loss
    )


def show_study(out: Output, study: Study) -> None:
    """The final table."""
    out.say()
    out.say(f"{study.recipe.title}, fitted to {study.model.summary['loss']}", "bold")
    if study.verdict:
        out.say(study.verdict)
    order = study.order
    out.say(
        f"decides {study.data.findings.target.positive!r} from a probability of {order.threshold:.3g} on: a "
        f"false alarm costs {order.fp_cost:g}, a miss {order.fn_cost:g}"
    )
    judged = [study.judgement, *study.baselines]
    show_judgements(out, f"Cost of 1,000 decisions, judged by {study.split.text}", judged)
    weights = study.model.importances()
    order_ = np.argsort(-weights)[:8]
    rows = [(study.model.columns.names[i], float(weights[i])) for i in order_ if weights[i] > 0]
    out.table("What counts", ("column", "share"), rows)


def show_judgements(out: Output, title: str, judged: list[Judgement]) -> None:
    """A table of costs, mistakes and quality; the cheapest in bold."""
    rows, numbers = [], [j.numbers() for j in judged]
    for n in numbers:
        flat = n["area_under_roc"] == 0.5 and n["seconds"] == 0
        rows.append(
            (
                n["model"],
                round(n["cost_per_1000"], 1),
                f"{n['cost_low']:.0f} – {n['cost_high']:.0f}",
                round(n["false_alarms_per_1000"], 1),
                round(n["misses_per_1000"], 1),
                float("nan") if flat else n["log_loss"],
                float("nan") if flat else n["area_under_roc"],
            )
        )
    best = int(np.argmin([n["cost_per_1000"] for n in numbers]))
    names = ("model", "cost", "95% interval", "false alarms", "misses", "log loss", "ROC area")
    out.table(title, names, rows, best=best)


def document(study: Study, saved: str | None) -> dict[str, Any]:
    """The result for machines."""
    found, model = study.data.findings, study.model
    return {
        "command": "fit",
        "rows": len(study.data.y),
        "target": {
            "name": found.target.name,
            "positive": found.target.positive,
            "negatives": found.target.negatives,
            "because": found.target.because,
        },
        "columns": [{"name": c.name, "kind": c.kind} for c in found.columns.columns],
        "left_out": found.left_out,
        "model": study.recipe.name,
        "loss": model.summary["loss"],
        "verdict": study.verdict,
        "threshold": study.order.threshold,
        "judged_by": study.split.text,
        "judgements": [j.numbers() for j in (study.judgement, *study.baselines)],
        "importances": dict(zip(model.columns.names, model.importances().tolist(), strict=True)),
        "saved": saved,
    }
