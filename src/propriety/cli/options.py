"""The options that commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from propriety import losses
from propriety.cli.output import UsageError
from propriety.tables import Overrides, Source, open_source

_READING, _COLUMNS, _RUN = "Reading the table", "What the columns are", "Running"

Table = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet, Arrow, Excel or JSON lines, also compressed; - is standard input."
    ),
]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
Positive = Annotated[str | None, typer.Option(help="The label that can be missed; worked out if not given.")]
FpCost = Annotated[float, typer.Option(help="What a false alarm costs.")]
FnCost = Annotated[float, typer.Option(help="What a miss costs.")]
Loss = Annotated[
    str | None, typer.Option(help="What to fit, for example 'Beta(6, 14)'; see propriety losses.")
]
Weight = Annotated[str | None, typer.Option(help="A column of weights of the rows.")]
Folds = Annotated[int | None, typer.Option(help="Judge by cross-validation with so many folds.")]
Holdout = Annotated[
    float | None, typer.Option(help="Judge on this share of the rows, which the model never sees.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter of the model: --set max_iter=300. Repeat for more."),
]

Format = Annotated[
    str | None,
    typer.Option("--format", help="csv, tsv, parquet, arrow, excel or jsonl.", rich_help_panel=_READING),
]
Delimiter = Annotated[
    str | None, typer.Option(help="Between the fields of a text file.", rich_help_panel=_READING)
]
Encoding = Annotated[
    str | None, typer.Option(help="Of a text file, for example cp1252.", rich_help_panel=_READING)
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first row is data; columns are column_1, column_2, …",
        rich_help_panel=_READING,
    ),
]
Sheet = Annotated[str | None, typer.Option(help="Of an Excel file.", rich_help_panel=_READING)]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="Text that means missing, instead of ?, NA, null, … Repeat for more.", rich_help_panel=_READING
    ),
]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign, '.' or ','.", rich_help_panel=_READING)]

Numeric = Annotated[list[str] | None, typer.Option(help="A column of numbers.", rich_help_panel=_COLUMNS)]
Category = Annotated[
    list[str] | None,
    typer.Option(help="A column of categories, even if they look like numbers.", rich_help_panel=_COLUMNS),
]
Date = Annotated[
    list[str] | None,
    typer.Option(
        help="A column of dates, or NAME=FORMAT, for example when=%d/%m/%Y.", rich_help_panel=_COLUMNS
    ),
]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out.", rich_help_panel=_COLUMNS)]
Keep = Annotated[
    list[str] | None, typer.Option(help="A column to keep that would be left out.", rich_help_panel=_COLUMNS)
]

AsJson = Annotated[
    bool,
    typer.Option("--json", help="One JSON document on standard output, nothing else.", rich_help_panel=_RUN),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but warnings and errors.", rich_help_panel=_RUN)
]
Seed = Annotated[int, typer.Option(help="Of everything that is drawn at random.", rich_help_panel=_RUN)]
Jobs = Annotated[
    int | None,
    typer.Option(
        help="Threads; by default every core. The model does not depend on it.", rich_help_panel=_RUN
    ),
]


@dataclass(frozen=True)
class Reading:
    """How a table is opened."""

    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    no_header: bool = False
    sheet: str | None = None

    def open(self, path: str, chunk_bytes: int = 8 << 20) -> Source:
        """Open a table."""
        if self.delimiter is not None:
            delimiter = {"\\t": "\t", "tab": "\t"}.get(self.delimiter, self.delimiter)
            if len(delimiter) != 1:
                raise UsageError(f"--delimiter must be one character, got {self.delimiter!r}")
        else:
            delimiter = None
        return open_source(
            path,
            format=self.format,
            delimiter=delimiter,
            encoding=self.encoding,
            header=not self.no_header,
            sheet=self.sheet,
            chunk_bytes=chunk_bytes,
        )


def overrides(
    numeric: Any, category: Any, date: Any, drop: Any, keep: Any, missing: Any, decimal: str | None
) -> Overrides:
    """What the user says of the columns."""
    if decimal not in (None, ".", ","):
        raise UsageError(f"--decimal must be '.' or ',', got {decimal!r}")
    lists = (tuple(given or ()) for given in (numeric, category, date, drop, keep))
    return Overrides(*lists, missing=None if missing is None else tuple(missing), decimal=decimal)


def check_costs(fp_cost: float, fn_cost: float) -> None:
    """Costs are positive."""
    for name, cost in (("--fp-cost", fp_cost), ("--fn-cost", fn_cost)):
        if not 0 < cost < float("inf"):
            raise UsageError(f"{name} must be a positive number, got {cost:g}")


def check_loss(text: str | None) -> Any:
    """The loss that a text denotes, or an error with the nearest name."""
    if text is None:
        return None
    try:
        value = losses.parse(text)
    except (ValueError, TypeError) as error:
        raise UsageError(f"--loss: {error}") from None
    if not isinstance(value, losses.Loss | losses.Composite):
        raise UsageError(f"--loss: {text!r} is not a loss; propriety losses lists them")
    return value


def settings(given: list[str] | None) -> dict[str, Any]:
    """Parameters of a model from name=value; values are numbers, true, false, none, or text."""
    result = {}
    for item in given or []:
        name, sign, value = item.partition("=")
        if not sign or not name.isidentifier():
            raise UsageError(f"--set needs NAME=VALUE, got {item!r}")
        result[name] = _value(value)
    return result


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
