"""What decisions cost: the only place where costs become a threshold, and probabilities a decision.

Costs come in two forms. Two numbers, or two for each row, are what a false alarm and a miss cost; a right
decision costs nothing. A matrix ``cost[true, decided]``, one or one for each row, has the cost of any
decision for any class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.losses.point import as_float, check_probability

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of decisions; `Costs.of_mistakes`, `Costs.of_matrix`, `Costs.read` and `Costs.equal` make them.

    Attributes
    ----------
    matrix : ndarray of shape (K, K) or (n, K, K)
        ``matrix[..., true, decided]``.
    positive : int
        For two classes, the one that can be missed; the other class is the one that raises no alarm.
    plain : bool
        Whether every mistake costs the same, so that the most probable class is the cheapest.

    Examples
    --------
    >>> costs = Costs.of_mistakes(1, 9)
    >>> costs.threshold, costs.decide([0.05, 0.1, 0.8])
    (0.1, array([0, 1, 1]))
    >>> costs.of_rows([0, 1], [1, 0])
    array([1., 9.])
    """

    matrix: Array
    positive: int = 1
    plain: bool = False

    @classmethod
    def of_mistakes(cls, fp_cost: ArrayLike = 1.0, fn_cost: ArrayLike = 1.0, *, positive: int = 1) -> Costs:
        """From what a false alarm and a miss cost: numbers, or one for each row."""
        alarm, miss = np.broadcast_arrays(_positive("fp_cost", fp_cost), _positive("fn_cost", fn_cost))
        zero = np.zeros_like(alarm)
        rows = [np.stack([zero, alarm], -1), np.stack([miss, zero], -1)]
        if positive == 0:
            rows = [np.stack([zero, miss], -1), np.stack([alarm, zero], -1)]
        return cls(np.stack(rows, -2), positive)

    @classmethod
    def of_matrix(cls, cost_matrix: ArrayLike) -> Costs:
        """From ``cost_matrix[true, decided]``, of shape (K, K), or (n, K, K) with one for each row."""
        matrix = as_float("cost_matrix", cost_matrix)
        if matrix.ndim not in (2, 3) or matrix.shape[-1] != matrix.shape[-2] or matrix.shape[-1] < 2:
            raise ValueError(
                "cost_matrix must have shape (K, K), cost_matrix[true, predicted], or (n, K, K) with one for "
                f"each row, got {matrix.shape}"
            )
        if not np.all(np.isfinite(matrix)):
            raise ValueError("cost_matrix must be finite")
        return cls(matrix)

    @classmethod
    def read(
        cls, fp_cost: ArrayLike = 1.0, fn_cost: ArrayLike = 1.0, cost_matrix: ArrayLike | None = None
    ) -> Costs:
        """From either form; both together are refused."""
        if cost_matrix is None:
            return cls.of_mistakes(fp_cost, fn_cost)
        if np.ndim(fp_cost) or np.ndim(fn_cost) or fp_cost != 1 or fn_cost != 1:
            raise ValueError("give either fp_cost and fn_cost, or cost_matrix, not both")
        return cls.of_matrix(cost_matrix)

    @classmethod
    def equal(cls, n_classes: int) -> Costs:
        """Every mistake costs 1."""
        return cls(1.0 - np.eye(n_classes), plain=True)

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.matrix.shape[-1])

    @property
    def by_row(self) -> bool:
        """Whether each row has its own."""
        return self.matrix.ndim == 3

    @property
    def fp_cost(self) -> Any:
        """Excess of a false alarm over the right decision: a number, or one for each row; of two classes."""
        return self._excess(1 - self.positive)

    @property
    def fn_cost(self) -> Any:
        """Excess of a miss over the right decision."""
        return self._excess(self.positive)

    def _excess(self, true: int) -> Any:
        if self.n_classes != 2:
            raise ValueError("a threshold is for two classes; use decide with the cost matrix of several")
        excess = self.matrix[..., true, 1 - true] - self.matrix[..., true, true]
        return float(excess) if excess.ndim == 0 else excess

    @property
    def threshold(self) -> Any:
        """The probability from which the positive class is the cheaper decision: fp/(fp + fn). [B §3]"""
        alarm, miss = np.asarray(self.fp_cost), np.asarray(self.fn_cost)
        if np.any(alarm < 0) or np.any(miss < 0) or np.any((alarm == 0) & (miss == 0)):
            raise ValueError("cost_matrix must not make a wrong decision cheaper than the right one")
        with np.errstate(over="ignore"):
            c = alarm / (alarm + miss)
            # Costs near the largest float have no sum; their ratio is what counts.
            c = np.where(np.isfinite(alarm + miss), c, 1 / (1 + miss / np.where(alarm > 0, alarm, 1.0)))
        return float(c) if c.ndim == 0 else c

    def decide(self, p: ArrayLike) -> NDArray[np.intp]:
        """The class of least expected cost for each row, as an index.

        Two classes are decided by the threshold; of equally cheap ones the positive class. Several with a
        matrix: the last of equally cheap ones; if all mistakes cost the same, the most probable class.
        """
        if self.n_classes == 2:
            yes = self._probability(p) >= self.threshold
            return np.where(yes, self.positive, 1 - self.positive)
        if self.plain:
            return np.argmax(np.asarray(p), axis=1)
        costs = self.expected(p)
        return self.n_classes - 1 - np.argmin(costs[:, ::-1], axis=1)

    def _probability(self, p: ArrayLike) -> Array:
        """Probability of the positive class: as given, or its column of two."""
        p = np.asarray(p, dtype=np.float64)
        if p.ndim == 2 and p.shape[1] != 2:
            raise ValueError(f"p has {p.shape[1]} columns: give cost_matrix[true, predicted] for them")
        return p[:, self.positive] if p.ndim == 2 else p

    def expected(self, p: ArrayLike) -> Array:
        """Expected cost of deciding each class, shape (n, K).

        >>> Costs.of_mistakes(1, 9).expected([0.5])
        array([[4.5, 0.5]])
        """
        P = check_probability("p", p)
        if P.ndim == 1:
            P = np.column_stack([1 - P, P] if self.positive == 1 else [P, 1 - P])
        if P.ndim != 2 or P.shape[1] != self.n_classes:
            raise ValueError(
                f"p must have one column for each of {self.n_classes} classes of the costs, "
                f"got shape {P.shape}"
            )
        self._check_rows(len(P))
        return np.asarray(np.einsum("nt,ntk->nk", P, self.matrix) if self.by_row else P @ self.matrix)

    def of_rows(self, true: ArrayLike, decided: ArrayLike) -> Array:
        """What each decision cost, classes given as indices."""
        true, decided = np.asarray(true, dtype=np.intp), np.asarray(decided, dtype=np.intp)
        self._check_rows(len(true))
        if self.by_row:
            return np.asarray(self.matrix[np.arange(len(true)), true, decided])
        return np.asarray(self.matrix[true, decided])

    def _check_rows(self, n: int) -> None:
        if self.by_row and len(self.matrix) != n:
            raise ValueError(f"costs are given for {len(self.matrix)} rows, but there are {n}")


def threshold(fp_cost: ArrayLike = 1.0, fn_cost: ArrayLike = 1.0) -> Any:
    """c = fp_cost/(fp_cost + fn_cost).

    >>> threshold(1, 9)
    0.1
    """
    return Costs.of_mistakes(fp_cost, fn_cost).threshold


def _positive(name: str, value: ArrayLike) -> Array:
    cost = as_float(name, value)
    if cost.ndim > 1:
        raise ValueError(f"{name} must be a number or have one entry for each row, got shape {cost.shape}")
    if not np.all(np.isfinite(cost)) or np.any(cost <= 0):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return cost
