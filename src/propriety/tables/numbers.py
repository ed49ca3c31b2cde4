"""Features as numbers for models that take nothing else: missing values filled, categories as indicators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

KINDS = ("value", "missing", "level")
_LEVELS = 50  # indicators of one category; rarer values have none

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """One column of numbers made of one feature.

    ``kind`` is "value" (filled with the median, then (x − centre)/scale), "missing" (1 where it is missing)
    or "level" (1 where the category is ``level``).
    """

    feature: int
    kind: str
    fill: float = 0.0
    centre: float = 0.0
    scale: float = 1.0
    level: str = ""


@dataclass(frozen=True)
class Numbers:
    """The terms, learned from the training table."""

    terms: tuple[Term, ...]

    @classmethod
    def fit(cls, frame: Any) -> Numbers:
        """Learn medians, means, spreads and the frequent categories of an encoded table."""
        terms: list[Term] = []
        for f, column in enumerate(frame.columns):
            if pa.types.is_dictionary(column.type):
                terms += _levels(f, column)
                continue
            x = column.to_numpy().astype(np.float64)
            x = np.where(np.isfinite(x), x, np.nan)
            known = x[~np.isnan(x)]
            fill = float(np.median(known)) if len(known) else 0.0
            filled = np.where(np.isnan(x), fill, x)
            scale = float(filled.std())
            if scale > 0:
                terms.append(Term(f, "value", fill, float(filled.mean()), scale))
            share = float(np.isnan(x).mean())
            if 0 < share < 1:
                terms.append(Term(f, "missing", centre=share))
        return cls(tuple(terms))

    @property
    def owners(self) -> tuple[int, ...]:
        """For each number the feature that it is made of."""
        return tuple(term.feature for term in self.terms) or (0,)  # without terms there is a column of zeros

    def __call__(self, frame: Any) -> Floats:
        """The numbers of an encoded table, of shape (n, terms); indicators are centred too."""
        result = np.empty((frame.num_rows, max(1, len(self.terms))))
        result[:] = 0.0
        for j, term in enumerate(self.terms):
            column = frame.column(term.feature)
            if term.kind == "level":
                text = pc.cast(column, pa.string())
                x = pc.fill_null(pc.equal(text, term.level), False).to_numpy().astype(np.float64)
            else:
                x = column.to_numpy().astype(np.float64)
                lost = ~np.isfinite(x)
                x = lost.astype(np.float64) if term.kind == "missing" else np.where(lost, term.fill, x)
            result[:, j] = (x - term.centre) / term.scale
        return result


def _levels(f: int, column: Any) -> list[Term]:
    text = pc.cast(column, pa.string()).drop_null()
    counts = sorted((-v["counts"], v["values"]) for v in pc.value_counts(text).to_pylist())
    n = max(1, len(column))
    return [Term(f, "level", centre=-count / n, level=level) for count, level in counts[:_LEVELS]]
