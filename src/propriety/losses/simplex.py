"""Proper losses for several classes.

A label is a class index 0 … K−1 or a distribution over the classes, a score is a vector of K numbers. With
two classes each loss is a binary one in the difference of the scores, F = F₁ − F₀.

>>> from propriety.losses import simplex
>>> simplex.Log().inverse([[0.0, 0.0, 0.0]])
array([[0.33333333, 0.33333333, 0.33333333]])
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from propriety import parallel
from propriety.losses import families, registry
from propriety.losses.base import Loss
from propriety.losses.composite import Composite
from propriety.losses.point import Array, as_float, check_probability, product
from propriety.losses.value import Value, number

_SMALL = 2000  # scores for which a compiled pass is not worth loading
_BLOCK = 8192

__all__ = ["MH", "Brier", "Log", "OneVsRest", "PairwiseExponential", "Power", "SimplexLoss", "of"]


class SimplexLoss(Value, ABC):
    """A loss of a score vector for K classes, with the probabilities that minimize it."""

    @abstractmethod
    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores, shape (n, K); rows sum to 1."""

    @abstractmethod
    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities, centred where only differences count."""

    @property
    @abstractmethod
    def binary(self) -> Composite:
        """The same loss for two classes, a function of the one score F₁ − F₀."""

    @abstractmethod
    def _value(self, Y: Array, F: Array) -> Array: ...

    @abstractmethod
    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]: ...

    def value(self, y: ArrayLike, F: ArrayLike) -> Array:
        """Loss of the scores F, shape (n, K), for the labels y: class indices, or rows of probabilities."""
        F = _scores(F)
        with np.errstate(all="ignore"):
            return self._value(_labels(y, F.shape[-1]), F)

    def loss(self, y: ArrayLike, P: ArrayLike) -> Array:
        """Loss of stating the probabilities P."""
        return self.value(y, self.link(P))

    def entropy(self, P: ArrayLike) -> Array:
        """Least expected loss when the truth is P."""
        P = _distributions("P", P)
        return self.value(P, self.link(P))

    def gradient(self, y: ArrayLike, F: ArrayLike) -> Array:
        """∂ℓ/∂F, shape (n, K)."""
        return self.derivatives(y, F)[0]

    def derivatives(
        self,
        y: ArrayLike,
        F: ArrayLike,
        *,
        curvature: str = "fisher",
        out: tuple[Array, Array] | None = None,
        n_jobs: int | None = 1,
    ) -> tuple[Array, Array]:
        """Gradient and the diagonal of the curvature, each of shape (n, K).

        The curvature is the Hessian's mean at the stated probabilities ("fisher"), or its value ("newton").
        Many rows are shared out among ``n_jobs`` threads.
        """
        if curvature not in ("fisher", "newton"):
            raise ValueError(f"curvature must be 'fisher' or 'newton', got {curvature!r}")
        F, labels, fisher = _scores(F), np.asarray(y), curvature == "fisher"
        if F.ndim != 2 or labels.shape[:1] != F.shape[:1]:
            with np.errstate(all="ignore"):
                G, H = self._derivatives(_labels(y, F.shape[-1]), F, fisher)
            if out is None:
                return G, H
            out[0][...], out[1][...] = G, H
            return out
        target = (np.empty(F.shape[::-1]).T, np.empty(F.shape[::-1]).T) if out is None else out
        compiled = self._compiled(labels, F, target)

        def block(start: int, stop: int) -> None:
            if compiled is not None and compiled(start, stop):
                return
            rows = slice(start, stop)
            with np.errstate(all="ignore"):
                G, H = self._derivatives(_labels(labels[rows], F.shape[1]), F[rows], fisher)
            target[0][rows], target[1][rows] = G, H

        parallel.for_blocks(block, len(F), n_jobs=n_jobs, block=_BLOCK)
        return target

    def _compiled(self, labels: Any, F: Array, out: tuple[Array, Array]) -> Callable[[int, int], bool] | None:
        """A compiled pass over a block of rows, which says whether it has succeeded; None: there is none."""
        return None


class _Softmax(SimplexLoss):
    """A loss with separable entropy H = Σ h(p_k) and the softmax link.

    With ω_k = −h″(p_k) and b_k = ω_k p_k (p_k − y_k), the gradient is b − p Σ b.
    """

    @property
    @abstractmethod
    def _exponent(self) -> float:
        """γ of ω_k = p_k^(γ−1)."""

    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores."""
        return special.softmax(_scores(F), axis=-1)

    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities."""
        with np.errstate(divide="ignore"):
            logs = np.log(_distributions("P", P))
        finite = np.where(np.isfinite(logs), logs, 0.0)
        count = np.maximum(np.isfinite(logs).sum(axis=-1, keepdims=True), 1)
        return logs - finite.sum(axis=-1, keepdims=True) / count

    def _value(self, Y: Array, F: Array) -> Array:
        g = self._exponent
        log_p = special.log_softmax(F, axis=-1)
        own = -log_p if g == 0 else -np.expm1(g * log_p) / g
        total = np.sum(np.exp((g + 1) * log_p), axis=-1)
        rest = 0.0 if g == 0 else (1 - total) / (g + 1)
        return np.sum(product(Y, own), axis=-1) - rest

    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]:
        g = self._exponent
        log_p = special.log_softmax(F, axis=-1)
        p = np.exp(log_p)
        power = np.exp(g * log_p)  # ω p
        b = power * (p - Y)
        total = b.sum(axis=-1, keepdims=True)
        gradient = b - p * total
        square = power * p  # ω p²
        squares = square.sum(axis=-1, keepdims=True)
        hessian = square * ((1 - p) ** 2 - p**2) + p**2 * squares
        if not fisher:
            # The rest of ∂G_j/∂F_j: (p_j − y_j) γ ω_j p_j (1 − p_j)² and its like, which vanish in the mean.
            db_own = g * b * (1 - p)  # b_j's own change through ω_j p_j
            db_all = db_own - p * (g * (total - b))  # Σ_k of those changes when F_j moves
            hessian = hessian + db_own - p * db_all - p * (1 - p) * total
        return gradient, hessian


@final
@dataclass(frozen=True, repr=False)
class Log(_Softmax):
    """−log p_y with the softmax link: multinomial logistic loss.

    >>> Log().value([2], [[0.0, 0.0, 0.0]])
    array([1.09861229])
    """

    @property
    def binary(self) -> Composite:
        """The log loss with the logit link."""
        return families.Log().composite()

    @property
    def _exponent(self) -> float:
        return 0.0

    def _compiled(self, labels: Any, F: Array, out: tuple[Array, Array]) -> Callable[[int, int], bool] | None:
        # Fisher's curvature is the Hessian, so there is one pass for both.
        G, H = out[0].T, out[1].T
        whole = labels.ndim == 1 and labels.dtype.kind in "iub" and labels.min() >= 0
        if F.size < _SMALL or not whole or labels.max() >= F.shape[1]:
            return None
        if not (G.flags.c_contiguous and H.flags.c_contiguous and G.dtype == H.dtype == np.float64):
            return None
        from propriety.losses import kernels

        y, scores = labels.astype(np.intp, copy=False), np.ascontiguousarray(F)
        return lambda start, stop: math.isfinite(kernels.softmax(y, scores, G, H, start, stop))


@final
@dataclass(frozen=True, repr=False)
class Brier(_Softmax):
    """½ Σ_k (1[y = k] − p_k)² with the softmax link; for two classes the squared loss.

    >>> Brier().value([1], [[0.0, 0.0]])
    array([0.25])
    """

    @property
    def binary(self) -> Composite:
        """The squared loss with the logit link."""
        return families.Squared().composite()

    @property
    def _exponent(self) -> float:
        return 1.0

    def _value(self, Y: Array, F: Array) -> Array:
        # The square of a sum of products: exact where 1 − 2 p_y + Σ p² cancels.
        p = special.softmax(F, axis=-1)
        own = 0.5 * (np.sum(p**2, axis=-1, keepdims=True) - p**2 + (p.sum(axis=-1, keepdims=True) - p) ** 2)
        return np.sum(Y * own, axis=-1)


@final
@dataclass(frozen=True, repr=False)
class Power(_Softmax):
    """H = (1 − Σ p_k^(γ+1))/(γ(γ + 1)), γ > −1: the power family; 0 is `Log`, 1 is `Brier`.

    For two classes it is the binary `DensityPower(gamma)`.

    >>> Power(1.0).value([1], [[0.0, 0.0]])
    array([0.25])
    """

    gamma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", number("gamma", self.gamma, -1, math.inf))

    @property
    def binary(self) -> Composite:
        """The density power loss with the logit link."""
        return families.DensityPower(self.gamma).composite()

    @property
    def _exponent(self) -> float:
        return self.gamma


@final
@dataclass(frozen=True, repr=False)
class PairwiseExponential(SimplexLoss):
    """Σ_{l≠y} e^{f_l − f_y}: the loss of AdaBoost.M2 and AdaBoost.MR.

    Its minimizer is f = ½ log η up to a constant, so p_k ∝ e^{2 f_k}, and as a loss of probabilities it is
    Σ_{l≠y} √(p_l/p_y): for two classes the exponential loss, link included.

    >>> PairwiseExponential().value([1], [[0.0, 0.0, 0.0]])
    array([2.])
    """

    @property
    def binary(self) -> Composite:
        """The exponential loss."""
        return families.Exponential().composite()

    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores."""
        return special.softmax(2 * _scores(F), axis=-1)

    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities."""
        return 0.5 * Log().link(P)

    def _value(self, Y: Array, F: Array) -> Array:
        return np.sum(product(Y, self._ratios(F).sum(axis=-2)), axis=-1)

    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]:
        ratios = self._ratios(F)  # [l, y]: e^{f_l − f_y}, l ≠ y
        rise = product(Y[..., None, :], ratios).sum(axis=-1)
        fall = product(Y, ratios.sum(axis=-2))
        if fisher:
            P = self.inverse(F)
            curvature = product(P[..., None, :], ratios).sum(axis=-1) + product(P, ratios.sum(axis=-2))
        else:
            curvature = rise + fall
        return rise - fall, curvature

    @staticmethod
    def _ratios(F: Array) -> Array:
        ratios = np.exp(F[..., :, None] - F[..., None, :])
        diagonal = np.arange(F.shape[-1])
        ratios[..., diagonal, diagonal] = 0.0
        return ratios


@final
@dataclass(frozen=True, repr=False)
class OneVsRest(SimplexLoss):
    """½ Σ_k ℓ(1[y = k], F_k): a binary loss for each class against the rest.

    Each score has its own link, and the K probabilities are divided by their sum. With two classes and
    F₀ = −F₁ it is the binary loss in F₁, if that is symmetric.

    >>> OneVsRest("Log").value([1], [[0.0, 0.0]])
    array([0.69314718])
    """

    loss_: Any = "Log()"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss_", registry.as_composite(self.loss_))

    @property
    def composite(self) -> Composite:
        """The binary composite."""
        return self.loss_

    @property
    def binary(self) -> Composite:
        """The binary composite itself."""
        return self.composite

    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores."""
        p = np.asarray(self.loss_.inverse(_scores(F)))
        total = p.sum(axis=-1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1), 1 / p.shape[-1])

    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities."""
        return np.asarray(self.loss_.link(_distributions("P", P)))

    def _value(self, Y: Array, F: Array) -> Array:
        return 0.5 * np.sum(self.loss_.value(Y, F), axis=-1)

    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]:
        curvature = self.loss_.fisher(F) if fisher else self.loss_.hessian(Y, F)
        return 0.5 * np.asarray(self.loss_.gradient(Y, F)), 0.5 * np.asarray(curvature)


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


_MH_CORE = OneVsRest("Exponential()")


def of(loss: Loss | Composite | SimplexLoss | str) -> SimplexLoss:
    """The form of a binary loss for several classes.

    Log, squared and density power losses have their own on the simplex; every other loss, and every
    composite with a link of its own, is taken one class against the rest.

    >>> of("Squared"), of("Beta(6, 14)")
    (Brier(), OneVsRest(Beta(6, 14).with_link(Logit())))
    """
    if isinstance(loss, str):
        loss = registry.parse(loss)
    if isinstance(loss, SimplexLoss):
        return loss
    match loss:
        case families.Log():
            return Log()
        case families.Squared():
            return Brier()
        case families.DensityPower(gamma=gamma):
            return Power(gamma)
    return OneVsRest(loss)


def _scores(F: ArrayLike) -> Array:
    F = as_float("F", F)
    if F.ndim < 1 or F.shape[-1] < 2:
        raise ValueError(f"F must have one column for each of two classes or more, got shape {F.shape}")
    return F


def _distributions(name: str, P: ArrayLike) -> Array:
    P = check_probability(name, P)
    if P.ndim < 1 or not np.allclose(P.sum(axis=-1), 1, atol=1e-6):
        raise ValueError(f"{name} must be probabilities of the classes: rows that sum to 1")
    return P


def _labels(y: ArrayLike, classes: int) -> Array:
    """Rows of class probabilities, from indices or from such rows."""
    array = np.asarray(y)
    if array.ndim >= 1 and array.shape[-1] == classes and array.dtype.kind == "f":
        return _distributions("y", array)
    index = array.astype(np.intp) if array.dtype.kind in "iub" else np.array([-1])
    if np.any((index < 0) | (index >= classes)):
        raise ValueError(
            f"y must be class indices from 0 to {classes - 1}, or rows of {classes} probabilities"
        )
    return np.eye(classes)[index]
