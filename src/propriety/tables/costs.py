"""Costs as they are stated for a table: numbers, ranges, arithmetic of columns, or a matrix with labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from propriety.costs import ResolvedCosts
from propriety.data import uncertain
from propriety.data.costs import TERMS, Costs, parameters_of
from propriety.errors import Argument, ArgumentError
from propriety.tables.columns import Columns
from propriety.tables.conversion import as_number, as_numpy, as_text, first_bad
from propriety.tables.errors import TableError, no_such_column
from propriety.tables.expressions import Expression, ExpressionError

Floats = NDArray[np.float64]
#: What a decision to say nothing is called.
ABSTAIN = "abstain"
#: The terms of two classes, with what they are if nothing is said.
DEFAULTS = {"fp_cost": 1.0, "fn_cost": 1.0, "tp_benefit": 0.0, "tn_benefit": 0.0}
_MISTAKES = ("fp_cost", "fn_cost")
_RANGE = re.compile(r"\s*(?P<low>[^.\s][^\s]*?|\.\d[^\s]*?)\s*\.\.\s*(?P<high>\S+)\s*")
Term = float | tuple[float, float] | Expression


@dataclass(frozen=True, eq=False)
class LabelledMatrix:
    """``values[true, decided]`` with the labels that its rows and columns stand for.

    Examples
    --------
    >>> matrix = LabelledMatrix(("b", "a"), np.array([[0.0, 5.0, 1.0], [2.0, 0.0, 1.0]]))
    >>> matrix.ordered(("a", "b"))
    array([[0., 2., 1.],
           [5., 0., 1.]])
    """

    labels: tuple[str, ...]
    values: Floats

    @property
    def abstains(self) -> bool:
        """Whether its last column is the cost of abstaining."""
        return self.values.shape[1] > len(self.labels)

    def ordered(self, classes: Sequence[str]) -> Floats:
        """The matrix in another order of its labels."""
        place = [self.labels.index(label) for label in classes]
        return self.values[place][:, [*place, *range(len(place), self.values.shape[1])]]

    def check(self, target: str, classes: Sequence[str]) -> None:
        """Refuse a matrix that is not for just these classes."""
        unknown = [label for label in self.labels if label not in classes]
        if unknown:
            shown = ", ".join(map(repr, classes[:20]))
            raise TableError(
                f"the cost matrix has the label {unknown[0]!r}, which the target {target!r} never has",
                f"its values are {shown}",
            )
        lacking = [label for label in classes if label not in self.labels]
        if lacking:
            raise TableError(
                f"the cost matrix is for {len(self.labels)} classes and lacks {lacking[0]!r}, one of "
                f"{len(classes)} values of the target {target!r}",
                "give it a row and a column for each",
            )
        if ABSTAIN in classes:
            raise TableError(
                f"the target {target!r} has the label {ABSTAIN!r}, which the cost matrix keeps for "
                "abstaining",
                "rename that label in the table",
            )


@dataclass(frozen=True, eq=False)
class TableCosts:
    """What decisions about the rows of a table cost.

    Attributes
    ----------
    terms : dict
        Of ``fp_cost``, ``fn_cost``, ``tp_benefit`` and ``tn_benefit``: a number, a range (low, high), or an
        expression of columns.
    matrix : LabelledMatrix or None
        Instead of those.

    Examples
    --------
    >>> costs = TableCosts.read({"fn_cost": "amount", "fp_cost": "0.1*amount"}, ["amount", "age"])
    >>> costs.by_row, costs.columns
    (True, ('amount',))
    >>> costs.costs(("good", "bad"), pa.table({"amount": ["5", "20"]})).fp_cost
    array([0.5, 2. ])
    """

    terms: Mapping[str, Term] = field(default_factory=lambda: dict(DEFAULTS))
    matrix: LabelledMatrix | None = None

    @classmethod
    def read(cls, texts: Mapping[str, str], names: Iterable[str]) -> TableCosts:
        """From texts, for a table with columns of these names; what cannot be meant is a `ValueError`."""
        names = list(names)
        terms: dict[str, Term] = dict(DEFAULTS)
        for term, text in texts.items():
            terms[term] = _read_term(term, text, names)
        result = cls(terms)
        if not result.by_row:
            result.costs(("0", "1"))  # refuses numbers that make no sense
        return result

    @classmethod
    def of_parameters(cls, parameters: Mapping[str, Any], classes: Sequence[str]) -> TableCosts:
        """From the parameters of an estimator with these classes; the other way round than `parameters`."""
        stated = parameters.get("costs") or Costs(*(parameters.get(name, 1.0) for name in _MISTAKES))
        terms = {TERMS[name]: getattr(stated, name) for name in TERMS if name != "matrix"}
        matrix = stated.matrix
        return cls(terms, None if matrix is None else LabelledMatrix(tuple(classes), np.asarray(matrix)))

    def document(self) -> dict[str, Any]:
        """For machines: the terms as texts, or the matrix by its labels."""
        if self.matrix is None:
            return self.texts
        decided = [*self.matrix.labels, ABSTAIN]
        rows = zip(self.matrix.labels, self.matrix.values.tolist(), strict=True)
        return {"cost_matrix": {true: dict(zip(decided, row, strict=False)) for true, row in rows}}

    @property
    def by_row(self) -> bool:
        """Whether they differ by row."""
        return any(isinstance(term, Expression) for term in self.terms.values())

    @property
    def by_side(self) -> bool:
        """Whether a false alarm, a miss or a right decision was said to cost anything of its own."""
        return dict(self.terms) != DEFAULTS

    @property
    def roughly(self) -> bool:
        """Whether a cost is known only within a range."""
        return any(isinstance(term, tuple) for term in self.terms.values())

    @property
    def abstains(self) -> bool:
        """Whether a decision may be to say nothing."""
        return self.matrix is not None and self.matrix.abstains

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the costs need, each once."""
        used = [c for term in self.terms.values() if isinstance(term, Expression) for c in term.columns]
        return tuple(dict.fromkeys(used))

    @property
    def texts(self) -> dict[str, str]:
        """The terms as a user would write them."""
        return {name: _text(term) for name, term in self.terms.items()}

    def parameters(self, classes: Sequence[str]) -> dict[str, Any]:
        """Parameters of an estimator whose classes are these; none if the costs differ by row."""
        if self.by_row:
            return {}
        stated = parameters_of(Costs.of_terms(self.terms_for(classes)))
        return {name: value for name, value in stated.items() if value is not None}

    def terms_for(self, classes: Sequence[str]) -> dict[str, Any]:
        """The terms, or the matrix in the order of the classes."""
        return dict(self.terms) if self.matrix is None else {"cost_matrix": self.matrix.ordered(classes)}

    def of_rows(
        self, table: Any, columns: Columns | None = None, *, rows: NDArray[np.intp] | None = None
    ) -> dict[str, Floats]:
        """Every term for each row of a table, to give to ``fit`` and ``predict``; none if they do not differ.

        `columns` say how values are written, and `rows` are the places of the rows in the file, for errors.
        """
        if not self.by_row:
            return {}
        rows = np.arange(table.num_rows) if rows is None else rows
        values = {name: numbers_in(table, name, columns, rows) for name in self.columns}
        result = {}
        for name, term in self.terms.items():
            if isinstance(term, Expression):
                result[name] = _each(term(values), table.num_rows)
                _check(name, term, result[name], rows)
            else:
                known = uncertain.mean(name, term) if isinstance(term, tuple) else term
                result[name] = _each(known, table.num_rows)
        return result

    def of_terms(self, of_rows: Mapping[str, Any], classes: Sequence[str]) -> ResolvedCosts:
        """The costs for classes of which the last is the positive one of two; `of_rows` are their terms."""
        terms = of_rows if self.by_row else self.terms_for(classes)
        return Costs.of_terms(terms, rows=self.by_row).resolve(np.arange(len(classes)))

    def costs(
        self, classes: Sequence[str], table: pa.Table | None = None, columns: Columns | None = None
    ) -> ResolvedCosts:
        """The same, with the terms for the rows of a table."""
        return self.of_terms(self.of_rows(table, columns), classes)


