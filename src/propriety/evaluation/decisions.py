"""Decisions and what they cost: thresholds, costs of rows, cost matrices.

Costs come in two forms. ``fp_cost`` and ``fn_cost`` are what a false alarm and a miss cost, as numbers or
as one number for each row; a right decision costs nothing. ``cost_matrix[true, predicted]`` is the cost of
any decision for any class, of shape (K, K), or (n, K, K) with a matrix for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.evaluation import inputs
from propriety.evaluation.inputs import Array
from propriety.evaluation.routing import Scorer
from propriety.evaluation.scores import class_index
from propriety.losses.point import as_float, check_probability


def threshold(
    fp_cost: ArrayLike = 1.0, fn_cost: ArrayLike = 1.0, *, cost_matrix: ArrayLike | None = None
) -> Any:
    """The probability from which class 1 is the cheaper decision: fp_cost/(fp_cost + fn_cost). [B §3]

    With a cost matrix of two classes, what counts is the excess of a wrong decision over the right one:
    c = (C₀₁ − C₀₀)/(C₀₁ − C₀₀ + C₁₀ − C₁₁).

    >>> threshold(1, 9)
    0.1
    >>> threshold(cost_matrix=[[0, 1], [5, 1]])
    0.2
    """
    matrix = read_costs(fp_cost, fn_cost, cost_matrix)
    if matrix.shape[-1] != 2:
        raise ValueError("a threshold is for two classes; use decide with the cost matrix of several")
    alarm = matrix[..., 0, 1] - matrix[..., 0, 0]
    miss = matrix[..., 1, 0] - matrix[..., 1, 1]
    if np.any(alarm < 0) or np.any(miss < 0) or np.any(alarm + miss <= 0):
        raise ValueError("cost_matrix must not make a wrong decision cheaper than the right one")
    c = alarm / (alarm + miss)
    return float(c) if c.ndim == 0 else c


def decide(
    p: ArrayLike,
    *,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    cost_matrix: ArrayLike | None = None,
) -> np.ndarray:
    """The class of least expected cost for every row, as an index.

    For two classes it is 1 iff p ≥ fp_cost/(fp_cost + fn_cost), as in ``predict`` of the estimators here;
    with a cost matrix, the class k of least Σ_t P[t] cost[t, k], the last of equally cheap ones.

    >>> decide([0.05, 0.1, 0.8], fp_cost=1, fn_cost=9)
    array([0, 1, 1])
    >>> decide([[0.5, 0.3, 0.2]], cost_matrix=[[0, 1, 1], [1, 0, 1], [9, 9, 0]])
    array([2])
    """
    if cost_matrix is None:
        if np.ndim(p) == 2 and np.shape(p)[1] > 2:
            raise ValueError(f"p has {np.shape(p)[1]} columns: give cost_matrix[true, predicted] for them")
        p = inputs.probabilities(p)
        return (p >= threshold(fp_cost, fn_cost)).astype(np.intp)
    costs = _costs_of_decisions(p, read_costs(fp_cost, fn_cost, cost_matrix))
    n_classes = costs.shape[1]
    return n_classes - 1 - np.argmin(costs[:, ::-1], axis=1)


def costs_of(
    y: ArrayLike,
    decision: ArrayLike,
    *,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    cost_matrix: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> Array:
    """What each decision cost; see `mean_cost`.

    >>> costs_of([0, 1, 1], [1, 0, 1], fp_cost=[2, 2, 2], fn_cost=[5, 6, 7])
    array([2., 6., 0.])
    """
    matrix = read_costs(fp_cost, fn_cost, cost_matrix)
    true, chosen = _indices(y, decision, matrix.shape[-1], labels)
    _check_rows(matrix, len(true))
    return matrix[true, chosen] if matrix.ndim == 2 else matrix[np.arange(len(true)), true, chosen]


def mean_cost(
    y: ArrayLike,
    decision: ArrayLike,
    *,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    cost_matrix: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> float:
    """Mean cost of decisions made: what ``predict`` cost on rows whose labels are known.

    Parameters
    ----------
    y : array of labels
    decision : array of labels
        The class decided for each row.
    fp_cost, fn_cost : float or array of shape (n,)
        Costs of a false alarm and of a miss; for two classes.
    cost_matrix : array of shape (K, K) or (n, K, K), optional
        ``cost_matrix[true, predicted]``, instead of the two.
    sample_weight : array of shape (n,), optional
    labels : array of shape (K,), optional
        The classes, in the order of the matrix; by default the sorted labels of y and the decisions, or
        0 … K−1 if those are whole numbers below K.

    Examples
    --------
    >>> mean_cost([0, 0, 1, 1], [0, 1, 0, 1], fp_cost=1, fn_cost=9)
    2.5
    >>> mean_cost(["a", "b", "c"], ["b", "b", "a"], cost_matrix=[[0, 3, 9], [1, 0, 1], [6, 2, 0]])
    3.0
    """
    costs = costs_of(y, decision, fp_cost=fp_cost, fn_cost=fn_cost, cost_matrix=cost_matrix, labels=labels)
    return inputs.mean(costs, inputs.weights(sample_weight, len(costs)))


def expected_cost(
    p: ArrayLike,
    decision: ArrayLike | None = None,
    *,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    cost_matrix: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean cost that the probabilities themselves expect, of decisions given as indices or of the best ones.

    No labels are needed: for rows still to be seen it is a forecast, as good as the probabilities are
    calibrated.

    >>> expected_cost([0.05, 0.5], fp_cost=1, fn_cost=9)
    0.475
    """
    matrix = read_costs(fp_cost, fn_cost, cost_matrix)
    costs = _costs_of_decisions(p, matrix)
    if decision is None:
        decision = decide(p, fp_cost=fp_cost, fn_cost=fn_cost, cost_matrix=cost_matrix)
    chosen = np.asarray(decision)
    inputs.same_length(p=costs, decision=chosen)
    if chosen.dtype.kind not in "biu" or chosen.min() < 0 or chosen.max() >= costs.shape[1]:
        raise ValueError(f"decision must be class indices from 0 to {costs.shape[1] - 1}")
    picked = np.take_along_axis(costs, chosen.astype(np.intp)[:, None], axis=1)[:, 0]
    return inputs.mean(picked, inputs.weights(sample_weight, len(picked)))


