"""A loss with the softmax link whose probabilities are bent: what calibration for several classes leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from propriety.losses.composite import Composite
from propriety.losses.links import Logit
from propriety.losses.links import Recalibrated as RecalibratedLink
from propriety.losses.point import Array
from propriety.losses.simplex.base import SimplexLoss, check_distributions, check_scores, register
from propriety.losses.simplex.softmax import _Softmax
from propriety.losses.value import number, show


@register("simplex.Recalibrated(simplex.Log(), (0.8,), (0,))")
@final
@dataclass(frozen=True, repr=False)
class Recalibrated(SimplexLoss):
    """A loss of the scores s_k · log p_k + b_k, p the softmax of the scores: another link.

    One slope for all classes and no shifts is temperature scaling [Guo, Pleiss, Sun and Weinberger, ICML
    2017]; slopes for each class are the diagonal of Dirichlet calibration [Kull et al., NeurIPS 2019], and
    for two classes `links.Recalibrated`.

    >>> from propriety.losses import simplex
    >>> simplex.Recalibrated(simplex.Log(), (0.5,), (0,)).inverse([[2.0, 0.0, 0.0]]).round(3)
    array([[0.576, 0.212, 0.212]])
    """

    base: SimplexLoss
    slopes: tuple[float, ...]
    shifts: tuple[float, ...]
    shift_invariant = True

    def __post_init__(self) -> None:
        if not isinstance(self.base, _Softmax):
            raise TypeError(
                f"base must be a loss with the softmax link: simplex.Log(), simplex.Brier() or "
                f"simplex.Power(gamma), got {self.base!r}"
            )
        slopes = tuple(number("slopes", value, 1e-3, 1e3, "both") for value in self.slopes)
        shifts = tuple(number("shifts", value, -1e3, 1e3, "both") for value in self.shifts)
        if not slopes or not shifts:
            raise ValueError("slopes and shifts must hold one number, or one for each class, got none")
        object.__setattr__(self, "slopes", slopes)
        object.__setattr__(self, "shifts", shifts)

    @property
    def binary(self) -> Composite:
        """The base loss for two classes, with its link bent."""
        (s0, s1), (b0, b1) = (np.broadcast_to(part, 2).tolist() for part in (self.slopes, self.shifts))
        return Composite(self.base.binary.loss, RecalibratedLink(Logit(), s1, s0, b1 - b0))

    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores."""
        with np.errstate(over="ignore"):
            return special.softmax(self._bent(check_scores(F)), axis=-1)

    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities."""
        P = check_distributions("P", P)
        slopes, shifts = self._parts(P.shape[-1])
        with np.errstate(divide="ignore"):
            goal = np.log(P) - shifts
        common = np.zeros((*P.shape[:-1], 1))
        # log Σ exp((goal + common)/slope) is convex and increasing in `common`: Newton's steps cannot miss.
        for _ in range(60):
            scores = (goal + common) / slopes
            total = special.logsumexp(scores, axis=-1, keepdims=True)
            step = total / np.sum(np.exp(scores - total) / slopes, axis=-1, keepdims=True)
            common = common - step
            if np.all(np.abs(step) <= 1e-15 * (1 + np.abs(common))):
                break
        return self.base.link(special.softmax((goal + common) / slopes, axis=-1))

    def _parts(self, n_classes: int) -> tuple[Array, Array]:
        for name, part in (("slopes", self.slopes), ("shifts", self.shifts)):
            if len(part) not in (1, n_classes):
                raise ValueError(
                    f"{name}={show(part)} are those of {len(part)} classes, and there are {n_classes} scores"
                )
        return np.broadcast_to(self.slopes, n_classes), np.broadcast_to(self.shifts, n_classes)

    def _bent(self, F: Array) -> Array:
        slopes, shifts = self._parts(F.shape[-1])
        return slopes * special.log_softmax(F, axis=-1) + shifts

    def _value(self, Y: Array, F: Array) -> Array:
        return self.base._value(Y, self._bent(F))

    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]:
        through = self._jacobian(F)[2]
        gradient = through(self.base._derivatives(Y, self._bent(F), True)[0][..., None, :])[..., 0, :]
        curvature = self._fisher(F) if fisher else self._hessian(Y, F)
        return gradient, np.diagonal(curvature, axis1=-2, axis2=-1).copy()

    def _hessian(self, Y: Array, F: Array) -> Array:
        # JᵀHJ, and the bend of log p, −(diag p − ppᵀ), times what it is multiplied by.
        p, slopes, through = self._jacobian(F)
        G = self._bent(F)
        rate = np.sum(slopes * self.base._derivatives(Y, G, True)[0], axis=-1)[..., None, None]
        spread = p[..., :, None] * (np.eye(p.shape[-1]) - p[..., None, :])
        return self._around(self.base._hessian(Y, G), through) - rate * spread

    def _fisher(self, F: Array) -> Array:
        return self._around(self.base._fisher(self._bent(F)), self._jacobian(F)[2])

    def _jacobian(self, F: Array) -> tuple[Array, Array, Any]:
        """p, the slopes, and the product of rows r with J: r_j s_j − p_j Σ r_k s_k."""
        p, slopes = special.softmax(F, axis=-1), self._parts(F.shape[-1])[0]

        def through(rows: Array) -> Array:
            stretched = rows * slopes
            return stretched - p[..., None, :] * stretched.sum(axis=-1, keepdims=True)

        return p, slopes, through

    @staticmethod
    def _around(matrix: Array, through: Any) -> Array:
        """JᵀMJ of a symmetric matrix."""
        return through(np.swapaxes(through(matrix), -1, -2))
