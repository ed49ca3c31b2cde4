"""``propriety predict``: probabilities, decisions and expected costs for a table of any length."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from propriety.cli import options as o
from propriety.cli.output import Output, UsageError, command
from propriety.cli.writing import open_sink
from propriety.tables import Source, TableError, TableModel

_COLUMNS = ("probability", "decision", "expected_cost")
ModelPath = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file that propriety fit --save wrote.")
]


def load_model(path: str) -> TableModel:
    """A table model from a file; a bare estimator is refused."""
    from propriety.storage import load

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
    model_path: ModelPath,
    table: o.Table,
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
    format_: o.Format = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    sheet: o.Sheet = None,
    jobs: o.Jobs = None,
    chunk_mb: Annotated[int, typer.Option(help="About how much of the table is in memory at once.")] = 8,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Add probability, decision and expected cost to each row of a table.

    The table is read and written in pieces, so it may be larger than the memory. With --json the summary is
    printed as JSON; it needs --out.

    \b
    Examples:
      propriety predict loans.propriety new.csv --out scored.parquet
      cat new.csv | propriety predict loans.propriety - > scored.csv
    """  # noqa: D301
    out = Output(as_json=as_json, quiet=quiet or out_path is None)
    if as_json and out_path is None:
        raise UsageError("--json needs --out: standard output would have both the rows and the summary")
    model = load_model(model_path)
    if jobs is not None:
        model.estimator.set_params(n_jobs=jobs)
    reading = o.Reading(format_, delimiter, encoding, no_header, sheet)
    with reading.open(table, max(4096, chunk_mb << 20)) as source:
        totals, unknown, besides = score_all(model, source, out_path, prefix, only_scores)
    for name, times in unknown.items():
        out.warn(
            f"column {name!r} has values in {times:,} rows that the model has not seen; taken as missing"
        )
    summary = _summary(model, totals, out_path, besides)
    out.say(
        f"{totals['rows']:,} rows, {totals['positive']:,} decided {model.target.positive!r}; expected "
        f"cost {summary['expected_cost_per_1000']:.1f} per 1,000. Written to {out_path}"
    )
    out.result(summary)


def score_all(
    model: TableModel, source: Source, path: str | None, prefix: str, only_scores: bool
) -> tuple[Counter[str], Counter[str], list[str]]:
    """Write every piece with its scores; returns totals, unknown categories, and columns of no use."""
    besides = model.columns.check(source.column_names)
    names = [prefix + name for name in _COLUMNS]
    taken = [] if only_scores else [n for n in names if n in source.column_names]
    if taken:
        raise UsageError(f"the table has a column {taken[0]!r} already: give --prefix, or --only-scores")
    totals: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    with open_sink(path) as write:
        for chunk in source.chunks:
            if chunk.num_rows:
                scored, new = score(model, chunk, totals["rows"] + 1, names, only_scores)
                unknown.update(new)
                count(totals, scored, names, model.threshold)
                write(scored)
        if not totals["rows"]:
            raise TableError(f"{source.name} has a header and no rows")
    return totals, unknown, besides


def score(
    model: TableModel, chunk: Any, first_row: int, names: list[str], only_scores: bool
) -> tuple[Any, dict[str, int]]:
    """A piece of the table with its scores."""
    X, unknown = model.features(chunk, first_row)
    p = np.asarray(model.estimator.predict_proba(X)[:, 1])
    yes = p >= model.threshold
    alarm, miss = model.costs
    columns = (
        pa.array(p),
        pa.array(model.classes_[yes.astype(np.intp)].tolist(), pa.string()),
        pa.array(np.where(yes, (1 - p) * alarm, p * miss)),
    )
    if only_scores:
        return pa.table(dict(zip(names, columns, strict=True))), unknown
    for name, column in zip(names, columns, strict=True):
        chunk = chunk.append_column(name, column)
    return chunk, unknown


def count(totals: Counter[str], scored: Any, names: list[str], threshold: float) -> None:
    """Add a piece to the totals."""
    p, cost = scored.column(names[0]).to_numpy(), scored.column(names[2]).to_numpy()
    totals["rows"] += len(p)
    totals["positive"] += int((p >= threshold).sum())
    totals["cost"] += float(cost.sum())  # type: ignore[assignment]
    totals["probability"] += float(p.sum())  # type: ignore[assignment]


def _summary(model: TableModel, totals: Counter[str], path: str | None, besides: list[str]) -> dict[str, Any]:
    n = max(1, totals["rows"])
    return {
        "command": "predict",
        "rows": totals["rows"],
        "decided_positive": totals["positive"],
        "positive": model.target.positive,
        "mean_probability": totals["probability"] / n,
        "expected_cost_per_1000": 1000 * totals["cost"] / n,
        "columns_not_used": besides,
        "out": path,
    }
