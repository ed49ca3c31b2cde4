"""What decisions cost: the only place where costs become a threshold, and probabilities a decision.

Costs come in two forms. What a false alarm and a miss cost, as numbers or one for each row, and what right
decisions bring. Or a matrix ``cost[true, decided]``, one or one for each row: the cost of any decision for
any class; one more column than classes is the cost of abstaining.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.errors import Argument, ArgumentError
from propriety.losses.point import as_float, check_probability

Array = NDArray[np.float64]


class PositiveClassWarning(UserWarning):
    """Costs differ, and nothing says which class is the one whose miss costs ``fn_cost``."""


class MissingCostsWarning(UserWarning):
    """``fit`` was given costs of its rows, and ``predict`` was not."""


class CostsOfRowsError(ValueError, AttributeError):
    """Costs differ by row, and were asked for without the rows; ``costs_for(X)`` has them.

    It is an AttributeError as well, so that a model whose costs differ by row has no attribute ``costs``.
    """


@dataclass(frozen=True, eq=False)
class ResolvedCosts:
    """Costs of decisions for known classes and rows, as a matrix.

    Made by `of_mistakes`, `of_matrix`, `read` and `equal`; `propriety.Costs.resolve` is what users call.

    Attributes
    ----------
    matrix : ndarray of shape (K, D) or (n, K, D)
        ``matrix[..., true, decided]``, with D = K decisions, or K + 1 of which the last is to abstain.
    positive : int
        For two classes, the one that can be missed; the other class is the one that raises no alarm.
    plain : bool
        Whether every mistake costs the same, so that the most probable class is the cheapest.
    by_side : bool
        Whether they were stated for a positive and a negative class, not for each class by a matrix.

    Examples
    --------
    >>> costs = ResolvedCosts.of_mistakes(1, 9)
    >>> costs.threshold, costs.decide([0.05, 0.1, 0.8])
    (0.1, array([0, 1, 1]))
    >>> costs.of_rows([0, 1], [1, 0])
    array([1., 9.])
    """

    matrix: Array
    positive: int = 1
    plain: bool = False
    by_side: bool = False

    @classmethod
    def of_mistakes(
        cls,
        fp_cost: ArrayLike = 1.0,
        fn_cost: ArrayLike = 1.0,
        *,
        tp_benefit: ArrayLike = 0.0,
        tn_benefit: ArrayLike = 0.0,
        positive: int = 1,
    ) -> ResolvedCosts:
        """From what a false alarm and a miss cost, and right decisions bring: numbers, or one for each row.

        >>> ResolvedCosts.of_mistakes(1, 0, tp_benefit=4).threshold  # a letter costs 1, a buyer brings 4
        0.2
        """
        given = (fp_cost, fn_cost, tp_benefit, tn_benefit)
        plain = all(type(term) is float or type(term) is int for term in given)
        return _of_numbers(given, positive) if plain else _of_mistakes(*given, positive)

    @classmethod
    def of_matrix(cls, cost_matrix: ArrayLike, *, positive: int = 1) -> ResolvedCosts:
        """From ``cost_matrix[true, decided]``, of shape (K, K), or (n, K, K) with one for each row.

        One more column is what abstaining costs.

        >>> ResolvedCosts.of_matrix([[0, 1, 0.2], [1, 0, 0.2]]).decide([[0.9, 0.1], [0.5, 0.5]])
        array([0, 2])
        """
        matrix = as_float("cost_matrix", cost_matrix)
        rows, columns = matrix.shape[-2:] if matrix.ndim in (2, 3) else (0, 0)
        if rows < 2 or columns not in (rows, rows + 1):
            raise ArgumentError(
                "cost_matrix",
                "must have shape (K, K), cost_matrix[true, predicted], or (K, K + 1) with the "
                f"cost of abstaining last, or one such matrix for each row, got {matrix.shape}",
            )
        if not np.all(np.isfinite(matrix)):
            raise ArgumentError("cost_matrix", "must be finite")
        return cls(matrix, positive)

    @classmethod
    def read(
        cls,
        fp_cost: ArrayLike = 1.0,
        fn_cost: ArrayLike = 1.0,
        cost_matrix: ArrayLike | None = None,
        *,
        tp_benefit: ArrayLike = 0.0,
        tn_benefit: ArrayLike = 0.0,
        positive: int = 1,
    ) -> ResolvedCosts:
        """From either form; both together are refused."""
        if cost_matrix is None:
            return cls.of_mistakes(
                fp_cost, fn_cost, tp_benefit=tp_benefit, tn_benefit=tn_benefit, positive=positive
            )
        given = ((fp_cost, 1), (fn_cost, 1), (tp_benefit, 0), (tn_benefit, 0))
        if any(np.ndim(term) or term != default for term, default in given):
            raise ValueError(
                "give either cost_matrix or fp_cost, fn_cost, tp_benefit and tn_benefit, not both"
            )
        return cls.of_matrix(cost_matrix, positive=positive)

    @classmethod
    def equal(cls, n_classes: int) -> ResolvedCosts:
        """Every mistake costs 1."""
        return cls(1.0 - np.eye(n_classes), plain=True)

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.matrix.shape[-2])

    @property
    def abstains(self) -> bool:
        """Whether there is one decision more than classes, to abstain."""
        return bool(self.matrix.shape[-1] > self.n_classes)

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
    def stake(self) -> Any:
        """What is at stake, fp_cost + fn_cost: a number, or one for each row; of two classes.

        Where one decision is the cheaper one for either class, nothing is.

        >>> ResolvedCosts.of_mistakes(1, [5, 9]).stake
        array([ 6., 10.])
        """
        alarm, miss = np.asarray(self.fp_cost), np.asarray(self.fn_cost)
        stake = np.where((alarm < 0) | (miss < 0), 0.0, alarm + miss)
        return float(stake) if stake.ndim == 0 else stake

    @property
    def threshold(self) -> Any:
        """The probability from which the positive class is the cheaper decision: fp/(fp + fn). [B §3]

        Among costs of rows, one that has nothing at stake is decided at ½; one in which a decision is the
        cheaper one for either class has 0 or infinity: always, or never.

        >>> ResolvedCosts.of_mistakes(1, 0, tp_benefit=[4, 1, -1]).threshold
        array([0.2, 0.5, inf])
        """
        return (_threshold if self.by_row else _threshold_of_numbers)(self.fp_cost, self.fn_cost)

    @property
    def boundary(self) -> Any:
        """The probability of class 1 at which the decision changes: the threshold, or 1 less it.

        >>> ResolvedCosts.of_mistakes(1, 9, positive=0).boundary
        0.9
        """
        return self.threshold if self.positive == 1 else 1 - self.threshold

    @property
    def sided(self) -> bool:
        """Whether it matters which of two classes is positive: one mistake costs more than the other."""
        return self.by_side and bool(np.any(self.threshold != 0.5) if self.by_row else self.threshold != 0.5)

    def take(self, rows: Any) -> ResolvedCosts:
        """The costs of some rows; the same if all rows have the same."""
        return replace(self, matrix=self.matrix[rows]) if self.by_row else self

    def mean(self, weight: Array | None = None) -> ResolvedCosts:
        """The weighted mean over rows; the same if all rows have the same."""
        return replace(self, matrix=np.average(self.matrix, 0, weight)) if self.by_row else self

    def decide(self, p: ArrayLike) -> NDArray[np.intp]:
        """The class of least expected cost for each row, as an index; K is to abstain.

        Two classes are decided by the threshold; of equally cheap ones the positive class. Several with a
        matrix: the last of equally cheap ones; if all mistakes cost the same, the most probable class.
        """
        if self.n_classes == 2 and not self.abstains:
            p = self._probability(p)
            self.check_rows(len(p))
            return np.where(p >= self.threshold, self.positive, 1 - self.positive)
        if self.plain:
            return np.argmax(np.asarray(p), axis=1)
        costs = self.expected(p)
        return costs.shape[1] - 1 - np.argmin(costs[:, ::-1], axis=1)

    def savings_of_acting(self, p: ArrayLike) -> Array:
        """Expected cost of deciding the negative class less that of the positive one, for each row.

        >>> ResolvedCosts.of_mistakes(1, 9).savings_of_acting([0.1, 0.5])
        array([0., 4.])
        """
        if self.n_classes != 2 or self.abstains:
            raise ValueError("acting is to decide the positive one of two classes, without abstaining")
        p = self._probability(p)
        self.check_rows(len(p))
        return np.asarray(p * self.fn_cost - (1 - p) * self.fp_cost)

    def decide_within(self, p: ArrayLike, budget: float) -> NDArray[np.intp]:
        """Decisions that act at most so often: on the rows of largest expected saving, where there is one.

        `budget` is a number of rows, or a share of them above 0 and below 1; of equal savings, the first rows
        are acted on.

        >>> ResolvedCosts.of_mistakes(1, 9).decide_within([0.2, 0.05, 0.9, 0.5], 2)
        array([0, 0, 1, 1])
        """
        saving, decided = self.savings_of_acting(p), self.decide(p)
        order = np.argsort(-saving, kind="stable")
        order = order[decided[order] == self.positive]
        decided[order[_rows_in(budget, len(saving)) :]] = 1 - self.positive
        return decided

    def _probability(self, p: ArrayLike) -> Array:
        """Probability of the positive class: as given, or its column of two."""
        p = np.asarray(p, dtype=np.float64)
        if p.ndim == 2 and p.shape[1] != 2:
            raise ValueError(f"p has {p.shape[1]} columns: give cost_matrix[true, predicted] for them")
        return p[:, self.positive] if p.ndim == 2 else p

    def expected(self, p: ArrayLike) -> Array:
        """Expected cost of each decision, shape (n, K), or (n, K + 1) with abstaining.

        >>> ResolvedCosts.of_mistakes(1, 9).expected([0.5])
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
        self.check_rows(len(P))
        return np.asarray(np.einsum("nt,ntk->nk", P, self.matrix) if self.by_row else P @ self.matrix)

    def of_rows(self, true: ArrayLike, decided: ArrayLike) -> Array:
        """What each decision cost, classes given as indices."""
        true, decided = np.asarray(true, dtype=np.intp), np.asarray(decided, dtype=np.intp)
        self.check_rows(len(true))
        if self.by_row:
            return np.asarray(self.matrix[np.arange(len(true)), true, decided])
        return np.asarray(self.matrix[true, decided])

    def check_rows(self, n: int) -> None:
        """Refuse costs of another number of rows."""
        if self.by_row and len(self.matrix) != n:
            raise ValueError(f"costs are given for {len(self.matrix)} rows, but there are {n}")


