"""Growing a monomial: literals added one by one, each the best for the criterion on the boosting weights.

The rows where the monomial M holds and the others are two leaves, and the next literal is the one that most
lowers Σ_leaves W_k H(p_k), W_k the weight of a leaf and p_k the share of class 1 in it [N9 (49)]. Both sides
of the first literal are grown further, as a decision tree could grow either leaf. Of what a set of categories
gains, the part that chance would give counts for nothing (:mod:`propriety.trees.categories`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import losses, parallel
from propriety.rules import kernels
from propriety.rules.monomials import BinLiteral, bin_set
from propriety.trees.binned import BINS, Binned
from propriety.trees.categories import real_share, whole_step

_TIE = 1e-9
_CHORDS = 4096  # of an entropy
_CLOSE = 1e-4  # to which they bound it, nearly everywhere
_SERIAL = 1 << 17  # cells up to which one thread is fastest
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Score = Callable[[Integers, Integers], Floats]
Least = Callable[[Integers, Integers, NDArray[np.bool_]], Floats]


def entropy_score(loss: losses.Loss) -> Score:
    """Σ W H(p) of two leaves: where monomials hold, with weights (class 0, class 1), and the rest of all."""

    def score(within: Integers, total: Integers) -> Floats:
        leaves = np.concatenate([within, total - within]).astype(np.float64)
        weight = leaves.sum(axis=1)
        p = leaves[:, 1] / np.where(weight > 0, weight, 1.0)
        q = np.where(weight > 0, leaves[:, 0] / np.where(weight > 0, weight, 1.0), 1.0)
        values = weight * loss.entropy(p, q)
        return values[: len(within)] + values[len(within) :]

    return score


@lru_cache(maxsize=64)
def _nodes(loss: losses.Loss) -> Floats:
    """The entropy at the ends of its chords."""
    p = np.arange(_CHORDS + 1) / _CHORDS
    return np.asarray(loss.entropy(p, p[::-1]), dtype=np.float64)


def least_entropies(
    loss: losses.Loss, within: Integers, total: Integers, allowed: NDArray[np.bool_]
) -> Floats:
    """`entropy_score` of the monomials that may be of least score, up to ties; ∞ for all others.

    The chords of a concave function lie below it, and there are so many that few monomials are left.
    """
    score, nodes = entropy_score(loss), _nodes(loss)
    bound = np.zeros(len(within))
    if np.all(np.isfinite(nodes)):
        kernels.bound_entropies(within, total[0], total[1], nodes, bound)
    bound[~allowed] = np.inf
    scores = np.full(len(within), np.inf)
    least = float(bound.min())
    limit = least + _CLOSE * abs(least)
    while limit < np.inf:
        left = np.flatnonzero(bound <= limit)
        scores[left] = score(within[left], total)
        reached = float(scores[left].min())
        following = reached + 3 * _TIE * abs(reached)
        if following <= limit or len(left) == np.count_nonzero(allowed):
            break
        limit = following
    return scores


def least_edges(within: Integers, total: Integers, allowed: NDArray[np.bool_]) -> Floats:
    """`edge_score`; ∞ where a monomial is not allowed."""
    return np.where(allowed, edge_score(within, total), np.inf)


def edge_score(within: Integers, total: Integers) -> Floats:
    """Minus the edge of the rule that says one class where the monomial holds and the other elsewhere."""
    difference = 2 * (within[:, 1] - within[:, 0]) - (total[1] - total[0])
    return -np.abs(difference.astype(np.float64))


class _Judge(NamedTuple):
    """The criterion, and the dispersion of the weights: what a category gains by chance.

    `least` is the criterion where it may be least of those that are allowed, and ∞ elsewhere.
    """

    score: Score
    least: Least
    dispersion: float


class GrownRule(NamedTuple):
    """A monomial, and the rows where it holds (1) or not (0)."""

    literals: tuple[BinLiteral, ...]
    holds: NDArray[np.uint8]


class _Cut(NamedTuple):
    """The best literal within a monomial, the criterion, and the sums where all hold."""

    literal: BinLiteral
    score: float
    inside: Integers


class RuleGrower:
    """Grows monomials on one table.

    Parameters
    ----------
    binned : Binned
    y : ndarray of uint8
        Labels, all 0 before all 1: a pass over one class needs no look at labels.
    counts : ndarray of int64 or None
        Weights of the rows, only needed where `least` > 1.
    max_literals : int
        Literals of a monomial, at most.
    least : float
        Least weight of the rows where a monomial holds, and of those where it does not.
    criterion : {"entropy", "edge"}
    constant : bool
        Whether there is a constant rule besides, which a rule must beat.
    """

    def __init__(
        self,
        binned: Binned,
        y: NDArray[np.uint8],
        counts: Integers | None,
        *,
        max_literals: int,
        least: float,
        criterion: str,
        constant: bool,
        n_jobs: int,
    ) -> None:
        self.columns, self.y, self.criterion = binned.columns, y, criterion
        self._max_literals, self._constant = max_literals, constant
        self._counts, self._least = counts, least
        self.n_bins = binned.n_bins
        d, n = self.columns.shape
        self._tasks = _spans(d, n_jobs if d * n > _SERIAL else 1)
        self._n_jobs, self._zeros = n_jobs, int(np.count_nonzero(y == 0))
        self._d = np.arange(d)
        self._categorical = np.flatnonzero(binned.categorical)
        self._levels: Any = binned.levels
        #: Whether a feature has missing values in training: theirs is the last bin.
        self.missing = self.columns.max(axis=1) == self.n_bins
        self._cuts = self._candidates()
        self._count_sums = None if counts is None else self._sums(counts, None)

    @property
    def any_categories(self) -> bool:
        """Whether there are features of categories."""
        return len(self._categorical) > 0

    def _candidates(self) -> tuple[Integers, Integers, NDArray[np.bool_]]:
        """Feature, last bin and whether missing values are in, for each set of bins that a literal may be."""
        parts = []
        for with_missing in (False, True):
            for f, bins in enumerate(self.n_bins):
                # All values against the missing ones is a literal too.
                count = int(bins) - 1 + (self.missing[f] and not with_missing)
                if count > 0 and (self.missing[f] or not with_missing):
                    parts.append((np.full(count, f), np.arange(count), np.full(count, with_missing)))
        if not parts:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0, dtype=bool)
        features, last, missing = (np.concatenate(column) for column in zip(*parts, strict=True))
        return features, last, missing

    def grow(
        self, w: Integers, loss: losses.Loss, criterion: str, dispersion: float = 0.0
    ) -> GrownRule | None:
        """The monomial for these weights, or None if no literal makes a difference.

        The criterion is "entropy", that of the loss, or "edge". Without a constant rule a rule that is no
        better than the constant is still of use: it only has to have an edge. `dispersion` is that of the
        weights; 0 takes all that categories gain for real.
        """
        if len(self._cuts[0]) == 0:
            return None
        score = edge_score if criterion == "edge" else entropy_score(loss)
        least = least_edges if criterion == "edge" else partial(least_entropies, loss)
        judge = _Judge(score, least, dispersion)
        sums = self._sums(w, None)
        total = sums[0].sum(axis=0)
        of_constant = float(score(total[None], total)[0])
        unit = float(total.sum()) if criterion == "edge" else abs(of_constant)
        to_beat = of_constant if self._constant or criterion == "entropy" else 0.0
        first = self._best(sums, total, total, judge, self._count_sums, both=False)
        if first is None or not first.score < to_beat - _TIE * unit:
            return None
        holds = np.ones(len(self.y), dtype=np.uint8)
        self._narrow(holds, first.literal)
        literals, best = [first.literal], first
        if self._max_literals > 1:
            literals, best = self._second(w, sums, total, judge, first, holds, unit)
        while 1 < len(literals) < self._max_literals:
            inner = self._within(w, holds)
            following = self._best(inner, best.inside, total, judge, self._count_within(holds), both=True)
            if following is None or not following.score < best.score - _TIE * unit:
                break
            best = following
            literals.append(following.literal)
            self._narrow(holds, following.literal)
        return GrownRule(tuple(literals), holds)

    def _second(
        self,
        w: Integers,
        sums: Integers,
        total: Integers,
        judge: _Judge,
        first: _Cut,
        holds: NDArray[np.uint8],
        unit: float,
    ) -> tuple[list[BinLiteral], _Cut]:
        """The first two literals, the second on whichever side of the first serves best; or one literal.

        `holds`, the rows where the first literal holds, becomes those where all do.
        """
        within, counted = self._within(w, holds), self._count_within(holds)
        inside = self._best(within, first.inside, total, judge, counted, both=True)
        if counted is not None and self._count_sums is not None:
            counted = self._count_sums - counted
        outside = self._best(sums - within, total - first.inside, total, judge, counted, both=True)
        second, literal = inside, first.literal
        if outside is not None and (inside is None or outside.score < inside.score - _TIE * unit):
            second, literal = outside, BinLiteral(literal.feature, self.complement(literal))
        if second is None or not second.score < first.score - _TIE * unit:
            return [first.literal], first
        if second is outside:
            holds ^= 1
        self._narrow(holds, second.literal)
        return [literal, second.literal], second

    def complement(self, literal: BinLiteral) -> int:
        """The other bins; a missing value satisfies no literal of a feature that has none in training."""
        f = literal.feature
        bits = int(self.n_bins[f]) + bool(self.missing[f])
        return ((1 << bits) - 1) & ~literal.bins

    # --- sums of weights per bin ------------------------------------------------------------------

    def _sums(self, w: Integers, rows: NDArray[np.uint32] | None) -> Integers:
        """Weight of class 0 and 1 per feature and bin, of shape (d, 256, 2), over some rows or all.

        A negative weight is a weight of the other class.
        """
        if w.min(initial=0) < 0:
            return self._sums(np.maximum(w, 0), rows) + self._sums(np.maximum(-w, 0), rows)[:, :, ::-1]
        sums = np.zeros((len(self._d), 2 * BINS), dtype=np.int64)

        def add(first: int, last: int) -> None:
            if rows is None:
                kernels.add_all(self.columns, first, last, self._zeros, w, sums)
            else:
                kernels.add_some(self.columns, first, last, self.y, w, rows, sums)

        if len(self._tasks) == 1:
            add(0, len(self._d))
        else:
            parallel.run([partial(add, *span) for span in self._tasks], self._n_jobs)
        return sums.reshape(len(self._d), BINS, 2)

    def _within(self, w: Integers, holds: NDArray[np.uint8]) -> Integers:
        """Sums over the rows where the monomial holds."""
        rows = np.empty(np.count_nonzero(holds), dtype=np.uint32)
        kernels.list_rows(holds, rows)
        return self._sums(w, rows)

    def _count_within(self, holds: NDArray[np.uint8]) -> Integers | None:
        return None if self._counts is None else self._within(self._counts, holds)

    def _narrow(self, holds: NDArray[np.uint8], literal: BinLiteral) -> None:
        kernels.narrow(self.columns[literal.feature], literal.mask(), holds)

    # --- the best literal -------------------------------------------------------------------------

    def _best(
        self,
        sums: Integers,
        inside: Integers,
        total: Integers,
        judge: _Judge,
        counts: Integers | None,
        both: bool,
    ) -> _Cut | None:
        """The literal that is best inside a monomial with these sums; with `both`, or its complement."""
        order = self._order(sums, by_edge=judge.score is edge_score)
        within = self._cumulated(sums, order)
        if both:
            within = np.concatenate([within, inside - within])
        allowed = self._allowed(within, total, counts, order, both)
        if judge.dispersion > 0.0 and len(self._categorical):
            before = float(judge.score(inside[None], total)[0])
            worth = self._worth(sums, judge.dispersion)
            discounted = self._discounted(judge.score(within, total), before, worth)
            scores = np.where(allowed, discounted, np.inf)
        else:
            scores = judge.least(within, total, allowed)
        least = scores.min()
        if not least < np.inf:
            return None
        at = int(np.argmax(scores <= least + _TIE * abs(least)))
        features, last, missing = self._cuts
        k = self._middle(within, at, at % len(features))
        flip = at >= len(features)
        literal = self._literal(int(features[k]), int(last[k]), bool(missing[k]), order, flip)
        return _Cut(literal, float(scores[at]), within[at])

    def _worth(self, sums: Integers, dispersion: float) -> Floats:
        """What a literal of each feature gains of what it seems to gain; 1 for features of numbers."""
        worth = np.ones(len(self._d))
        for f in self._categorical:
            held = sums[f][sums[f].sum(axis=1) > 0].astype(np.float64)
            weight, ones = held.sum(axis=1), held[:, 1]
            p = ones.sum() / max(weight.sum(), 1.0)
            if 0.0 < p < 1.0:
                spread = float(np.sum((ones - p * weight) ** 2 / weight)) / (p * (1.0 - p))
                levels = self._levels[f][sums[f].sum(axis=1) > 0]
                count = float(np.minimum(levels, weight / dispersion).sum())
                worth[f] = whole_step(real_share(spread, count - 2.0, dispersion))
        return worth

    def _discounted(self, scores: Floats, before: float, worth: Floats) -> Floats:
        """The criterion of each candidate, if only so much counts of what it gains beyond `before`."""
        of_cut = worth[self._cuts[0]]
        of_cut = np.concatenate([of_cut, of_cut]) if len(scores) > len(of_cut) else of_cut
        better = scores < before
        scores = np.where(better, before - of_cut * (before - scores), scores)
        return np.where(better & (of_cut == 0.0), np.inf, scores)

    def _allowed(
        self,
        within: Integers,
        total: Integers,
        counts: Integers | None,
        order: Integers | None,
        both: bool,
    ) -> NDArray[np.bool_]:
        """Candidates with weight on both sides, and with enough of it."""
        weight, whole = within[:, 0] + within[:, 1], total.sum()
        allowed = (weight > 0) & (weight < whole)
        if counts is not None and self._counts is not None:
            rows = self._cumulated(counts, order).sum(axis=1)
            rows = np.concatenate([rows, counts[0].sum() - rows]) if both else rows
            allowed &= (rows >= self._least) & (self._counts.sum() - rows >= self._least)
        return allowed

    def _order(self, sums: Integers, by_edge: bool) -> Integers | None:
        """Bins of each categorical feature in an order that the best set begins.

        By their share of class 1 for an entropy, which is concave; by the difference of the classes for an
        edge, which is a sum of those: the share would do if the set of all bins were a literal too.
        """
        if len(self._categorical) == 0:
            return None
        parts = sums[self._categorical]
        weight = parts.sum(axis=2)
        if by_edge:
            key = np.where(weight > 0, parts[:, :, 0] - parts[:, :, 1], np.inf)
        else:
            key = np.where(weight > 0, parts[:, :, 1] / np.maximum(weight, 1), 2.0)
        # Empty bins after all others, and the missing values' last of all.
        key[np.arange(BINS) >= self.n_bins[self._categorical, None]] = np.inf
        return np.argsort(key, axis=1, kind="stable")

    def _cumulated(self, sums: Integers, order: Integers | None) -> Integers:
        """Sums of (class 0, class 1) over the bins of each candidate."""
        missing, values = sums[self._d, self.n_bins], sums
        if order is not None:
            values = sums.copy()
            values[self._categorical] = np.take_along_axis(sums[self._categorical], order[:, :, None], axis=1)
        running = np.empty((len(self._cuts[0]), 2), dtype=np.int64)
        kernels.cumulate(values, missing, *self._cuts, running)
        return running

    def _middle(self, within: Integers, at: int, k: int) -> int:
        """The middle of the cuts that no row lies between."""
        features, _, missing = self._cuts
        if features[k] in self._categorical:
            return k
        end = k
        while (
            end + 1 < len(features)
            and features[end + 1] == features[k]
            and missing[end + 1] == missing[k]
            and np.array_equal(within[at + end + 1 - k], within[at])
        ):
            end += 1
        return (k + end) // 2

    def _literal(self, f: int, last: int, missing: bool, order: Integers | None, flip: bool) -> BinLiteral:
        bins = np.arange(last + 1)
        place = np.searchsorted(self._categorical, f)
        if order is not None and place < len(self._categorical) and self._categorical[place] == f:
            bins = order[place][: last + 1]
        if missing:
            bins = np.append(bins, self.n_bins[f])
        literal = BinLiteral(f, bin_set(bins))
        return BinLiteral(f, self.complement(literal)) if flip else literal


def _spans(d: int, tasks: int) -> list[tuple[int, int]]:
    """The features in at most `tasks` runs of about equal length."""
    ends = np.linspace(0, d, min(d, tasks) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(ends)]
