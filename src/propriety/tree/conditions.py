"""The way to a node in words: one condition for each column on it, repeated tests merged. [B §18]"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety.data.conditions import Condition, Interval, Membership

if TYPE_CHECKING:
    from propriety.tree.nodes import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """A conjunction of conditions, at most one for each column, with what it says of the rows it covers.

    Attributes
    ----------
    node : int
        The node it describes.
    conditions : tuple
        All of them hold for exactly the rows that reach the node.
    weight : float
        Weight of the training rows covered.
    shares, probabilities : tuple of float
        Their class shares, and the probabilities that the model gives them.
    score : tuple of float
        The score of the node: one number for two classes.
    """

    node: int
    conditions: tuple[Condition, ...]
    weight: float
    shares: tuple[float, ...]
    probabilities: tuple[float, ...]
    score: tuple[float, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions)) or "always"

    def covers(self, column: Any, n_rows: int) -> NDArray[np.bool_]:
        """Rows that the rule covers; ``column(f)`` gives column f as numbers."""
        held = np.ones(n_rows, dtype=bool)
        for condition in self.conditions:
            held &= condition.holds(np.asarray(column(condition.column), dtype=np.float64))
        return held


@dataclass(frozen=True)
class Words:
    """What it takes to put a tree's tests in words."""

    tree: Tree
    names: tuple[str, ...]
    categories: tuple[tuple[Any, ...] | None, ...]
    category_bins: tuple[Floats | None, ...]
    missing_seen: NDArray[np.bool_]

    def test(self, child: int) -> Condition:
        """The condition on which `child` is reached from its parent."""
        tree = self.tree
        node = int(tree.parent[child])
        f, goes_left = int(tree.feature[node]), child == tree.left[node]
        missing = bool(tree.nodes["missing_left"][node]) == goes_left
        common = {
            "name": self.names[f],
            "column": f,
            "missing": missing,
            "missing_seen": self.missing_seen[f],
        }
        bins, categories = self.category_bins[f], self.categories[f]
        if bins is not None and categories is not None:
            codes = tuple(np.flatnonzero(np.isin(bins, tree.left_bins(node)) == goes_left).tolist())
            common["missing_seen"] = bool(tree.missing_seen[node])
            return Membership(codes=codes, categories=tuple(categories[c] for c in codes), **common)
        t = float(tree.nodes["threshold"][node])
        if t == np.inf:
            return Interval(nothing=not goes_left, **common)
        text = shortest(t, *tree.gap[node])
        if goes_left:
            return Interval(high=t, texts=("", text), **common)
        return Interval(low=t, texts=(text, ""), **common)

    def conditions(self, node: int) -> tuple[Condition, ...]:
        """The way to a node, tests of one column merged to one; columns as they come first on the way."""
        found: dict[int, Condition] = {}
        for child in self.tree.path(node)[1:]:
            test = self.test(child)
            found[test.column] = _both(found[test.column], test) if test.column in found else test
        return tuple(found.values())


def _both(a: Condition, b: Condition) -> Condition:
    """The condition that both hold."""
    if isinstance(a, Membership):
        assert isinstance(b, Membership)
        kept = [i for i, code in enumerate(a.codes) if code in b.codes]
        codes, categories = tuple(a.codes[i] for i in kept), tuple(a.categories[i] for i in kept)
        missing, seen = a.missing and b.missing, a.missing_seen and b.missing_seen
        return replace(a, codes=codes, categories=categories, missing=missing, missing_seen=seen)
    assert isinstance(b, Interval)
    low = a if a.low >= b.low else b
    high = a if a.high <= b.high else b
    return replace(
        a,
        low=low.low,
        high=high.high,
        texts=(low.texts[0], high.texts[1]),
        missing=a.missing and b.missing,
        nothing=a.nothing or b.nothing,
    )


def shortest(value: float, low: float, high: float) -> str:
    """The shortest number near `value` that parts the training rows as it does: low ≤ it < high.

    >>> shortest(127.53, 127.4, 127.7), shortest(5000.0, 4000.0, 6000.0)
    ('127.5', '5000')
    """
    near = 0.25 * (high - low)
    for digits in range(1, 18):
        short = float(f"{value:.{digits}g}")
        if low <= short < high and (abs(short - value) <= near or not np.isfinite(near)):
            return f"{short:.{max(digits, 6)}g}"
    return repr(value)
