"""The coefficient of a weak learner: as it is, by a rule, or the one of least loss.

- "fixed": 1, as in BoostLR and in gradient boosting.
- "line": the least loss along the new learner; with the exponential loss and learners ±1 that is
  ½ log(W⁺/W⁻), discrete AdaBoost. With any convex loss it is classical boosting, the case of one feature of
  [N9 Fig. 4].
- "bregman": ½ log((Z + r)/(Z − r)), r the edge and Z the sum of the weights: the sequential rule of
  [C §6, §8].
- "corrective": all learners so far get new coefficients, those of least loss: totally corrective [N9 Fig. 4].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.boosting.leaves import find_zeros
from propriety.boosting.objective import Objective, derivatives
from propriety.communicator import SINGLE, Communicator
from propriety.trees.fixed_point import RowWeights, weighted_sum
from propriety.trees.split_score import Penalty

_MAX_STEPS = 100
_TOLERANCE = 1e-12
Floats = NDArray[np.float64]


class Losses:
    """Loss, gradient and curvature of one score's column, and weighted sums of them.

    Rows of weight 0, whose scores may be anything, are those of the mask ``out``.
    """

    def __init__(
        self,
        objective: Objective,
        weights: RowWeights,
        out: NDArray[np.bool_] | None,
        n_jobs: int,
        communicator: Communicator = SINGLE,
    ) -> None:
        self.objective, self._weights, self._out = objective, weights, out
        self._n_jobs, self._communicator = n_jobs, communicator

    def sum(self, x: Floats) -> float:
        """Σ w x."""
        x = x if self._out is None else np.where(self._out, 0.0, x)
        return weighted_sum(x, self._weights, self._n_jobs, self._communicator)

    def weighted(self, x: Floats) -> Floats:
        """w x, per row."""
        x = x * self._weights.values if self._weights.values.size else x
        return x if self._out is None else np.where(self._out, 0.0, x)

    def value(self, scores: Floats) -> float:
        """Σ w φ."""
        return self.sum(self.objective.values(scores, self._n_jobs))

    def slopes(self, scores: Floats, k: int) -> tuple[Floats, Floats]:
        """Gradient and positive curvature of score ``k``, per row."""
        G, H = self.gradients(scores, "newton")
        return G[k], H[k]

    def gradients(self, scores: Floats, step: str) -> tuple[Floats, Floats]:
        """Gradient and curvature of every score, of shape (K, n)."""
        shape = (self.objective.n_scores, len(scores))
        G, H = np.empty(shape), np.empty(shape)
        derivatives(self.objective, scores, step, G, H, self._n_jobs, self._communicator)
        return G, H


def line(losses: Losses, scores: Floats, k: int, h: Floats, span: float) -> float:
    """The coefficient of h, at most ``span`` in size, at which the loss is least."""
    trial = scores.copy()

    def sums(delta: Floats) -> tuple[Floats, Floats]:
        trial[:, k] = scores[:, k] + delta[0] * h
        g, curvature = losses.slopes(trial, k)
        return np.array([losses.sum(g * h)]), np.array([losses.sum(curvature * h * h)])

    return float(find_zeros(sums, sums(np.zeros(1)), Penalty(), span)[0])


def bregman(edge: float, total: float, span: float) -> float:
    """½ log((Z + r)/(Z − r)), at most ``span`` in size: a learner that is never wrong has no finite one."""
    if not abs(edge) < total:
        return float(np.sign(edge)) * span
    return float(np.clip(0.5 * np.log((total + edge) / (total - edge)), -span, span))


def total_weight(objective: Objective, losses: Losses, scores: Floats) -> float:
    """Z = Σ q, the weights of all examples, or of all pairs of an example and a label.

    For exponential losses a weight is the loss itself; for logistic losses it is the probability of being
    wrong; for any margin loss it is −φ′.
    """
    G, _ = losses.gradients(scores, "fisher")
    if objective.n_scores == 1:
        return losses.sum(np.abs(G[0]))
    # Of the pairs (i, l), l ≠ y: each enters the gradient of its own label's score once with sign +, and of
    # the true label's with sign −. One class against the rest has a pair (i, y) as well, counted there.
    return losses.sum((np.abs(G) if objective.pairs_with_own_label else np.maximum(G, 0.0)).sum(axis=0))


class Corrective:
    """Coefficients of all learners so far, those of least loss after each round."""

    def __init__(self, losses: Losses, start: Floats, span: float) -> None:
        self._losses, self._start, self._span = losses, start, span
        self._columns: list[Floats] = []
        self.coefficients = np.empty(0)

    def add(self, h: Floats) -> Floats:
        """Take in a learner's output, fit all coefficients again, and return the scores.

        Newton's method, each step halved until the loss falls. Learners that are copies of each other
        share their coefficient (least squares of least norm). Coefficients stay within ±span, so that
        learners that are never wrong together do not run away.
        """
        self._columns.append(h)
        M = np.column_stack(self._columns)
        alpha = np.append(self.coefficients, 0.0)
        value = self._losses.value(self._scores(M, alpha))
        for _ in range(_MAX_STEPS):
            g, curvature = map(self._losses.weighted, self._losses.slopes(self._scores(M, alpha), 0))
            slope = M.T @ g
            direction = -np.linalg.lstsq(M.T @ (M * curvature[:, None]), slope, rcond=1e-13)[0]
            t, moved = 1.0, False
            while t > 1e-10:
                following = np.clip(alpha + t * direction, -self._span, self._span)
                new = self._losses.value(self._scores(M, following))
                if new <= value + 1e-4 * float(slope @ (following - alpha)):
                    moved = True
                    break
                t *= 0.5
            if not moved:
                break
            size = float(np.max(np.abs(following - alpha)))
            alpha, value = following, new
            if size <= _TOLERANCE * max(1.0, float(np.max(np.abs(alpha)))):
                break
        self.coefficients = alpha
        return self._scores(M, alpha)

    def _scores(self, M: Floats, alpha: Floats) -> Floats:
        return self._start + (M @ alpha)[:, None]