def _read_term(name: str, text: str, names: list[str]) -> Term:
    """A number, a range or an expression; a column whose name is a number stands in quotes."""
    try:
        return float(text)
    except ValueError:
        pass
    if text in names:
        return Expression.of_column(text)
    if ".." in text and (match := _RANGE.fullmatch(text)) is not None:
        try:
            ends = float(match["low"]), float(match["high"])
        except ValueError:
            raise ArgumentError(name, f"must be a range of numbers such as 5..20, got {text!r}") from None
        if name not in _MISTAKES:
            raise ArgumentError(
                name,
                "may not be a range: ranges are for ",
                *(Argument("fp_cost"), " and ", Argument("fn_cost")),
                f", got {text!r}",
            )
        low, high = ends
        if low > high:
            raise ArgumentError(name, f"must be a range low..high, the lower end first, got {text!r}")
        return low if isinstance(uncertain.read(name, ends), float) else (low, high)
    expression = read_expression(name, text, names)
    return expression if expression.columns else float(expression({}))


def read_expression(name: str, text: str, names: list[str]) -> Expression:
    """Arithmetic of columns of a table, or the name of one of them; `name` is what the text is given for."""
    if text in names:
        return Expression.of_column(text)
    try:
        expression = Expression.parse(text)
    except ExpressionError as error:
        near = no_such_column(text, names).advice
        hint = f"; {near}" if near.startswith("did you mean") else ""
        raise ArgumentError(name, f": {error}{hint}") from None
    for column in expression.columns:
        if column not in names:
            raise no_such_column(column, names)
    return expression


