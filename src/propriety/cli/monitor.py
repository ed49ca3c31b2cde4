"""``propriety monitor``: new rows held against what a model file remembers of its training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import Output, UsageError
from propriety.cli.predict import ModelArgument, load_model
from propriety.costs import ResolvedCosts
from propriety.evaluation.judging import JudgedRows
from propriety.model.seen import RowsAsked
from propriety.study.columns import columns_of
from propriety.study.monitor import Drift, Monitor
from propriety.study.numbers import between, number, percent
from propriety.study.reference import Reference
from propriety.study.verdict import of_intervals
from propriety.tables import Source, TableError, TableModel
from propriety.weights import Weights

_SHOWN = 10  # columns in the table of drift


@command
def monitor_command(
    model_path: ModelArgument,
    table: o.TableArgument,
    *,
    opening: o.Opening,
    telling: o.Telling,
) -> None:
    """Hold new rows against what a model remembers of its training rows: drift, and with labels the cost.

    Columns, scores and decisions are compared with those of the fit by the population stability index. If the
    table has the target, decisions are judged as well, where it is known: by their cost and calibration.
    The exit status is 0 if all is as it was and 1 if something has changed; 2 to 5 are errors, as of every
    command.

    \b
    Examples:
      propriety monitor loans.propriety november.csv
      propriety monitor loans.propriety labelled.parquet --json
    """  # noqa: D301
    out = telling.output
    model = load_model(model_path)
    if "reference" not in model.summary:
        raise UsageError(
            f"{model_path} holds nothing of its training rows, as files of older versions do: fit it again"
        )
    reference = Reference.read(model.summary["reference"])
    with opening.open(table) as source:
        rows = _read(model, source, Monitor(reference, model.classes_.tolist()))
    monitor = rows.monitor
    seen = rows.asked.answer
    if seen is not None and seen.some:
        out.warn("the model was fitted to some of these rows, so that they are no news")
    _show(out, monitor, rows.judged)
    for finding in monitor.findings:
        out.warn(finding.text)
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


def _read(model: TableModel, source: Source, monitor: Monitor) -> NewRows:
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
        monitor.add(columns_of(frame), p, unknown)
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
    monitor.decide(of_all.decide(p) if budget is None else of_all.decide_within(p, budget))
    known, rows = np.flatnonzero(codes >= 0), None
    if known.size:
        rows = JudgedRows(codes[known], target.classes, of_all.take(known), Weights(known.size), None, budget)
        monitor.judge(rows, p[known])
    return NewRows(monitor, asked, rows)


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
        f"{monitor.n_rows:,} rows, {n_labelled:,} with a known class, against {reference.n_rows:,} of the fit"
    )
    found = [*monitor.scores, monitor.decisions, *columns[:_SHOWN]]
    more = "" if len(columns) <= _SHOWN else f"; the first {_SHOWN} of {len(columns)} columns"
    title = f"Population stability index: {number(0.1)} is some change, {number(0.25)} much{more}"
    out.table(title, ("what", "index", "p-value (Holm)", "", "most at", "was", "is"), list(map(_row, found)))
    if monitor.changes:
        rows = [
            (
                change.name,
                *(f"{number(e.value)} ({between(e)})" for e in (change.was, change.now, change.difference)),
            )
            for change in monitor.changes
        ]
        title = "Cost of 1,000 decisions, slope of the calibration, and stated less seen share"
        out.table(title, ("what", "was", "is", "difference"), rows)
        if judged is not None:
            out.say(of_intervals(judged))
    if not monitor.findings:
        out.say("Nothing has changed beyond chance.")


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
