"""A table that was read to be learned from: features, labels, weights, costs, groups and time of its rows."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.costs import ResolvedCosts
from propriety.study.columns import ColumnFacts, TableFacts, range_of
from propriety.study.question import Question, StudyCosts
from propriety.study.splitting import Role
from propriety.tables import Findings, Source, TableCosts, TableOffset
from propriety.tables.expressions import Expression
from propriety.weights import Weights

Floats = NDArray[np.float64]


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
    apart : dict
        Columns of numbers that are no features.
    shares : array of shape (K,), or None
        Of the classes in the population that the rows stand for.
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
    apart: dict[str, Floats] = field(default_factory=dict)
    shares: Floats | None = None

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

    def question(self, budget: float | None = None) -> Question:
        """What a study is asked of it: the features as they are, and classes as numbers."""
        terms: dict[str, Any] = {
            name: self.of_rows[name] if isinstance(term, Expression) else term
            for name, term in self.stated.terms_for(self.classes).items()
        }
        stated = self.stated
        costs = StudyCosts(self.costs, stated.parameters(self.classes), self.of_rows, {}, terms, stated.texts)
        return Question(
            self.frame,
            self.y.astype(np.int64),
            self.y,
            np.arange(len(self.classes)),
            tuple(self.classes),
            costs,
            self.weight,
            self.offset,
            self.groups,
            self.time,
            self.by,
            budget,
            self.shares,
        )

    @property
    def facts(self) -> TableFacts:
        """What was worked out when it was read."""
        columns, n = self.findings.columns, len(self.y)
        known = {
            name: [f for f, k in zip(columns.features, columns.owners, strict=True) if k == place]
            for place, name in enumerate(columns.names)
        }
        return TableFacts(
            target=self.findings.target.name,
            columns=[
                ColumnFacts(
                    c.name,
                    c.kind,
                    self.findings.missing_cells.get(c.name, 0) / n,
                    range_of(self.frame.column(c.name).to_numpy()) if c.kind == "number" else c.details,
                )
                for c in columns.columns
            ],
            owners=known,
            left_out=self.findings.left_out,
            notes=self.findings.notes,
            warnings=self.findings.warnings,
            about=self._about,
            places=self.findings.rows,
            command=shlex.join(["propriety", *sys.argv[1:]]),
        )

    @property
    def _about(self) -> dict[str, str]:
        target, counts = self.findings.target, np.bincount(self.y, minlength=len(self.classes))
        shares = [
            f"{n:,} ({n / len(self.y):.1%}) are {c!r}" for n, c in zip(counts, self.classes, strict=True)
        ]
        facts = {"table": self.source.name, "rows": f"{len(self.y):,}, of which "}
        if target.several:
            facts["rows"] += ", ".join(shares)
        else:
            facts["rows"] += shares[1]
            facts["positive class"] = f"{target.positive!r}: {target.because}"
        if self.stated.by_row:
            facts["columns of the costs"] = ", ".join(map(repr, self.stated.columns))
        if self.stated_offset is not None:
            facts["offset"] = self.stated_offset.words
        if self.weight is not None:
            facts["weights"] = "given by a column"
        for what, role in (("groups", self.groups), ("time", self.time)):
            if role is not None:
                facts[what] = f"by {role.name!r}"
        return facts
