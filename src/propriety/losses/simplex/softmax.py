"""Losses with the softmax link: log, squared and power."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from propriety.losses import families
from propriety.losses.base import Loss
from propriety.losses.composite import Composite
from propriety.losses.links import Logit
from propriety.losses.point import Array, product
from propriety.losses.simplex.base import (
    MarginForm,
    SimplexLoss,
    check_distributions,
    check_scores,
    register,
    sum_of_others,
    with_diagonal,
)
from propriety.losses.value import number, positive

_FEW = 200  # rows


@lru_cache(maxsize=64)
def _pairs_of(n_classes: int) -> tuple[Any, Any, Any]:
    """Both classes of each pair, row by row of a matrix on and above its diagonal, and where that lies."""
    first, second = np.triu_indices(n_classes)
    return first, second, np.flatnonzero(first == second)


class _Softmax(SimplexLoss):
    """A loss with separable entropy H = Σ h(p_k) and the softmax link, times `scale`.

    With ω_k = −h″(p_k) = s p_k^(γ−1), b_k = ω_k p_k (p_k − y_k) and c_k = ω_k p_k² + γ b_k − p_k Σ b, the
    gradient is b − p Σ b, and the Hessian Σ_k c_k (e_k − p)(e_k − p)ᵀ. In the mean b is 0.
    """

    shift_invariant = True
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @property
    def margin_form(self) -> MarginForm | None:
        """Multinomial for the log loss, else None."""
        if self._exponent != 0:
            return None
        return MarginForm("multinomial", families.Log().composite(), self.scale)

    @property
    def binary(self) -> Composite:
        """The loss for two classes, with the logit link."""
        return (self.scale * self._family).with_link(Logit())

    @property
    @abstractmethod
    def _family(self) -> Loss:
        """The loss for two classes, not scaled."""

    @property
    @abstractmethod
    def _exponent(self) -> float:
        """γ of ω_k = s p_k^(γ−1)."""

    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores."""
        F = check_scores(F)
        with np.errstate(over="ignore"):
            powers = np.exp(F - F.max(axis=-1, keepdims=True))
            return powers / powers.sum(axis=-1, keepdims=True)

    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities."""
        with np.errstate(divide="ignore"):
            logs = np.log(check_distributions("P", P))
        finite = np.where(np.isfinite(logs), logs, 0.0)
        count = np.maximum(np.isfinite(logs).sum(axis=-1, keepdims=True), 1)
        return logs - finite.sum(axis=-1, keepdims=True) / count

    def entropy_term(self, p: Array) -> Array:
        """h(p) = s (p − p^(γ+1))/(γ (γ + 1)), and −s p log p for γ = 0."""
        g = self._exponent
        term = -special.xlogy(p, p) if g == 0 else (p - p ** (g + 1)) / (g * (g + 1))
        return np.asarray(self.scale * term, dtype=np.float64)

    def _value(self, Y: Array, F: Array) -> Array:
        g = self._exponent
        log_p = special.log_softmax(F, axis=-1)
        own = -log_p if g == 0 else -np.expm1(g * log_p) / g
        total = np.sum(np.exp((g + 1) * log_p), axis=-1)
        rest = 0.0 if g == 0 else (1 - total) / (g + 1)
        return self.scale * (np.sum(product(Y, own), axis=-1) - rest)

    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]:
        p, b, c = self._parts(Y, F, fisher)
        return b - p * b.sum(axis=-1, keepdims=True), c * sum_of_others(p) ** 2 + p**2 * sum_of_others(c)

    def _hessian(self, Y: Array, F: Array) -> Array:
        p, _, c = self._parts(Y, F, False)
        return self._spread(p, c)

    def _fisher(self, F: Array) -> Array:
        p, _, c = self._parts(F, F, True)
        return self._spread(p, c)

    def _times(self, Y: Array, F: Array, V: Array, fisher: bool) -> Array:
        p, _, c = self._parts(Y, F, fisher)
        # (e_k − p)·v is free of a constant in v: with 0 at the likeliest class nothing cancels.
        top = np.argmax(p, axis=-1)[..., None]
        V = V - np.take_along_axis(V, top, axis=-1)
        steps = c * (V - np.sum(p * V, axis=-1, keepdims=True))
        return steps - p * steps.sum(axis=-1, keepdims=True)

    def _parts(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array, Array]:
        """p, b and c; with `fisher` the mean of c."""
        log_p = special.log_softmax(F, axis=-1)
        p, power = np.exp(log_p), self.scale * np.exp(self._exponent * log_p)  # ω p
        b, c = power * (p - Y), power * p
        return p, b, c if fisher else c + self._exponent * b - p * b.sum(axis=-1, keepdims=True)

    @staticmethod
    def _spread(p: Array, c: Array) -> Array:
        """Σ_k c_k (e_k − p)(e_k − p)ᵀ."""
        steps = with_diagonal(-np.repeat(p[..., None, :], p.shape[-1], axis=-2), sum_of_others(p))
        return np.swapaxes(steps * c[..., None], -1, -2) @ steps


@register("simplex.Log()", "simplex.Log(3)")
@final
@dataclass(frozen=True, repr=False)
class Log(_Softmax):
    """−log p_y with the softmax link: multinomial logistic loss; times `scale`.

    >>> Log().value([2], [[0.0, 0.0, 0.0]])
    array([1.09861229])
    """

    scale: float = 1.0

    @property
    def _family(self) -> Loss:
        return families.Log()

    @property
    def _exponent(self) -> float:
        return 0.0

    def values_and_gradients(self, y: ArrayLike, F: ArrayLike) -> tuple[Array, Array]:
        """`value` and `gradient`: one exponential for both, where labels are class indices."""
        F, labels = check_scores(F), np.asarray(y)
        plain = F.ndim == 2 and labels.shape == F.shape[:1] and labels.dtype.kind in "iu"
        if not plain or self.scale != 1.0:
            return super().values_and_gradients(y, F)
        with np.errstate(all="ignore"):
            rows, top = np.arange(len(F)), F.max(axis=1)
            gradient = np.exp(F - top[:, None])
            total = gradient.sum(axis=1)
            values = np.log(total) + (top - F[rows, labels])
            gradient /= total[:, None]
            gradient[rows, labels] -= 1.0
        return values, gradient

    def fisher_pairs(self, F: ArrayLike) -> Array:
        """−p_k p_l of each pair of classes, and p_k (1 − p_k), times the scale."""
        if self.scale != 1.0:
            return super().fisher_pairs(F)
        p = self.inverse(F)
        by_class, others = np.ascontiguousarray(p.T), sum_of_others(p).T
        n_classes, n = by_class.shape
        if n < _FEW:  # all pairs at once: what counts is the number of calls
            first, second, diagonal = _pairs_of(n_classes)
            pairs = by_class[first] * -by_class[second]
            pairs[diagonal] = by_class * others
            return pairs
        pairs, at = np.empty((n_classes * (n_classes + 1) // 2, n)), 0
        for k in range(n_classes):
            np.multiply(by_class[k], others[k], out=pairs[at])
            np.multiply(by_class[k + 1 :], -by_class[k], out=pairs[at + 1 : at + n_classes - k])
            at += n_classes - k
        return pairs

    def _compiled(self, labels: Any, F: Array, out: tuple[Array, Array]) -> Callable[[int, int], bool] | None:
        # Fisher's curvature is the Hessian, so there is one pass for both.
        G, H = out[0].T, out[1].T
        whole = labels.ndim == 1 and labels.dtype.kind in "iub" and labels.min() >= 0
        if not whole or labels.max() >= F.shape[1]:
            return None
        if not (G.flags.c_contiguous and H.flags.c_contiguous and G.dtype == H.dtype == np.float64):
            return None
        from propriety.losses import kernels

        y, scores = labels.astype(np.intp, copy=False), np.ascontiguousarray(F)

        def run(start: int, stop: int) -> bool:
            succeeded = math.isfinite(kernels.softmax(y, scores, G, H, start, stop))
            if self.scale != 1.0:
                G[:, start:stop] *= self.scale
                H[:, start:stop] *= self.scale
            return succeeded

        return run


@register("simplex.Brier()", "simplex.Brier(0.5)")
@final
@dataclass(frozen=True, repr=False)
class Brier(_Softmax):
    """½ Σ_k (1[y = k] − p_k)² with the softmax link; for two classes the squared loss. Times `scale`.

    >>> Brier().value([1], [[0.0, 0.0]])
    array([0.25])
    """

    scale: float = 1.0

    @property
    def _family(self) -> Loss:
        return families.Squared()

    @property
    def _exponent(self) -> float:
        return 1.0

    def _value(self, Y: Array, F: Array) -> Array:
        # The square of a sum of products: exact where 1 − 2 p_y + Σ p² cancels.
        p = special.softmax(F, axis=-1)
        own = 0.5 * (np.sum(p**2, axis=-1, keepdims=True) - p**2 + (p.sum(axis=-1, keepdims=True) - p) ** 2)
        return self.scale * np.sum(Y * own, axis=-1)


@register("simplex.Power(0.5)", "simplex.Power(2, scale=3)")
@final
@dataclass(frozen=True, repr=False)
class Power(_Softmax):
    """H = (1 − Σ p_k^(γ+1))/(γ(γ + 1)), γ > −1: the power family; 0 is `Log`, 1 is `Brier`.

    For two classes it is the binary `DensityPower(gamma)`. Times `scale`.

    >>> Power(1.0).value([1], [[0.0, 0.0]])
    array([0.25])
    """

    gamma: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gamma", number("gamma", self.gamma, -1, math.inf))

    @property
    def _family(self) -> Loss:
        return families.DensityPower(self.gamma)

    @property
    def _exponent(self) -> float:
        return self.gamma
