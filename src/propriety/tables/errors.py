"""One error for every table that cannot be used: what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from propriety.errors import told


class TableError(ValueError):
    """What is wrong with a table and where, and in `advice` what to do about it.

    The problem may be in parts, of which an `Argument` is one that the table does not suit.
    """

    def __init__(self, problem: str | Sequence[str], advice: str = "") -> None:
        self.parts = (problem,) if isinstance(problem, str) else tuple(problem)
        self.problem, self.advice = "".join(self.parts), advice
        super().__init__(f"{self.problem}; {advice}" if advice else self.problem)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.parts, self.advice)

    def told(self, name: Callable[[str], str]) -> str:
        """The problem, with arguments called by other names."""
        return told(self.parts, name)


class NotNumbers(TableError):
    """A column that was asked for as numbers holds something else, after rows that were numbers."""

    def __init__(self, column: str, value: str) -> None:
        super().__init__(f"column {column!r} holds {value!r}, which is not a number")
        self.column, self.value = column, value

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.column, self.value)


class LongRow(TableError):
    """A row of text is longer than the chunks that are read."""


def no_such_column(name: str, known: Iterable[str], instead: Iterable[str] | None = None) -> TableError:
    """The error for a column that is not in the table, with the nearest names, of those that may be meant."""
    known = list(known)
    lower = {k.lower().strip(): k for k in (known if instead is None else instead)}
    near = [lower[k] for k in difflib.get_close_matches(name.lower().strip(), lower, n=3)]
    shown = ", ".join(map(repr, known[:20])) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    advice = f"did you mean {' or '.join(map(repr, near))}?" if near else f"the columns are {shown}"
    return TableError(f"there is no column {name!r}", advice)
