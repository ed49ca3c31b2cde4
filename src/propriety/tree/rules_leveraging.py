"""Leveraging: the coefficients of ULS, for rules of ±1 and any loss that is convex in the score.

The coefficient δ of a new rule h is where its edge on the new weights is zero [N8 (LC), N9 (35)]. With A the
weight of the rows that h is right on and B of the others, both at the score F + δh, that is A(δ) = B(δ).
Newton's method on log A − log B needs one step for the exponential loss, where it is AdaBoost's step,
δ = ½ log(A/B), and few for any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.linear import uls
from propriety.linear.margins import Margins
from propriety.tree import rules_kernels as kernels

_EXACT = 1e-11
_STEPS = 200
_RANK = 1e-12  # of the largest curvature: directions below it change no margin
_FLAT = 1e-7  # of the curvature at margins 0: rows that matter in a direction are all but certain
_TABULATED = 2000  # rows from which a composite's derivatives come from its compiled table
_ROWS = 1 << 17  # rows that are not worth a second thread
_CONSTANT = np.empty(0, dtype=np.uint8)  # where the constant rule holds: everywhere
Floats = NDArray[np.float64]
Holds = NDArray[np.uint8]


@dataclass(frozen=True)
class Point:
    """Scores of the rows, with gradient and curvature of the loss there."""

    F: Floats
    g: Floats
    h: Floats


class Sample:
    """The labels and weights of the rows.

    Parameters
    ----------
    y : ndarray of uint8
    weight : ndarray or None
        Positive; whole numbers are copies.
    """

    def __init__(self, y: NDArray[np.uint8], weight: Floats | None, n_jobs: int) -> None:
        self.y, self.n_jobs = y, n_jobs
        self.weight = np.empty(0) if weight is None else weight
        self.copies = weight is None or bool(np.all(weight == np.rint(weight)))
        self.total = float(len(y) if weight is None else weight.sum())
        self._n_jobs = n_jobs if len(y) > _ROWS else 1

    def base_rate(self) -> float:
        """Share of class 1."""
        return float(np.average(self.y, weights=self.weight if self.weight.size else None))

    def at(self, composite: Any, F: Floats) -> Point:
        """Gradient and curvature at scores."""
        return Point(F, *_derivatives(composite, self.y, F, self._n_jobs))

    def quantized(self, point: Point) -> NDArray[np.int64]:
        """Weights of the rows, |gradient| times their own, in fixed point."""
        out = np.empty(len(self.y), dtype=np.int64)
        a = _scale(max(float(point.g.max()), -float(point.g.min())), self.total)
        self._blocks(lambda s, e: kernels.quantize(point.g, self.weight, self.copies, a, s, e, out))
        return out

    def moved(self, F: Floats, holds: Holds, amount: float) -> Floats:
        """F + amount where the rule holds, F − amount elsewhere."""
        out = np.empty_like(F)
        self._blocks(lambda s, e: kernels.move(F, holds, amount, s, e, out))
        return out

    def line(self, point: Point, holds: Holds) -> tuple[float, float, float, float]:
        """A and its curvature, B and its curvature."""
        parts: dict[int, tuple[float, float, float, float]] = {}

        def add(start: int, stop: int) -> None:
            parts[start] = kernels.line_sums(point.g, point.h, self.y, holds, self.weight, start, stop)

        self._blocks(add)
        # Block after block, whichever thread was first.
        A, HA, B, HB = (math.fsum(column) for column in zip(*(parts[k] for k in sorted(parts)), strict=True))
        return A, HA, B, HB

    def errs(self, holds: Holds) -> bool:
        """Whether a rule is right on some rows and wrong on others."""
        right = np.count_nonzero(self.y == holds) if holds.size else np.count_nonzero(self.y)
        return 0 < right < len(self.y)

    def _blocks(self, function: Any) -> None:
        parallel.for_blocks(function, len(self.y), n_jobs=self._n_jobs, block=_ROWS)

    def with_doubt(self, F: Floats, holds: Holds) -> tuple[Sample, Floats, Holds]:
        """The same rows and one more where the rule holds, half of it in each class."""
        weight = self.weight if self.weight.size else np.ones(len(self.y))
        y = np.append(self.y, np.array([0, 1], dtype=np.uint8))
        doubtful = Sample(y, np.append(weight, [0.5, 0.5]), self.n_jobs)
        holds = np.append(holds, np.ones(2, dtype=np.uint8)) if holds.size else holds
        return doubtful, np.append(F, [0.0, 0.0]), holds


def _derivatives(composite: Any, y: NDArray[np.uint8], F: Floats, n_jobs: int) -> tuple[Floats, Floats]:
    """Gradient and Hessian; an infinite Hessian, at the end of a bounded link, is of no use and made 0."""
    n = len(F)
    if n < _TABULATED:
        # Few rows are filled up, so that they too are served by the compiled table.
        y = np.concatenate([y, np.zeros(_TABULATED - n, dtype=np.uint8)])
        F = np.concatenate([F, np.zeros(_TABULATED - n)])
    g, h = composite.derivatives(y, F, curvature="newton", n_jobs=n_jobs)
    if not composite.link_.has_real_range:
        h[~np.isfinite(h)] = 0.0
    return g[:n], h[:n]


def _scale(top: float, total: float) -> float:
    """A power of 2 that keeps `total` times the largest value below 2⁶¹."""
    top *= max(total, 1.0)
    return 2.0 ** math.floor(61 - math.log2(top)) if top > 0 else 1.0


# --- one rule -------------------------------------------------------------------------------------


def leverage(sample: Sample, composite: Any, point: Point, holds: Holds) -> tuple[float, Point, bool]:
    """The coefficient of a rule, where the scores then are, and whether the rule makes mistakes.

    A rule without a mistake has no finite coefficient [N8 Lemma 2]. It gets the one it would have if there
    were one more row, half of it in each class.
    """
    if sample.errs(holds):
        return *_solve(sample, composite, point, holds), True
    doubtful, F, wider = sample.with_doubt(point.F, holds)
    delta, _ = _solve(doubtful, composite, doubtful.at(composite, F), wider)
    return delta, sample.at(composite, sample.moved(point.F, holds, delta)), False


def constant(sample: Sample, composite: Any, point: Point) -> tuple[float, Point]:
    """The same for the constant rule."""
    delta, new, _ = leverage(sample, composite, point, _CONSTANT)
    return delta, new


def _solve(sample: Sample, composite: Any, start: Point, holds: Holds) -> tuple[float, Point]:
    """A(δ) = B(δ), by Newton's method on log A − log B within a bracket."""
    delta, point, low, high = 0.0, start, -math.inf, math.inf
    for _ in range(_STEPS):
        A, HA, B, HB = sample.line(point, holds)
        if A == B:
            break
        low, high = (delta, high) if A > B else (low, delta)
        rate = HA / A + HB / B if A > 0 and B > 0 else 0.0
        step = math.log(A / B) / rate if rate > 0 else math.copysign(math.inf, A - B)
        if abs(step) <= _EXACT * max(1.0, abs(delta)) or high - low <= _EXACT * abs(delta):
            break
        delta = _inside(delta + step, low, high)
        point = sample.at(composite, sample.moved(start.F, holds, delta))
    return delta, point


