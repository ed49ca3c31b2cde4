"""``propriety predict``: probabilities, decisions and expected costs for a table of any length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import Output, UsageError, shown
from propriety.cli.paths import check_outputs, is_folder, is_newer, outputs_in
from propriety.cli.writing import open_sink
from propriety.model.files import load
from propriety.model.seen import RowsAsked
from propriety.tables import Source, TableError, TableModel

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model file written by propriety fit --save.")
]


def load_model(path: str) -> TableModel:
    """A table model from a file; a bare estimator is refused."""
    try:
        model = load(path)
    except FileNotFoundError:
        raise UsageError(f"there is no model file {path}") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a model file") from None
    if not isinstance(model, TableModel):
        raise UsageError(
            f"{path} holds a {type(model).__name__} without a table: use it in Python with propriety.load"
        )
    return model


@command
def predict_command(
    model_path: ModelArgument,
    table: o.TableArgument,
    *,
    out_path: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            help="Output file: CSV, TSV, Parquet, Arrow or JSON lines, by its ending; .gz and others "
            "compress. "
            "A folder, ending in /, gets one file for each input file; files that are up to date are kept. "
            "Default: CSV on standard output.",
        ),
    ] = None,
    only_scores: Annotated[bool, typer.Option("--only-scores", help="Write the new columns only.")] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Decide the positive class for at most this many rows, or a share such as 0.1: "
            "those with the "
            "largest expected saving. Reads the table twice."
        ),
    ] = None,
    prefix: Annotated[str, typer.Option(help="Prefix of the names of the new columns.")] = "",
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe",
            help="In CSV, quote text that a spreadsheet would run as a formula with an apostrophe.",
        ),
    ] = False,
    opening: o.Opening,
    jobs: o.JobsOption = None,
    chunk_mb: Annotated[
        int, typer.Option(min=0, max=1024, help="Megabytes of the table in memory at a time.")
    ] = 8,
    telling: o.Telling,
) -> None:
    """Add probability, decision and expected cost to each row of a table.

    The table is read and written in chunks, so it may be larger than memory. Costs by row are computed from
    the columns of this table. With several classes, each has a probability. --json prints the summary as
    JSON and needs --out.

    \b
    Examples:
      propriety predict loans.propriety new.csv --out scored.parquet
      propriety predict loans.propriety 'new/*.parquet' --out scored/
      cat new.csv | propriety predict loans.propriety - > scored.csv
      propriety predict customers.propriety customers.csv --budget 200 --out letters.csv
    """  # noqa: D301
    if telling.as_json and out_path is None:
        raise UsageError("--json needs --out: standard output would have both the rows and the summary")
    many = out_path is not None and is_folder(out_path)
    pairs = _files(table, out_path, model_path, budget)
    out = replace(telling, quiet=telling.quiet or out_path is None).output
    model = load_model(model_path)
    if jobs is not None and "n_jobs" in model.estimator.get_params(deep=False):
        model.estimator.set_params(n_jobs=jobs)
    size = max(4096, chunk_mb << 20)
    chosen = None
    if budget is not None:
        check_can_choose(model, table, budget)
        with opening.open(table, size) as source:
            chosen = choose_within(model, source, budget)
    totals, unknown, kept = Totals(RowsAsked(model.estimator)), Counter[str](), 0
    besides: list[str] = []
    with out.progress("files", len(pairs)) if many else nullcontext(_nothing) as step:
        for source_path, path in pairs:
            if many and is_newer(str(path), source_path, model_path):
                kept += 1
            else:
                with opening.open(source_path, size) as source:
                    part, new, besides = score_all(
                        model, source, path, prefix, chosen, only_scores=only_scores, safe=spreadsheet_safe
                    )
                totals += part
                unknown.update(new)
            step("")
    _warn(out, model, totals, unknown)
    summary = _summary(model, totals, out_path, besides) | {"budget": budget}
    if many:
        summary |= {"files": len(pairs), "files_kept": kept}
        out.say(f"{len(pairs) - kept} files written, {kept} up to date")
    if totals.rows:
        decided = ", ".join(f"{totals.decided[label]:,} decided {label!r}" for label in _told(model))
        cost = shown(summary["expected_cost_per_1000"])
        out.say(f"{totals.rows:,} rows, {decided}; expected cost per 1,000: {cost}. Written to {out_path}")
    out.result(summary)


def _files(
    table: str, out_path: str | None, model_path: str, budget: float | None
) -> list[tuple[str, str | None]]:
    """Each table that is read with what is written of it."""
    pairs = [(table, out_path)]
    if out_path is not None and is_folder(out_path):
        if budget is not None:
            raise UsageError("--budget chooses among all rows, so --out must be one file")
        pairs = outputs_in(out_path, table)
    for source, path in pairs:
        check_outputs({"--out": path}, {"table": source, "model": model_path})
    return pairs


def _warn(out: Output, model: TableModel, totals: Totals, unknown: Counter[str]) -> None:
    """Of values that were taken as missing, and of rows that the model was fitted to."""
    dates = {column.name for column in model.columns.columns if column.kind == "date"}
    for name, times in unknown.items():
        what = "are not dates in the format at training" if name in dates else "were not seen at training"
        out.warn(f"column {name!r} has values in {times:,} rows that {what}; treated as missing")
    seen = totals.asked.answer
    if seen is not None and seen.some:
        share = "these rows" if seen.share == 1 else f"about {seen.share:.0%} of these rows"
        out.warn(f"the model was fitted to {share}: the expected cost is too optimistic")


@dataclass
class Totals:
    """Sums over the rows that were scored, and whether the model has seen them."""

    asked: RowsAsked
    rows: int = 0
    cost: float = 0.0
    probability: float = 0.0
    decided: Counter[str] = field(default_factory=Counter)

    def __iadd__(self, other: Totals) -> Totals:
        """Those of more rows."""
        self.asked.join(other.asked)
        self.rows += other.rows
        self.cost += other.cost
        self.probability += other.probability
        self.decided.update(other.decided)
        return self


def _nothing(text: str) -> None:
    """Nobody is told of one file."""


def _told(model: TableModel) -> list[str]:
    """The decisions whose number is told: of two classes the positive one."""
    labels = [str(label) for label in model.decisions]
    return labels[1:] if len(model.classes_) == 2 else labels


def columns_of(model: TableModel) -> list[str]:
    """Names of the columns that are added."""
    if len(model.classes_) == 2:
        return ["probability", "decision", "expected_cost"]
    return [*(f"probability_{label}" for label in model.classes_), "decision", "expected_cost"]


def check_can_choose(model: TableModel, table: str, budget: float) -> None:
    """Refuse a budget that cannot be kept, before the table is read."""
    o.check_budget(budget)
    if len(model.decisions) != 2:
        raise UsageError("--budget needs two classes and no abstention")
    if table == "-":
        raise UsageError("--budget needs the table twice, so it cannot be standard input: give a file")


def choose_within(model: TableModel, source: Source, budget: float) -> NDArray[np.intp]:
    """What is decided for each row of a table, if at most so many may be acted on."""
    model.check(source.column_names)
    P, costs, rows = [np.empty((0, 2))], [], 0
    for chunk in source.chunks:
        if chunk.num_rows:
            P.append(model.estimate(chunk, rows + 1)[0])
            costs.append(model.costs_for(chunk, rows + 1))
            rows += chunk.num_rows
    if not rows:
        raise TableError(f"{source.name} has a header and no rows")
    of_all = costs[0]
    if of_all.by_row:
        of_all = replace(of_all, matrix=np.concatenate([c.matrix for c in costs]))
    return of_all.decide_within(np.concatenate(P), budget)


def score_all(
    model: TableModel,
    source: Source,
    path: str | None,
    prefix: str,
    chosen: NDArray[np.intp] | None = None,
    *,
    only_scores: bool = False,
    safe: bool = False,
) -> tuple[Totals, Counter[str], list[str]]:
    """Write every piece with its scores; returns totals, unknown categories, and columns of no use.

    `chosen` are the decisions, if they were made before.
    """
    besides = model.check(source.column_names)
    names = [prefix + name for name in columns_of(model)]
    taken = [] if only_scores else [n for n in names if n in source.column_names]
    if taken:
        raise UsageError(f"the table has a column {taken[0]!r} already: give --prefix, or --only-scores")
    totals, unknown = Totals(RowsAsked(model.estimator)), Counter[str]()
    strings: Collection[str] = () if source.strings is None else source.strings
    untyped = [] if only_scores or source.strings is None else source.column_names
    with open_sink(path, untyped=untyped, strings=strings, safe=safe) as write:
        for chunk in source.chunks:
            if chunk.num_rows:
                columns, new = score(model, chunk, totals, chosen)
                unknown.update(new)
                scored = chunk.select([]) if only_scores else chunk
                for name, column in zip(names, columns, strict=True):
                    scored = scored.append_column(name, column)
                write(scored)
        if not totals.rows:
            raise TableError(f"{source.name} has a header and no rows")
    return totals, unknown, besides


def score(
    model: TableModel, chunk: Any, totals: Totals, chosen: NDArray[np.intp] | None = None
) -> tuple[list[Any], dict[str, int]]:
    """Probabilities, decision and expected cost of each row, added to the totals; and unknown categories."""
    first = totals.rows
    X, unknown = model.features(chunk, first + 1)
    totals.asked.add(X)
    P = model.estimate_of(X, chunk, first + 1)
    costs = model.costs_for(chunk, first + 1)
    decided = costs.decide(P) if chosen is None else chosen[first : first + len(P)]
    cost = np.take_along_axis(costs.expected(P), decided[:, None], axis=1)[:, 0]
    labels = model.decisions[decided].tolist()
    totals.rows += len(P)
    totals.decided.update(labels)
    totals.cost += float(cost.sum())
    totals.probability += float(P[:, 1].sum())
    told = P[:, 1:] if P.shape[1] == 2 else P
    return [*map(pa.array, told.T), pa.array(labels, pa.string()), pa.array(cost)], unknown


def _summary(model: TableModel, totals: Totals, path: str | None, besides: list[str]) -> dict[str, Any]:
    n = max(1, totals.rows)
    of_positive = {}
    if len(model.classes_) == 2:
        of_positive = {
            "decided_positive": totals.decided[model.target.positive],
            "positive": model.target.positive,
            "mean_probability": totals.probability / n,
        }
    return {
        "command": "predict",
        "rows": totals.rows,
        **of_positive,
        "decided": {str(label): totals.decided[str(label)] for label in model.decisions},
        "expected_cost_per_1000": 1000 * totals.cost / n,
        "columns_not_used": besides,
        "out": path,
    }
