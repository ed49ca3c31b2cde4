"""The target of a table: its labels, and which of them is the one that can be missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from propriety.data.labels import named_positive
from propriety.data.table import is_number
from propriety.tables import conversion
from propriety.tables.errors import TableError

if TYPE_CHECKING:
    from propriety.tables.conversion import ArrowColumn

_MOST = 20  # labels from which a target looks like a quantity


@dataclass(frozen=True)
class Target:
    """The column to predict: its labels, which of them is positive, and how that was decided.

    Or, in `several`, three labels and more that are a class each; then none is positive.

    Examples
    --------
    >>> Target("state", "ill", ("well", "unsure")).classes
    ('not ill', 'ill')
    >>> Target("state", several=("ill", "unsure", "well")).classes
    ('ill', 'unsure', 'well')
    """

    name: str
    positive: str = ""
    negatives: tuple[str, ...] = ()
    because: str = ""
    several: tuple[str, ...] = ()

    @property
    def negative(self) -> str:
        """The label of a decision against the positive class."""
        return self.negatives[0] if len(self.negatives) == 1 else f"not {self.positive}"

    @property
    def classes(self) -> tuple[str, ...]:
        """What may be decided: the labels in order or, of two classes, the negative and the positive."""
        return self.several or (self.negative, self.positive)

    def codes(self, array: ArrowColumn, missing: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The place of each row's class in `classes`, 0 where its label is not known, and whether it is."""
        text = conversion.text_or_missing(array, _markers(missing))
        labels = text.dictionary.to_pylist()
        if self.several:
            place = {label: k for k, label in enumerate(self.several)}
            places = [place.get(label, 0) for label in labels]
        else:
            places = [int(label == self.positive) for label in labels]
        codes = conversion.as_numpy(pc.fill_null(text.indices, len(labels)))
        return np.array([*places, 0], dtype=np.intp).take(codes), codes < len(labels)


def find_target(
    array: ArrowColumn, name: str, missing: Sequence[str], positive: str | None, *, several: bool = False
) -> Target:
    """The labels of the target, and which is positive: as told, by its name, or the rarer one.

    With `several`, three labels or more are a class each, unless one is said to be positive.
    """
    conversion.check_usable(name, array.type)
    text = conversion.text_or_missing(array, _markers(missing))
    counts = {v["values"]: v["counts"] for v in pc.value_counts(text.drop_null()).to_pylist()}
    if not counts:
        raise TableError(f"the target {name!r} has no value in any row")
    labels = sorted(counts, key=in_order)
    if len(labels) == 1:
        raise TableError(
            f"the target {name!r} has only one class: all {sum(counts.values())} rows are {labels[0]!r}",
            "a model needs rows of both classes",
        )
    if positive is not None:
        if positive not in counts:
            shown = ", ".join(f"{v!r} ({counts[v]})" for v in labels[:10])
            raise TableError(f"the target {name!r} is never {positive!r}", f"its values are {shown}")
        rest = tuple(v for v in labels if v != positive)
        return Target(name, positive, rest, "as stated")
    if len(labels) > 2:
        shown = ", ".join(f"{v!r} ({counts[v]})" for v in labels[:10]) + (" …" if len(labels) > 10 else "")
        if several and len(labels) <= _MOST:
            return Target(name, because="each label is a class", several=tuple(labels))
        advice = (
            "say which is the positive one by --positive, the others are then the negatives; or give the "
            "cost of each mistake by --cost-matrix"
        )
        if len(labels) > _MOST:
            advice = "is it a quantity? Make a column of two classes from it, or say --positive VALUE"
        raise TableError(f"the target {name!r} has {len(labels)} different values: {shown}", advice)
    chosen, because = _which(labels, counts)
    return Target(name, chosen, tuple(v for v in labels if v != chosen), because)


def _which(labels: list[str], counts: dict[str, int]) -> tuple[str, str]:
    a, b = labels
    return named_positive(a, b) or ((a if counts[a] < counts[b] else b), "the rarer one")


def _markers(missing: Sequence[str]) -> list[str]:
    # A lone dash or the word none may be a class.
    return [m for m in missing if m.lower() not in ("-", "none", "missing")]


def in_order(label: str) -> tuple[int, float, str]:
    """Key to sort labels: numbers by size, then text."""
    return (0, float(label), label) if is_number(label) else (1, 0.0, label)
