"""What a linear model minimizes: the weighted mean loss, in units free of the loss's scale, plus a penalty.

    f(θ) = Σ w_i ℓ(y_i, x_i θ) / (s Σ w_i) + penalty(θ)

with s = (loss of stating the uniform distribution)/log K, so that the know-nothing statement costs log K
under every loss, s = 1 for the log loss, and `alpha` means the same for ``loss`` and ``3 * loss``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np

from propriety.cached_properties import cached_property
from propriety.communicator import SINGLE, Communicator
from propriety.linear.design import Design, joined_blocks, upper
from propriety.linear.penalties import Penalty
from propriety.losses import Composite, SmoothLoss, fused
from propriety.losses.simplex import SimplexLoss
from propriety.separators.linalg import Codes, Floats, diagonal_of


class RowsLoss(Protocol):
    """The loss of rows with given labels: a `BinaryLoss`, a `SimplexRows` or `TailoredRows`.

    Scores F are those of the columns; a loss with an offset adds it by itself.
    """

    n_scores: int
    scale: float

    def values(self, rows: slice, F: Floats) -> Floats:
        """Loss of each row."""
        ...

    def gradients(self, rows: slice, F: Floats) -> Floats:
        """Derivative by the scores, of the scores' shape."""
        ...

    def values_and_gradients(self, rows: slice, F: Floats) -> tuple[Floats, Floats]:
        """Both, in one pass where there is one."""
        ...

    def curvatures(self, rows: slice, F: Floats, kind: str) -> Floats:
        """Second derivatives of each row: shape (m, K, K)."""
        ...

    def curvatures_times(self, rows: slice, F: Floats, kind: str, V: Floats) -> Floats:
        """Second derivatives of each row times a row of V: shape (m, K)."""
        ...

    def expected_squares(self, F: Floats) -> Floats:
        """E[∂ℓ ∂ℓᵀ] at the stated probabilities, of shape (n, K, K)."""
        ...

    def start(self, weight: Floats, communicator: Communicator = SINGLE) -> Floats:
        """Scores of the base rates, less the mean offset."""
        ...


def shifted(F: Floats, offset: Floats | None, rows: slice) -> Floats:
    """Scores of some rows with their offset, if there is one."""
    return F if offset is None else F + offset[rows]


#: Second derivatives that are made at once: 4 MB.
_AT_ONCE = 1 << 19
#: Rows up to which the formulas of a loss are cheaper than the table of them that is made for many rows.
_FEW = 10_000
#: The same for values that are special functions.
_FEW_SLOW = 300


@lru_cache(maxsize=256)
def _unit(loss: SmoothLoss) -> float:
    """What a loss is measured in: stating ½ costs so many log 2, above what the truth costs.

    >>> from propriety import losses
    >>> _unit(3 * losses.Log())
    3.0
    """
    floor = 0.5 * (float(loss.loss(1, 1.0)) + float(loss.loss(0, 0.0)))
    return (float(loss.entropy(0.5)) - floor) / float(np.log(2))


