"""Leveraging: the coefficients of ULS, for rules of ±1 and any loss that is convex in the score.

The coefficient δ of a new rule h is where its edge on the new weights is zero [N8 (LC), N9 (35)]. With A the
weight of the rows that h is right on and B of the others, both at the score F + δh, that is A(δ) = B(δ).
Newton's method on log A − log B needs one step for the exponential loss, where it is AdaBoost's step,
δ = ½ log(A/B), and few for any other.

Where φ rises again, as (1 − v)² does beyond 1, a row that is right by too much has a negative weight. Sums
take it as it is, and then Newton's method is on A − B itself. To a new rule it is a row of the other class.

The constant rule is leveraged in the same way, one step after each new rule: both steps are rounds of
classical boosting, T_j a single feature.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import losses, parallel
from propriety.losses.fused import Step, derivative_pass
from propriety.rules import kernels
from propriety.separators import uls
from propriety.separators.margins import Margins
from propriety.separators.separation import separating_direction
from propriety.trees.fixed_point import largest_of, row_weights, weighted_sum, wide_scale
from propriety.weights import Weights

_EXACT = 1e-11
_STEPS = 200
_LARGEST_POWER = 1023  # of 2, that a float holds
_ROWS = 1 << 17  # rows that are not worth a second thread,
_FEW = 1 << 16  # even where each takes longest
Floats = NDArray[np.float64]
Holds = NDArray[np.uint8]


@dataclass(frozen=True)
class ScoredRows:
    """Scores of the rows, with gradient and curvature of the loss there, and the largest of these."""

    F: Floats
    g: Floats
    h: Floats
    tops: tuple[float, float]


class RuleSample:
    """The labels and weights of the rows, and sums over them.

    Parameters
    ----------
    y : ndarray of uint8
    weights : Weights
        All positive.
    n_jobs : int
    """

    def __init__(self, y: NDArray[np.uint8], weights: Weights, n_jobs: int) -> None:
        self.y, self.weights, self.n_jobs = y, weights, n_jobs
        self._row_weights = row_weights(weights)
        self._weight = np.empty(0) if weights.values is None else weights.values  # as the kernels want it
        self._last: tuple[ScoredRows, Holds, Floats] | None = None
        self._n_jobs = n_jobs if len(y) > _ROWS else 1
        self._n_slow = n_jobs if len(y) > _FEW else 1

    def base_rate(self) -> float:
        """Share of class 1."""
        return float(self.weights.mean(self.y))

    def mean(self, values: Floats) -> float:
        """Weighted mean of one value a row, the same in any order of the rows."""
        return weighted_sum(values, self._row_weights, self._n_jobs) / self.weights.total

    def at(self, composite: losses.Composite, F: Floats) -> ScoredRows:
        """Gradient and curvature at scores."""
        return _scored(composite, self.y, F, self._n_slow)

    def moved(
        self, composite: losses.Composite, F: Floats, holds: Holds, inside: float, outside: float
    ) -> ScoredRows:
        """The same at F + inside where the rule holds, and F + outside elsewhere."""
        out = np.empty_like(F)

        def move(start: int, stop: int) -> None:
            kernels.move(F, holds, inside, outside, start, stop, out)

        return _scored(composite, self.y, out, self._n_slow, move)

    def quantized(self, point: ScoredRows) -> NDArray[np.int64]:
        """Weights of the rows, |gradient| times their own, in fixed point; negative ones too."""
        out = np.empty(len(self.y), dtype=np.int64)
        a = _scale(point.tops[0], self.weights.total)
        weight, copies = self._weight, self.weights.copies
        self._blocks(lambda s, e: kernels.quantize(point.g, weight, copies, a, s, e, out))
        negative = self._negative(point)
        if np.any(negative):
            out[negative] *= -1
        return out

    def _negative(self, point: ScoredRows) -> NDArray[np.bool_]:
        """The rows that are right by so much that their loss rises."""
        return np.where(self.y > 0, point.g > 0, point.g < 0)

    def dispersion(self, w: NDArray[np.int64]) -> float:
        """Σ w²/Σ w of such weights, counting copies one by one: by how much sums of them vary.

        >>> sample = RuleSample(np.array([0, 1], dtype=np.uint8), Weights.read([1, 2], 2), 1)
        >>> sample.dispersion(np.array([5, 10]))
        5.0
        """
        squares = w.astype(np.float64) ** 2
        if self.weights.copies and self.weights.values is not None:
            squares /= self.weights.values
        return float(squares.sum() / np.abs(w).sum(dtype=np.float64))

    def parts(self, point: ScoredRows, holds: Holds) -> Floats:
        """Weight and curvature by [whether the rule holds, class]; of shape (2, 2, 2).

        The last ones are kept: one step of leveraging begins where another has ended.
        """
        if self._last is not None and self._last[0] is point and self._last[1] is holds:
            return self._last[2]
        sums = (self._exact if all(map(math.isfinite, point.tops)) else self._beyond)(point, holds)
        self._last = (point, holds, sums)
        return sums

    def _exact(self, point: ScoredRows, holds: Holds) -> Floats:
        """Sums of the parts in fixed point: the same in any order of the rows."""
        scale = wide_scale(*point.tops, self.weights.total)
        parts: list[NDArray[np.int64]] = []

        def add(start: int, stop: int) -> None:
            part = np.empty((2, 2, 2), dtype=np.int64)
            kernels.sum_sides(holds, self.y, point.g, point.h, self._row_weights, scale, start, stop, part)
            parts.append(part)

        self._blocks(add)
        total: Floats = np.sum(parts, axis=0) / np.array([scale.gradient, scale.curvature])
        total[:, 1, 0] *= -1.0  # the weight −φ′ of a row is its gradient, or minus that in class 1
        return total

    def _beyond(self, point: ScoredRows, holds: Holds) -> Floats:
        """The same of scores so far off that a loss is infinite: that, and no digit, is what counts."""
        weight, cells = self.weights.array, 2 * holds + self.y
        pull = np.where(self.y > 0, -point.g, point.g)
        columns = [np.bincount(cells, weight * values, minlength=4) for values in (pull, point.h)]
        return np.asarray(np.column_stack(columns).reshape(2, 2, 2), dtype=np.float64)

    def errs(self, holds: Holds) -> bool:
        """Whether a rule is right on some rows and wrong on others."""
        return 0 < int(np.count_nonzero(self.y == holds)) < len(self.y)

    def edge(self, point: ScoredRows, holds: Holds) -> float:
        """γ = |A − B|/(A + B) of a rule. [N9 (42)]"""
        (A, _), (B, _) = _by_error(self.parts(point, holds))
        total = float(A + B)
        if np.any(self._negative(point)):
            total = self.mean(np.abs(point.g)) * self.weights.total
        return abs(float(A - B)) / total if total > 0 else 0.0

    def _blocks(self, function: Callable[[int, int], object]) -> None:
        parallel.for_blocks(function, len(self.y), n_jobs=self._n_jobs, block=_ROWS)

    def with_doubt(self, F: Floats, holds: Holds) -> tuple[RuleSample, Floats, Holds]:
        """The same rows and one more of score 0 where the rule holds, half of it in each class."""
        y = np.append(self.y, np.array([0, 1], dtype=np.uint8))
        weights = Weights(len(y), np.append(self.weights.array, [0.5, 0.5]), copies=False)
        sample = RuleSample(y, weights, self.n_jobs)
        return sample, np.append(F, [0.0, 0.0]), np.append(holds, np.ones(2, dtype=np.uint8))


def _scored(
    composite: losses.Composite, y: NDArray[np.uint8], F: Floats, n_jobs: int, before: Step | None = None
) -> ScoredRows:
    """Gradient, Hessian and the largest of them, in one pass; `before` writes a block of F before it is read.

    An infinite Hessian, at the end of a bounded link, is of no use and made 0. Derivatives are asked for
    hundreds of times, so that a table of them pays however few the rows.
    """
    g, h = np.empty_like(F), np.empty_like(F)
    tops: list[tuple[float, float]] = []

    def after(start: int, stop: int) -> None:
        if not composite.link.has_real_range:
            block = h[start:stop]
            block[~np.isfinite(block)] = 0.0
        tops.append(largest_of(g, h, start, stop))

    anew = derivative_pass(composite, y, "newton", table=True)(F, (g, h), n_jobs, before, after)
    if anew:  # some rows, by formulas
        tops.clear()
        after(0, len(F))
    top_g, top_h = map(max, zip(*tops, strict=True))
    return ScoredRows(F, g, h, (top_g, top_h))


def _scale(top: float, total: float) -> float:
    """A power of 2 that keeps `total` times the largest value below 2⁶¹.

    Rules that together make no mistake drive the weights towards 0, where that power would be infinite.
    """
    top *= max(total, 1.0)
    return 2.0 ** min(math.floor(61 - math.log2(top)), _LARGEST_POWER) if 0 < top < math.inf else 1.0


# --- one rule -------------------------------------------------------------------------------------


def leverage(
    sample: RuleSample, composite: losses.Composite, point: ScoredRows, holds: Holds
) -> tuple[float, ScoredRows, bool]:
    """The coefficient of a rule, where the scores then are, and whether the rule makes mistakes.

    A rule without a mistake has no finite coefficient [N8 Lemma 2]. It gets the one it would have if there
    were one more row, half of it in each class. A margin loss that has its minimum at a finite margin gives
    such a rule a coefficient of its own.
    """
    if sample.errs(holds) or composite.leaves_link:
        return *_solve(sample, composite, point, holds, constant=False), True
    wider, F, wider_holds = sample.with_doubt(point.F, holds)
    delta, _ = _solve(wider, composite, wider.at(composite, F), wider_holds, constant=False)
    return delta, sample.moved(composite, point.F, holds, delta, -delta), False


def leverage_constant(
    sample: RuleSample, composite: losses.Composite, point: ScoredRows, holds: Holds
) -> tuple[float, ScoredRows]:
    """The change of the intercept, and where the scores then are; any `holds` will do."""
    return _solve(sample, composite, point, holds, constant=True)


def _solve(
    sample: RuleSample, composite: losses.Composite, start: ScoredRows, holds: Holds, *, constant: bool
) -> tuple[float, ScoredRows]:
    """δ with A(δ) = B(δ), by Newton's method on log A − log B within a bracket."""
    delta, point, low, high = 0.0, start, -math.inf, math.inf
    # Scores of c · loss by its canonical link are c times as large; so is what counts as small.
    unit = abs(float(composite.link(0.75)) - float(composite.link(0.25)))
    for _ in range(_STEPS):
        sums = sample.parts(point, holds)
        (A, HA), (B, HB) = (sums[:, 1].sum(axis=0), sums[:, 0].sum(axis=0)) if constant else _by_error(sums)
        if A == B:
            break
        low, high = (delta, high) if A > B else (low, delta)
        if A > 0 and B > 0:
            rate, gap = HA / A + HB / B, math.log(A / B)
        else:
            rate, gap = (HA + HB if min(A, B) < 0 or composite.leaves_link else 0.0), A - B
        step = gap / rate if rate > 0 else math.copysign(math.inf, gap)
        if abs(step) <= _EXACT * max(unit, abs(delta)) or high - low <= _EXACT * abs(delta):
            break
        delta = float(_inside(delta + step, low, high, unit))
        point = sample.moved(composite, start.F, holds, delta, delta if constant else -delta)
    return delta, point


