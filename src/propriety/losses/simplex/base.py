"""What a loss for several classes is, and what learners may ask of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from propriety import parallel
from propriety.losses.composite import Composite
from propriety.losses.point import Array, as_float, check_probability
from propriety.losses.registry import SIMPLEX
from propriety.losses.value import Value

_SMALL = 2000  # scores for which a compiled pass is not worth loading
_BLOCK = 8192

register, names, examples = SIMPLEX.register, SIMPLEX.names, SIMPLEX.examples


class MarginForm(NamedTuple):
    """How a loss is a function of margins alone, φ being the margin loss of `composite`.

    - "rest": factor · Σ_k φ(±F_k), + for the label's class;
    - "pairs": factor · Σ_{l≠y} φ(F_y − F_l);
    - "multinomial": factor · log(1 + Σ_{l≠y} e^{−(F_y − F_l)}), which is factor · φ for two classes.
    """

    kind: Literal["rest", "pairs", "multinomial"]
    composite: Composite
    factor: float = 1.0


class SimplexLoss(Value, ABC):
    """A loss of a score vector for K classes, with the probabilities that minimize it.

    A subclass states `inverse`, `link`, `_value` and `_derivatives`; learners ask the properties below, and
    never which class it is. For two classes it states `binary` too.
    """

    #: Whether only differences of the scores count: a constant added to all of a row changes nothing.
    shift_invariant: bool = False
    #: The factor of `one_vs_rest`.
    factor: float = 1.0

    def __repr__(self) -> str:
        shared = SIMPLEX.classes.get(type(self).__name__) is type(self)
        return f"{SIMPLEX.prefix if shared else ''}{super().__repr__()}"

    @abstractmethod
    def inverse(self, F: ArrayLike) -> Array:
        """Probabilities of the scores, shape (n, K); rows sum to 1."""

    @abstractmethod
    def link(self, P: ArrayLike) -> Array:
        """Scores of the probabilities, centred where only differences count."""

    @property
    def binary(self) -> Composite:
        """The same loss for two classes, a function of the one score F₁ − F₀."""
        raise TypeError(
            f"{self!r} does not say what it is for two classes: give {type(self).__name__} a property "
            "`binary` that returns a composite, such as losses.Log().composite()"
        )

    @property
    def one_vs_rest(self) -> Composite | None:
        """The binary composite ℓ with which the loss is factor · Σ_k ℓ(1[y = k], F_k), or None.

        >>> from propriety.losses import simplex
        >>> simplex.MH().one_vs_rest, simplex.MH().factor, simplex.Log().one_vs_rest
        (Exponential().with_link(Logit(0.5)), 1.0, None)
        """
        return None

    @property
    def margin_form(self) -> MarginForm | None:
        """How the loss is a function of margins, or None.

        >>> from propriety.losses import simplex
        >>> simplex.Log().margin_form.kind, simplex.MH().margin_form.kind, simplex.Brier().margin_form
        ('multinomial', 'rest', None)
        """
        inner = self.one_vs_rest
        return None if inner is None else MarginForm("rest", inner, self.factor)

    @property
    def growth(self) -> float:
        """L = sup −φ″/φ′ of the margin form, see `Composite.growth`; infinite if there is none."""
        return math.inf if self.margin_form is None else self.margin_form.composite.growth

    @abstractmethod
    def _value(self, Y: Array, F: Array) -> Array: ...

    @abstractmethod
    def _derivatives(self, Y: Array, F: Array, fisher: bool) -> tuple[Array, Array]: ...

    def value(self, y: ArrayLike, F: ArrayLike) -> Array:
        """Loss of the scores F, shape (n, K), for the labels y: class indices, or rows of probabilities."""
        F = check_scores(F)
        with np.errstate(all="ignore"):
            return self._value(_labels(y, F.shape[-1]), F)

    def loss(self, y: ArrayLike, P: ArrayLike) -> Array:
        """Loss of stating the probabilities P."""
        return self.value(y, self.link(P))

    def entropy(self, P: ArrayLike) -> Array:
        """Least expected loss when the truth is P."""
        P = check_distributions("P", P)
        return self.value(P, self.link(P))

    def entropy_term(self, p: Array) -> Array | None:
        """The h with which the entropy is Σ_k h(p_k), at shares p of one class; None if there is none.

        >>> from propriety.losses import simplex
        >>> simplex.Brier().entropy_term(np.array([0.0, 0.5, 1.0])), simplex.Brier().entropy([[0.5, 0.5]])
        (array([0.   , 0.125, 0.   ]), array([0.25]))
        """
        return None

    def gradient(self, y: ArrayLike, F: ArrayLike) -> Array:
        """∂ℓ/∂F, shape (n, K)."""
        return self.derivatives(y, F)[0]

    def values_and_gradients(self, y: ArrayLike, F: ArrayLike) -> tuple[Array, Array]:
        """`value` and `gradient`, in one pass where there is one.

        >>> from propriety.losses import simplex
        >>> simplex.Log().values_and_gradients([1], [[0.0, 0.0]])
        (array([0.69314718]), array([[ 0.5, -0.5]]))
        """
        return self.value(y, F), self.derivatives(y, F)[0]

    def derivatives(
        self,
        y: ArrayLike,
        F: ArrayLike,
        *,
        curvature: str = "fisher",
        out: tuple[Array, Array] | None = None,
        n_jobs: int | None = 1,
        compiled: bool | None = None,
    ) -> tuple[Array, Array]:
        """Gradient and the diagonal of the curvature, each of shape (n, K).

        The curvature is the Hessian's mean at the stated probabilities ("fisher"), or its value ("newton").
        Many rows are shared out among ``n_jobs`` threads. By default a compiled pass, if there is one, does
        many rows, and the formulas few, which may differ in the last bit; ``compiled=True`` asks for it.
        """
        if curvature not in ("fisher", "newton"):
            raise ValueError(f"curvature must be 'fisher' or 'newton', got {curvature!r}")
        F, labels, fisher = check_scores(F), np.asarray(y), curvature == "fisher"
        if F.ndim != 2 or labels.shape[:1] != F.shape[:1]:
            with np.errstate(all="ignore"):
                G, H = self._derivatives(_labels(y, F.shape[-1]), F, fisher)
            if out is None:
                return G, H
            out[0][...], out[1][...] = G, H
            return out
        target = (np.empty(F.shape[::-1]).T, np.empty(F.shape[::-1]).T) if out is None else out
        wanted = F.size >= _SMALL if compiled is None else compiled
        run = self._compiled(labels, F, target) if wanted else None

        def block(start: int, stop: int) -> None:
            if run is not None and run(start, stop):
                return
            rows = slice(start, stop)
            with np.errstate(all="ignore"):
                G, H = self._derivatives(_labels(labels[rows], F.shape[1]), F[rows], fisher)
            target[0][rows], target[1][rows] = G, H

        parallel.for_blocks(block, len(F), n_jobs=n_jobs, block=_BLOCK)
        return target

    def hessian(self, y: ArrayLike, F: ArrayLike) -> Array:
        """∂²ℓ/∂F², the whole matrix of each row: shape (n, K, K)."""
        F = check_scores(F)
        with np.errstate(all="ignore"):
            return self._hessian(_labels(y, F.shape[-1]), F)

    def fisher(self, F: ArrayLike) -> Array:
        """The mean of the Hessian at the stated probabilities, the whole matrix of each row.

        >>> from propriety.losses import simplex
        >>> simplex.Log().fisher([[0.0, 0.0]])
        array([[[ 0.25, -0.25],
                [-0.25,  0.25]]])
        """
        F = check_scores(F)
        with np.errstate(all="ignore"):
            return self._fisher(F)

    def fisher_pairs(self, F: ArrayLike) -> Array:
        """The matrices of `fisher` with each pair of classes once, in the order of ``np.triu_indices``.

        The shape is (K (K + 1)/2, n): a run of memory for each pair.

        >>> from propriety.losses import simplex
        >>> simplex.Log().fisher_pairs([[0.0, 0.0]])
        array([[ 0.25],
               [-0.25],
               [ 0.25]])
        """
        matrices = self.fisher(F)
        first, second = np.triu_indices(matrices.shape[-1])
        return np.ascontiguousarray(matrices[:, first, second].T)

    def hessian_times(self, y: ArrayLike, F: ArrayLike, V: Array) -> Array:
        """The Hessian of each row times a row of V, shape (n, K): cheaper than the matrix."""
        F = check_scores(F)
        with np.errstate(all="ignore"):
            return self._times(_labels(y, F.shape[-1]), F, V, False)

    def fisher_times(self, F: ArrayLike, V: Array) -> Array:
        """The same with the mean of the Hessian at the stated probabilities.

        >>> from propriety.losses import simplex
        >>> simplex.Log().fisher_times([[0.0, 0.0]], np.array([[1.0, 0.0]]))
        array([[ 0.25, -0.25]])
        """
        F = check_scores(F)
        with np.errstate(all="ignore"):
            return self._times(F, F, V, True)

    def _times(self, Y: Array, F: Array, V: Array, fisher: bool) -> Array:
        matrices = self._fisher(F) if fisher else self._hessian(Y, F)
        return np.einsum("...ab,...b->...a", matrices, V)

    def _hessian(self, Y: Array, F: Array) -> Array:
        return _symmetric(_slopes(lambda scores: self._derivatives(Y, scores, False)[0], F))

    def _fisher(self, F: Array) -> Array:
        # Ḡ(P, F) = Σ_k P_k ∇ℓ(k, F) is 0 at P = p(F) whatever F, so that ∂Ḡ/∂F = −Σ_k ∇ℓ(k, F) ⊗ ∂p_k/∂F.
        each = [self._derivatives(np.broadcast_to(Y, F.shape), F, True)[0] for Y in np.eye(F.shape[-1])]
        gradients = np.stack(each, axis=-2)
        return _symmetric(-np.einsum("...ka,...kb->...ab", gradients, _slopes(self.inverse, F)))

    def _compiled(self, labels: Any, F: Array, out: tuple[Array, Array]) -> Callable[[int, int], bool] | None:
        """A compiled pass over a block of rows, which says whether it has succeeded; None: there is none."""
        return None


def sum_of_others(values: Array) -> Array:
    """Σ_{l≠k} of each k, without the cancellation of Σ_l − k: 1 − p where p is all but 1."""
    return values @ _all_but_own(values.shape[-1])


@lru_cache(maxsize=4)
def _all_but_own(size: int) -> Array:
    return 1 - np.eye(size)


def with_diagonal(matrix: Array, diagonal: Array) -> Array:
    """`matrix`, its diagonals replaced."""
    at = np.arange(matrix.shape[-1])
    matrix[..., at, at] = diagonal
    return matrix


def diagonal(values: Array) -> Array:
    """Diagonal matrices."""
    return values[..., None] * np.eye(values.shape[-1])


def _slopes(function: Callable[[Array], Array], F: Array) -> Array:
    """∂function_a/∂F_b of each row by central differences, shape (…, K, K)."""
    steps = 1e-5 * np.eye(F.shape[-1])
    return np.stack([(function(F + step) - function(F - step)) / 2e-5 for step in steps], axis=-1)


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + np.swapaxes(matrix, -1, -2))


def check_scores(F: ArrayLike) -> Array:
    """Scores with a column for each of two classes or more."""
    F = as_float("F", F)
    if F.ndim < 1 or F.shape[-1] < 2:
        raise ValueError(f"F must have one column for each of two classes or more, got shape {F.shape}")
    return F


def check_distributions(name: str, P: ArrayLike) -> Array:
    """Rows of probabilities that sum to 1."""
    P = check_probability(name, P)
    if P.ndim < 1 or not np.allclose(P.sum(axis=-1), 1, atol=1e-6):
        raise ValueError(f"{name} must be probabilities of the classes: rows that sum to 1")
    return P


def _labels(y: ArrayLike, classes: int) -> Array:
    """Rows of class probabilities, from indices or from such rows."""
    array = np.asarray(y)
    if array.ndim >= 1 and array.shape[-1] == classes and array.dtype.kind == "f":
        return check_distributions("y", array)
    index = array.astype(np.intp) if array.dtype.kind in "iub" else np.array([-1])
    if np.any((index < 0) | (index >= classes)):
        raise ValueError(
            f"y must be class indices from 0 to {classes - 1}, or rows of {classes} probabilities"
        )
    return np.eye(classes)[index]