class BinaryLoss:
    """A composite loss of labels in {0, 1}, at scores that may have an offset of shape (n,)."""

    n_scores = 1

    def __init__(self, composite: Composite, y: Floats, offset: Floats | None = None) -> None:
        self.composite, self.y, self.offset, self.few = composite, y, offset, len(y) <= _FEW
        self.few_values = len(y) <= (_FEW_SLOW if composite.loss._slow else _FEW)
        self.scale = _unit(composite.loss)

    def values(self, rows: slice, F: Floats) -> Floats:
        """Loss of each row."""
        y, F = self.y[rows], shifted(F[:, 0], self.offset, rows)
        return self.composite.value(y, F) if self.few_values else self.composite.values(y, F, n_jobs=1)

    def gradients(self, rows: slice, F: Floats) -> Floats:
        """Derivative by the score."""
        y, F = self.y[rows], shifted(F[:, 0], self.offset, rows)
        g = self.composite.gradient(y, F) if self.few else self.composite.derivatives(y, F, n_jobs=1)[0]
        return g[:, None]

    def values_and_gradients(self, rows: slice, F: Floats) -> tuple[Floats, Floats]:
        """Both, by one pass of the formulas or one look at the table."""
        y, F = self.y[rows], np.ascontiguousarray(shifted(F[:, 0], self.offset, rows))
        if self.few_values:
            values, g = self.composite.values_and_gradients(y, F, n_jobs=1, table=False)
        else:
            values, g = self._by_table(y, F)
        return values, g[:, None]

    @cached_property
    def _by_table(self) -> Callable[[Floats, Floats], tuple[Floats, Floats]]:
        return fused.value_pass(self.composite)

    def curvatures(self, rows: slice, F: Floats, kind: str) -> Floats:
        """Fisher weight or Hessian of each row."""
        y, F, c = self.y[rows], shifted(F[:, 0], self.offset, rows), self.composite
        if self.few:
            h = c.fisher(F) if kind == "fisher" else c.hessian(y, F)
        else:
            h = c.derivatives(y, F, curvature=kind, n_jobs=1)[1]
        return h[:, None, None]

    def curvatures_times(self, rows: slice, F: Floats, kind: str, V: Floats) -> Floats:
        """Fisher weight or Hessian of each row times a number."""
        return self.curvatures(rows, F, kind)[:, 0] * V

    def expected_squares(self, F: Floats) -> Floats:
        """E[∂ℓ²] at the stated probabilities."""
        F, ones = shifted(F[:, 0], self.offset, slice(None)), np.ones(len(F))
        p = np.asarray(self.composite.inverse(F))
        up, down = (self.composite.derivatives(label * ones, F)[0] for label in (0, 1))
        return (p * down**2 + (1 - p) * up**2)[:, None, None]

    def start(self, weight: Floats, communicator: Communicator = SINGLE) -> Floats:
        """Score of the base rate, less the mean offset: the best constant, or near it."""
        base = np.atleast_1d(self.composite.link(mean_of(self.y, weight, communicator)))
        return base if self.offset is None else base - mean_of(self.offset, weight, communicator)

    def sample(self, stride: int) -> BinaryLoss:
        """Every `stride`-th row."""
        offset = None if self.offset is None else self.offset[::stride].copy()
        return BinaryLoss(self.composite, self.y[::stride].copy(), offset)


@lru_cache(maxsize=256)
def _simplex_unit(loss: SimplexLoss, n_classes: int) -> float:
    """The same of a loss on the simplex: stating the uniform distribution costs so many log K."""
    uniform = np.full((1, n_classes), 1 / n_classes)
    return float(loss.entropy(uniform)[0]) / float(np.log(n_classes))


@lru_cache(maxsize=256)
def _is_canonical(loss: SimplexLoss) -> bool:
    form = loss.margin_form
    if form is None or form.kind != "multinomial":
        return False
    return form.composite._canonical_factor is not None


class SimplexRows:
    """A loss on the simplex of labels 0 … K−1, at scores that may have an offset of shape (n, K)."""

    def __init__(self, loss: SimplexLoss, y: Codes, n_classes: int, offset: Floats | None = None) -> None:
        self.loss, self.y, self.n_scores, self.offset = loss, y.astype(np.intp), n_classes, offset
        self.scale = _simplex_unit(loss, n_classes)
        #: Whether the link is the loss's own, so that Fisher's matrices are the Hessians.
        self.canonical = _is_canonical(loss)

    def values(self, rows: slice, F: Floats) -> Floats:
        """Loss of each row."""
        return self.loss.value(self.y[rows], shifted(F, self.offset, rows))

    def gradients(self, rows: slice, F: Floats) -> Floats:
        """Derivative by the scores."""
        return self.loss.derivatives(self.y[rows], shifted(F, self.offset, rows))[0]

    def values_and_gradients(self, rows: slice, F: Floats) -> tuple[Floats, Floats]:
        """Both."""
        return self.loss.values_and_gradients(self.y[rows], shifted(F, self.offset, rows))

    def least_margin(self, F: Floats) -> float:
        """By how much the score of a row's own class exceeds all others, at least; without an offset."""
        at = np.arange(len(F)), self.y
        others = F.copy()
        others[at] = -np.inf
        return float(np.min(F[at] - others.max(axis=1)))

    def curvature_pairs(self, rows: slice, F: Floats, kind: str) -> Floats:
        """The same as `curvatures` with each pair of classes once, shape (K (K + 1)/2, m)."""
        if kind == "fisher" or self.canonical:
            return self.loss.fisher_pairs(shifted(F, self.offset, rows))
        first, second = upper(self.n_scores)
        return np.ascontiguousarray(self.curvatures(rows, F, kind)[:, first, second].T)

    def curvatures(self, rows: slice, F: Floats, kind: str) -> Floats:
        """The Hessian of each row, or its mean at the stated probabilities, shape (m, K, K)."""
        F = shifted(F, self.offset, rows)
        return self.loss.fisher(F) if kind == "fisher" else self.loss.hessian(self.y[rows], F)

    def curvatures_times(self, rows: slice, F: Floats, kind: str, V: Floats) -> Floats:
        """The same matrices times a row of V each, shape (m, K)."""
        F = shifted(F, self.offset, rows)
        if kind == "fisher":
            return self.loss.fisher_times(F, V)
        return self.loss.hessian_times(self.y[rows], F, V)

    def expected_squares(self, F: Floats) -> Floats:
        """E[∂ℓ ∂ℓᵀ] at the stated probabilities."""
        F = shifted(F, self.offset, slice(None))
        P, total = self.loss.inverse(F), np.zeros((len(F), self.n_scores, self.n_scores))
        for k in range(self.n_scores):
            g = self.loss.derivatives(np.full(len(F), k), F)[0]
            total += P[:, k, None, None] * g[:, :, None] * g[:, None, :]
        return total

    def start(self, weight: Floats, communicator: Communicator = SINGLE) -> Floats:
        """Scores of the class shares, less the mean offset."""
        shares = communicator.sum(np.bincount(self.y, weights=weight, minlength=self.n_scores))
        base = self.loss.link((shares / shares.sum())[None, :])[0]
        return base if self.offset is None else base - mean_of(self.offset, weight, communicator)


