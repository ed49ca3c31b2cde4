"""A loss of every pair of the label's class and another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from propriety.losses import families
from propriety.losses.composite import Composite
from propriety.losses.point import Array, product
from propriety.losses.simplex.base import MarginForm, SimplexLoss, check_scores, register, with_diagonal
from propriety.losses.simplex.softmax import Log


@register
@final
@dataclass(frozen=True, repr=False)
class PairwiseExponential(SimplexLoss):
    """Σ_{l≠y} e^{f_l − f_y}: the loss of AdaBoost.M2 and AdaBoost.MR.

    Its minimizer is f = ½ log η up to a constant, so p_k ∝ e^{2 f_k}, and as a loss of probabilities it is
    Σ_{l≠y} √(p_l/p_y): for two classes the exponential loss, link included.

    >>> PairwiseExponential().value([1], [[0.0, 0.0, 0.0]])
    array([2.])
    """

    shift_invariant = True

    @property
    def margin_form(self) -> MarginForm:
        """The exponential loss of every pair of the label's class and another."""
        return MarginForm("pairs", self.binary)

    @property
    def binary(self) -> Composite:
        """The exponential loss."""
        return families.Exponential().composite()

    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores."""
        F = check_scores(F)
        with np.errstate(over="ignore"):
            # Doubled when the largest is 0, so that huge scores have their limit.
            return special.softmax(2 * (F - F.max(axis=-1, keepdims=True)), axis=-1)

    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities."""
        return 0.5 * Log().link(P)

    def _value(self, Y: Array, F: Array) -> Array:
        return self._terms(Y, F).sum(axis=(-2, -1))

    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]:
        terms = self._terms(Y, F)
        rise, fall = terms.sum(axis=-1), terms.sum(axis=-2)
        if fisher:
            terms = self._terms(self.inverse(F), F)
        return rise - fall, terms.sum(axis=-1) + terms.sum(axis=-2)

    def _hessian(self, Y: Array, F: Array) -> Array:
        # Each term e^{f_l − f_y} has the Hessian (e_l − e_y)(e_l − e_y)ᵀ times itself.
        terms = self._terms(Y, F)
        return with_diagonal(-terms - np.swapaxes(terms, -1, -2), terms.sum(axis=-1) + terms.sum(axis=-2))

    def _fisher(self, F: Array) -> Array:
        return self._hessian(self.inverse(F), F)

    def _terms(self, Y: Array, F: Array) -> Array:
        """[l, y]: Y_y e^{f_l − f_y}, l ≠ y."""
        return product(Y[..., None, :], self._ratios(F))

    @staticmethod
    def _ratios(F: Array) -> Array:
        ratios = np.exp(F[..., :, None] - F[..., None, :])
        diagonal = np.arange(F.shape[-1])
        ratios[..., diagonal, diagonal] = 0.0
        return ratios
