"""The options that commands share, in groups; `with_groups` gives a command those of a group."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from propriety.cli.names import option
from propriety.cli.output import Output, UsageError
from propriety.errors import ArgumentError
from propriety.tables.errors import no_such_column
from propriety.tables.limits import EXPANSION

if TYPE_CHECKING:
    from propriety.study.models import FitRequest
    from propriety.study.numbers import Scale
    from propriety.tables import Overrides, Source

_READING, _COLUMNS, _RUN = "Reading the table", "Columns", "Running"
_COSTS, _SPLIT, _SHOWN = "Costs", "Evaluation", "Presentation"

TableArgument = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet, Arrow, Excel or JSON lines, also compressed; - is standard input. Also many "
        "files: a folder, or a pattern such as 'folder/*.parquet'."
    ),
]
TargetOption = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A parameter of the model, such as max_iter=300. Repeatable.",
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(min=0, max=2**32 - 1, help="Random seed.", rich_help_panel=_RUN),
]


def _jobs(value: int | None) -> int | None:
    from propriety import parallel

    try:
        parallel.n_threads(value)
    except ValueError:
        raise typer.BadParameter(f"{value} is not a number of threads; leave it out for every core") from None
    return value


JobsOption = Annotated[
    int | None,
    typer.Option(
        callback=_jobs,
        help="Number of threads; all cores by default. The model does not depend on it.",
        rich_help_panel=_RUN,
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        help="Memory limit, such as 8GB: read the table in batches. Many files always are.",
        rich_help_panel=_RUN,
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Fit on the workers of a Dask scheduler, such as tcp://host:8786, that can open the files; "
        "'local' starts workers here.",
        rich_help_panel=_RUN,
    ),
]
Text = str | None
Texts = list[str] | None


def _reading(*names: str, help: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_READING)


def _cost(help: str) -> Any:
    return typer.Option(help=help, rich_help_panel=_COSTS)


def _shown(**how: Any) -> Any:
    return typer.Option(rich_help_panel=_SHOWN, **how)


def _columns(help: str) -> Any:
    return typer.Option(help=help, rich_help_panel=_COLUMNS)


def _columns_named(given: list[str] | None) -> list[str] | None:
    """Names of columns, separated by commas; a name that has one stands in double quotes.

    >>> _columns_named(["sex,age", '"a,b"'])
    ['sex', 'age', 'a,b']
    """
    return None if given is None else [name.strip() for row in csv.reader(given) for name in row]


ActionableOption = Annotated[
    Texts,
    _shown(
        callback=_columns_named,
        help="Columns that counterfactuals may change, such as amount,duration; all by default.",
    ),
]


@dataclass(frozen=True)
class Asking:
    """The task: costs, loss, evaluation."""

    positive: Annotated[Text, typer.Option(help="Positive class; inferred by default.")] = None
    fp_cost: Annotated[
        Text,
        _cost("Cost of a false alarm: a number, a range such as 5..20, or columns such as 'amount*0.02'."),
    ] = None
    fn_cost: Annotated[Text, _cost("Cost of a miss, in the same form. Both are 1 by default.")] = None
    tp_benefit: Annotated[Text, _cost("Benefit of a hit: a number, or columns.")] = None
    tn_benefit: Annotated[Text, _cost("Benefit of a correct negative.")] = None
    cost_matrix: Annotated[
        Text,
        _cost(
            "File with the cost matrix, for any number of classes: true classes in the first column, "
            "decisions in the header, optionally abstain."
        ),
    ] = None
    budget: Annotated[
        float | None,
        _cost("Act on at most this many rows, or on a share such as 0.1."),
    ] = None
    prevalence: Annotated[
        Text,
        typer.Option(
            help="Share of the positive class in the population, where rows were drawn by class: 0.02, or "
            "a=0.2,b=0.3,c=0.5 of several classes."
        ),
    ] = None
    offset: Annotated[
        Text,
        typer.Option(
            help="Offset of the score: a column, or arithmetic on columns, with the log-odds of an earlier "
            "model. For boosting and linear models."
        ),
    ] = None
    score_scale: Annotated[
        Text,
        typer.Option(
            help="Scale of --score and --offset: probability, log-odds, or points of a scorecard, "
            "600 at odds "
            "of 50 with 20 points to double the odds; points:600,50,20 sets these numbers."
        ),
    ] = None
    loss: Annotated[
        Text, typer.Option(help="The loss to fit, such as 'Beta(6, 14)'; see propriety losses.")
    ] = None
    holdout: Annotated[
        float | None,
        typer.Option(help="Share of the rows held out for evaluation.", rich_help_panel=_SPLIT),
    ] = None
    folds: Annotated[
        int | None,
        typer.Option(help="Number of cross-validation folds.", rich_help_panel=_SPLIT),
    ] = None
    groups: Annotated[
        Text,
        typer.Option(
            help="A column of groups, such as customers, that are kept on one side of each split.",
            rich_help_panel=_SPLIT,
        ),
    ] = None
    time: Annotated[
        Text,
        typer.Option(
            help="A column of dates or numbers: train on earlier rows, test on later ones.",
            rich_help_panel=_SPLIT,
        ),
    ] = None
    gap: Annotated[
        float | None,
        typer.Option(
            help="With --time: gap between training and test rows, in the column's units or in days, for "
            "labels that arrive late.",
            rich_help_panel=_SPLIT,
        ),
    ] = None
    weights: Annotated[Text, typer.Option("--weights", "--weight", help="A column of row weights.")] = None

    def request(self, seed: int, jobs: int | None, **more: Any) -> FitRequest:
        """What is asked of the fits, checked."""
        from propriety.study.models import FitRequest

        return FitRequest(_loss(self.loss), seed, jobs, **more)

    @property
    def terms(self) -> dict[str, str]:
        """The costs of two classes that were given, as texts."""
        from propriety.tables.costs import DEFAULTS

        return {name: text for name in DEFAULTS if (text := getattr(self, name)) is not None}

    def check(self, *, scores: bool = False) -> None:
        """Refuse, before a table is read, what cannot be meant; there may be ready `scores`."""
        from propriety.data.score_scales import ScoreScale

        if self.cost_matrix is not None and self.terms:
            given = ", ".join(option(name) for name in self.terms)
            raise UsageError(f"give either --cost-matrix or {given}, not both")
        check_budget(self.budget)
        if self.score_scale is not None:
            try:
                ScoreScale.read(self.score_scale)
            except ValueError as error:
                raise UsageError(f"--score-scale {error}") from None
            if self.offset is None and not scores:
                raise UsageError("--score-scale says what --offset holds, and there is no --offset")
        if self.gap is not None and (self.time is None or not self.gap >= 0):
            raise UsageError(f"--gap must be 0 or more and needs --time, got {self.gap:g}")


@dataclass(frozen=True)
class Showing:
    """How results are told to those who decide."""

    unit: Annotated[str, _shown(help="Unit of the costs, such as €.")] = ""
    cases: Annotated[
        float | None,
        _shown(help="Number of cases to report for, such as 120000; by default 1,000."),
    ] = None
    period: Annotated[Text, _shown(help="Period of --cases, such as year.")] = None
    capacity: Annotated[
        float | None,
        _shown(help="How many of --cases can be checked."),
    ] = None
    subgroup: Annotated[
        Texts,
        _shown(
            callback=_columns_named,
            help="Columns that split the rows into subgroups, such as region,sex; they need not be features.",
        ),
    ] = None
    actionable: ActionableOption = None

    @property
    def scale(self) -> Scale:
        """For how many cases numbers are told, and in which unit."""
        from propriety.study.numbers import Scale

        return Scale.read(self.unit, None if self.cases is None else (self.period or "", self.cases))

    def check(self, names: Sequence[str]) -> None:
        """Refuse what the table does not have, and numbers of cases that are none."""
        if self.cases is not None and not self.cases > 0:
            raise UsageError(f"--cases must be above 0, got {self.cases:g}")
        if self.period is not None and self.cases is None:
            raise UsageError("--period says in which time --cases come, and there is no --cases")
        cases = 1000.0 if self.cases is None else self.cases
        if self.capacity is not None and not 0 < self.capacity <= cases:
            raise UsageError(
                f"--capacity must be above 0 and at most {cases:,.0f}, the number of cases, got "
                f"{self.capacity:g}"
            )
        for name in (*(self.subgroup or ()), *(self.actionable or ())):
            if name not in names:
                raise no_such_column(name, list(names))


@dataclass(frozen=True)
class Opening:
    """How a table is opened."""

    format_: Annotated[
        Text,
        _reading(
            "--format", help="The format of the table, instead of what it looks like: csv, tsv, parquet, …"
        ),
    ] = None
    delimiter: Annotated[Text, _reading(help="Field delimiter of a text file.")] = None
    encoding: Annotated[Text, _reading(help="Encoding of a text file, such as cp1252.")] = None
    no_header: Annotated[
        bool, _reading("--no-header", help="The file has no header; columns are called column_1, column_2, …")
    ] = False
    sheet: Annotated[Text, _reading(help="Sheet of an Excel file.")] = None
    max_expansion: Annotated[
        float, _reading(help="Maximum ratio of unpacked to packed size, beyond 1 GB.")
    ] = EXPANSION

    def open(self, path: str, chunk_bytes: int = 8 << 20, jobs: int | None = None) -> Source:
        """Open a table, or several as one, whose text will be parsed by so many threads."""
        from propriety.cli.paths import tables_at
        from propriety.tables.many import open_sources

        if self.delimiter is not None:
            delimiter = {"\\t": "\t", "tab": "\t"}.get(self.delimiter, self.delimiter)
            if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
                raise UsageError(f"--delimiter must be one character of ASCII, got {self.delimiter!r}")
        else:
            delimiter = None
        return open_sources(
            tables_at(path),
            format=self.format_,
            delimiter=delimiter,
            encoding=self.encoding,
            header=not self.no_header,
            sheet=self.sheet,
            chunk_bytes=chunk_bytes,
            max_expansion=self.max_expansion,
            n_jobs=jobs,
        )


@dataclass(frozen=True)
class Meaning:
    """What the user says of the columns."""

    missing: Annotated[
        Texts, _reading(help="Text that means missing, instead of ?, NA, null, … Repeatable.")
    ] = None
    decimal: Annotated[Text, _reading(help="Decimal sign, '.' or ','.")] = None
    numeric: Annotated[Texts, _columns("Read a column as numbers. Repeatable.")] = None
    category: Annotated[Texts, _columns("Read a column as categories. Repeatable.")] = None
    date: Annotated[
        Texts, _columns("Read a column as dates: NAME or NAME=FORMAT, such as when=%d/%m/%Y. Repeatable.")
    ] = None
    drop: Annotated[Texts, _columns("Leave a column out. Repeatable.")] = None
    keep: Annotated[Texts, _columns("Keep a column that would be left out. Repeatable.")] = None

    @property
    def overrides(self) -> Overrides:
        """The same for what is worked out of the table."""
        from propriety.tables import Overrides

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
        typer.Option("--json", help="Print one JSON document on standard output.", rich_help_panel=_RUN),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print only warnings and errors.", rich_help_panel=_RUN),
    ] = False

    @property
    def output(self) -> Output:
        """Where the command writes."""
        return Output(as_json=self.as_json, quiet=self.quiet)


def check_budget(budget: float | None) -> None:
    """Refuse a budget that is neither a number of rows nor a share."""
    if budget is not None:
        from propriety.costs import ResolvedCosts

        ResolvedCosts.of_mistakes().decide_within([0.5], budget)


def prevalence_of(text: str | None, classes: Sequence[str]) -> Any:
    """Shares of the classes, the positive one of two last.

    >>> prevalence_of("0.02", ("paid", "late")), prevalence_of("b=0.3, a=0.7", ("a", "b"))
    (array([0.98, 0.02]), array([0.7, 0.3]))
    """
    if text is None:
        return None
    import numpy as np

    from propriety.study.question import shares_of

    try:
        if "=" in text:
            pairs = (pair.rpartition("=") for pair in text.split(","))
            return shares_of({name.strip(): float(share) for name, _, share in pairs}, np.array(classes))
        return shares_of(float(text), np.array(classes))
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        example = ",".join(f"{label}={1 / len(classes):.2g}" for label in classes)
        raise UsageError(f"--prevalence must be a share such as 0.02, or {example}, got {text!r}") from None


def _loss(text: str | None) -> Any:
    if text is None:
        return None
    from propriety import losses

    try:
        value = losses.parse(text)
    except (ValueError, TypeError) as error:
        raise UsageError(f"--loss: {error}") from None
    if not isinstance(value, losses.Loss | losses.Composite):
        raise UsageError(f"--loss: {text!r} is not a loss; propriety losses lists them")
    return value


def names(given: str | None) -> list[str]:
    """Names that are separated by commas.

    >>> names("linear, boosting,")
    ['linear', 'boosting']
    """
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def settings(given: list[str] | None) -> dict[str, Any]:
    """Parameters of a model from name=value; values are numbers, true, false, none, text, or [lists] of them.

    >>> settings(["members=[linear, boosting]", "n_folds=3"])
    {'members': ['linear', 'boosting'], 'n_folds': 3}
    """
    result = {}
    for item in given or []:
        name, sign, value = item.partition("=")
        if not sign or not name.isidentifier():
            raise UsageError(f"--set needs NAME=VALUE, got {item!r}")
        result[name] = _value(value)
    return result


def _value(text: str) -> Any:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        items = text[1:-1].split(",") if text[1:-1].strip() else []
        return [_value(item) for item in items]
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
