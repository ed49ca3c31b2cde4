"""What is made of a table's columns, in a model file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from propriety.data.numbers import KINDS, Numbers, Term
from propriety.data.table import Schema
from propriety.storage.checks import require, take
from propriety.storage.values import decode, encode


def write_numbers(numbers: Numbers) -> list[dict[str, Any]]:
    """The terms as plain values."""
    return [{**asdict(term), "level": encode(term.level, "a category")} for term in numbers.terms]


def read_numbers(given: Any, schema: Schema) -> Numbers:
    """The same again, each term checked against the columns."""
    require(isinstance(given, list), "terms are no list")
    terms = []
    for term in given:
        require(isinstance(term, dict), "a term is no mapping")
        feature, kind = take(term, "feature", int), take(term, "kind", str)
        require(0 <= feature < len(schema.categories) and kind in KINDS, "a term is of no feature")
        categories, level = schema.categories[feature], decode(term.pop("level", None))
        require((categories is not None) == (kind == "level"), "a term does not suit its feature")
        require(categories is None or level in categories, "a term is of no category")
        fill, centre, scale = (float(take(term, key, (int, float))) for key in ("fill", "centre", "scale"))
        finite = np.all(np.isfinite([fill, centre, scale]))
        require(finite and scale > 0 and not term, "a term is not finite")
        terms.append(Term(feature, kind, fill, centre, scale, level))
    return Numbers(tuple(terms))
