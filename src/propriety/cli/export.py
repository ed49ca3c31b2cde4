"""``propriety export``: a model in another language, for programs without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import UsageError
from propriety.cli.paths import check_outputs
from propriety.cli.predict import ModelArgument, load_model
from propriety.storage.atomic import atomically
from propriety.tables import TableModel


@command
def export_command(
    model_path: ModelArgument,
    *,
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Write ONNX, for onnxruntime in any language.")
    ] = False,
    sql: Annotated[bool, typer.Option("--sql", help="Write an SQL query.")] = False,
    out_path: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", help="Output file; by default beside the model, ending in .onnx or .sql."
        ),
    ] = None,
    table: Annotated[
        str, typer.Option("--table", help="Table name after FROM in the query.", rich_help_panel="SQL")
    ] = "data",
    dialect: Annotated[
        str, typer.Option("--dialect", help="SQL dialect: duckdb or sqlite.", rich_help_panel="SQL")
    ] = "duckdb",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", help="A column to keep in the result, such as a key. Repeatable.", rich_help_panel="SQL"
        ),
    ] = None,
    float32: Annotated[bool, typer.Option("--float32", help="Use float32 for inputs and outputs.")] = False,
    telling: o.Telling,
) -> None:
    """Export a model as ONNX or SQL.

    An ONNX model has one input for each column: numbers with NaN for missing values, and text for categories;
    unknown categories are missing. A date is given by its parts. The outputs are the decision by the costs
    and the probabilities. Needs the package onnx: pip install "propriety[onnx]".

    An SQL query reads the columns of a table by name, with NULL for missing values, and returns the columns
    to keep, the probabilities and the decision.

    \b
    Examples:
      propriety export loans.propriety --onnx
      propriety export loans.propriety --onnx --float32 --out served/loans.onnx
      propriety export loans.propriety --sql --table loans --keep id --dialect sqlite
    """  # noqa: D301
    if onnx == sql:
        raise UsageError("choose one format: --onnx or --sql")
    path = out_path or str(Path(model_path).with_suffix(".sql" if sql else ".onnx"))
    check_outputs({"--out": path}, {"model": model_path})
    out, model = telling.output, load_model(model_path)
    result: dict[str, Any] = {"command": "export", "out": path}
    try:
        if sql:
            query = model.to_sql(table, dialect=dialect, keep=keep or [])
            with atomically(path) as temporary:
                temporary.write_text(query, encoding="utf-8")
            out.say(f"{path} written: a {dialect} query of the table {table}")
        else:
            written = model.to_onnx(path, dtype="float32" if float32 else "float64")
            inputs = [entry.name for entry in written.graph.input]
            outputs = [entry.name for entry in written.graph.output]
            out.say(f"{path} written: inputs {', '.join(inputs)}; outputs {', '.join(outputs)}")
            result |= {"inputs": inputs, "outputs": outputs}
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from None
    for part in _dates(model):
        out.warn(f"{part} is a part of a date: compute it before calling the model")
    out.result(result)


def _dates(model: TableModel) -> list[str]:
    return [part for c in model.columns.columns if c.kind == "date" for part in c.features]
