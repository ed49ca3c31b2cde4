"""Sums of a binary loss, each class against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from propriety.losses import families, registry
from propriety.losses.composite import Composite
from propriety.losses.point import Array
from propriety.losses.simplex.base import SimplexLoss, check_distributions, check_scores, diagonal, register


@register("simplex.OneVsRest(Log())", "simplex.OneVsRest(Tailored(0.3, 5))")
@final
@dataclass(frozen=True, repr=False)
class OneVsRest(SimplexLoss):
    """½ Σ_k ℓ(1[y = k], F_k): a binary loss for each class against the rest.

    Each score has its own link, and the K probabilities are divided by their sum. With two classes and
    F₀ = −F₁ it is the binary loss in F₁, if that is symmetric.

    >>> OneVsRest("Log").value([1], [[0.0, 0.0]])
    array([0.69314718])
    """

    composite: Any = "Log()"
    factor = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "composite", registry.as_composite(self.composite))

    def __repr__(self) -> str:
        loss = self.composite.loss
        return f"simplex.OneVsRest({loss if self.composite == loss.composite() else self.composite!r})"

    @property
    def binary(self) -> Composite:
        """The binary composite itself."""
        return self.composite

    @property
    def one_vs_rest(self) -> Composite:
        """The binary composite itself."""
        return self.composite

    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores."""
        p = np.asarray(self.composite.inverse(check_scores(F)))
        total = p.sum(axis=-1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1), 1 / p.shape[-1])

    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities."""
        return np.asarray(self.composite.link(check_distributions("P", P)))

    def _value(self, Y: Array, F: Array) -> Array:
        return self.factor * np.sum(self.composite.value(Y, F), axis=-1)

    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]:
        curvature = self.composite.fisher(F) if fisher else self.composite.hessian(Y, F)
        return self.factor * np.asarray(self.composite.gradient(Y, F)), self.factor * np.asarray(curvature)

    def _hessian(self, Y: Array, F: Array) -> Array:
        return diagonal(self._derivatives(Y, F, False)[1])

    def _fisher(self, F: Array) -> Array:
        return diagonal(self.factor * np.asarray(self.composite.fisher(F)))


@register
@final
@dataclass(frozen=True, repr=False)
class MH(SimplexLoss):
    """Σ_k exp(−ỹ_k f_k), ỹ_k = 1 for the label's class and −1 for the others: AdaBoost.MH.

    Twice `OneVsRest("Exponential")`, in the scale of the paper.

    >>> MH().value([1], [[0.0, 0.0, 0.0]])
    array([3.])
    """

    @property
    def binary(self) -> Composite:
        """The exponential loss, twice."""
        return registry.as_composite(2 * families.Exponential())

    @property
    def one_vs_rest(self) -> Composite:
        """The exponential loss."""
        return _MH_CORE.composite

    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores."""
        return _MH_CORE.inverse(F)

    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities."""
        return _MH_CORE.link(P)

    def _value(self, Y: Array, F: Array) -> Array:
        return 2 * _MH_CORE._value(Y, F)

    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]:
        gradient, curvature = _MH_CORE._derivatives(Y, F, fisher)
        return 2 * gradient, 2 * curvature

    def _hessian(self, Y: Array, F: Array) -> Array:
        return 2 * _MH_CORE._hessian(Y, F)

    def _fisher(self, F: Array) -> Array:
        return 2 * _MH_CORE._fisher(F)


_MH_CORE = OneVsRest("Exponential()")