def _inside(proposal: float, low: float, high: float) -> float:
    """The proposal, or where the bracket is halved or left open widened if it is not inside."""
    if low < proposal < high and math.isfinite(proposal):
        return proposal
    if math.isfinite(low) and math.isfinite(high):
        return 0.5 * (low + high)
    return low + max(1.0, abs(low)) if math.isfinite(low) else high - max(1.0, abs(high))


# --- all rules ------------------------------------------------------------------------------------


class _ScoreLoss:
    """A convex composite as a loss of the margins v = y*F, for rows with these labels."""

    def __init__(self, composite: Any, y: NDArray[np.uint8]) -> None:
        self.composite, self.y, self.signs = composite, y, 2.0 * y - 1.0

    def values(self, v: Floats) -> Floats:
        more = max(_TABULATED - len(v), 0)
        y, F = np.append(self.y, np.zeros(more, np.uint8)), np.append(self.signs * v, np.zeros(more))
        return self.composite.values(y, F)[: len(v)]

    def weights(self, v: Floats) -> Floats:
        return np.abs(_derivatives(self.composite, self.y, self.signs * v, 1)[0])

    def curvature(self, v: Floats, M: Floats, weight: Floats) -> Floats:
        h = _derivatives(self.composite, self.y, self.signs * v, 1)[1]
        return M.T @ (M * (weight * np.maximum(h, 0.0))[:, None])


def correct(
    sample: Sample, composite: Any, F: Floats, rules: Floats, coefficients: Floats
) -> tuple[Floats, bool]:
    """Coefficients of all rules with zero edges, and whether they are finite; totally corrective. [N9 §4.1]

    Parameters
    ----------
    rules : ndarray of shape (n, T)
        The rules' ±1; the constant rule has 1 everywhere.

    Where a combination of the rules is never wrong and sometimes right there is no minimum. Then each rule is
    given one more row, half of it in each class, where the score is its coefficient alone.
    """
    signs = 2.0 * sample.y - 1.0
    weight = sample.weight if sample.weight.size else np.ones(len(F))
    found, sure = _minimum(composite, sample.y, rules * signs[:, None], weight, signs * F, coefficients)
    if sure:
        return found, True
    each = np.eye(rules.shape[1])
    y = np.concatenate([sample.y, np.zeros(len(each), np.uint8), np.ones(len(each), np.uint8)])
    M = np.concatenate([rules * signs[:, None], -each, each])
    weight = np.concatenate([weight, np.full(2 * len(each), 0.5)])
    v = np.concatenate([signs * F, -coefficients, coefficients])
    return _minimum(composite, y, M, weight, v, coefficients)[0], False


def _minimum(
    composite: Any, y: NDArray[np.uint8], M: Floats, weight: Floats, v: Floats, coefficients: Floats
) -> tuple[Floats, bool]:
    problem = Margins(M, _ScoreLoss(composite, y), weight / weight.sum())
    state = uls.State(coefficients, v, problem.values(v), problem.edges(problem.weights(v)))
    state = uls.step(state, problem, "all")
    return state.coef, _is_minimum(problem, state.margins)


def _is_minimum(problem: Margins, v: Floats) -> bool:
    """Whether the loss is curved in every direction that changes a margin; if not, it falls for ever.

    Directions are compared by their curvature at v and at margins 0.
    """
    first = problem.loss.curvature(np.zeros_like(v), problem.M, problem.weight)
    sizes, directions = np.linalg.eigh(first)
    kept = sizes > _RANK * sizes[-1]
    scaled = directions[:, kept] / np.sqrt(sizes[kept])
    last = scaled.T @ problem.loss.curvature(v, problem.M, problem.weight) @ scaled
    return bool(np.linalg.eigvalsh(last)[0] > _FLAT)
