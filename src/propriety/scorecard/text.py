"""A scorecard as a table and in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from propriety.data.table import Schema
from propriety.losses import Composite
from propriety.losses.links import Logit
from propriety.scorecard.cards import Card
from propriety.scorecard.columns import BinnedColumn


def bin_labels(bins: BinnedColumn, schema: Schema) -> list[str]:
    """What each bin holds.

    >>> schema = Schema((None,), ("age",))
    >>> bin_labels(BinnedColumn(0, np.array([25.0, 60.0]), None, -1, 3, np.ones((4, 2))), schema)
    ['≤ 25', '25 to 60', '> 60', 'missing']
    """
    if bins.edges is not None:
        ends = [f"{edge:.6g}" for edge in bins.edges]
        if not ends:
            return ["known", "missing"]
        middle = [f"{low} to {high}" for low, high in pairwise(ends)]
        return [f"≤ {ends[0]}", *middle, f"> {ends[-1]}", "missing"]
    assert bins.groups is not None
    known = schema.categories[bins.feature] or ()
    labels = []
    for k in range(len(bins.sums)):
        names = [str(name) for name, group in zip(known, bins.groups, strict=False) if group == k]
        rest = ["missing"] if bins.missing == k and k != bins.rare else []
        labels.append(("rare: " if k == bins.rare else "") + ", ".join(names + rest))
    return labels


def table_columns(cards: Sequence[Card], names: Sequence[str], schema: Schema) -> dict[str, list[Any]]:
    """The columns of the table of points; `names` are those of the classes that the cards are of."""
    found: dict[str, list[Any]] = {name: [] for name in (
        "class", "column", "bin", "count", "share", "positives", "rate", "woe", "iv", "points")}  # fmt: skip
    for card, name in zip(cards, names, strict=True):
        own = 1 if card.scale.factor < 0 else 0  # points are against the class
        for bins, points in zip(card.columns, card.points, strict=True):
            count = bins.sums.sum(axis=1)
            seen = np.flatnonzero(count > 0)
            labels = bin_labels(bins, schema)
            found["class"] += [name] * len(seen)
            found["column"] += [schema.labels[bins.feature]] * len(seen)
            found["bin"] += [labels[k] for k in seen]
            numbers = {
                "count": count,
                "share": count / count.sum(),
                "positives": bins.sums[:, own],
                "rate": bins.sums[:, own] / np.where(count > 0, count, 1.0),
                "woe": bins.woe if own else -bins.woe,
                "iv": bins.information,
                "points": points,
            }
            for key, values in numbers.items():
                found[key] += values[seen].tolist()
    if len(cards) == 1:
        del found["class"]
    return found


def text_of(card: Card, name: str, schema: Schema, composite: Composite, threshold: float | None) -> str:
    """One card: the points of every row and of each bin, and what they say.

    `threshold` is the probability of the class from which it is decided.
    """
    digits = 0 if card.rounded else 1
    lines = [f"{card.base:.{digits}f} points for every row"]
    for bins, points in zip(card.columns, card.points, strict=True):
        lines.append(schema.labels[bins.feature])
        seen = bins.sums.sum(axis=1) > 0
        shown = [(label, p) for label, p, s in zip(bin_labels(bins, schema), points, seen, strict=True) if s]
        width = max(len(label) for label, _ in shown)
        lines += [f"  {label:<{width}}  {p:+.{digits}f}" for label, p in shown]
    link, scale = composite.link, card.scale
    of_class = scale.factor < 0
    p = float(composite.inverse(np.array([scale.origin]))[0])
    odds = (1 - p) / p if of_class else p / (1 - p)
    lines += ["", f"{scale.base_points:.4g} points are odds of {odds:.4g} to 1 against {name}"]
    if link == Logit():
        lines[-1] += f"; {abs(scale.factor) * np.log(2):.4g} points more double them"
    else:
        lines[-1] += (
            f"; score = {scale.origin:.4g} {1 / scale.factor:+.4g} × (points − {scale.base_points:.4g})"
        )
        lines[-1] += f", through {link!r}"
    if threshold is not None and 0 < threshold < 1:
        at = np.array(threshold), np.array(1 - threshold)
        limit = scale.points(float(link.link(*(at if of_class else at[::-1]))))
        lines.append(f"{name} is decided up to {limit:.1f} points, from a probability of {threshold:.4g} on")
    return "\n".join(lines)
