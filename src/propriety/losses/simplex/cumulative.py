"""Losses of ordered classes: a binary loss at each threshold between two neighbours."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from propriety.losses import families, registry
from propriety.losses.composite import Composite
from propriety.losses.point import Array
from propriety.losses.simplex.base import SimplexLoss, check_distributions, check_scores, diagonal, register


class OrderedLoss(SimplexLoss):
    """Σ_k ℓ(1[y ≥ k], F_k − F_0), k = 1 … K − 1: what a score says of each threshold.

    The probability of class k or above is that of F_k − F_0; where these rise from a class to the next, which
    those of a model never do, the least so far is taken, so that no class has a negative probability.
    """

    shift_invariant = True

    @property
    @abstractmethod
    def threshold_loss(self) -> Composite:
        """ℓ."""

    @property
    def binary(self) -> Composite:
        """ℓ: of two classes there is one threshold."""
        return self.threshold_loss

    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores."""
        F = check_scores(F)
        with np.errstate(over="ignore"):  # differences of huge scores
            above = np.clip(self.threshold_loss.inverse(F[..., 1:] - F[..., :1]), 0.0, 1.0)
        above = np.minimum.accumulate(above, axis=-1)
        ends = np.ones_like(F[..., :1])
        return np.asarray(-np.diff(np.concatenate([ends, above, 0 * ends], axis=-1), axis=-1))

    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities; their mean is 0."""
        P = check_distributions("P", P)
        above = np.clip(np.cumsum(P[..., :0:-1], axis=-1)[..., ::-1], 0.0, 1.0)
        below = np.clip(np.cumsum(P[..., :-1], axis=-1), 0.0, 1.0)
        each = np.asarray(self.threshold_loss.link.link(above, below))
        F = np.concatenate([np.zeros_like(P[..., :1]), each], axis=-1)
        finite = np.isfinite(each).all(axis=-1, keepdims=True)
        return F - np.where(finite, np.where(finite, F, 0.0).mean(axis=-1, keepdims=True), 0.0)

    def _value(self, Y: Array, F: Array) -> Array:
        return np.asarray(np.sum(self.threshold_loss.value(_above(Y), F[..., 1:] - F[..., :1]), axis=-1))

    def _each(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]:
        """Gradient and curvature by each difference."""
        M, loss = F[..., 1:] - F[..., :1], self.threshold_loss
        curvature = loss.fisher(M) if fisher else loss.hessian(_above(Y), M)
        return np.asarray(loss.gradient(_above(Y), M)), np.asarray(curvature)

    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]:
        gradient, curvature = self._each(Y, F, fisher)
        first = gradient.sum(axis=-1, keepdims=True), curvature.sum(axis=-1, keepdims=True)
        return np.concatenate([-first[0], gradient], axis=-1), np.concatenate([first[1], curvature], axis=-1)

    def _hessian(self, Y: Array, F: Array) -> Array:
        return _matrices(self._each(Y, F, False)[1])

    def _fisher(self, F: Array) -> Array:
        return _matrices(np.asarray(self.threshold_loss.fisher(F[..., 1:] - F[..., :1])))


def _above(Y: Array) -> Array:
    """The probability of class k or above, k = 1 … K − 1."""
    return np.clip(np.cumsum(Y[..., :0:-1], axis=-1)[..., ::-1], 0.0, 1.0)


def _matrices(bends: Array) -> Array:
    """Second derivatives by all scores, of those by the differences from the first."""
    result = np.zeros((*bends.shape[:-1], bends.shape[-1] + 1, bends.shape[-1] + 1))
    result[..., 1:, 1:] = diagonal(bends)
    result[..., 0, 0] = bends.sum(axis=-1)
    result[..., 0, 1:] = result[..., 1:, 0] = -bends
    return result


@register("simplex.Cumulative(Log())", "simplex.Cumulative(Tailored(0.3, 5))")
@final
@dataclass(frozen=True, repr=False)
class Cumulative(OrderedLoss):
    """A binary loss at each threshold between ordered classes.

    >>> Cumulative("Log").value([1], [[0.0, 0.0, 0.0]])
    array([1.38629436])
    >>> Cumulative("Log").inverse([[0.0, 1.0, -1.0]]).round(3)
    array([[0.269, 0.462, 0.269]])
    """

    composite: Any = "Log()"

    def __post_init__(self) -> None:
        object.__setattr__(self, "composite", registry.as_composite(self.composite))

    def __repr__(self) -> str:
        loss = self.composite.loss
        return f"simplex.Cumulative({loss if self.composite == loss.composite() else self.composite!r})"

    @property
    def threshold_loss(self) -> Composite:
        """The binary composite itself."""
        return registry.as_composite(self.composite)


@register
@final
@dataclass(frozen=True, repr=False)
class RankedProbability(OrderedLoss):
    """The ranked probability score Σ_k (P(y ≥ k) − 1[y ≥ k])² of ordered classes.

    Epstein, A scoring system for probability forecasts of ranked categories (1969).

    >>> RankedProbability().loss([0, 2], [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]])
    array([0.89, 0.29])
    """

    @property
    def threshold_loss(self) -> Composite:
        """The squared loss."""
        return registry.as_composite(families.Squared())