def mean_of(values: Floats, weight: Floats, communicator: Communicator) -> Any:
    """Weighted mean over the rows of all processes.

    >>> float(mean_of(np.array([1.0, 3.0]), np.array([1.0, 1.0]), SINGLE))
    2.0
    """
    if communicator.size == 1:
        return np.average(values, axis=0, weights=weight)
    return communicator.sum(weight @ values) / communicator.sum(weight.sum())


def row_losses(
    loss: Composite | SimplexLoss, codes: Codes, n_classes: int, offset: Floats | None = None
) -> list[RowsLoss]:
    """What is minimized: one problem, or for a loss of one class against the rest one for each class.

    >>> from propriety.losses import simplex
    >>> [part.n_scores for part in row_losses(simplex.MH(), np.array([0, 1, 2]), 3)]
    [1, 1, 1]
    """
    scores = [None] * n_classes if offset is None else list(np.ascontiguousarray(offset.T))
    if isinstance(loss, Composite):
        return [BinaryLoss(loss, codes.astype(np.float64), scores[0])]
    if loss.one_vs_rest is not None:
        labels = [(codes == k).astype(np.float64) for k in range(n_classes)]
        return [BinaryLoss(loss.one_vs_rest, y, o) for y, o in zip(labels, scores, strict=True)]
    return [SimplexRows(loss, codes, n_classes, offset)]


@dataclass(frozen=True)
class Iterate:
    """Where a solver stands: coefficients, scores, the objective, and the gradient of its smooth part."""

    theta: Floats
    scores: Floats
    value: float
    gradient: Floats


