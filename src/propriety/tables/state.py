"""A model over a table in a file: columns with their kinds and categories, the target, and the summary."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from propriety.data.numbers import KINDS as TERMS
from propriety.data.numbers import Numbers, Term
from propriety.data.score_scales import LOG_ODDS, ScoreScale
from propriety.model.base import ProperClassifier
from propriety.storage.checks import names, require, take
from propriety.storage.values import decode, encode
from propriety.tables.columns import KINDS, PARTS, Column, Columns
from propriety.tables.costs import DEFAULTS, TableCosts
from propriety.tables.expressions import Expression, ExpressionError
from propriety.tables.offsets import TableOffset
from propriety.tables.targets import Target

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def write_state(
    columns: Columns,
    target: Target,
    numbers: Numbers | None,
    summary: dict[str, Any],
    document: dict[str, Any],
) -> dict[str, Any]:
    """Everything as plain values; `document` is that of the estimator inside."""
    return {
        "columns": [
            {**asdict(c), "categories": list(c.categories), "parts": list(c.parts)} for c in columns.columns
        ],
        "missing": list(columns.missing),
        "decimal": columns.decimal,
        "target": _target_state(target),
        "numbers": None if numbers is None else [asdict(term) for term in numbers.terms],
        "summary": encode(summary, "the summary"),
        "model": document,
    }


def read_state(
    state: dict[str, Any], estimator: BaseEstimator
) -> tuple[Columns, Target, Numbers | None, dict[str, Any]]:
    """The same again, checked against the estimator inside."""
    require(isinstance(estimator, ProperClassifier), "the model inside is no estimator")
    require(not estimator.has_row_costs, "costs of rows are for the table, not for the model inside")
    columns, target = _columns(state), _target(take(state, "target", dict))
    places = estimator.classes_.tolist() == list(range(len(target.classes)))
    require(places, "the model inside is for other classes than the target")
    numbers = _numbers(state.pop("numbers", None), columns)
    d = len(columns.features) if numbers is None else len(numbers.owners)
    require(estimator.n_features_in_ == d, "the model and its columns do not fit")
    summary = decode(state.pop("summary", None))
    require(isinstance(summary, dict), "its summary is no mapping")
    return columns, target, numbers, summary


def read_row_costs(state: dict[str, Any], target: Target) -> TableCosts | None:
    """Costs that are made of columns, if the file has them."""
    texts = state.pop("costs", None)
    if texts is None:
        return None
    right = isinstance(texts, dict) and set(texts) == set(DEFAULTS)
    require(right and all(isinstance(text, str) for text in texts.values()), "its costs are no texts")
    require(not target.several, "costs of two mistakes are for two classes")
    used = [name for text in texts.values() for name in _columns_in(text)]
    costs = TableCosts.read(texts, used)
    require(costs.by_row, "its costs do not differ by row")
    return costs


def read_offset(state: dict[str, Any], estimator: ProperClassifier) -> TableOffset | None:
    """What scores start from, if the file has it."""
    text = state.pop("offset", None)
    require((text is not None) == estimator.needs_offset, "its offset is not that of the model inside")
    if text is None:
        return None
    require(isinstance(text, str), "its offset is no text")
    scale = state.pop("offset_scale", LOG_ODDS)
    try:
        ScoreScale.read(scale)
    except ValueError:
        require(False, "the scale of its offset is none")
    return TableOffset.read(text, _columns_in(text), scale)


def _columns_in(text: str) -> tuple[str, ...]:
    """The columns of a term; a number and a range have none."""
    try:
        return Expression.parse(text).columns
    except ExpressionError:
        return ()


def _columns(state: dict[str, Any]) -> Columns:
    columns = []
    for given in take(state, "columns", list):
        require(isinstance(given, dict), "a column is no mapping")
        name, kind, form = take(given, "name", str), take(given, "kind", str), take(given, "form", str)
        require(kind in KINDS, f"a column is of the kind {kind[:40]!r}")
        categories = _texts(given.pop("categories", None), "categories")
        parts = _texts(given.pop("parts", None), "parts of a date")
        require(all(p in PARTS for p in parts) and bool(parts) == (kind == "date"), "parts of a date")
        require(not given, "a column has more than it should")
        columns.append(Column(name, kind, categories, form, parts))
    require(columns, "it has no columns")
    names([c.name for c in columns], len(columns), "columns")
    decimal = take(state, "decimal", str)
    require(decimal in (".", ","), "a decimal sign is a point or a comma")
    return Columns(tuple(columns), _texts(state.pop("missing", None), "markers"), decimal)


def _target(given: dict[str, Any]) -> Target:
    name, because = take(given, "name", str), take(given, "because", str)
    several = _texts(given.pop("several", []), "labels")
    if several:
        require(len(several) > 2 and not given, "the target has no several classes")
        return Target(name, because=because, several=several)
    positive, negatives = take(given, "positive", str), _texts(given.pop("negatives", None), "labels")
    require(negatives and positive not in negatives and not given, "the target has no two classes")
    return Target(name, positive, negatives, because)


def _target_state(target: Target) -> dict[str, Any]:
    if target.several:
        return {"name": target.name, "because": target.because, "several": list(target.several)}
    return {
        "name": target.name,
        "positive": target.positive,
        "negatives": list(target.negatives),
        "because": target.because,
    }


def _numbers(given: Any, columns: Columns) -> Numbers | None:
    if given is None:
        return None
    require(isinstance(given, list), "terms are no list")
    categorical = [c.kind == "category" for c in columns.columns for _ in c.features]
    terms = []
    for term in given:
        require(isinstance(term, dict), "a term is no mapping")
        feature, kind, level = take(term, "feature", int), take(term, "kind", str), take(term, "level", str)
        require(0 <= feature < len(categorical) and kind in TERMS, "a term is of no feature")
        require(categorical[feature] == (kind == "level"), "a term does not suit its feature")
        fill, centre, scale = (float(take(term, key, (int, float))) for key in ("fill", "centre", "scale"))
        finite = np.all(np.isfinite([fill, centre, scale]))
        require(finite and scale > 0 and not term, "a term is not finite")
        terms.append(Term(feature, kind, fill, centre, scale, level))
    return Numbers(tuple(terms))


def _texts(given: Any, what: str) -> tuple[str, ...]:
    good = (
        isinstance(given, list) and all(isinstance(v, str) for v in given) and len(set(given)) == len(given)
    )
    require(good, f"{what} are no list of different texts")
    return tuple(given)
