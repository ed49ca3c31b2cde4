"""Losses known as functions of the score itself, also where the link has no more to say.

A composite is a proper loss of the probability that a link gives to a score. A margin loss is more: a
function on the whole line, of which the proper loss sees the range of the link alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from propriety.losses.point import Array


class ScoreForm(ABC):
    """Loss of a label and a score on the whole line, a function of the margin alone.

    Within the range of the link it is that of the composite.
    """

    @abstractmethod
    def value(self, y: Array, F: Array) -> Array:
        """ℓ(y, F)."""

    @abstractmethod
    def gradient(self, y: Array, F: Array) -> Array:
        """∂ℓ/∂F."""

    @abstractmethod
    def hessian(self, y: Array, F: Array) -> Array:
        """∂²ℓ/∂F²."""

    @abstractmethod
    def fisher(self, F: Array) -> Array:
        """Mean of the Hessian when the score is right; beyond the range, a positive curvature of its size."""


@dataclass(frozen=True)
class SumOfForms(ScoreForm):
    """Positive multiples of forms, added up."""

    terms: tuple[tuple[float, ScoreForm], ...]

    def value(self, y: Array, F: Array) -> Array:
        """Σ aᵢ ℓᵢ."""
        return np.sum([a * form.value(y, F) for a, form in self.terms], axis=0)

    def gradient(self, y: Array, F: Array) -> Array:
        """Σ aᵢ ∂ℓᵢ/∂F."""
        return np.sum([a * form.gradient(y, F) for a, form in self.terms], axis=0)

    def hessian(self, y: Array, F: Array) -> Array:
        """Σ aᵢ ∂²ℓᵢ/∂F²."""
        return np.sum([a * form.hessian(y, F) for a, form in self.terms], axis=0)

    def fisher(self, F: Array) -> Array:
        """Σ aᵢ of the forms' own."""
        return np.sum([a * form.fisher(F) for a, form in self.terms], axis=0)
