"""The target of a table: its labels, and which of them is the one that can be missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from propriety.data.labels import is_number, named_positive
from propriety.tables import conversion
from propriety.tables.errors import TableError


@dataclass(frozen=True)
class Target:
    """The column to predict: its labels, which of them is positive, and how that was decided."""

    name: str
    positive: str
    negatives: tuple[str, ...]
    because: str = ""

    @property
    def negative(self) -> str:
        """The label of a decision against the positive class."""
        return self.negatives[0] if len(self.negatives) == 1 else f"not {self.positive}"

    def labels(self, array: Any, missing: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each row is positive, and whether its label is known."""
        text = conversion.with_missing(conversion.as_text(array), _markers(missing))
        positive = pc.fill_null(pc.equal(text, self.positive), False)
        return conversion.as_numpy(positive).astype(bool), conversion.as_numpy(pc.is_valid(text)).astype(bool)


def find_target(array: Any, name: str, missing: Sequence[str], positive: str | None) -> Target:
    """The labels of the target, and which is positive: as told, by its name, or the rarer one."""
    conversion.check_usable(name, array.type)
    text = conversion.with_missing(conversion.as_text(array), _markers(missing))
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
        advice = "say which is the positive one by --positive; the others are then the negatives"
        if len(labels) > 20:
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
