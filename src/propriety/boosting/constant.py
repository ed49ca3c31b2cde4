"""The best constant on top of an offset: where boosting starts when rows have scores of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.boosting.objective import Objective
from propriety.solve import damped_newton
from propriety.trees.fixed_point import row_weights, weighted_sum
from propriety.weights import Weights

Floats = NDArray[np.float64]
_SMALL = 1e-14  # a step that changes nothing
_ROUNDING = 8 * np.finfo(float).eps


def best_constant(objective: Objective, weights: Weights, offset: Floats, n_jobs: int) -> Floats:
    """The constants c, one for each score, of least total loss at the scores ``offset + c``.

    Fisher scoring with halved steps, class by class where there are several, from the base rates less the
    mean offset: the answer at once if all offsets are equal. Sums depend on no order.

    >>> from propriety import losses
    >>> from propriety.boosting.objective import BinaryObjective
    >>> y, offset = np.array([0, 0, 0, 1]), np.full((4, 1), 0.5)
    >>> best_constant(BinaryObjective(losses.Log().composite(), y), Weights(4), offset, 1).round(4)
    array([-1.5986])
    """
    summed = row_weights(weights)
    out = None if weights.kept is None else ~weights.kept

    def total(values: Floats) -> float:
        return (
            weighted_sum(
                values if out is None else np.where(out, 0.0, values), summed, n_jobs, weights.communicator
            )
            / summed.total
        )

    means = [total(np.ascontiguousarray(column)) for column in offset.T]
    constant = objective.start(weights) - np.array(means)
    G, H = np.empty((2, *offset.T.shape))
    # Of several classes each goes its own way, and their steps add up: (K − 1)/K of them is exact where the
    # classes are alike.
    share = 1.0 if objective.n_scores == 1 else 1 - 1 / objective.n_scores

    def step_of(constant: Floats) -> Floats:
        objective.derivatives(offset + constant, "fisher", G, H, n_jobs)
        g, h = (np.array([total(row) for row in rows]) for rows in (G, H))
        return share * np.divide(g, h, out=np.zeros_like(g), where=h > 0)

    return damped_newton(
        constant,
        lambda constant: total(objective.values(offset + constant, n_jobs)),
        step_of,
        least=lambda constant: _SMALL * (1 + np.abs(constant)),
        slack=_ROUNDING,
    )[0]
