"""Margins v = Mλ and the losses of them: the common ground of boosting and Bregman-distance updates.

Two classes: M_ij = y*_i h_j(x_i). More classes: rows are pairs (i, l), columns are pairs (class, feature),

- logistic and AdaBoost.M2: l ≠ y_i, and v_il = f(x_i, y_i) − f(x_i, l);
- AdaBoost.MH and every loss one class against the rest: all l, and v_il = ±f(x_i, l).

Reference: Collins, Schapire & Singer (2000), sections 4 and 8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from propriety import losses
from propriety.aliases import MatrixLike
from propriety.data.table import is_sparse
from propriety.losses import simplex
from propriety.separators.linalg import Codes, Floats, times_rows

_TIE = 1e-9


class MarginLoss:
    """Σ φ(v) with φ the margin loss of a composite, which must be convex and have one."""

    def __init__(self, composite: losses.Composite) -> None:
        self.composite = composite
        self.growth = composite.growth

    def values(self, v: Floats) -> Floats:
        """φ(v) of each row."""
        return self.composite.values(np.ones_like(v), v)

    def weights(self, v: Floats) -> Floats:
        """w = −φ′(v)."""
        return -self.composite.derivatives(np.ones_like(v), v)[0]

    def curvature(self, v: Floats, M: Floats, weight: Floats, kind: str = "newton") -> Floats:
        """Mᵀ diag(weight φ″) M, or that with Fisher's weights."""
        h = self.composite.derivatives(np.ones_like(v), v, curvature=kind)[1]
        return M.T @ (M * (weight * np.maximum(h, 0.0))[:, None])


class MultinomialMargins:
    """Σ_i log(1 + Σ_l e^{−v_il}): the logistic loss of several classes, K − 1 margins a row."""

    growth = 1.0

    def __init__(self, others: int) -> None:
        self.others = others

    def _shares(self, v: Floats) -> tuple[Floats, Floats]:
        u = -v.reshape(-1, self.others)
        top = np.maximum(u.max(axis=1, keepdims=True), 0.0)
        e = np.exp(u - top)
        rest = e.sum(axis=1, keepdims=True)
        total = np.exp(-top) + rest
        # log1p: a row that is right by a wide margin has a small loss, not none.
        return e / total, np.where(top > 0, top + np.log(total), np.log1p(rest))[:, 0]

    def values(self, v: Floats) -> Floats:
        """Loss of each row of the data, spread over its margins evenly."""
        return np.repeat(self._shares(v)[1] / self.others, self.others)

    def weights(self, v: Floats) -> Floats:
        """q_il = e^{−v_il}/(1 + Σ e^{−v_il})."""
        return self._shares(v)[0].ravel()

    def curvature(self, v: Floats, M: Floats, weight: Floats, kind: str = "newton") -> Floats:
        """Mᵀ (diag(q) − q qᵀ within each row of the data) M, weighted; the link is canonical."""
        q = self.weights(v)
        qM = M * q[:, None]
        sums = qM.reshape(-1, self.others, M.shape[1]).sum(axis=1)
        return M.T @ (qM * weight[:, None]) - sums.T @ (sums * weight[:: self.others, None])


def largest(sizes: Floats, count: int = 1) -> list[int]:
    """Positions of the largest sizes; among those equal to rounding the first.

    With several classes the edges of a column sum to 0 over the classes, so that two are equal once a round
    has made the third 0: rounding must not choose.

    >>> largest(np.array([1.0, 3.0, 3.0 + 1e-14, 2.0]), 3)
    [1, 2, 3]
    """
    left, chosen = sizes.astype(np.float64), []
    for _ in range(min(count, len(left))):
        j = int(np.argmax(left >= left.max() * (1 - _TIE)))
        chosen.append(j)
        left[j] = -np.inf
    return chosen


class Margins:
    """A margin problem: minimize Σ weight · loss(Mλ).

    Parameters
    ----------
    M : array or CSR matrix of shape (rows, features)
    loss : MarginLoss or MultinomialMargins
    weight : array of shape (rows,)
        Already divided by their sum and by the loss's scale.
    """

    def __init__(self, M: Any, loss: Any, weight: Floats) -> None:
        self.M, self.loss, self.weight = M, loss, weight

    def values(self, v: Floats) -> float:
        """The objective."""
        return float(self.weight @ self.loss.values(v))

    def weights(self, v: Floats) -> Floats:
        """Weights of the rows, those of the data included."""
        return self.weight * self.loss.weights(v)

    def edges(self, w: Floats) -> Floats:
        """Σ_i w_i M_ij: minus the gradient."""
        return np.asarray(self.M.T @ w).ravel()

    def columns(self, T: Any) -> Floats:
        """Dense columns."""
        return self.M[:, T].toarray() if is_sparse(self.M) else self.M[:, T]

    def absolute(self) -> Any:
        """|M|."""
        return abs(self.M) if is_sparse(self.M) else np.abs(self.M)


def binary(X: MatrixLike, y: Codes, composite: losses.Composite, weight: Floats) -> Margins:
    """M_ij = y*_i x_ij."""
    signs = np.where(y > 0, 1.0, -1.0)
    return Margins(times_rows(signs, X), MarginLoss(composite), weight)


def several(X: Any, y: Codes, K: int, loss: simplex.SimplexLoss, weight: Floats) -> Margins:
    """Margins of K classes, columns ordered class by class."""
    X = sparse.csr_array(X)
    form = loss.margin_form
    if form is None:
        raise ValueError(
            f"{loss!r} has no margin form for several classes; use the log loss, PairwiseExponential, MH "
            "or multiclass='ovr', or solver='fisher'"
        )
    weight = weight * form.factor
    if form.kind == "multinomial":
        return Margins(_pairs(X, y, K), MultinomialMargins(K - 1), np.repeat(weight, K - 1))
    if form.kind == "pairs":
        return Margins(_pairs(X, y, K), MarginLoss(form.composite), np.repeat(weight, K - 1))
    signs = np.where(y[:, None] == np.arange(K), 1.0, -1.0)
    M = sparse.block_diag([sparse.diags_array(signs[:, k]) @ X for k in range(K)], format="csr")
    return Margins(M, MarginLoss(form.composite), np.tile(weight, K))


def _pairs(X: Any, y: Codes, K: int) -> Any:
    """M_{(i,l),(c,f)} = x_if (1[c = y_i] − 1[c = l]) for l ≠ y_i."""
    n, p = X.shape
    others = np.array([[l for l in range(K) if l != c] for c in range(K)])[y]  # (n, K−1)
    rows = np.repeat(np.arange(n), K - 1)
    base = X[rows].tocoo()
    own, other = y[rows][base.row], others.ravel()[base.row]
    i = np.concatenate([base.row, base.row])
    j = np.concatenate([own * p + base.col, other * p + base.col])
    data = np.concatenate([base.data, -base.data])
    return sparse.csr_array((data, (i, j)), shape=(n * (K - 1), K * p))
