"""Reading a training table, and showing what was worked out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from propriety.cli.options import Meaning, Opening
from propriety.cli.output import Output
from propriety.tables import Column, Findings, Source, TableError, infer
from propriety.tables.conversion import as_number
from propriety.tables.errors import no_such_column
from propriety.weights import Weights

_SHOWN = 30  # columns in the table of columns


@dataclass(frozen=True)
class TrainingTable:
    """A table that was read: what was worked out of it, its features, labels and weights."""

    source: Source
    findings: Findings
    frame: Any
    y: NDArray[np.bool_]
    weight: NDArray[np.float64] | None

    @property
    def weights(self) -> Weights:
        """The weights of the rows, for means and their errors."""
        return Weights.read(self.weight, len(self.y))

    def take(self, rows: NDArray[np.intp]) -> tuple[Any, NDArray[np.bool_], NDArray[np.float64] | None]:
        """Features, labels and weights of some rows."""
        weight = None if self.weight is None else self.weight[rows]
        return self.frame.take(pa.array(rows)), self.y[rows], weight


def load_table(
    path: str,
    opening: Opening,
    meaning: Meaning,
    target: str,
    *,
    positive: str | None = None,
    weight: str | None = None,
) -> TrainingTable:
    """Read a table and work out its columns."""
    overrides = meaning.overrides
    with opening.open(path) as source:
        if target not in source.column_names:
            raise no_such_column(target, source.column_names)
        table = source.read()
    findings = infer(table, target, positive=positive, overrides=overrides, weight=weight)
    if len(findings.rows) < table.num_rows:
        table = table.take(pa.array(findings.rows))
    weights = None if weight is None else _weights(table, weight, findings.rows)
    frame, _ = findings.columns.encode(table)
    return TrainingTable(source, findings, frame, findings.positive, weights)


def _weights(table: Any, name: str, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """The column of weights; `rows` are the places of the table's rows in the file, for errors."""
    if name not in table.column_names:
        raise no_such_column(name, table.column_names)
    try:
        values = as_number(table.column(name), ("",)).to_numpy()
    except pa.ArrowInvalid:
        raise TableError(f"the weights in column {name!r} are not all numbers") from None
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise TableError(
            f"the weight in row {rows[np.argmax(bad)] + 1} of column {name!r} is missing or negative"
        )
    if not values.any():
        raise TableError(f"the weights in column {name!r} are zero everywhere")
    return values


def show_table(out: Output, table: TrainingTable, *, brief: bool = False) -> None:
    """What was worked out of the table; in brief without the list of columns."""
    findings, target = table.findings, table.findings.target
    positives = int(table.y.sum())
    out.say(
        f"{table.source.name}: {len(table.y):,} rows, {len(findings.columns.columns)} columns to learn from "
        f"({table.source.format}{''.join(', ' + n for n in table.source.notes)})",
        "bold",
    )
    share = positives / len(table.y)
    rest = " or ".join(map(repr, target.negatives[:3])) + (" …" if len(target.negatives) > 3 else "")
    out.say(
        f"target {target.name!r}: the positive class is {target.positive!r} ({target.because}), "
        f"{positives:,} rows ({share:.1%}); the negative is {rest}"
    )
    if not brief:
        _show_columns(out, table)
    for note in findings.notes:
        out.say(f"note: {note}")
    for warning in findings.warnings:
        out.warn(warning)


def _show_columns(out: Output, table: TrainingTable) -> None:
    """The columns that are used and those that are not."""
    findings, rows = table.findings, []
    for column in findings.columns.columns[:_SHOWN]:
        lost = findings.missing_cells.get(column.name, 0)
        share = f"{lost / len(table.y):.1%}" if lost else ""
        rows.append((column.name, column.kind, share, details(column)))
    more = len(findings.columns.columns) - _SHOWN
    title = "Columns" if more <= 0 else f"Columns (the first {_SHOWN} of {more + _SHOWN})"
    out.table(title, ("column", "kind", "missing", "values"), rows)
    if findings.left_out:
        out.table("Left out (keep one by --keep)", ("column", "because"), list(findings.left_out.items()))


def details(column: Column) -> str:
    """What a column holds, in a few words."""
    if column.kind == "category":
        shown = ", ".join(column.categories[:4])
        return f"{len(column.categories)}: {shown}{', …' if len(column.categories) > 4 else ''}"
    if column.kind == "date":
        return f"as {', '.join(column.parts)}" + (
            "" if column.form.startswith("iso") else f"; read as {column.form}"
        )
    return ""
