"""A table that was read to be learned from: features, labels, weights, costs, groups and time of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.costs import ResolvedCosts
from propriety.data.table import Rows
from propriety.tables import Findings, Source, TableCosts, TableOffset
from propriety.weights import Weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Role:
    """A column that says how rows are to be split: its name and a number for each row."""

    name: str
    values: NDArray[Any]

    def take(self, rows: NDArray[np.intp]) -> Role:
        """The same of some rows."""
        return Role(self.name, self.values[rows])


@dataclass(frozen=True)
class TrainingTable:
    """A table that was read: what was worked out of it, its features, labels, weights and costs.

    Attributes
    ----------
    frame : Arrow table, or Rows of one
        The features.
    y : array of shape (n,)
        The place of each row's class in ``findings.target.classes``.
    stated : TableCosts
        The costs as they were given.
    of_rows : dict
        Their terms for each row, if they differ by row.
    stated_offset : TableOffset or None
        What scores start from, as it was given, and
    offset : array of shape (n,), or None
        for each row.
    by : dict
        Columns whose values part the rows into subgroups: floats or text.
    groups, time : Role or None
        What is never on both sides of a split, and what splits before from after.
    """

    source: Source
    findings: Findings
    frame: Any
    y: NDArray[np.intp]
    weight: Floats | None = None
    stated: TableCosts = field(default_factory=TableCosts)
    of_rows: dict[str, Floats] = field(default_factory=dict)
    groups: Role | None = None
    time: Role | None = None
    stated_offset: TableOffset | None = None
    offset: Floats | None = None
    by: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def classes(self) -> tuple[str, ...]:
        """What may be decided; of two classes the negative and the positive."""
        return self.findings.target.classes

    @property
    def weights(self) -> Weights:
        """The weights of the rows, for means and their errors."""
        return Weights.read(self.weight, len(self.y))

    @property
    def costs(self) -> ResolvedCosts:
        """What decisions about its rows cost."""
        return self.stated.of_terms(self.of_rows, self.classes)

    def take(self, rows: NDArray[np.intp]) -> TrainingTable:
        """Some of its rows; the features stay where they are."""
        return replace(
            self,
            frame=self.frame[rows] if isinstance(self.frame, Rows) else Rows(self.frame, rows),
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
            of_rows={name: values[rows] for name, values in self.of_rows.items()},
            groups=None if self.groups is None else self.groups.take(rows),
            time=None if self.time is None else self.time.take(rows),
            offset=None if self.offset is None else self.offset[rows],
            by={name: values[rows] for name, values in self.by.items()},
        )
