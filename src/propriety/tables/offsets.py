"""What the scores of a table's rows start from: a column, or arithmetic of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.data.score_scales import LOG_ODDS, POINTS, PROBABILITY, ScoreScale
from propriety.errors import Argument, ArgumentError
from propriety.tables.columns import Columns
from propriety.tables.costs import numbers_in, read_expression
from propriety.tables.errors import TableError
from propriety.tables.expressions import Expression

Floats = NDArray[np.float64]
_OFFSET = Argument("offset")


@dataclass(frozen=True)
class TableOffset:
    """An offset of the score of the positive class, made of columns: another model's score, an exposure.

    Examples
    --------
    >>> import pyarrow as pa
    >>> offset = TableOffset.read("score - 1", ["score", "age"])
    >>> offset.columns, offset.of_rows(pa.table({"score": ["0.5", "2"]}))
    (('score',), array([-0.5,  1. ]))
    >>> offset = TableOffset.read("p", ["p"], "probability")
    >>> offset.words, offset.of_rows(pa.table({"p": ["0.5", "0.2"]})).round(3)
    ('the log-odds of p', array([ 0.   , -1.386]))
    """

    expression: Expression
    scale: str = LOG_ODDS

    @classmethod
    def read(cls, text: str, names: Sequence[str], scale: str = LOG_ODDS) -> TableOffset:
        """From a text, for a table with columns of these names."""
        expression = read_expression("offset", text, list(names))
        if not expression.columns:
            raise ArgumentError(
                _OFFSET, f"must be made of columns, got {text!r}: a constant is learned anyway"
            )
        return cls(expression, scale)

    @property
    def text(self) -> str:
        """As a user would write it."""
        return self.expression.text

    @property
    def words(self) -> str:
        """What the score starts from."""
        what = {LOG_ODDS: "", PROBABILITY: "the log-odds of ", POINTS: "the log-odds of the points "}
        return what[ScoreScale.read(self.scale).name] + self.text

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs."""
        return self.expression.columns

    def of_rows(
        self, table: Any, columns: Columns | None = None, *, rows: NDArray[np.intp] | None = None
    ) -> Floats:
        """The offset of each row.

        `columns` say how values are written, and `rows` are the places of the rows in the file, for errors.
        """
        rows = np.arange(table.num_rows) if rows is None else rows
        values = {name: numbers_in(table, name, columns, rows, "the offset needs") for name in self.columns}
        offset = np.asarray(self.expression(values), dtype=np.float64)
        wrong = ~np.isfinite(offset)
        if wrong.any():
            raise TableError(
                [_OFFSET, f" = {self.text} is missing or not finite in row {rows[np.argmax(wrong)] + 1}"],
                "every row needs one: fix the table, leave such rows out, or state another expression",
            )
        scale = ScoreScale.read(self.scale)
        wrong = ((offset <= 0) | (offset >= 1)) & (scale.name == PROBABILITY)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise TableError(
                [
                    _OFFSET,
                    f" = {self.text} is {offset[row]:g} in row {rows[row] + 1}, and the log-odds of a "
                    "probability need one between 0 and 1, neither included",
                ],
                "fix the table, or keep it away from 0 and 1",
            )
        return scale.log_odds(offset)
