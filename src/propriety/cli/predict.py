"""``propriety predict``: probabilities, decisions and expected costs for a table of any length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import UsageError
from propriety.cli.writing import open_sink
from propriety.model.files import load
from propriety.tables import Source, TableError, TableModel

_COLUMNS = ("probability", "decision", "expected_cost")
ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file that propriety fit --save wrote.")
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
            f"{path} holds a {type(model).__name__} that knows no table: use it in Python with propriety.load"
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
            help="CSV, TSV, Parquet, Arrow or JSON lines, by its ending; .gz and others compress. Without it "
            "CSV is written to standard output.",
        ),
    ] = None,
    only_scores: Annotated[
        bool, typer.Option("--only-scores", help="Leave out the columns of the table.")
    ] = False,
    prefix: Annotated[str, typer.Option(help="Put before the names of the new columns.")] = "",
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe",
            help="In CSV, put an apostrophe before text that a spreadsheet would take for a formula.",
        ),
    ] = False,
    opening: o.Opening,
    jobs: o.JobsOption = None,
    chunk_mb: Annotated[
        int, typer.Option(min=0, max=1024, help="About how much of the table is in memory at once.")
    ] = 8,
    telling: o.Telling,
) -> None:
    """Add probability, decision and expected cost to each row of a table.

    The table is read and written in pieces, so it may be larger than the memory. With --json the summary is
    printed as JSON; it needs --out.

    \b
    Examples:
      propriety predict loans.propriety new.csv --out scored.parquet
      cat new.csv | propriety predict loans.propriety - > scored.csv
    """  # noqa: D301
    if telling.as_json and out_path is None:
        raise UsageError("--json needs --out: standard output would have both the rows and the summary")
    out = replace(telling, quiet=telling.quiet or out_path is None).output
    model = load_model(model_path)
    if jobs is not None and "n_jobs" in model.estimator.get_params(deep=False):
        model.estimator.set_params(n_jobs=jobs)
    with opening.open(table, max(4096, chunk_mb << 20)) as source:
        totals, unknown, besides = score_all(
            model, source, out_path, prefix, only_scores=only_scores, safe=spreadsheet_safe
        )
    for name, times in unknown.items():
        out.warn(
            f"column {name!r} has values in {times:,} rows that the model has not seen; taken as missing"
        )
    summary = _summary(model, totals, out_path, besides)
    out.say(
        f"{totals.rows:,} rows, {totals.positive:,} decided {model.target.positive!r}; expected "
        f"cost {summary['expected_cost_per_1000']:.1f} per 1,000. Written to {out_path}"
    )
    out.result(summary)


@dataclass
class Totals:
    """Sums over the rows that were scored."""

    rows: int = 0
    positive: int = 0
    cost: float = 0.0
    probability: float = 0.0


def score_all(
    model: TableModel,
    source: Source,
    path: str | None,
    prefix: str,
    *,
    only_scores: bool = False,
    safe: bool = False,
) -> tuple[Totals, Counter[str], list[str]]:
    """Write every piece with its scores; returns totals, unknown categories, and columns of no use."""
    besides = model.columns.check(source.column_names)
    names = [prefix + name for name in _COLUMNS]
    taken = [] if only_scores else [n for n in names if n in source.column_names]
    if taken:
        raise UsageError(f"the table has a column {taken[0]!r} already: give --prefix, or --only-scores")
    totals, unknown = Totals(), Counter[str]()
    strings: Collection[str] = () if source.strings is None else source.strings
    untyped = [] if only_scores or source.strings is None else source.column_names
    with open_sink(path, untyped=untyped, strings=strings, safe=safe) as write:
        for chunk in source.chunks:
            if chunk.num_rows:
                columns, new = score(model, chunk, totals)
                unknown.update(new)
                scored = chunk.select([]) if only_scores else chunk
                for name, column in zip(names, columns, strict=True):
                    scored = scored.append_column(name, column)
                write(scored)
        if not totals.rows:
            raise TableError(f"{source.name} has a header and no rows")
    return totals, unknown, besides


def score(model: TableModel, chunk: Any, totals: Totals) -> tuple[tuple[Any, ...], dict[str, int]]:
    """Probability, decision and expected cost of each row, added to the totals; and unknown categories."""
    X, unknown = model.features(chunk, totals.rows + 1)
    P = model.estimator.predict_proba(X)
    decided = model.costs.decide(P)
    cost = np.take_along_axis(model.costs.expected(P), decided[:, None], axis=1)[:, 0]
    totals.rows += len(P)
    totals.positive += int(decided.sum())
    totals.cost += float(cost.sum())
    totals.probability += float(P[:, 1].sum())
    labels = pa.array(model.classes_[decided].tolist(), pa.string())
    return (pa.array(P[:, 1]), labels, pa.array(cost)), unknown


def _summary(model: TableModel, totals: Totals, path: str | None, besides: list[str]) -> dict[str, Any]:
    n = max(1, totals.rows)
    return {
        "command": "predict",
        "rows": totals.rows,
        "decided_positive": totals.positive,
        "positive": model.target.positive,
        "mean_probability": totals.probability / n,
        "expected_cost_per_1000": 1000 * totals.cost / n,
        "columns_not_used": besides,
        "out": path,
    }
