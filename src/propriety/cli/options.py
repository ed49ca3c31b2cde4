"""The options that commands share, in groups; `with_groups` gives a command those of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from propriety import losses
from propriety.cli.output import Output, UsageError
from propriety.cli.recipes import Order
from propriety.costs import Costs
from propriety.tables import Overrides, Source, open_source
from propriety.tables.limits import EXPANSION

_READING, _COLUMNS, _RUN = "Reading the table", "What the columns are", "Running"

TableArgument = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet, Arrow, Excel or JSON lines, also compressed; - is standard input."
    ),
]
TargetOption = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter of the model: --set max_iter=300. Repeat for more."),
]
SeedOption = Annotated[
    int,
    typer.Option(min=0, max=2**32 - 1, help="Of everything that is drawn at random.", rich_help_panel=_RUN),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        help="Threads; by default every core. The model does not depend on it.", rich_help_panel=_RUN
    ),
]
Text = str | None
Texts = list[str] | None


def _reading(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_READING)


def _columns(help: str) -> Any:
    return typer.Option(help=help, rich_help_panel=_COLUMNS)


@dataclass(frozen=True)
class Asking:
    """What is asked of a model, and how it is judged."""

    positive: Annotated[Text, typer.Option(help="The label that can be missed; worked out if not given.")] = (
        None
    )
    fp_cost: Annotated[float, typer.Option(help="What a false alarm costs.")] = 1.0
    fn_cost: Annotated[float, typer.Option(help="What a miss costs.")] = 1.0
    loss: Annotated[
        Text, typer.Option(help="What to fit, for example 'Beta(6, 14)'; see propriety losses.")
    ] = None
    holdout: Annotated[
        float | None, typer.Option(help="Judge on this share of the rows, which the model never sees.")
    ] = None
    folds: Annotated[int | None, typer.Option(help="Judge by cross-validation with so many folds.")] = None
    weight: Annotated[Text, typer.Option(help="A column of weights of the rows.")] = None

    def order(self, seed: int, jobs: int | None, **more: Any) -> Order:
        """What is asked, checked."""
        return Order(_costs(self.fp_cost, self.fn_cost), _loss(self.loss), seed, jobs, **more)


@dataclass(frozen=True)
class Opening:
    """How a table is opened."""

    format_: Annotated[Text, _reading("--format", help="csv, tsv, parquet, arrow, excel or jsonl.")] = None
    delimiter: Annotated[Text, _reading(help="Between the fields of a text file.")] = None
    encoding: Annotated[Text, _reading(help="Of a text file, for example cp1252.")] = None
    no_header: Annotated[
        bool, _reading("--no-header", help="The first row is data; columns are column_1, column_2, …")
    ] = False
    sheet: Annotated[Text, _reading(help="Of an Excel file.")] = None
    max_expansion: Annotated[
        float, _reading(help="How many times its size a file may unpack to, beyond 1 GB.")
    ] = EXPANSION

    def open(self, path: str, chunk_bytes: int = 8 << 20) -> Source:
        """Open a table."""
        if self.delimiter is not None:
            delimiter = {"\\t": "\t", "tab": "\t"}.get(self.delimiter, self.delimiter)
            if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
                raise UsageError(f"--delimiter must be one character of ASCII, got {self.delimiter!r}")
        else:
            delimiter = None
        return open_source(
            path,
            format=self.format_,
            delimiter=delimiter,
            encoding=self.encoding,
            header=not self.no_header,
            sheet=self.sheet,
            chunk_bytes=chunk_bytes,
            max_expansion=self.max_expansion,
        )


@dataclass(frozen=True)
class Meaning:
    """What the user says of the columns."""

    missing: Annotated[
        Texts, _reading(help="Text that means missing, instead of ?, NA, null, … Repeat for more.")
    ] = None
    decimal: Annotated[Text, _reading(help="Decimal sign, '.' or ','.")] = None
    numeric: Annotated[Texts, _columns("A column of numbers.")] = None
    category: Annotated[Texts, _columns("A column of categories, even if they look like numbers.")] = None
    date: Annotated[Texts, _columns("A column of dates, or NAME=FORMAT, for example when=%d/%m/%Y.")] = None
    drop: Annotated[Texts, _columns("A column to leave out.")] = None
    keep: Annotated[Texts, _columns("A column to keep that would be left out.")] = None

    @property
    def overrides(self) -> Overrides:
        """The same for what is worked out of the table."""
        if self.decimal not in (None, ".", ","):
            raise UsageError(f"--decimal must be '.' or ',', got {self.decimal!r}")
        return Overrides(
            number=tuple(self.numeric or ()),
            category=tuple(self.category or ()),
            date=tuple(self.date or ()),
            drop=tuple(self.drop or ()),
            keep=tuple(self.keep or ()),
            missing=None if self.missing is None else tuple(self.missing),
            decimal=self.decimal,
        )


@dataclass(frozen=True)
class Telling:
    """Who reads the output."""

    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="One JSON document on standard output, nothing else.", rich_help_panel=_RUN
        ),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Say nothing but warnings and errors.", rich_help_panel=_RUN),
    ] = False

    @property
    def output(self) -> Output:
        """Where the command writes."""
        return Output(as_json=self.as_json, quiet=self.quiet)


def _costs(fp_cost: float, fn_cost: float) -> Costs:
    try:
        return Costs.of_mistakes(fp_cost, fn_cost)
    except ValueError as error:
        raise UsageError(str(error).replace("fp_cost", "--fp-cost").replace("fn_cost", "--fn-cost")) from None


def _loss(text: str | None) -> Any:
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