class Objective:
    """Mean loss plus penalty as a function of θ, shape (p, K)."""

    def __init__(self, design: Design, loss: RowsLoss, weight: Floats, penalty: Penalty) -> None:
        self.design, self.loss, self.penalty = design, loss, penalty
        self._sum = design.communicator.sum
        self.weight = weight / (float(self._sum(weight.sum())) * loss.scale)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of θ."""
        return self.design.p, self.loss.n_scores

    def start(self) -> Floats:
        """All slopes 0, the intercept at the base rate."""
        theta = np.zeros(self.shape)
        if self.design.intercept:
            theta[-1] = self.loss.start(self.weight, self.design.communicator)
        return theta

    def at(self, theta: Floats) -> Iterate:
        """Value and gradient at θ, in one pass over X."""
        design, loss = self.design, self.loss
        scores, scaled = np.empty((design.n, loss.n_scores)), design.scaled(theta)
        values = np.zeros(design.parts)
        partial = np.zeros((design.parts, *self.shape))

        def work(part: int, i: int, j: int) -> None:
            F, w, block = scores[i:j], self.weight[i:j], slice(i, j)
            rows = None if design.sparse else design.rows(i, j)
            design.forward(i, j, scaled, theta, F, rows)
            losses, g = loss.values_and_gradients(block, F)
            values[part] += float(w @ losses)
            design.backward(i, j, g * w[:, None], partial[part], rows)

        design.for_parts(work)
        gradient = design.finish(partial) + self.penalty.l2 * theta
        value = float(self._sum(values.sum()))
        return Iterate(theta, scores, value + self.penalty.value(theta), gradient)

    def value(self, theta: Floats, scores: Floats) -> float:
        """Value from scores that are known."""
        total = self._sum(self.weight @ self.loss.values(slice(None), scores))
        return float(total) + self.penalty.value(theta)

    def stationarity(self, point: Iterate) -> float:
        """Largest violation of the optimality conditions, in standardized coordinates."""
        if point.gradient.size == 0:
            return 0.0
        return float(np.max(self.penalty.violation(point.theta, point.gradient)))

    def row_curvatures(self, point: Iterate, kind: str, rows: slice = slice(None)) -> Floats:
        """Weighted second derivatives of some rows, shape (m, K, K)."""
        scores = np.ascontiguousarray(point.scores[rows])
        return self.loss.curvatures(rows, scores, kind) * self.weight[rows][:, None, None]

    def curvature(self, point: Iterate, kind: str = "fisher", stride: int = 1) -> Floats:
        """Matrix of second derivatives, coordinates ordered class by class: shape (K p, K p).

        From every `stride`-th row, counted for all of them.
        """
        design, (p, K) = self.design, self.shape
        if isinstance(self.loss, SimplexRows):
            of_rows = partial(self._pairs, self.loss, point, kind)
            total = joined_blocks(design.packed_grams(of_rows, K * (K + 1) // 2, stride), K, p)
        else:
            total = np.zeros((p, p))
            for rows in self._pieces(0, design.n, stride):
                total += design.gram(self.row_curvatures(point, kind, rows)[:, 0, 0], rows)
        total = self._sum(total)
        if stride > 1:
            total *= float(self._sum(self.weight.sum()) / max(self._sum(self.weight[::stride].sum()), 1e-300))
        diagonal_of(total).reshape(K, p)[...] += self.penalty.l2[:, 0]
        return total

    def _pairs(self, loss: SimplexRows, point: Iterate, kind: str, rows: slice) -> Floats:
        """Weighted second derivatives of some rows by each pair of scores, shape (K (K + 1)/2, m)."""
        scores = np.ascontiguousarray(point.scores[rows])
        pairs = loss.curvature_pairs(rows, scores, kind)
        pairs *= self.weight[rows]
        return pairs

    def curvature_diagonal(self, point: Iterate, kind: str) -> Floats:
        """About the diagonal of the curvature, shape (p, K), without a pass over X.

        The columns have unit variance, so their curvatures differ little: the sum of the rows' for all.
        """
        total = np.zeros(self.loss.n_scores)
        for rows in self._pieces(0, self.design.n):
            total += np.einsum("maa->a", self.row_curvatures(point, kind, rows))
        return self._sum(total) + self.penalty.l2

    def curvature_product(self, point: Iterate, kind: str) -> Callable[[Floats], Floats]:
        """The map v ↦ (Xᵀ C X + penalty) v for the row curvatures C at a point, one pass over X each.

        Those of one score are kept; of several, each pass multiplies by them anew, some rows at a time.
        """
        design, K = self.design, self.loss.n_scores
        kept = self.row_curvatures(point, kind)[:, 0] if K == 1 else None

        def times(rows: slice, F: Floats) -> Floats:
            if kept is not None:
                return kept[rows] * F
            return self.loss.curvatures_times(rows, point.scores[rows], kind, F) * self.weight[rows][:, None]

        def product(v: Floats) -> Floats:
            scaled = design.scaled(v)
            partial = np.zeros((design.parts, *self.shape))

            def work(part: int, i: int, j: int) -> None:
                F = np.empty((j - i, K))
                x = None if design.sparse else design.rows(i, j)
                design.forward(i, j, scaled, v, F, x)
                for rows in self._pieces(i, j):
                    within = slice(rows.start - i, rows.stop - i)
                    F[within] = times(rows, F[within])
                design.backward(i, j, F, partial[part], x)

            design.for_parts(work)
            return design.finish(partial) + self.penalty.l2 * v

        return product

    def _pieces(self, start: int, stop: int, stride: int = 1) -> Iterator[slice]:
        """The rows from `start` to `stop` in pieces whose second derivatives are few enough to be at hand."""
        size = max(256, _AT_ONCE // self.loss.n_scores**2) * stride
        for first in range(start, stop, size):
            yield slice(first, min(first + size, stop), stride)

    def restrict(self, columns: Codes) -> Objective:
        """The problem on some columns of X (and the intercept)."""
        design = self.design.restrict(columns)
        kept = np.append(columns, self.design.d) if self.design.intercept else columns
        small = copy(self)
        small.design, small.penalty = design, self.penalty.restrict(kept)
        return small
