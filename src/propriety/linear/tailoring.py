"""Continuation: reach the minimum of a loss that is not convex from that of the log loss, by small steps.

A tailored loss has many stationary points, and where a descent ends depends on where it began. Here it
begins at the log loss's fit, which is unique, and follows the minimum as the loss changes: through growing
`focus` where the loss has one (focus 0 is the log loss), else through mixtures of the log loss and the loss.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from propriety import losses
from propriety.communicator import SINGLE, Communicator
from propriety.linear.objective import BinaryLoss, shifted
from propriety.separators.linalg import Floats


class SlopeWarning(UserWarning):
    """A loss that is not convex has no finite minimum on these data: a step beats every slope."""


def ran_off(composite: losses.Composite, scores: Floats, communicator: Communicator = SINGLE) -> bool:
    """Whether most rows have a probability next to 0 or 1: the slopes have grown without bound."""
    p = np.asarray(composite.inverse(scores[:, 0]))
    near = communicator.sum(np.array([np.count_nonzero(np.minimum(p, 1 - p) < 1e-6), len(p)]))
    return bool(near[0] > 0.5 * near[1])


def without_factor(composite: losses.Composite) -> tuple[float, losses.Composite]:
    """A factor, and the loss that it multiplies: the same one for a loss and for its multiples.

    Where a descent on a loss that is not convex ends may depend on the last bit, and with it on the factor.

    >>> from propriety import losses
    >>> without_factor((3 * losses.Tailored(0.3, 5)).composite())
    (3.0, Tailored(0.3, 5).with_link(Logit()))
    >>> without_factor((6 * losses.Squared() + 3 * losses.Log()).composite())
    (6.0, (Squared() + 0.5 * Log()).with_link(Logit()))
    """
    loss = composite.loss
    if not isinstance(loss, losses.Mixture):
        return 1.0, composite
    factor = loss.terms[0][0]
    plain = losses.Mixture.of((a / factor, part) for a, part in loss.terms)
    return factor, plain.with_link(composite.link)


@lru_cache(maxsize=256)
def is_convex(composite: losses.Composite) -> bool:
    """Whether the loss is convex in the score, asked once.

    >>> is_convex(losses.Log().composite()), is_convex(losses.Tailored(0.3, 5).composite())
    (True, False)
    """
    return bool(composite.properties()["convex"])


def stations(composite: losses.Composite) -> tuple[losses.Composite, ...]:
    """Composites to fit one after the other; the last is the given one.

    >>> from propriety import losses
    >>> [c.loss for c in stations(losses.Tailored(0.3, 5).composite())]
    [Log(), Tailored(0.3, 1), Tailored(0.3, 2), Tailored(0.3, 4), Tailored(0.3, 5)]
    >>> stations(losses.Log().composite())
    (Log().with_link(Logit()),)
    >>> [c.loss for c in stations((3 * losses.Tailored(0.3, 2)).composite())]
    [3 * Log(), 3 * Tailored(0.3, 1), 3 * Tailored(0.3, 2)]
    """
    factor, plain = without_factor(composite)
    if factor != 1:
        return tuple((factor * station.loss).with_link(station.link) for station in stations(plain))
    if is_convex(composite):
        return (composite,)
    loss, link = composite.loss, composite.link
    first = losses.Log().with_link(link) if link.has_real_range else composite
    if first is composite:
        return (composite,)
    if not hasattr(loss, "focus"):
        unit = float(loss.entropy(0.5)) / np.log(2)
        mixtures = [(1 - t) * losses.Log() + (t / unit) * loss for t in (0.5, 0.9)]
        return (first, *(m.with_link(link) for m in mixtures), composite)
    return (first, *(loss.replace(focus=k).with_link(link) for k in focuses_below(loss.focus)), composite)


def focuses_below(focus: float) -> list[float]:
    """The focus of each station between the log loss and a tailored loss.

    >>> focuses_below(5)
    [1.0, 2.0, 4.0]
    """
    return [float(2.0**k) for k in np.arange(0, np.ceil(np.log2(max(focus, 1e-300))))]


class RoughLoss(BinaryLoss):
    """A loss on the way, whose minimum need not be exact: values to about 1e-8, at the price of gradients.

    The value is the integral of the gradient over a grid of the score, between whose points a cubic runs.
    Special functions in a value can cost a hundred times its derivative.
    """

    def __init__(self, composite: losses.Composite, y: Floats, offset: Floats | None = None) -> None:
        super().__init__(composite, y, offset)
        self.few = True
        low, high = composite.link(np.array([1e-9, 1 - 1e-9]))
        grid = np.linspace(low, high, 2049)
        middle = (grid[1:] + grid[:-1]) / 2
        self.splines = []
        for label in (0.0, 1.0):
            g, between = composite.gradient(label, grid), composite.gradient(label, middle)
            panels = np.diff(grid) * (g[1:] + 4 * between + g[:-1]) / 6  # Simpson's rule
            values = np.concatenate([[0.0], np.cumsum(panels)])
            if label == 1:
                values -= values[-1]
            self.splines.append(CubicHermiteSpline(grid, values, g))

    def values_and_gradients(self, rows: slice, F: Floats) -> tuple[Floats, Floats]:
        """Both: rough values, exact gradients."""
        return self.values(rows, F), self.gradients(rows, F)

    def values(self, rows: slice, F: Floats) -> Floats:
        """Loss of each row; beyond the grid, that of its end."""
        y, F = self.y[rows], shifted(F[:, 0], self.offset, rows)
        inside = np.clip(F, self.splines[0].x[0], self.splines[0].x[-1])
        slopes = [spline(inside, 1) for spline in self.splines]
        zero, one = (s(inside) + d * (F - inside) for s, d in zip(self.splines, slopes, strict=True))
        return np.where(y > 0, one, zero)
