"""``propriety monitor``: new rows held against what a model file remembers of its training rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import pyarrow.compute as pc
import typer
from numpy.typing import NDArray

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import Output, UsageError
from propriety.cli.paths import check_outputs
from propriety.cli.predict import ModelArgument, load_model
from propriety.costs import ResolvedCosts
from propriety.evaluation.judging import JudgedRows
from propriety.model.seen import RowsAsked
from propriety.storage.atomic import atomically
from propriety.study.columns import columns_of
from propriety.study.monitor import Drift, Monitor
from propriety.study.numbers import between, number, percent
from propriety.study.reference import Reference
from propriety.study.verdict import of_intervals
from propriety.tables import Source, TableError, TableModel
from propriety.tables.conversion import ISO, dates_and_others
from propriety.tables.errors import no_such_column
from propriety.weights import Estimate, Weights

_SHOWN = 10  # columns in the table of drift
_SEEN = 0.5  # of the rows, from where on they cannot judge: the model was fitted to them


@command
def monitor_command(
    model_path: ModelArgument,
    table: o.TableArgument,
    *,
    month: Annotated[
        str | None,
        typer.Option(help="A column of dates, or NAME=FORMAT: the numbers of each month, too."),
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", help="Where to write them as one HTML page.")
    ] = None,
    opening: o.Opening,
    telling: o.Telling,
) -> None:
    """Compare new rows with the training data of a model: drift and, with labels, cost.

    The population stability index (PSI) compares columns, scores and decisions with those at training. Where
    the target is known, cost and calibration are compared as well. The exit status is 0 without a significant
    change and 1 with one; 2 to 5 are errors, as for every command.

    \b
    Examples:
      propriety monitor loans.propriety november.csv
      propriety monitor loans.propriety labelled.parquet --json
      propriety monitor loans.propriety 'year/*.parquet' --month issued --report drift.html
    """  # noqa: D301
    out = telling.output
    check_outputs({"--report": report}, {"table": table, "model": model_path})
    model = load_model(model_path)
    if "reference" not in model.summary:
        raise UsageError(
            f"{model_path} has no summary of its training data, like files of older versions: fit it again"
        )
    reference = Reference.read(model.summary["reference"])
    with opening.open(table) as source:
        rows = _read(model, source, Monitor(reference, model.classes_.tolist()), _Months.of(month, model))
    monitor = rows.monitor
    seen = rows.asked.answer
    if seen is not None and seen.some:
        what = "their labels say nothing" if seen.share > _SEEN else "they are no news"
        out.warn(f"the model was fitted to some of these rows, so that {what}")
    _show(out, monitor, rows.judged)
    if model.summary.get("adapted_after"):
        out.say("The model was adapted after it was judged: its scores and decisions differ by that, too.")
    for finding in monitor.findings:
        out.warn(finding.text)
    if report is not None:
        from propriety.report.monitoring import html

        page = html(monitor, f"{model.target.name}: what has changed")
        with atomically(report) as temporary:
            temporary.write_text(page, encoding="utf-8", newline="\n")
        out.say(f"Report written to {report}: open it in a browser.")
    n_labelled = 0 if rows.judged is None else len(rows.judged.y)
    out.result({"command": "monitor", "labelled_rows": n_labelled} | monitor.to_dict())
    if monitor.status:
        raise typer.Exit(monitor.status)


@dataclass
class NewRows:
    """What was read of the table."""

    monitor: Monitor
    asked: RowsAsked
    judged: JudgedRows | None


@dataclass
class _Months:
    """The month of each row, by a column of dates."""

    column: str
    form: str
    missing: Sequence[str]
    seen: list[NDArray[Any]] = field(default_factory=list)

    @classmethod
    def of(cls, given: str | None, model: TableModel) -> _Months | None:
        """From NAME or NAME=FORMAT; a date of the model is read as the model reads it."""
        if given is None:
            return None
        name, _, form = given.partition("=")
        known = next((c.form for c in model.columns.columns if c.name == name and c.kind == "date"), ISO)
        return cls(name, form or known, model.columns.missing)

    def parts(self, chunk: Any) -> Iterator[tuple[str, NDArray[np.intp]]]:
        """Each month of some rows, and which these are."""
        if self.column not in chunk.column_names:
            raise no_such_column(self.column, chunk.column_names)
        when, others = dates_and_others(chunk.column(self.column), self.missing, self.form)
        if others:
            raise TableError(
                f"--month: {others:,} values of column {self.column!r} are no dates of the form {self.form}",
                f"say how dates are written by --month '{self.column}=%d/%m/%Y'",
            )
        months = np.array(["no date" if m is None else m for m in pc.strftime(when, "%Y-%m").to_pylist()])
        self.seen.append(months)
        for name in np.unique(months).tolist():
            yield name, np.flatnonzero(months == name)


def _read(model: TableModel, source: Source, monitor: Monitor, months: _Months | None) -> NewRows:
    """Count columns and scores of a table in pieces, then decide, and judge the rows whose class is known."""
    model.check(source.column_names)
    asked, first, target = RowsAsked(model.estimator), 0, model.target
    pieces: list[tuple[NDArray[Any], NDArray[Any]]] = []
    costs: list[ResolvedCosts] = []
    for chunk in source.chunks:
        if not chunk.num_rows:
            continue
        frame, unknown = model.columns.encode(chunk, first + 1)
        X = frame if model.numbers is None else model.numbers(frame)
        asked.add(X)
        P = model.estimate_of(X, chunk, first + 1)
        p = P[:, 1] if P.shape[1] == 2 else P
        columns = columns_of(frame)
        monitor.add(columns, p, unknown)
        for name, part in () if months is None else months.parts(chunk):
            new = model.columns.encode(chunk.take(part))[1]
            monitor.of_month(name).add({key: values[part] for key, values in columns.items()}, p[part], new)
        codes = np.full(len(p), -1)
        if target.name in chunk.column_names:
            read, has_label = target.codes(chunk.column(target.name), model.columns.missing)
            codes = np.where(has_label, read, -1)
        pieces.append((p, codes))
        costs.append(model.costs_for(chunk, first + 1))
        first += chunk.num_rows
    if not first:
        raise TableError(f"{source.name} has a header and no rows")
    p, codes = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    of_all = costs[0]
    if of_all.by_row:
        of_all = replace(of_all, matrix=np.concatenate([c.matrix for c in costs]))
    budget = _budget(model, monitor)
    seen = asked.answer
    was_fitted_to = seen is not None and seen.share > _SEEN
    decided = of_all.decide(p) if budget is None else of_all.decide_within(p, budget)

    def judge(one: Monitor, places: NDArray[np.intp]) -> JudgedRows | None:
        one.decide(decided[places])
        known = places[codes[places] >= 0]
        if not known.size or was_fitted_to:
            return None
        rows = JudgedRows(codes[known], target.classes, of_all.take(known), Weights(known.size), None, budget)
        one.judge(rows, p[known])
        return rows

    of_month = np.empty(0) if months is None else np.concatenate(months.seen)
    for name, one in monitor.months.items():
        judge(one, np.flatnonzero(of_month == name))
    return NewRows(monitor, asked, judge(monitor, np.arange(len(p))))


def _budget(model: TableModel, monitor: Monitor) -> float | None:
    """The share of the rows that the model was judged to act on, if it was judged within a budget."""
    budget = model.summary.get("budget")
    if budget is None or budget < 1:
        return budget
    return min(float(budget) / monitor.reference.n_judged, 1 - 1e-9)


def _show(out: Output, monitor: Monitor, judged: JudgedRows | None) -> None:
    reference, columns = monitor.reference, monitor.columns
    n_labelled = 0 if judged is None else len(judged.y)
    out.say(
        f"{monitor.n_rows:,} rows, {n_labelled:,} of them labelled, compared with "
        f"{reference.n_rows:,} at training"
    )
    found = [*monitor.scores, monitor.decisions, *columns[:_SHOWN]]
    more = "" if len(columns) <= _SHOWN else f"; the first {_SHOWN} of {len(columns)} columns"
    title = f"Population stability index (PSI): above 0.1 moderate, above 0.25 large{more}"
    of_drift = ("", "PSI", "p (Holm)", "", "largest change at", "training", "now")
    out.table(title, of_drift, list(map(_row, found)))
    if monitor.changes:
        rows = [
            (
                change.name,
                *(_shown(change.name, e) for e in (change.was, change.now, change.difference)),
            )
            for change in monitor.changes
        ]
        title = "Cost per 1,000 decisions, calibration slope, and predicted minus observed"
        out.table(title, ("", "training", "now", "difference"), rows)
        if judged is not None:
            out.say(of_intervals(judged))
    if monitor.months:
        lines = []
        for name, month in monitor.months.items():
            cost = None if month.judged is None else month.judged.cost
            changed = ", ".join(drift.name for drift in month.columns if drift.changed)
            told = "" if cost is None else f"{number(cost.value)} ({between(cost)})"
            lines.append((name, month.n_rows, month.scores[0].psi, month.decisions.psi, changed, told))
        of_month = ("month", "rows", "scores", "decisions", "columns that changed", "cost of 1,000")
        out.table("Population stability index by month", of_month, lines)
    if not monitor.findings:
        out.say("No significant change.")


def _shown(name: str, estimate: Estimate) -> str:
    """A number with its interval; predicted minus observed is a share."""
    if name != "gap":
        return f"{number(estimate.value)} ({between(estimate)})"
    value, low, high = map(percent, (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high})"


def _row(drift: Drift) -> tuple[Any, ...]:
    return (
        drift.name,
        drift.psi,
        drift.p_holm,
        drift.kind,
        drift.part,
        percent(drift.was),
        percent(drift.now),
    )
