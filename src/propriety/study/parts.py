"""Parts of the test rows: subgroups by a column, and consecutive parts by time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.errors import ArgumentError
from propriety.evaluation.subgroups import in_parts
from propriety.study.columns import as_column
from propriety.study.numbers import number

LEVELS = 10  # values of a column that are shown; the rest are "other"
_QUARTERS = 4
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PEOPLE = {
    "age", "sex", "gender", "race", "ethnicity", "ethnic", "nationality", "citizenship", "religion",
    "disability", "disabled", "marital", "pregnant", "region", "country", "language", "foreign", "foreigner",
    "immigrant",
}  # fmt: skip
_ENOUGH = 30  # rows of a part


def columns_of_people(names: Iterable[str]) -> list[str]:
    """Columns that seem to say to which group people belong, by their names.

    >>> columns_of_people(["amount", "ApplicantAge", "sex", "average", "home_region"])
    ['ApplicantAge', 'sex', 'home_region']
    """
    return [name for name in names if _PEOPLE & {word.lower() for word in _WORD.findall(name)}]


def as_parts(values: Any, n: int) -> NDArray[Any]:
    """Numbers or text for each test row."""
    given = as_column(values)
    if given.shape != (n,):
        raise ArgumentError("by", f"must have one entry for each of {n} test rows, got {given.shape}")
    return np.asarray(given)


def named_parts(values: Any) -> tuple[Any, list[str]]:
    """The name of each row's part and the names in order: categories by size, or quarters of a number.

    >>> named_parts(np.array(["b", "a", "b"]))
    (array(['b', 'a', 'b'], dtype='<U1'), ['b', 'a'])
    >>> named_parts(np.arange(8.0))[1]
    ['0 to 1', '2 to 3', '4 to 5', '6 to 7']
    """
    if values.dtype.kind == "f":
        known = np.isfinite(values)
        names = np.full(len(values), "missing", dtype=object)
        order = []
        if known.any():
            part = in_parts(values[known], _QUARTERS)
            for k in range(int(part.max()) + 1):
                mine = values[known][part == k]
                order.append(f"{number(mine.min())} to {number(mine.max())}")
            names[known] = np.array(order, dtype=object)[part]
        return names.astype(str), [*order, *(["missing"] if not known.all() else [])]
    names, counts = np.unique(values.astype(str), return_counts=True)
    ranked = names[np.argsort(-counts, kind="stable")].tolist()
    if len(ranked) <= LEVELS:
        return values.astype(str), ranked
    kept = ranked[: LEVELS - 1]
    return np.where(np.isin(values.astype(str), kept), values.astype(str), "other"), [*kept, "other"]


def in_time(order: NDArray[Any], n: int) -> tuple[NDArray[Any], list[str]]:
    """The part of each row by its time, of about equal size and none very small, and their names in order.

    >>> in_time(np.arange(90.0), 3)[1]
    ['part 1, earliest', 'part 2', 'part 3, latest']
    """
    part = in_parts(order, min(n, max(1, len(order) // _ENOUGH)))
    labels = [f"part {k + 1}" for k in range(int(part.max()) + 1)]
    if len(labels) > 1:
        labels[0], labels[-1] = f"{labels[0]}, earliest", f"{labels[-1]}, latest"
    return np.array(labels)[part], labels
