"""``propriety export``: a model in another language, for programs without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import UsageError
from propriety.cli.paths import check_outputs
from propriety.cli.predict import ModelArgument, load_model
from propriety.tables import TableModel


@command
def export_command(
    model_path: ModelArgument,
    *,
    onnx: Annotated[
        bool, typer.Option("--onnx", help="As an ONNX model, for onnxruntime in any language.")
    ] = False,
    out_path: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Where to; by default beside the model, ending in .onnx."),
    ] = None,
    float32: Annotated[
        bool, typer.Option("--float32", help="Numbers go in and probabilities come out as float32.")
    ] = False,
    telling: o.Telling,
) -> None:
    """Write a model in a language that other programs read.

    An ONNX model has one input for each column: numbers, NaN where missing, and text for categories; what is
    no category is missing. A date comes as its parts. Its outputs are the label that the costs decide, and
    the probabilities. It needs the package onnx: pip install "propriety[onnx]".

    \b
    Examples:
      propriety export loans.propriety --onnx
      propriety export loans.propriety --onnx --float32 --out served/loans.onnx
    """  # noqa: D301
    if not onnx:
        raise UsageError("say in which format: --onnx")
    path = out_path or str(Path(model_path).with_suffix(".onnx"))
    check_outputs({"--out": path}, {"model": model_path})
    out, model = telling.output, load_model(model_path)
    try:
        written = model.to_onnx(path, dtype="float32" if float32 else "float64")
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from None
    inputs = [entry.name for entry in written.graph.input]
    outputs = [entry.name for entry in written.graph.output]
    out.say(f"wrote {path}: inputs {', '.join(inputs)}; outputs {', '.join(outputs)}")
    for part in _dates(model):
        out.warn(f"{part} is made of a date, and must be worked out before it goes in")
    out.result({"command": "export", "out": path, "inputs": inputs, "outputs": outputs})


def _dates(model: TableModel) -> list[str]:
    return [part for c in model.columns.columns if c.kind == "date" for part in c.features]
