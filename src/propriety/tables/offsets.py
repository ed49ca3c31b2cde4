"""What the scores of a table's rows start from: a column, or arithmetic of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.tables.columns import Columns
from propriety.tables.costs import numbers_in, read_expression
from propriety.tables.errors import TableError
from propriety.tables.expressions import Expression

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TableOffset:
    """An offset of the score of the positive class, made of columns: another model's score, an exposure.

    Examples
    --------
    >>> import pyarrow as pa
    >>> offset = TableOffset.read("score - 1", ["score", "age"])
    >>> offset.columns, offset.of_rows(pa.table({"score": ["0.5", "2"]}))
    (('score',), array([-0.5,  1. ]))
    """

    expression: Expression

    @classmethod
    def read(cls, text: str, names: Sequence[str]) -> TableOffset:
        """From a text, for a table with columns of these names."""
        expression = read_expression("offset", text, list(names))
        if not expression.columns:
            raise ValueError(f"offset must be made of columns, got {text!r}: a constant is learned anyway")
        return cls(expression)

    @property
    def text(self) -> str:
        """As a user would write it."""
        return self.expression.text

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
                f"offset = {self.text} is missing or not finite in row {rows[np.argmax(wrong)] + 1}",
                "every row needs one: mend the table, leave such rows out, or state another expression",
            )
        return offset
