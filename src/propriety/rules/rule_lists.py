"""A fitted list of rules: what it adds to a score, and what of that is due to which column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import losses
from propriety.rules import kernels
from propriety.rules.monomials import Monomial, WeightedRule
from propriety.trees.binned import BINS

Floats = NDArray[np.float64]
Bins = NDArray[np.uint8]


class Contrast(NamedTuple):
    """One class, its index, and what it is told from."""

    code: int
    label: Any
    rest: Any


def contrasts(classes: NDArray[Any]) -> list[Contrast]:
    """What there is a list of rules for: class 1, or each of several classes against the rest.

    >>> contrasts(np.array(["no", "yes"]))
    [Contrast(code=1, label=np.str_('yes'), rest=np.str_('no'))]
    >>> len(contrasts(np.array([0, 1, 2])))
    3
    """
    if len(classes) == 2:
        return [Contrast(1, classes[1], classes[0])]
    return [Contrast(code, label, f"not {label}") for code, label in enumerate(classes)]


class Unseen(NamedTuple):
    """How far literals hold for categories that were not in training, which are in the bin of missing values.

    Attributes
    ----------
    bins : ndarray
        That bin, for each literal.
    shares : ndarray
        From 0 to 1; NaN where the training rows with missing values have decided.
    """

    bins: NDArray[np.int64]
    shares: Floats


class BinScorer:
    """The score of binned rows: an intercept, and rules of ±1 with their coefficients.

    A rule that holds to a share h of 0 to 1, see :class:`Unseen`, adds 2h − 1 times its coefficient.
    """

    def __init__(
        self, intercept: float, rules: Mapping[Monomial, float], unseen: Unseen | None = None
    ) -> None:
        literals = [literal for monomial in rules for literal in monomial]
        masks = [literal.mask() for literal in literals]
        self.intercept = intercept
        self.coefficients = np.array(list(rules.values()), dtype=np.float64)
        self.features = np.array([literal.feature for literal in literals], dtype=np.int64)
        self.masks = np.array(masks, dtype=np.uint8).reshape(len(masks), BINS)
        self.starts = np.cumsum([0, *map(len, rules)]).astype(np.int64)
        self.unseen = unseen

    def scores(self, columns: Bins) -> Floats:
        """Scores of the rows."""
        n = columns.shape[1]
        scores = np.full(n, self.intercept)
        kernels.add_scores(columns, self.features, self.masks, self.starts, self.coefficients, 0, n, scores)
        rows = self._unseen_rows(columns)
        if len(rows):
            scores[rows] = self.intercept
            for t, coefficient in enumerate(self.coefficients):
                scores[rows] += coefficient * (2.0 * self._degree(t, columns[:, rows]) - 1.0)
        return scores

    def holds(self, t: int, columns: Bins) -> Bins:
        """Where rule `t` holds; it does not for a category that was in training nowhere."""
        holds = np.ones(columns.shape[1], dtype=np.uint8)
        for k in range(self.starts[t], self.starts[t + 1]):
            kernels.narrow(columns[self.features[k]], self.masks[k], holds)
        return holds

    def degrees(self, t: int, columns: Bins) -> Floats:
        """How far rule `t` holds: 0 or 1, or between for a category that was in training nowhere."""
        degrees = self.holds(t, columns).astype(np.float64)
        rows = self._unseen_rows(columns)
        if len(rows):
            degrees[rows] = self._degree(t, columns[:, rows])
        return degrees

    def _unseen_rows(self, columns: Bins) -> NDArray[np.intp]:
        if self.unseen is None or np.all(np.isnan(self.unseen.shares)):
            return np.empty(0, dtype=np.intp)
        marked = np.zeros(columns.shape[1], dtype=bool)
        undecided = ~np.isnan(self.unseen.shares)
        for f, b in set(zip(self.features[undecided], self.unseen.bins[undecided], strict=True)):
            marked |= columns[f] == b
        return np.flatnonzero(marked)

    def _degree(self, t: int, columns: Bins) -> Floats:
        assert self.unseen is not None
        degree = np.ones(columns.shape[1])
        for k in range(self.starts[t], self.starts[t + 1]):
            column, share = columns[self.features[k]], self.unseen.shares[k]
            unknown = (column == self.unseen.bins[k]) & ~np.isnan(share)
            degree *= np.where(unknown, share, self.masks[k][column])
        return degree


@dataclass(frozen=True, eq=False)
class RuleList:
    """The rules for one class, and how they came about.

    Attributes
    ----------
    label : label
        The class that the score is of.
    rules : tuple of WeightedRule
    scorer : BinScorer
        The same rules, for binned rows.
    composite : Composite
        Whose link gives the probability.
    chosen : tuple of Composite
        The loss of each round.
    edges : ndarray
        The edge of each round's rule.
    separated : bool
    """

    label: Any
    rules: tuple[WeightedRule, ...]
    scorer: BinScorer
    composite: losses.Composite
    chosen: tuple[losses.Composite, ...]
    edges: Floats
    separated: bool

    def contributions(self, columns: Bins) -> Floats:
        """What each column adds to the scores, the mean score last: of shape (n, d + 1).

        A rule adds what it adds beyond its mean over the training rows, in equal parts to its columns.
        """
        d, n = columns.shape
        parts = np.zeros((n, d + 1))
        parts[:, d] = self.scorer.intercept
        for t, rule in enumerate(self.rules):
            mean = rule.coefficient * (2 * rule.coverage - 1)
            parts[:, d] += mean
            beyond = rule.coefficient * (2.0 * self.scorer.degrees(t, columns) - 1) - mean
            for literal in rule.literals:
                parts[:, literal.column] += beyond / len(rule.literals)
        return parts

    def spreads(self, d: int) -> Floats:
        """Standard deviation of what each rule adds to the score, in equal parts to its columns."""
        spreads = np.zeros(d)
        for rule in self.rules:
            spread = 2 * abs(rule.coefficient) * np.sqrt(rule.coverage * (1 - rule.coverage))
            for literal in rule.literals:
                spreads[literal.column] += spread / len(rule.literals)
        return spreads
