"""The inputs of a graph: one matrix of numbers, or one input for each column if some hold text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from propriety.data.numbers import Numbers
from propriety.data.table import Schema
from propriety.export.graph import ML, Graph, Value, onnx_package

#: The name of the one input of a model without text.
MATRIX = "X"


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table in a graph.

    Attributes
    ----------
    matrix : Value
        All columns as doubles, of shape (n, d), NaN where missing; those of categories are not to be read.
    codes : dict
        Of each categorical column the place of the category, of shape (n,); as many as there are categories
        if it is missing, or none of them.
    categories : tuple
        As in the schema.
    """

    graph: Graph
    matrix: Value
    codes: dict[int, Value]
    categories: tuple[tuple[Any, ...] | None, ...]

    def table(self, f: int, rows: NDArray[np.float64]) -> Value:
        """A row of numbers for each category of a column, and a last one for missing values."""
        return self.codes[f].rows_of(rows)

    def as_numbers(self, numbers: Numbers) -> Columns:
        """The numbers that a model without categories is fitted to, but for their scales."""
        graph, terms = self.graph, numbers.terms
        if not terms:
            first = self.matrix.columns([0])
            return Columns(graph, graph.apply("IsNaN", first).where(0.0, 0.0), {}, (None,))
        parts, order = [], []
        numeric = [j for j, term in enumerate(terms) if term.kind != "level"]
        if numeric:
            x = self.matrix.columns([terms[j].feature for j in numeric])
            lost = graph.apply("Or", graph.apply("IsNaN", x), graph.apply("IsInf", x))
            marks = np.array([[terms[j].kind == "missing" for j in numeric]])
            filled = lost.where(np.array([[terms[j].fill for j in numeric]]), x)
            parts.append(graph.constant(marks).where(lost.cast(np.float64), filled))
            order += numeric
        for f in sorted({term.feature for term in terms if term.kind == "level"}):
            levels = [j for j, term in enumerate(terms) if term.kind == "level" and term.feature == f]
            known = self.categories[f] or ()
            rows = np.zeros((len(known) + 1, len(levels)))
            for column, j in enumerate(levels):
                if terms[j].level in known:
                    rows[known.index(terms[j].level), column] = 1.0
            parts.append(self.table(f, rows))
            order += levels
        x = graph.join(parts).columns(np.argsort(order))
        centre = np.array([[term.centre for term in terms]])
        return Columns(graph, x - centre, {}, (None,) * len(terms))


def read_columns(graph: Graph, schema: Schema, dtype: DTypeLike, by_column: bool) -> Columns:
    """Inputs for the columns of a schema; `by_column` asks for one each even where none holds text."""
    kinds = [kind_of(label, known) for label, known in zip(schema.labels, schema.categories, strict=True)]
    if by_column or "text" in kinds:
        given = {
            f: graph.input(label, object if kind == "text" else dtype, 1)
            for f, (label, kind) in enumerate(zip(schema.labels, kinds, strict=True))
        }
        doubles = {f: _double(x, dtype) for f, x in given.items() if kinds[f] != "text"}
        # What stands in the matrix for text is not read; NaN has as many rows as the text.
        nothing = np.array([np.nan])
        texts = {
            f: _looked_up(x, np.array([""], dtype=object), nothing, nothing)
            for f, x in given.items()
            if kinds[f] == "text"
        }
        matrix = graph.join([(doubles | texts)[f] for f in given])
        return Columns(graph, matrix, _codes(graph, given, doubles, schema, dtype), schema.categories)
    matrix = graph.input(MATRIX, dtype, len(kinds))
    return read_matrix(matrix, schema, dtype)


def read_matrix(matrix: Value, schema: Schema, dtype: DTypeLike) -> Columns:
    """The columns of a matrix that is there already; it cannot hold text."""
    for label, known in zip(schema.labels, schema.categories, strict=True):
        if kind_of(label, known) == "text":
            raise ValueError(
                f"the categories of column {label!r} are text, which a matrix of numbers cannot hold; encode "
                "them in a step before, for example by sklearn.preprocessing.OrdinalEncoder"
            )
    graph, doubles = matrix.graph, _double(matrix, dtype)
    chosen = [f for f, known in enumerate(schema.categories) if known is not None]
    one = {f: doubles.columns([f]) for f in chosen}
    return Columns(graph, doubles, _codes(graph, one, one, schema, dtype), schema.categories)


def _double(x: Value, dtype: Any) -> Value:
    return x if np.dtype(dtype) == np.float64 else x.cast(np.float64)


def kind_of(label: str, categories: tuple[Any, ...] | None) -> str:
    """How a column goes in: as a "number", as "text", or as the "code" of a category that is a number."""
    if categories is None:
        return "number"
    if categories and all(isinstance(c, str) for c in categories):
        return "text"
    if all(isinstance(c, bool | int | float) for c in categories):
        return "code"
    raise ValueError(
        f"the categories of column {label!r} are neither all text nor all numbers, such as "
        f"{categories[0]!r}, so that no input of ONNX can hold them; make them text before fitting"
    )


def _codes(
    graph: Graph, given: dict[int, Value], doubles: dict[int, Value], schema: Schema, dtype: Any
) -> dict[int, Value]:
    codes = {}
    for f, known in enumerate(schema.categories):
        if known is None:
            continue
        if f in doubles:
            codes[f] = _place(doubles[f], schema.labels[f], known, dtype)
            continue
        places, unknown = np.arange(len(known), dtype=np.int64), np.array([len(known)], dtype=np.int64)
        encoded = _looked_up(given[f], np.array(known, dtype=object), places, unknown)
        codes[f] = graph.apply("Reshape", encoded, np.array([-1], dtype=np.int64))
    return codes


def _place(x: Value, label: str, known: tuple[Any, ...], dtype: Any) -> Value:
    """The place of each number among the known ones, of shape (n,)."""
    keys, graph = np.array(known, dtype=np.float64), x.graph
    _check_exact(label, keys, dtype)
    # One key more, which no number equals, and whose ½ is the largest where no other does.
    equal = graph.apply("Equal", x, np.append(keys, np.nan)[None, :]).cast(np.float64)
    unknown = np.append(np.zeros(len(keys)), 0.5)[None, :]
    return graph.apply("ArgMax", equal + unknown, axis=1, keepdims=0)


def _looked_up(x: Value, keys: NDArray[Any], values: NDArray[Any], unknown: NDArray[Any]) -> Value:
    """The value of each key, or `unknown`."""
    tensor = onnx_package().numpy_helper.from_array
    return x.graph.apply(
        "LabelEncoder",
        x,
        domain=ML,
        keys_tensor=tensor(keys, "keys"),
        values_tensor=tensor(values, "values"),
        default_tensor=tensor(unknown, "default"),
    )


def _check_exact(label: str, categories: NDArray[np.float64], dtype: Any) -> None:
    """Refuse categories that the type of the input cannot hold: they would be missing."""
    inexact = categories[categories.astype(dtype).astype(np.float64) != categories]
    if len(inexact):
        raise ValueError(
            f"the category {inexact[0]!r} of column {label!r} is no {np.dtype(dtype).name}; export with "
            "dtype='float64', or make it text before fitting"
        )
