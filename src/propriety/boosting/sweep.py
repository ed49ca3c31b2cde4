"""All rounds of a histogram learner in one compiled call: what a path of gains repeats many times."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import losses
from propriety.boosting.histograms import choose_feature, count_rows, fix_rows
from propriety.engine.compiling import allocating, inner
from propriety.losses import fused, kernels

SIGN, GRADIENT, FISHER = range(3)
STEPS = {"sign": SIGN, "gradient": GRADIENT, "fisher": FISHER}
_ROOM = 2.0**61
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


@lru_cache(maxsize=64)
def tabulated(composite: losses.Composite) -> Tabulated | None:
    """What the compiled rounds know of a loss; None if no table is good enough for it."""
    if fused._is_logistic(composite):
        scale, rate = composite.link.scale, composite._canonical_factor  # type: ignore[attr-defined]
        return Tabulated(True, 1 / scale, rate, 0.0, 1.0, np.zeros((1, 2, 2, 6)), -np.inf, np.inf)
    table = fused.tabulate(composite, fused._fisher(composite))
    return None if table is None else Tabulated(False, 1.0, 1.0, *table)


@inner
def _derive(y, scaled, gain, loss, step, index, g, h):
    """Gradient and curvature of the rows, and the largest of both; −1 if a score is beyond the table."""
    if loss.logistic:
        kernels.logistic(y, scaled, g, h, loss.inverse_scale, loss.rate)
    elif kernels.look_up(y, scaled, g, h, loss.origin, loss.per_unit, loss.coefficients, loss.low, loss.high):
        return -1.0, -1.0
    top_g, top_h = 0.0, 0.0
    for j in range(index.size):
        i = index[j]
        h[i] = h[i] / gain if step == FISHER else abs(g[i])
        top_g, top_h = max(top_g, abs(g[i])), max(top_h, h[i])
    return top_g, top_h


@allocating
def _run(rows, columns, n_bins, index, w, copies, total, y, start, gain, loss, step, l2, rate, held, out):
    """Boost for len(out) rounds on the rows of ``index``; write the scores of ``held`` after each.

    The loss is σ φ(F/σ), so its gradient is φ′ at F/σ. Returns the rounds done before a score left the table.
    """
    n, d = rows.shape
    F, scaled = np.full(n, start), np.empty(n)
    g, h = np.empty(n), np.empty(n)
    ints, cells = np.empty((n, 2), dtype=np.int64), np.zeros((d * 256, 2), dtype=np.int64)
    allowed, values = np.ones(d, dtype=np.uint8), np.zeros(256)
    for t in range(out.shape[0]):
        for i in range(n):
            scaled[i] = F[i] / gain
        top_g, top_h = _derive(y, scaled, gain, loss, step, index, g, h)
        if top_g < 0:
            return t
        room = max(total, 1.0)
        a = _ROOM / (top_g * room) if top_g > 0 else 1.0
        b = _ROOM / (top_h * room) if top_h > 0 else 1.0
        fix_rows(g, h, w, copies, a, b, 0, n, ints)
        for f in range(d):
            for k in range(256 * f, 256 * f + n_bins[f] + 1):
                cells[k, 0] = 0
                cells[k, 1] = 0
        count_rows(rows, index, ints, 0, index.size, cells)
        best, _ = choose_feature(cells, n_bins, allowed, step == SIGN, l2, a, b)
        for k in range(n_bins[best] + 1):
            H = cells[256 * best + k, 1] / b + l2
            value = -(cells[256 * best + k, 0] / a) / H if H > 0 else 0.0
            values[k] = rate * (np.sign(value) if step == SIGN else value)
        column = columns[best]
        for i in range(n):
            F[i] += values[column[i]]
        for j in range(held.size):
            out[t, j] = F[held[j]]
    return out.shape[0]


def held_out_scores(
    binned: Any,
    y: Floats,
    weight: Floats | None,
    index: NDArray[np.uint32],
    held: NDArray[np.intp],
    start: float,
    gain: float,
    loss: Tabulated,
    settings: Any,
    l2: float,
    copies: bool,
) -> Floats | None:
    """Scores of the held-out rows after each of ``settings.max_iter`` rounds; None if one left the table."""
    w = np.empty(0) if weight is None else weight
    total = float(len(index) if weight is None else weight[index].sum())
    out = np.empty((settings.rounds, len(held)))
    done = _run(
        binned.rows,
        binned.columns,
        binned.n_bins,
        index,
        w,
        copies,
        total,
        y,
        start,
        gain,
        loss,
        settings.step,
        l2,
        settings.learning_rate,
        held,
        out,
    )
    return out if done == len(out) else None