def cost_scorer(
    fp_cost: float = 1.0, fn_cost: float = 1.0, *, cost_matrix: ArrayLike | None = None, by: str = "proba"
) -> CostScorer:
    """A scorer for scikit-learn's ``scoring=``: minus the mean cost of an estimator's decisions.

    ``by="proba"`` decides by the theoretical threshold (or the least expected cost) from ``predict_proba``,
    ``by="predict"`` takes the decisions of ``predict``.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(cost_scorer(fp_cost=1, fn_cost=9)(DummyClassifier().fit(X, y), X, y), 4)
    -0.3726
    """
    if by not in ("proba", "predict"):
        raise ValueError(f"by must be 'proba' or 'predict', got {by!r}")
    return CostScorer(fp_cost, fn_cost, cost_matrix, by, read_costs(fp_cost, fn_cost, cost_matrix))


class CostScorer(Scorer):
    """What `cost_scorer` returns: minus the mean cost of an estimator's decisions."""

    def __init__(self, fp_cost: Any, fn_cost: Any, cost_matrix: Any, by: str, matrix: Array):
        super().__init__()
        self.fp_cost, self.fn_cost, self.cost_matrix = fp_cost, fn_cost, cost_matrix
        self.by, self.matrix = by, matrix

    def _score(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
        true = class_index(y, estimator.classes_)
        if self.by == "predict":
            decision = class_index(estimator.predict(X), estimator.classes_)
        else:
            decision = decide(
                estimator.predict_proba(X),
                fp_cost=self.fp_cost,
                fn_cost=self.fn_cost,
                cost_matrix=self.cost_matrix,
            )
        return -mean_cost(true, decision, cost_matrix=self.matrix, sample_weight=sample_weight)

    def __repr__(self) -> str:
        costs = f"fp_cost={self.fp_cost!r}, fn_cost={self.fn_cost!r}"
        if self.cost_matrix is not None:
            costs = f"cost_matrix={np.asarray(self.cost_matrix).tolist()!r}"
        return f"cost_scorer({costs}, by={self.by!r})"


def read_costs(
    fp_cost: ArrayLike = 1.0, fn_cost: ArrayLike = 1.0, cost_matrix: ArrayLike | None = None
) -> Array:
    """Costs of any form as ``matrix[..., true, predicted]``."""
    if cost_matrix is None:
        alarm, miss = positive_costs("fp_cost", fp_cost), positive_costs("fn_cost", fn_cost)
        alarm, miss = np.broadcast_arrays(alarm, miss)
        zero = np.zeros_like(alarm)
        return np.stack([np.stack([zero, alarm], -1), np.stack([miss, zero], -1)], -2)
    if np.ndim(fp_cost) or np.ndim(fn_cost) or fp_cost != 1 or fn_cost != 1:
        raise ValueError("give either fp_cost and fn_cost, or cost_matrix, not both")
    matrix = as_float("cost_matrix", cost_matrix)
    if matrix.ndim not in (2, 3) or matrix.shape[-1] != matrix.shape[-2] or matrix.shape[-1] < 2:
        raise ValueError(
            "cost_matrix must have shape (K, K), cost_matrix[true, predicted], or (n, K, K) with one for "
            f"each row, got {matrix.shape}"
        )
    if not np.all(np.isfinite(matrix)):
        raise ValueError("cost_matrix must be finite")
    return matrix


def positive_costs(name: str, value: ArrayLike, n: int | None = None) -> Array:
    """Costs as a number or one for each of `n` rows, all positive."""
    cost = as_float(name, value)
    if cost.ndim > 1 or (cost.ndim == 1 and n is not None and len(cost) != n):
        raise ValueError(f"{name} must be a number or have one entry for each row, got shape {cost.shape}")
    if not np.all(np.isfinite(cost)) or np.any(cost <= 0):
        raise ValueError(f"{name} must be positive and finite")
    return cost


def _check_rows(matrix: Array, n: int) -> None:
    if matrix.ndim == 3 and len(matrix) != n:
        raise ValueError(f"costs are given for {len(matrix)} rows, but there are {n}")


def _costs_of_decisions(p: ArrayLike, matrix: Array) -> Array:
    """Expected cost of every class for every row, shape (n, K)."""
    P = check_probability("p", p)
    if P.ndim == 1:
        P = np.column_stack([1 - P, P])
    if P.ndim != 2 or P.shape[1] != matrix.shape[-1]:
        raise ValueError(
            f"p must have one column for each of {matrix.shape[-1]} classes of the costs, got shape {P.shape}"
        )
    _check_rows(matrix, len(P))
    return P @ matrix if matrix.ndim == 2 else np.einsum("nt,ntk->nk", P, matrix)


def _indices(y: ArrayLike, decision: ArrayLike, n_classes: int, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    true, chosen = np.asarray(y), np.asarray(decision)
    inputs.same_length(y=true, decision=chosen)
    if labels is None:
        found = np.unique(np.concatenate([true, chosen]))
        whole = found.dtype.kind in "biu" or (found.dtype.kind == "f" and np.all(found == np.floor(found)))
        if whole and found[0] >= 0 and found[-1] < n_classes:
            return true.astype(np.intp), chosen.astype(np.intp)
        if len(found) != n_classes:
            raise ValueError(
                f"y and decision have the labels {found[:5].tolist()}, but the costs are for {n_classes} "
                "classes; give labels= in the order of the costs"
            )
        return np.searchsorted(found, true), np.searchsorted(found, chosen)
    order = {label: k for k, label in enumerate(np.asarray(labels).tolist())}
    if len(order) != n_classes:
        raise ValueError(f"labels must name {n_classes} classes, got {list(order)}")
    try:
        return tuple(np.array([order[v] for v in a.tolist()], dtype=np.intp) for a in (true, chosen))  # type: ignore[return-value]
    except KeyError as error:
        raise ValueError(f"label {error.args[0]!r} is not among labels={list(order)}") from None