def _by_error(sums: Floats) -> tuple[Floats, Floats]:
    """Sums of the rows that a rule is right on, and of the others, from those by [where it holds, class]."""
    return sums[1, 1] + sums[0, 0], sums[1, 0] + sums[0, 1]


def _inside(proposal: float, low: float, high: float, unit: float) -> float:
    """The proposal, or where the bracket is halved or left open widened if it is not inside."""
    if low < proposal < high and math.isfinite(proposal):
        return proposal
    if math.isfinite(low) and math.isfinite(high):
        return 0.5 * (low + high)
    return low + max(unit, abs(low)) if math.isfinite(low) else high - max(unit, abs(high))


# --- all rules ------------------------------------------------------------------------------------


class _ScoreLoss:
    """A convex composite as a loss of the margins v = y*F, for rows with these labels."""

    def __init__(self, composite: losses.Composite, y: NDArray[np.uint8]) -> None:
        self.composite, self.y, self.signs = composite, y, 2.0 * y - 1.0

    def values(self, v: Floats) -> Floats:
        return self.composite.values(self.y, self.signs * v, table=True)

    def weights(self, v: Floats) -> Floats:
        return -self.signs * _scored(self.composite, self.y, self.signs * v, 1).g

    def curvature(self, v: Floats, M: Floats, weight: Floats, kind: str = "newton") -> Floats:
        h = self.composite.derivatives(self.y, self.signs * v, curvature=kind, table=True)[1]
        h[~np.isfinite(h)] = 0.0  # as at the end of a bounded link
        return M.T @ (M * (weight * np.maximum(h, 0.0))[:, None])