def _of_mistakes(
    fp_cost: ArrayLike, fn_cost: ArrayLike, tp_benefit: ArrayLike, tn_benefit: ArrayLike, positive: int
) -> ResolvedCosts:
    """Costs of two classes; see `ResolvedCosts.of_mistakes`."""
    terms = {
        "fp_cost": _cost("fp_cost", fp_cost),
        "fn_cost": _cost("fn_cost", fn_cost),
        "tp_benefit": _amount("tp_benefit", tp_benefit),
        "tn_benefit": _amount("tn_benefit", tn_benefit),
    }
    _check_same_rows(terms)
    _check_excess(terms, "fp_cost", "tn_benefit")
    _check_excess(terms, "fn_cost", "tp_benefit")
    alarm, miss, hit, quiet = np.broadcast_arrays(*terms.values())
    matrix = np.zeros((*alarm.shape, 2, 2))
    matrix[..., 1 - positive, positive], matrix[..., positive, 1 - positive] = alarm, miss
    matrix[..., positive, positive], matrix[..., 1 - positive, 1 - positive] = 0.0 - hit, 0.0 - quiet
    return ResolvedCosts(matrix, positive, by_side=True)


@lru_cache(maxsize=64)
def _of_numbers(given: tuple[Any, Any, Any, Any], positive: int) -> ResolvedCosts:
    """The same of plain numbers: those of one estimator are asked for again and again, so they are kept."""
    costs = _of_mistakes(*given, positive)
    costs.matrix.flags.writeable = False
    return costs


