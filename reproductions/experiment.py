"""What an experiment is, and what comes of it: values that can be kept as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from reproductions.running import Context

#: A number, a word ("yes"), or None where there is none.
Value = float | str | None
REPRODUCED, SAME_PATTERN, NOT_REPRODUCED, CANNOT_BE = WORDS = (
    "reproduced",
    "same pattern",
    "not reproduced",
    "cannot be",
)
SOURCES = ("paper", "inferred", "ours")


@dataclass(frozen=True)
class Paper:
    """One of the five papers."""

    key: str  # as docstrings cite it: B, C, N8, N9, M
    authors: str
    year: int
    title: str
    published: str


@dataclass(frozen=True)
class Setting:
    """One line of a protocol: what was set, to what, and who says so.

    >>> Setting("test rows", "10,000", "paper")
    Setting(name='test rows', value='10,000', source='paper')
    """

    name: str
    value: str
    source: str  # "paper", "inferred" from what it prints, or "ours"

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ValueError(f"source must be one of {', '.join(SOURCES)}, got {self.source!r}")


@dataclass(frozen=True)
class Cell:
    """One number of a table: as printed, and ours.

    `tolerance` is how far apart the two may be and still be called the same; None if nothing measures it.
    """

    row: str
    column: str
    printed: Value
    ours: Value
    tolerance: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours less the printed, where both are numbers."""
        if isinstance(self.printed, str) or isinstance(self.ours, str):
            return None
        return None if self.printed is None or self.ours is None else self.ours - self.printed

    @property
    def agrees(self) -> bool | None:
        """Whether ours is the printed value within the tolerance; None if that cannot be said.

        >>> Cell("log", "sonar", 11.4, 9.0, 3.0).agrees, Cell("log", "sonar", None, 9.0).agrees
        (True, None)
        """
        if isinstance(self.printed, str) and self.ours is not None:
            return self.printed == self.ours
        if self.difference is None or self.tolerance is None:
            return None
        return abs(self.difference) <= self.tolerance + 1e-9


@dataclass(frozen=True)
class Table:
    """A table of the paper with our numbers in it.

    `tolerance_from` says where the tolerances come from; `note` is a remark below the table.
    """

    name: str
    place: str
    cells: tuple[Cell, ...]
    tolerance_from: str = ""
    note: str = ""
    digits: int = 3

    @property
    def rows(self) -> list[str]:
        """Names of the rows, in order."""
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(dict.fromkeys(cell.column for cell in self.cells))

    def cell(self, row: str, column: str) -> Cell | None:
        """The cell at a row and a column, if there is one."""
        return next((cell for cell in self.cells if (cell.row, cell.column) == (row, column)), None)

    @property
    def agreement(self) -> tuple[int, int]:
        """How many cells agree with the print, and of how many that can be said."""
        known = [cell.agrees for cell in self.cells if cell.agrees is not None]
        return sum(known), len(known)


@dataclass(frozen=True)
class Printed:
    """Numbers that a paper prints: a table of `rows`, each with a value for every column.

    >>> printed = Printed("Table 9", "p. 1", ("sonar", "wdbc"), {"log": (11.4, None)})
    >>> ours = {"log": (11.0, 5.0), "squared": (10.0, 5.2)}
    >>> table = printed.beside(ours, tolerance=1.0, tolerance_from="two runs")
    >>> table.agreement, table.rows
    ((1, 1), ['log', 'squared'])
    """

    name: str
    place: str  # page and number of the table or the figure, or where in the text
    columns: tuple[str, ...]
    rows: Mapping[str, Sequence[Value]]

    def __post_init__(self) -> None:
        for row, values in self.rows.items():
            if len(values) != len(self.columns):
                raise ValueError(f"{self.name}, {row}: {len(values)} values for {len(self.columns)} columns")

    def value(self, row: str, column: str) -> Value:
        """What stands there; None if nothing does."""
        if row not in self.rows or column not in self.columns:
            return None
        return self.rows[row][self.columns.index(column)]

    def beside(
        self,
        ours: Mapping[str, Sequence[Value]],
        *,
        columns: Sequence[str] | None = None,
        tolerance: float | Mapping[str, Sequence[float | None]] | None = None,
        tolerance_from: str = "",
        note: str = "",
        digits: int = 3,
    ) -> Table:
        """The table with ours beside the print: every printed cell is in it, and those that are ours alone.

        `ours` has a value for each of `columns` (those of the print if not given); `tolerance` is one
        number, or rows of them as in `ours`.
        """
        names = tuple(columns or self.columns)
        cells = []
        for row in dict.fromkeys((*self.rows, *ours)):
            for column in dict.fromkeys((*self.columns, *names)):
                given = ours.get(row)
                place = names.index(column) if column in names else None
                value = None if given is None or place is None else given[place]
                limit: float | None
                if isinstance(tolerance, Mapping):
                    limits = tolerance.get(row)
                    limit = None if limits is None or place is None else limits[place]
                else:
                    limit = tolerance
                printed = self.value(row, column)
                cells.append(Cell(row, column, printed, _plain(value), None if printed is None else limit))
        return Table(self.name, self.place, tuple(cells), tolerance_from, note, digits)


