"""A fitted model together with the columns of its table: reads a table, and decides."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from propriety.aliases import MatrixLike, Shares
from propriety.costs import CostsOfRowsError, ResolvedCosts
from propriety.data.numbers import Numbers, summed
from propriety.data.table import Schema
from propriety.data.training import encode_known
from propriety.linear import LinearClassifier
from propriety.linear.text import scorecard
from propriety.model import adapt, contract, files
from propriety.model.base import ProperClassifier, shares
from propriety.storage.checks import Arrays, require
from propriety.tables.columns import Columns
from propriety.tables.costs import ABSTAIN, TableCosts
from propriety.tables.errors import TableError, no_such_column
from propriety.tables.offsets import TableOffset
from propriety.tables.state import read_offset, read_row_costs, read_state, write_state
from propriety.tables.targets import Target

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

    from propriety.export.writing import Export

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TableModel:
    """A classifier and how it reads a table: what ``propriety fit --save`` writes.

    It keeps the contract of a fitted model, with tables for X and its columns for features.

    Attributes
    ----------
    estimator : a fitted classifier of this package, whose classes are 0, 1, … in the order of `classes_`
    columns : Columns
    target : Target
    numbers : Numbers or None
        Made of the features before the estimator sees them, for models that take numbers only.
    summary : dict
        What is known of the training: rows, judgement, versions, the command.
    row_costs : TableCosts or None
        Costs that differ by row; else they are those of the estimator.
    offset : TableOffset or None
        What scores start from, if the estimator was fitted with an offset.
    """

    estimator: ProperClassifier
    columns: Columns
    target: Target
    numbers: Numbers | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    row_costs: TableCosts | None = None
    offset: TableOffset | None = None

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The labels; of two classes the negative and the positive."""
        return np.array(self.target.classes)

    @property
    def loss_(self) -> Any:
        """What the estimator was fitted to, gain and link included."""
        return self.estimator.loss_

    @property
    def costs_(self) -> ResolvedCosts:
        """What its decisions follow; `costs_for` if they differ by row."""
        if self.row_costs is not None:
            raise CostsOfRowsError(
                f"the costs differ by row, by the columns {', '.join(map(repr, self.row_costs.columns))}: "
                "costs_for(table) has those of its rows"
            )
        return self.estimator.costs_

    @property
    def has_row_costs(self) -> bool:
        """Whether the costs are made of columns of the table."""
        return self.row_costs is not None

    def costs_for(self, table: Any, first_row: int = 1) -> ResolvedCosts:
        """What the decisions about these rows follow; ``first_row`` numbers the first of them in errors."""
        if self.row_costs is None:
            return self.costs_
        table = as_arrow(table)
        rows = np.arange(table.num_rows) + first_row - 1
        of_rows = self.row_costs.of_rows(table, self.columns, rows=rows)
        return self.row_costs.of_terms(of_rows, self.target.classes)

    @property
    def threshold(self) -> float:
        """The probability from which the positive class is decided, if it is the same for every row."""
        return float(self.costs_.threshold)

    @property
    def decisions(self) -> NDArray[np.str_]:
        """What may be decided: the labels and, if that has a cost, to abstain."""
        abstains = self.row_costs is None and self.costs_.abstains
        return np.append(self.classes_, ABSTAIN) if abstains else self.classes_

    @property
    def view(self) -> str:
        """How the estimator can be shown."""
        return self.estimator.view

    # --- using it ---------------------------------------------------------------------------------

    def check(self, names: Any) -> list[str]:
        """Refuse a table without a column that the model or its costs need; returns those it has besides."""
        besides = self.columns.check(names)
        needed: list[str] = []
        for what, terms in (("the costs need", self.row_costs), ("the offset needs", self.offset)):
            for name in () if terms is None else terms.columns:
                if name not in names:
                    error = no_such_column(name, names)
                    raise TableError(f"{error.problem}, which {what}", error.advice)
                needed.append(name)
        return [name for name in besides if name not in needed]

    def features(self, table: Any, first_row: int = 1) -> tuple[Any, dict[str, int]]:
        """What the estimator reads of a table, and counts of unknown categories."""
        frame, unknown = self.columns.encode(as_arrow(table), first_row)
        return self._of_frame(frame), unknown

    def _of_frame(self, frame: Any) -> Any:
        return frame if self.numbers is None else self.numbers(frame)

    def offset_for(self, table: Any, first_row: int = 1) -> Floats | None:
        """What the scores of these rows start from; ``first_row`` numbers the first of them in errors."""
        if self.offset is None:
            return None
        table = as_arrow(table)
        return self.offset.of_rows(table, self.columns, rows=np.arange(table.num_rows) + first_row - 1)

    def _starting(self, table: Any, first_row: int = 1) -> dict[str, Floats]:
        offset = self.offset_for(table, first_row)
        return {} if offset is None else {"offset": offset}

    def decision_function(self, table: IntoDataFrame) -> Floats:
        """The score F of each row."""
        return self.estimator.decision_function(self.features(table)[0], **self._starting(table))

    def predict_proba(self, table: IntoDataFrame) -> Floats:
        """Probabilities of the labels, for an Arrow table or any data frame."""
        return self.estimate(table)[0]

    def estimate(self, table: IntoDataFrame, first_row: int = 1) -> tuple[Floats, dict[str, int]]:
        """Probabilities of the labels, and counts of unknown categories."""
        X, unknown = self.features(table, first_row)
        return self.estimate_of(X, table, first_row), unknown

    def estimate_of(self, X: MatrixLike, table: IntoDataFrame, first_row: int = 1) -> Floats:
        """Probabilities of the labels for the `features` of a table."""
        return self.estimator.predict_proba(X, **self._starting(table, first_row))

    def adapt(
        self,
        table: IntoDataFrame | None = None,
        y: Any = None,
        *,
        prevalence: Shares | None = None,
        reference: MatrixLike | None = None,
    ) -> TableModel:
        """The model with probabilities for another population, as `ProperClassifier.adapt` has it.

        `table` and `reference` are tables; `y` holds labels, and `prevalence` shares, of `classes_`.
        """
        X, old = (None if t is None else self.features(t)[0] for t in (table, reference))
        if isinstance(prevalence, Mapping):
            prevalence = [prevalence[label] for label in self.classes_.tolist()]
        codes = None if y is None else encode_known(y, self.classes_, len(y))
        adapted = adapt.adapted(self.estimator, X, codes, prevalence, old, None, self.classes_.tolist())
        return replace(self, estimator=adapted)

    def predict(self, table: IntoDataFrame, *, budget: float | None = None) -> NDArray[np.str_]:
        """Labels decided by the costs; with a budget, the positive one for so many rows or such a share."""
        costs, P = self.costs_for(table), self.predict_proba(table)
        decided = costs.decide(P) if budget is None else costs.decide_within(P, budget)
        return np.asarray(self.decisions[decided])

    # --- reading it -------------------------------------------------------------------------------

    def contributions(self, table: IntoDataFrame) -> Floats:
        """What each column adds to the score of each row, the score of no column last; they add up to it.

        An offset is no part of them. Of shape (n, columns + 1) for two classes, (n, K, columns + 1) for more.
        """
        parts = self.feature_contributions(self.columns.encode(as_arrow(table))[0])
        return summed(parts, self.columns.owners, len(self.columns.columns))

    def reasons(self, table: IntoDataFrame, n: int = 4, *, reference: MatrixLike | None = None) -> Any:
        """The columns that speak most for the decision on each row, as `TreeClassifier.reasons` has it."""
        from propriety.model.reasons import reasons

        return reasons(self, table, n, reference, self.columns.names)

    def feature_contributions(self, frame: Any) -> Floats:
        """The same of an encoded table and for each feature: the parts of a date stand apart."""
        parts = self.estimator.contributions(self._of_frame(frame))
        return parts if self.numbers is None else summed(parts, self.numbers.owners, frame.num_columns)

    def importances(self) -> Floats:
        """How much each column counts in the model, by its own account; the sum is 1, or 0 if none does."""
        owners, each = np.asarray(self.columns.owners), self.estimator.importances()
        if self.numbers is not None:
            each = self.numbers.combined(each, len(owners))
        total = np.bincount(owners, weights=each, minlength=len(self.columns.columns))
        return shares(total.astype(np.float64))

    def words(self, table: IntoDataFrame, class_names: Sequence[str] | None = None) -> list[list[str]]:
        """The rules that each row meets, of a model that is made of rules; else nothing.

        They speak of the labels of the table, or of `class_names`.
        """
        names = self.target.classes if class_names is None else class_names
        return self.estimator.words(self.features(table)[0], names)

    def export_text(self) -> str:
        """The model in words, if it can be read: a scorecard, a tree or rules; else nothing."""
        names, model = self.target.classes, self.estimator
        if self.numbers is not None and isinstance(model, LinearClassifier):
            return model._as_adapted(scorecard(model, self._schema, self.numbers, class_names=names), names)
        if model.view in (contract.TREE, contract.TEXT):
            return model.export_text(class_names=names)
        return ""

    @property
    def _schema(self) -> Schema:
        """Names and categories of the features that numbers are made of."""
        known = [c.categories if c.kind == "category" else None for c in self.columns.columns]
        return Schema(tuple(known[owner] for owner in self.columns.owners), self.columns.features)

    # --- keeping it -------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a model file, whole or not at all."""
        files.save(self, path)

    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, dtype: str = "float64") -> Any:
        """The model as an ONNX model with one input of shape (n, 1) for each feature, by its name.

        Numbers are of `dtype`, NaN where missing; categories are text, as the model has them, and any other
        text is missing. A date comes as its parts, such as ``when.days``. The outputs are ``label``, if the
        costs do not differ by row, and ``probabilities``.
        """
        from propriety.export import writing

        model = self._export().model(dtype, by_column=True)
        if path is not None:
            writing.save(model, path)
        return model

    def to_sql(self, table: str, *, dialect: str = "duckdb", keep: Sequence[str] = ()) -> str:
        """The model as one SQL query, as `TreeClassifier.to_sql` has it; a date comes as its parts."""
        from propriety.export.sql import write_query

        return write_query(self._export(), table, dialect, keep)

    def _export(self) -> Export:
        """What is written, with the names of the table."""
        inside = self.estimator._export()
        return replace(
            inside,
            schema=inside.schema if self.numbers is None else self._schema,
            labels=self.decisions,
            costs=None if self.has_row_costs else inside.costs,
            facts=inside.facts | {"target": self.target.name},
            numbers=self.numbers,
        )

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Columns, target and the estimator inside, as plain values and as arrays: what its file holds."""
        document, arrays = files.pack(self.estimator)
        state = write_state(self.columns, self.target, self.numbers, self.summary, document)
        if self.row_costs is not None:
            state["costs"] = self.row_costs.texts
        if self.offset is not None:
            state |= {"offset": self.offset.text, "offset_scale": self.offset.scale}
        return state, arrays

    @classmethod
    def from_state(cls, parameters: dict[str, Any], state: dict[str, Any], arrays: Arrays) -> Self:
        """The model again; what does not fit is refused."""
        require(parameters == {}, "a table model has no parameters")
        estimator = files.unpack(state.pop("model", None), arrays)
        columns, target, numbers, summary = read_state(state, estimator)
        row_costs, offset = read_row_costs(state, target), read_offset(state, estimator)
        return cls(estimator, columns, target, numbers, summary, row_costs, offset)


def as_arrow(table: IntoDataFrame) -> pa.Table:
    """An Arrow table of a data frame."""
    if isinstance(table, pa.Table):
        return table
    import narwhals as nw

    return nw.from_native(table, eager_only=True).to_arrow()
