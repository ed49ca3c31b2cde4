"""Losses tailored to each row's own costs.

A row with the threshold c = fp/(fp + fn) has the loss Tailored(c, k), its weight being the density of
Beta(k c, k(1 − c)). A density has mass 1 whatever c, so that every row counts alike; times what is at stake
in it, fp + fn, the sum over rows tends to the cost of the decisions as k grows. In closed form, with the
logit link, a = k c, b = k(1 − c) and the regularized incomplete beta function I:

    ℓ(0, F) = c I_p(a + 1, b)        ∂ℓ = (p − y) pᵃ qᵇ / B(a, b)
    ℓ(1, F) = (1 − c) I_q(b + 1, a)  Fisher's weight  pᵃ⁺¹ qᵇ⁺¹ / B(a, b)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from propriety import losses
from propriety.communicator import SINGLE, Communicator
from propriety.costs import ResolvedCosts
from propriety.linear.objective import mean_of, shifted
from propriety.losses.links import Logit
from propriety.losses.value import number
from propriety.separators.linalg import Floats

if TYPE_CHECKING:
    from propriety.losses import Composite
    from propriety.losses.registry import LinkLike
    from propriety.losses.simplex import SimplexLoss

_NAME = re.compile(r"tailored(?:\((.+)\))?")


@dataclass(frozen=True)
class RowTailored:
    """Tailored(c, focus) with the threshold c of each row; `cost` is that of the mean costs.

    >>> RowTailored(0.1, 5).composite
    Tailored(0.1, 5).with_link(Logit())
    """

    cost: float
    focus: float

    @property
    def composite(self) -> losses.Composite:
        """The loss of a row at the mean costs: what stands for all where one must."""
        return losses.Tailored(self.cost, self.focus).with_link(Logit())


def focus_of(loss: Composite | SimplexLoss) -> float | None:
    """The focus of ``loss="tailored"`` or ``"tailored(5)"``; None if the loss is another.

    >>> focus_of("tailored"), focus_of("tailored(5)"), focus_of("Tailored(0.1)")
    (10.0, 5.0, None)
    """
    match = _NAME.fullmatch(loss.replace(" ", "")) if isinstance(loss, str) else None
    if match is None:
        return None
    if match[1] is None:
        return losses.Tailored(0.5).focus
    try:
        return number("focus", float(match[1]), 0, np.inf)
    except ValueError:
        raise ValueError(f"loss={loss!r} must have a focus above 0, for example 'tailored(5)'") from None


def tailored_to(costs: ResolvedCosts, focus: float, link: LinkLike) -> losses.Composite | RowTailored:
    """The tailored loss of costs that all rows share, or of each row's own."""
    if costs.n_classes > 2:
        raise ValueError(f"loss='tailored' is for two classes, got {costs.n_classes} classes")
    mean = costs.mean().boundary
    if not 0 < mean < 1:
        raise ValueError(f"loss='tailored' needs costs with a threshold between 0 and 1, got {mean:g}")
    if not costs.by_row:
        return losses.as_composite(losses.Tailored(mean, focus), link)
    if link is not None and losses.as_link(link) != Logit():
        raise ValueError(
            f"loss='tailored' with costs of each row has the logit link, got link={link!r}; leave it out"
        )
    return RowTailored(float(mean), focus)