def _threshold(fp_cost: ArrayLike, fn_cost: ArrayLike) -> Any:
    """The threshold of what a false alarm and a miss cost more than the right decision."""
    alarm, miss = np.asarray(fp_cost), np.asarray(fn_cost)
    nothing = (alarm == 0) & (miss == 0)
    if np.any((alarm < 0) & (miss <= 0)) or np.any((alarm <= 0) & (miss < 0)):
        raise ArgumentError("costs", "must not make both wrong decisions cheaper than the right one")
    if alarm.ndim == 0 and (alarm < 0 or miss < 0 or nothing):
        raise ArgumentError("cost_matrix", "must not make a wrong decision cheaper than the right one")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        c = alarm / (alarm + miss)
        # Costs near the largest float have no sum; their ratio is what counts.
        c = np.where(np.isfinite(alarm + miss), c, 1 / (1 + miss / np.where(alarm > 0, alarm, 1.0)))
    c = np.select([nothing, alarm < 0, miss < 0], [0.5, 0.0, np.inf], c)
    return float(c) if c.ndim == 0 else c


#: The same of two numbers: every fit and every decision asks for it.
_threshold_of_numbers = lru_cache(maxsize=64)(_threshold)


def threshold(fp_cost: ArrayLike = 1.0, fn_cost: ArrayLike = 1.0) -> Any:
    """c = fp_cost/(fp_cost + fn_cost).

    >>> threshold(1, 9)
    0.1
    """
    return ResolvedCosts.of_mistakes(fp_cost, fn_cost).threshold


