"""All rounds of a histogram learner on numbers in one compiled call, which a path of gains repeats."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import losses
from propriety.boosting.histograms import choose_feature, count_rows
from propriety.boosting.leaves import best_values
from propriety.engine.compiling import allocating, inner
from propriety.engine.fixed_point import RowWeights, fix_rows, wide_scale
from propriety.engine.layout import BINS, Binned
from propriety.losses import fused, kernels

SIGN, GRADIENT, FISHER = range(3)
STEPS = {"sign": SIGN, "gradient": GRADIENT, "fisher": FISHER}
Floats = NDArray[np.float64]


class Tabulated(NamedTuple):
    """Gradient and Fisher weight of a composite: the logistic's own formula, or a table."""

    logistic: bool
    inverse_scale: float
    rate: float
    origin: float
    per_unit: float
    coefficients: Floats
    low: float
    high: float


class SweptRows(NamedTuple):
    """The rows: labels and weights of all, numbers of those to learn from and of those to be scored."""

    y: Floats
    weights: RowWeights
    chosen: NDArray[np.uint32]
    held: NDArray[np.intp]


class SweepRounds(NamedTuple):
    """What every round does, and the scores before the first."""

    start: Floats
    gain: float
    step: int
    learning_rate: float
    l2: float
    most: float  # that a value may be before the learning rate


@lru_cache(maxsize=64)
def tabulated(composite: losses.Composite) -> Tabulated | None:
    """What the compiled rounds know of a loss; None if no table is good enough for it."""
    if fused._is_logistic(composite):
        scale, rate = composite.link.scale, composite._canonical_factor  # type: ignore[attr-defined]
        assert rate is not None
        return Tabulated(True, 1 / scale, rate, 0.0, 1.0, np.zeros((1, 2, 2, 6)), -np.inf, np.inf)
    table = fused.tabulate(composite, fused._fisher(composite))
    return None if table is None else Tabulated(False, 1.0, 1.0, *table)


@inner
def _derive(scaled, sample, rounds, loss, g, h):
    """Gradient and curvature of the rows, and the largest of both; −1 if a score is beyond the table."""
    y = sample.y
    if loss.logistic:
        kernels.logistic(y, scaled, g, h, loss.inverse_scale, loss.rate)
    elif kernels.look_up(y, scaled, g, h, loss.origin, loss.per_unit, loss.coefficients, loss.low, loss.high):
        return -1.0, -1.0
    top_g, top_h = 0.0, 0.0
    for i in sample.chosen:
        h[i] = h[i] / rounds.gain if rounds.step == FISHER else abs(g[i])
        top_g, top_h = max(top_g, abs(g[i])), max(top_h, h[i])
    return top_g, top_h


@allocating
def _run(binned, sample, rounds, loss, out):
    """Boost for len(out) rounds; write the scores of the held-out rows after each.

    The loss is σ φ(F/σ), so its gradient is φ′ at F/σ. Returns the rounds done before a score left the table.
    """
    n, d = binned.rows.shape
    F, scaled = rounds.start.copy(), np.empty(n)
    g, h = np.empty(n), np.empty(n)
    used, sign = sample.chosen.size, rounds.step == SIGN
    ints, cells = np.empty((used, 2), dtype=np.int64), np.empty((d * BINS, 2), dtype=np.int64)
    allowed, values = np.ones(d, dtype=np.uint8), np.zeros(BINS)
    lower, upper, shares = np.full(BINS, -np.inf), np.full(BINS, np.inf), np.ones(d)
    for t in range(out.shape[0]):
        for i in range(n):
            scaled[i] = F[i] / rounds.gain
        top_g, top_h = _derive(scaled, sample, rounds, loss, g, h)
        if top_g < 0:
            return t
        scale = wide_scale(top_g, top_h, sample.weights.total)
        fix_rows(g, h, sample.weights, scale, sample.chosen, 0, used, ints)
        cells[:] = 0
        count_rows(binned.rows, sample.chosen, ints, 0, used, cells)
        best, _ = choose_feature(cells, binned.n_bins, allowed, sign, rounds.l2, scale, shares)
        best_values(cells[BINS * best : BINS * (best + 1)], scale, rounds.l2, lower, upper, values)
        for k in range(BINS):
            value = np.sign(values[k]) if sign else values[k]
            values[k] = rounds.learning_rate * min(max(value, -rounds.most), rounds.most)
        column = binned.columns[best]
        for i in range(n):
            F[i] += values[column[i]]
        for j in range(sample.held.size):
            out[t, j] = F[sample.held[j]]
    return out.shape[0]


def held_out_scores(
    binned: Binned, sample: SweptRows, rounds: SweepRounds, loss: Tabulated, max_iter: int
) -> Floats | None:
    """Scores of the held-out rows after each of ``max_iter`` rounds; None if one left the table."""
    out = np.empty((max_iter, len(sample.held)))
    return out if _run(binned, sample, rounds, loss, out) == len(out) else None