def _plain(value: Any) -> Value:
    return value if value is None or isinstance(value, str) else float(value)


@dataclass(frozen=True)
class Verdict:
    """What became of a claim: one of `WORDS`, with the reason in a sentence."""

    claim: str
    word: str
    reason: str

    def __post_init__(self) -> None:
        if self.word not in WORDS:
            raise ValueError(f"word must be one of {', '.join(WORDS)}, got {self.word!r}")


@dataclass(frozen=True)
class Drawing:
    """A figure after the paper's: ``draw(figure, numbers)`` fills an empty one of matplotlib's.

    `numbers` is what the outcome keeps under `name`; `title` says in a sentence what is seen,
    and `size` is in inches.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[Any, Any], None]
    size: tuple[float, float] = (7.2, 3.3)


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment: tables, numbers of its figures by name, and a verdict a claim."""

    tables: tuple[Table, ...]
    verdicts: tuple[Verdict, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def table(self, name: str) -> Table:
        """The table of that name."""
        return next(table for table in self.tables if table.name == name)

    def as_json(self) -> dict[str, Any]:
        """The same as dictionaries, lists, numbers and texts."""
        return {
            "tables": [
                {
                    "name": table.name,
                    "place": table.place,
                    "tolerance_from": table.tolerance_from,
                    "note": table.note,
                    "digits": table.digits,
                    "cells": [[c.row, c.column, c.printed, c.ours, c.tolerance] for c in table.cells],
                }
                for table in self.tables
            ],
            "verdicts": [[v.claim, v.word, v.reason] for v in self.verdicts],
            "figures": dict(self.figures),
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The outcome that was kept.

        >>> kept = Outcome((), (Verdict("a line", "reproduced", "so it is"),)).as_json()
        >>> Outcome.from_json(kept).verdicts[0].word
        'reproduced'
        """
        tables = tuple(
            Table(
                **{key: value for key, value in table.items() if key != "cells"},
                cells=tuple(Cell(*cell) for cell in table["cells"]),
            )
            for table in document["tables"]
        )
        verdicts = tuple(Verdict(*verdict) for verdict in document["verdicts"])
        return cls(tables, verdicts, document["figures"], tuple(document["notes"]))


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes
    ----------
    name : str
        On the command line, such as "buja-trees".
    paper : Paper
    place : str
        Table or figure, with its page.
    title : str
        What it is about, in a line.
    protocol : tuple of Setting
    run : function of a Context
        Gives the Outcome.
    printed : tuple of Printed
        Every table that the outcome must have.
    tried : tuple of str
        All settings that were tried, those that are not shown too.
    data : tuple of str
        Data sets that it needs.
    drawings : tuple of Drawing
    minutes : float
        What a full run takes on one core, about.
    """

    name: str
    paper: Paper
    place: str
    title: str
    protocol: tuple[Setting, ...]
    run: Callable[[Context], Outcome]
    printed: tuple[Printed, ...] = ()
    tried: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    minutes: float = 1.0