def _rows_in(budget: Any, n: int) -> int:
    """How many of n rows a budget allows to act on."""
    if isinstance(budget, numbers.Real) and not isinstance(budget, bool):
        amount = float(budget)
        if 0 < amount < 1:
            return int(amount * n)
        if amount >= 0 and amount.is_integer():
            return int(amount)
    raise ArgumentError("budget", f"must be a number of rows, or a share above 0 and below 1, got {budget!r}")


def _amount(name: str, value: ArrayLike) -> Array:
    """A finite number, or one for each row."""
    amount = as_float(name, value)
    if amount.ndim > 1:
        raise ArgumentError(
            name, f"must be a number or have one entry for each row, got shape {amount.shape}"
        )
    _refuse(name, "finite", amount, ~np.isfinite(amount))
    return amount


def _cost(name: str, value: ArrayLike) -> Array:
    """What a mistake costs: never negative."""
    cost = _amount(name, value)
    _refuse(name, "positive", cost, cost < 0)
    return cost


def _refuse(name: str, kind: str, values: Array, wrong: NDArray[np.bool_]) -> None:
    """Refuse a number that is wrong, or name the first row that is."""
    if not np.any(wrong):
        return
    if values.ndim == 0:
        raise ArgumentError(name, f"must be positive and finite, got {float(values)!r}")
    row = int(np.argmax(wrong))
    what = "is missing" if np.isnan(values[row]) else f"is {values[row]:g}"
    raise ArgumentError(name, f"must be {kind} in every row, and {what} in row {row}")


def _check_same_rows(terms: dict[str, Array]) -> None:
    lengths = {name: len(term) for name, term in terms.items() if term.ndim}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(f"costs must have one entry for each row: {counts}")


def _check_excess(terms: dict[str, Array], cost: str, benefit: str) -> None:
    """A mistake must cost more than the right decision; where rows differ, some may have it otherwise."""
    if terms[cost].ndim or terms[benefit].ndim or terms[cost] + terms[benefit] > 0:
        return
    if terms[benefit] == 0:
        raise ArgumentError(cost, f"must be positive and finite, got {float(terms[cost])!r}")
    raise ArgumentError(
        cost,
        "+ ",
        Argument(benefit),
        " must be positive: else the wrong decision is no dearer than the right one",
    )