def _text(term: Term) -> str:
    if isinstance(term, Expression):
        return term.text
    return "..".join(f"{end:g}" for end in term) if isinstance(term, tuple) else f"{term:g}"


def numbers_in(
    table: Any, name: str, columns: Columns | None, rows: NDArray[np.intp], needed_by: str = "the costs need"
) -> Floats:
    """The numbers of a column that something needs; NaN where one is missing."""
    if name not in table.column_names:
        known = no_such_column(name, table.column_names)
        raise TableError(f"{known.problem}, which {needed_by}", known.advice)
    missing, decimal = (
        ("",) if columns is None else columns.missing,
        "." if columns is None else columns.decimal,
    )
    array = table.column(name)
    try:
        return as_numpy(as_number(array, missing, decimal)).astype(np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        bad = first_bad(array, missing, decimal)
        where = "" if bad is None else f": {bad[1]!r} in row {rows[bad[0]] + 1}"
        raise TableError(f"{needed_by} numbers in column {name!r}{where}") from None


def _each(amount: Any, n: int) -> Floats:
    """One amount for each of n rows."""
    return np.broadcast_to(np.asarray(amount, dtype=np.float64), (n,)).copy()


def _check(name: str, term: Expression, amounts: Floats, rows: NDArray[np.intp]) -> None:
    """Refuse amounts that are missing and costs below 0, with the row."""
    wrong = ~np.isfinite(amounts)
    what = "is missing or not finite"
    if not wrong.any() and name in _MISTAKES:
        wrong, what = amounts < 0, "is negative"
    if wrong.any():
        row = rows[np.argmax(wrong)] + 1
        raise TableError(
            [Argument(name), f" = {term.text} {what} in row {row}"],
            "every row needs a cost: fix the table, leave such rows out, or state another expression",
        )


# --- a matrix from a table ----------------------------------------------------------------------------


def read_matrix(table: Any, name: str) -> LabelledMatrix:
    """The matrix in a table: true labels in the first column, decisions, `ABSTAIN` among them, in the header.

    >>> table = pa.table({"": ["a", "b"], "a": ["0", "2"], "b": ["5", "0"], "abstain": ["1", "1"]})
    >>> read_matrix(table, "costs.csv").labels
    ('a', 'b')
    """
    labels = tuple("" if v is None else v for v in as_text(table.column(0)).to_pylist())
    header = [column.strip() for column in table.column_names[1:]]
    for where, texts in (("first column", labels), ("header", tuple(header))):
        twice = [text for text in texts if texts.count(text) > 1 or not text]
        if twice:
            raise TableError(f"{name}: the {where} must have each label once, got {twice[0]!r}")
    decided = [label for label in header if label != ABSTAIN]
    if set(decided) != set(labels):
        odd = sorted(set(decided) ^ set(labels))[0]
        raise TableError(
            f"{name}: a cost matrix has the same labels in its first column and in its header, and "
            f"{odd!r} is "
            f"in one of them: {len(labels)} rows, {len(decided)} columns besides {ABSTAIN!r}",
            "give cost[true, decided] for each label, and a column abstain if a decision may be to "
            "say nothing",
        )
    if len(labels) < 2:
        raise TableError(f"{name}: a cost matrix needs two labels or more")
    order = [*labels, ABSTAIN] if ABSTAIN in header else list(labels)
    columns = [_matrix_column(table.column(1 + header.index(label)), label, labels, name) for label in order]
    return LabelledMatrix(labels, np.column_stack(columns))


def _matrix_column(array: Any, decided: str, labels: tuple[str, ...], name: str) -> Floats:
    try:
        values = as_numpy(as_number(array, ("",))).astype(np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        bad = first_bad(array, ("",), ".")
        raise TableError(
            f"{name}: {bad[1]!r} in column {decided!r} is not a number" if bad else name
        ) from None
    wrong = ~np.isfinite(values) | (values < 0)
    if wrong.any():
        true = int(np.argmax(wrong))
        what = "negative" if values[true] < 0 else "missing"
        raise TableError(
            f"{name}: the cost of deciding {decided!r} for {labels[true]!r} is {what}",
            "costs are numbers from 0 on; add the same to a row of the matrix to be rid of negative ones",
        )
    return values
