"""Reading a training table, and showing what was worked out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from propriety import memory
from propriety.cli.options import Asking, Meaning, Opening, Showing, prevalence_of
from propriety.cli.output import Output, UsageError
from propriety.cli.training import TrainingTable
from propriety.data.score_scales import LOG_ODDS, PROBABILITY, look_like_probabilities
from propriety.study.splitting import Role
from propriety.tables import (
    Findings,
    Overrides,
    Source,
    TableCosts,
    TableError,
    TableOffset,
    infer,
    open_source,
)
from propriety.tables.conversion import MISSING, as_text
from propriety.tables.costs import LabelledMatrix, numbers_in, read_matrix
from propriety.tables.errors import LongRow, NotNumbers, no_such_column
from propriety.tables.inference import find_decimal
from propriety.tables.roles import groups_of, times_of, weights_of

_SHOWN = 30  # columns in the table of columns
_LEVELS = 10  # different numbers up to which each is a subgroup
#: Bytes of text at a time, for each thread, and where a row is longer.
_CHUNK, _LARGE_CHUNK = 1 << 20, 8 << 20
_ATTEMPTS = 3  # at reading columns as numbers before all are read as text


def load_table(
    path: str,
    opening: Opening,
    meaning: Meaning,
    target: str,
    asking: Asking,
    showing: Showing | None = None,
    jobs: int | None = None,
    apart: Sequence[str] = (),
) -> TrainingTable:
    """Read a table, by so many threads, work out its columns and the costs of its rows; nothing is fitted.

    Columns `apart` are numbers that are no features.
    """
    asking.check(scores=bool(apart))
    showing = Showing() if showing is None else showing
    overrides = meaning.overrides
    matrix = None if asking.cost_matrix is None else _matrix(asking)
    opened = partial(opening.open, path, jobs=jobs)
    with opened(_CHUNK if path != "-" else _LARGE_CHUNK) as source:
        if target not in source.column_names:
            raise no_such_column(target, source.column_names)
        showing.check(source.column_names)
        stated = replace(TableCosts.read(asking.terms, source.column_names), matrix=matrix)
        offset = _offset(asking, source.column_names)
        of_offset = () if offset is None else offset.columns
        roles = [
            name
            for name in (asking.weights, asking.groups, asking.time, *of_offset, *apart)
            if name is not None
        ]
        as_written = {
            target,
            *roles,
            *stated.columns,
            *(showing.subgroup or ()),
            *overrides.category,
            *overrides.dates,
        }
        no_features = {target, *roles} - (set(overrides.keep) - {target})
        table = _read(source, path, opened, overrides, as_written, no_features)
    for what, used in (("costs use", stated.columns), ("offset uses", of_offset)):
        if target in used:
            raise TableError(f"the {what} the target {target!r}, which is unknown at prediction time")
    for name in roles:
        if name not in table.column_names:
            raise no_such_column(name, table.column_names)
    findings = infer(
        table,
        target,
        positive=asking.positive,
        overrides=overrides,
        apart=roles,
        several=not stated.by_side and asking.positive is None,
        needs_features=not apart,
        n_jobs=jobs,
    )
    if matrix is not None:
        matrix.check(target, findings.target.classes)
    if asking.budget is not None and (len(findings.target.classes) > 2 or stated.abstains):
        raise UsageError("--budget needs two classes and no abstention")
    if offset is not None and len(findings.target.classes) > 2:
        raise UsageError("--offset needs two classes")
    if len(findings.rows) < table.num_rows:
        table = table.take(pa.array(findings.rows))
    result = TrainingTable(
        source,
        findings,
        findings.columns.encode(table)[0] if findings.columns.columns else None,
        findings.codes,
        None if asking.weights is None else weights_of(table, asking.weights, findings.rows),
        stated,
        groups=_groups(table, asking.groups, findings),
        time=_time(table, asking.time, findings, overrides),
        stated_offset=offset,
        offset=None if offset is None else _offsets(asking, offset, table, findings),
        by={name: parts_of(table.column(name), findings) for name in showing.subgroup or ()},
        apart={name: _numbers(table, name, findings) for name in apart},
        shares=prevalence_of(asking.prevalence, findings.target.classes),
    )
    result = replace(result, of_rows=stated.of_rows(table, findings.columns, rows=findings.rows))
    result.costs  # noqa: B018 (refuses costs that make no sense)
    del table
    memory.trim()
    return result


def _numbers(table: Any, name: str, findings: Findings) -> NDArray[np.float64]:
    """A column of scores, none of which is missing."""
    values = numbers_in(table, name, findings.columns, findings.rows, "scores need")
    if not np.isfinite(values).all():
        row = findings.rows[np.argmin(np.isfinite(values))] + 1
        raise TableError(
            f"the score in row {row} of column {name!r} is missing",
            "every row needs a score: fix the table, or leave such rows out",
        )
    return values


def _offset(asking: Asking, names: Sequence[str]) -> TableOffset | None:
    if asking.offset is None:
        return None
    return TableOffset.read(asking.offset, names, asking.score_scale or LOG_ODDS)


def _offsets(asking: Asking, offset: TableOffset, table: Any, findings: Findings) -> NDArray[np.float64]:
    """The offset of each row; what looks like probabilities is refused unless the user says what it is."""
    values = offset.of_rows(table, findings.columns, rows=findings.rows)
    if asking.score_scale is None and look_like_probabilities(values):
        raise UsageError(
            f"--offset {offset.text} is between 0 and 1 in every row, as probabilities are: say "
            f"--score-scale {PROBABILITY} to start from their log-odds, or --score-scale {LOG_ODDS} if "
            "these are log-odds"
        )
    return values


def _read(
    source: Source,
    path: str,
    opened: Callable[[int], Source],
    overrides: Overrides,
    as_written: set[str],
    apart: set[str],
) -> Any:
    """All rows, columns of text that begin with numbers as numbers, but for those wanted `as_written`.

    What the columns are is worked out of this as of text alone: if a later row is not a number, or may
    have a decimal comma, the file is read anew.
    """
    missing = MISSING if overrides.missing is None else ("", *overrides.missing)
    for _ in range(_ATTEMPTS):
        if path == "-" or overrides.decimal == "," or not source.numbers.ask(as_written, missing):
            return _rows(source, path, opened)
        try:
            table = source.read()
        except NotNumbers as error:
            if "," in error.value:
                break
            as_written = {*as_written, error.column}
        except LongRow:
            break
        else:
            if overrides.decimal == "." or find_decimal(table, apart, missing) == ".":
                return table
            break
        source = opened(_CHUNK)
    return opened(_LARGE_CHUNK).read()


def _rows(source: Source, path: str, opened: Callable[[int], Source]) -> Any:
    """All rows, by larger chunks if one is too long for those of the source."""
    try:
        return source.read()
    except LongRow:
        if path == "-":
            raise
        return opened(_LARGE_CHUNK).read()


def _matrix(asking: Asking) -> LabelledMatrix:
    assert asking.cost_matrix is not None
    matrix = read_matrix(open_source(asking.cost_matrix).read(), asking.cost_matrix)
    if asking.positive is not None and len(matrix.labels) > 2:
        raise UsageError(
            f"--positive makes two classes of the target, and --cost-matrix is for {len(matrix.labels)}: "
            "leave one of them out"
        )
    return matrix


def parts_of(column: Any, findings: Findings) -> NDArray[Any]:
    """Values of a column as subgroups: numbers if they are many, else text; missing ones are one."""
    text = np.array(["missing" if v is None else v for v in as_text(column).to_pylist()], dtype=str)
    text = np.where(np.isin(text, [*findings.columns.missing, ""]), "missing", text)
    if len(np.unique(text)) <= _LEVELS:
        return text
    try:
        return np.where(text == "missing", "nan", text).astype(float)
    except ValueError:
        return text


def _groups(table: Any, name: str | None, findings: Findings) -> Role | None:
    if name is None:
        return None
    return Role(name, groups_of(table, name, findings.rows, findings.columns.missing))


def _time(table: Any, name: str | None, findings: Findings, overrides: Any) -> Role | None:
    return None if name is None else Role(name, times_of(table, name, findings.rows, overrides, findings))


def show_table(out: Output, table: TrainingTable, *, brief: bool = False) -> None:
    """What was worked out of the table; in brief without the list of columns."""
    findings = table.findings
    out.say(
        f"{table.source.name}: {len(table.y):,} rows, {len(findings.columns.columns)} features "
        f"({table.source.format}{''.join(', ' + n for n in table.source.notes)})",
        "bold",
    )
    out.say(_target(table))
    for what, role in (
        ("no group on both sides", table.groups),
        ("training rows precede test rows", table.time),
    ):
        if role is not None:
            out.say(f"split by {role.name!r}: {what}")
    if table.stated_offset is not None:
        out.say(f"offset of the scores: {table.stated_offset.words}")
    if not brief:
        _show_columns(out, table)
    for note in findings.notes:
        out.say(f"note: {note}")
    for warning in findings.warnings:
        out.warn(warning)


def _target(table: TrainingTable) -> str:
    """The classes and how many rows they have."""
    target, counts = table.findings.target, np.bincount(table.y, minlength=len(table.classes))
    if target.several:
        shown = ", ".join(
            f"{c!r} {n:,} ({n / len(table.y):.1%})" for c, n in zip(table.classes, counts, strict=True)
        )
        return f"target {target.name!r}: {len(table.classes)} classes, {shown}"
    rest = " or ".join(map(repr, target.negatives[:3])) + (" …" if len(target.negatives) > 3 else "")
    return (
        f"target {target.name!r}: the positive class is {target.positive!r} ({target.because}), "
        f"{counts[1]:,} rows ({counts[1] / len(table.y):.1%}); the negative is {rest}"
    )


def _show_columns(out: Output, table: TrainingTable) -> None:
    """The columns that are used and those that are not."""
    findings, rows = table.findings, []
    for column in findings.columns.columns[:_SHOWN]:
        lost = findings.missing_cells.get(column.name, 0)
        share = f"{lost / len(table.y):.1%}" if lost else ""
        rows.append((column.name, column.kind, share, column.details))
    more = len(findings.columns.columns) - _SHOWN
    title = "Columns" if more <= 0 else f"Columns (the first {_SHOWN} of {more + _SHOWN})"
    out.table(title, ("column", "type", "missing", "values"), rows)
    if findings.left_out:
        out.table(
            "Columns left out (--keep overrides)", ("column", "reason"), list(findings.left_out.items())
        )
