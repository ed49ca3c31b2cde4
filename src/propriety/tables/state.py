"""A model over a table: the columns with their kinds and categories, the target, and the estimator inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from propriety.storage.checks import Arrays, names, require, take
from propriety.storage.estimators import Arrayed, Kind
from propriety.storage.values import decode, encode

_TERMS = ("value", "missing", "level")


def table_kind(
    pack: Callable[[Any], tuple[dict[str, Any], Arrayed]], unpack: Callable[[Any, Arrays], Any]
) -> Kind:
    """The kind of a table model; `pack` and `unpack` are for the estimator inside."""

    def write(model: Any) -> tuple[dict[str, Any], Arrayed]:
        document, arrays = pack(model.estimator)
        numbers = None if model.numbers is None else [asdict(term) for term in model.numbers.terms]
        state = {
            "columns": [
                {**asdict(c), "categories": list(c.categories), "parts": list(c.parts)}
                for c in model.columns.columns
            ],
            "missing": list(model.columns.missing),
            "decimal": model.columns.decimal,
            "target": {**asdict(model.target), "negatives": list(model.target.negatives)},
            "numbers": numbers,
            "summary": encode(model.summary, "the summary"),
            "model": document,
        }
        return state, arrays

    def read(cls: Any, given: Any, state: dict[str, Any], arrays: Arrays) -> Any:
        require(given == {}, "a table model has no parameters")
        columns, target = _columns(state), _target(take(state, "target", dict))
        estimator = unpack(state.pop("model", None), arrays)
        require(len(estimator.classes_) == 2, "a table model has two classes")
        for cost in (estimator.fp_cost, estimator.fn_cost):
            right = isinstance(cost, int | float) and 0 < cost < np.inf
            require(right, "a cost is no positive number")
        numbers = _numbers(state.pop("numbers", None), columns)
        d = len(columns.features) if numbers is None else max(1, len(numbers.terms))
        require(estimator.n_features_in_ == d, "the model and its columns do not fit")
        summary = decode(state.pop("summary", None))
        require(isinstance(summary, dict), "its summary is no mapping")
        return cls(estimator, columns, target, numbers, summary)

    return Kind("propriety.tables", "TableModel", write, read)


def _columns(state: dict[str, Any]) -> Any:
    from propriety.tables.columns import KINDS, PARTS, Column, Columns

    found = []
    for given in take(state, "columns", list):
        require(isinstance(given, dict), "a column is no mapping")
        name, kind, form = take(given, "name", str), take(given, "kind", str), take(given, "form", str)
        require(kind in KINDS, f"a column is of the kind {kind[:40]!r}")
        categories = _texts(given.pop("categories", None), "categories")
        parts = _texts(given.pop("parts", None), "parts of a date")
        require(all(p in PARTS for p in parts) and bool(parts) == (kind == "date"), "parts of a date")
        require(not given, "a column has more than it should")
        found.append(Column(name, kind, categories, form, parts))
    require(found, "it has no columns")
    names([c.name for c in found], len(found), "columns")
    decimal = take(state, "decimal", str)
    require(decimal in (".", ","), "a decimal sign is a point or a comma")
    return Columns(tuple(found), _texts(state.pop("missing", None), "markers"), decimal)


def _target(given: dict[str, Any]) -> Any:
    from propriety.tables.targets import Target

    name, positive, because = (take(given, key, str) for key in ("name", "positive", "because"))
    negatives = _texts(given.pop("negatives", None), "labels")
    require(negatives and positive not in negatives and not given, "the target has no two classes")
    return Target(name, positive, negatives, because)


def _numbers(given: Any, columns: Any) -> Any:
    from propriety.tables.numbers import Numbers, Term

    if given is None:
        return None
    require(isinstance(given, list), "terms are no list")
    categorical = [c.kind == "category" for c in columns.columns for _ in c.features]
    terms = []
    for term in given:
        require(isinstance(term, dict), "a term is no mapping")
        feature, kind, level = take(term, "feature", int), take(term, "kind", str), take(term, "level", str)
        require(0 <= feature < len(categorical) and kind in _TERMS, "a term is of no feature")
        require(categorical[feature] == (kind == "level"), "a term does not suit its feature")
        values = [float(take(term, key, (int, float))) for key in ("fill", "centre", "scale")]
        require(np.all(np.isfinite(values)) and values[2] > 0 and not term, "a term is not finite")
        terms.append(Term(feature, kind, *values, level))
    return Numbers(tuple(terms))


def _texts(given: Any, what: str) -> tuple[str, ...]:
    good = (
        isinstance(given, list) and all(isinstance(v, str) for v in given) and len(set(given)) == len(given)
    )
    require(good, f"{what} are no list of different texts")
    return tuple(given)