class TailoredRows:
    """The loss of rows with labels y in {0, 1} and thresholds of their own, all in (0, 1).

    `scale` is the weighted mean loss of stating ½, in units of log 2.

    >>> rows = TailoredRows(RowTailored(0.1, 2), np.array([0.1, 0.5]), np.array([1.0, 0.0]), np.ones(2))
    >>> rows.values(slice(None), np.zeros((2, 1))).round(4)
    array([0.0176, 0.125 ])
    """

    n_scores = 1

    def __init__(
        self,
        loss: RowTailored,
        thresholds: Floats,
        y: Floats,
        weight: Floats,
        offset: Floats | None = None,
    ) -> None:
        self.loss, self.thresholds, self.y, self.weight, self.offset = loss, thresholds, y, weight, offset
        self._a, self._b = loss.focus * thresholds, loss.focus * (1 - thresholds)
        self._log_mass = special.betaln(self._a, self._b)
        one, half = y > 0, np.full(len(y), 0.5)
        zero_loss = thresholds * _regularized(self._a + 1, self._b, half, half)
        one_loss = (1 - thresholds) * _regularized(self._b + 1, self._a, half, half)
        self.scale = float(np.average(0.5 * (zero_loss + one_loss), weights=weight)) / np.log(2)
        # Of the two partial losses each row has one: factor · I_x(own + 1, other), x the wrong probability.
        self._own, self._other = np.where(one, self._b, self._a), np.where(one, self._a, self._b)
        self._factor = np.where(one, 1 - thresholds, thresholds)

    def _at(self, rows: slice, F: Floats) -> tuple[Floats, Floats, Floats]:
        """p, q and pᵃ qᵇ / B(a, b)."""
        score = shifted(F[:, 0], self.offset, rows)
        log_relative = self._a[rows] * special.log_expit(score) + self._b[rows] * special.log_expit(-score)
        return special.expit(score), special.expit(-score), np.exp(log_relative - self._log_mass[rows])

    def values(self, rows: slice, F: Floats) -> Floats:
        """Loss of each row."""
        return self.values_and_gradients(rows, F)[0]

    def gradients(self, rows: slice, F: Floats) -> Floats:
        """Derivative by the score."""
        p, q, relative = self._at(rows, F)
        return (np.where(self.y[rows] > 0, -q, p) * relative)[:, None]

    def values_and_gradients(self, rows: slice, F: Floats) -> tuple[Floats, Floats]:
        """Both."""
        p, q, relative = self._at(rows, F)
        one = self.y[rows] > 0
        wrong, right = np.where(one, q, p), np.where(one, p, q)
        values = self._factor[rows] * _regularized(self._own[rows] + 1, self._other[rows], wrong, right)
        return values, (np.where(one, -q, p) * relative)[:, None]

    def curvatures(self, rows: slice, F: Floats, kind: str) -> Floats:
        """Fisher weight or Hessian of each row."""
        p, q, relative = self._at(rows, F)
        h = p * q * relative
        if kind != "fisher":
            tilt = self._a[rows] * q - self._b[rows] * p
            h = h + np.where(self.y[rows] > 0, -q, p) * tilt * relative
        return h[:, None, None]

    def curvatures_times(self, rows: slice, F: Floats, kind: str, V: Floats) -> Floats:
        """Fisher weight or Hessian of each row times a number."""
        return self.curvatures(rows, F, kind)[:, 0] * V

    def expected_squares(self, F: Floats) -> Floats:
        """E[∂ℓ²] at the stated probabilities."""
        p, q, relative = self._at(slice(None), F)
        return (p * q * relative**2)[:, None, None]

    def start(self, weight: Floats, communicator: Communicator = SINGLE) -> Floats:
        """Score of the base rate, less the mean offset: near the best constant."""
        base = special.logit(mean_of(self.y, weight, communicator))
        offset = 0.0 if self.offset is None else mean_of(self.offset, weight, communicator)
        return np.atleast_1d(base - offset)

    def sample(self, stride: int) -> TailoredRows:
        """Every `stride`-th row."""
        offset = None if self.offset is None else self.offset[::stride]
        parts = (self.thresholds[::stride], self.y[::stride], self.weight[::stride])
        return TailoredRows(self.loss, *parts, offset)

    def with_focus(self, focus: float) -> TailoredRows:
        """The same rows, tailored less or more."""
        loss = replace(self.loss, focus=focus)
        return TailoredRows(loss, self.thresholds, self.y, self.weight, self.offset)


def _regularized(a: Floats, b: Floats, x: Floats, rest: Floats) -> Floats:
    """I_x(a, b), from whichever of x and rest = 1 − x has its digits."""
    result, small = np.empty_like(x), x < rest
    result[small] = special.betainc(a[small], b[small], x[small])
    large = ~small
    result[large] = special.betaincc(b[large], a[large], rest[large])
    return result