class Patterns(NamedTuple):
    """Rows in groups that no rule so far and no label tells apart.

    Totally corrective boosting looks at every rule in every step, and rows of one group are one row to it.
    """

    group: NDArray[np.int64]  # of each row
    labels: NDArray[np.uint8]  # of each group
    rules: Floats  # ±1 by group and rule
    weight: Floats  # of each group

    @classmethod
    def of(cls, sample: RuleSample) -> Patterns:
        """No rule yet: a group for each class."""
        group = sample.y.astype(np.int64)
        mass = sample.weights.by_class(group, 2)
        return cls(group, np.array([0, 1], dtype=np.uint8), np.empty((2, 0)), mass)

    def split(self, sample: RuleSample, holds: Holds) -> Patterns:
        """The groups parted by one more rule."""
        code = 2 * self.group + holds
        codes = np.flatnonzero(np.bincount(code, minlength=2 * len(self.labels)))
        place = np.zeros(2 * len(self.labels), dtype=np.int64)
        place[codes] = np.arange(len(codes))
        group = place[code]
        rules = np.column_stack([self.rules[codes >> 1], 2.0 * (codes & 1) - 1.0])
        return Patterns(group, self.labels[codes >> 1], rules, sample.weights.by_class(group, len(codes)))


def correct(
    composite: losses.Composite, patterns: Patterns, intercept: float | None, coefficients: Floats
) -> tuple[float, Floats, bool]:
    """Intercept and coefficients of all rules with zero edges, and whether they are finite. [N9 §4.1]

    Where a combination of the rules is never wrong and sometimes right there is no minimum. Then each rule is
    given one more row, half of it in each class, where the score is its coefficient alone.
    """
    rules, y, weight = patterns.rules, patterns.labels, patterns.weight
    finite = composite.leaves_link or separating_direction(rules, y, intercept is not None) is None
    first = np.array([] if intercept is None else [intercept])
    H = np.column_stack([np.ones((len(y), len(first))), rules])
    theta = np.concatenate([first, coefficients])
    if not finite:
        each = np.eye(H.shape[1])[len(first) :]
        H = np.concatenate([H, each, each])
        y = np.concatenate([y, np.zeros(len(each), np.uint8), np.ones(len(each), np.uint8)])
        weight = np.concatenate([weight, np.full(2 * len(each), 0.5)])
    signs = 2.0 * y - 1.0
    problem = Margins(H * signs[:, None], _ScoreLoss(composite, y), weight / weight.sum())
    theta = uls.step(uls.start(problem, theta), problem, "all").coef
    return float(theta[0]) if len(first) else 0.0, theta[len(first) :], finite
