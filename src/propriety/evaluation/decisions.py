"""Decisions and what they cost: thresholds, costs of rows, cost matrices.

Costs are given as `propriety.costs.Costs` reads them: ``fp_cost`` and ``fn_cost``, what a false alarm and a
miss cost, as numbers or as one number for each row; or ``cost_matrix[true, predicted]``, the cost of any
decision for any class, of shape (K, K), or (n, K, K) with a matrix for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.costs import Costs
from propriety.evaluation import inputs
from propriety.evaluation.inputs import Array
from propriety.evaluation.routing import Scorer
from propriety.evaluation.scores import class_index
from propriety.losses.point import check_probability


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
    return Costs.read(fp_cost, fn_cost, cost_matrix).threshold


def decide(
    p: ArrayLike,
    *,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    cost_matrix: ArrayLike | None = None,
) -> NDArray[np.intp]:
    """The class of least expected cost for every row, as an index.

    For two classes it is 1 iff p ≥ fp_cost/(fp_cost + fn_cost), as in ``predict`` of the estimators here;
    with a cost matrix, the class k of least Σ_t P[t] cost[t, k], the last of equally cheap ones.

    >>> decide([0.05, 0.1, 0.8], fp_cost=1, fn_cost=9)
    array([0, 1, 1])
    >>> decide([[0.5, 0.3, 0.2]], cost_matrix=[[0, 1, 1], [1, 0, 1], [9, 9, 0]])
    array([2])
    """
    return Costs.read(fp_cost, fn_cost, cost_matrix).decide(check_probability("p", p))


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
    costs = Costs.read(fp_cost, fn_cost, cost_matrix)
    return costs.of_rows(*_indices(y, decision, costs.n_classes, labels))


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
    costs = Costs.read(fp_cost, fn_cost, cost_matrix)
    of_classes = costs.expected(p)
    decided = costs.decide(p) if decision is None else np.asarray(decision)
    inputs.same_length(p=of_classes, decision=decided)
    if decided.dtype.kind not in "biu" or decided.min() < 0 or decided.max() >= costs.n_classes:
        raise ValueError(f"decision must be class indices from 0 to {costs.n_classes - 1}")
    of_decided = np.take_along_axis(of_classes, decided.astype(np.intp)[:, None], axis=1)[:, 0]
    return inputs.mean(of_decided, inputs.weights(sample_weight, len(of_decided)))


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
    return CostScorer(Costs.read(fp_cost, fn_cost, cost_matrix), by, by_matrix=cost_matrix is not None)


class CostScorer(Scorer):
    """What `cost_scorer` returns: minus the mean cost of an estimator's decisions."""

    def __init__(self, costs: Costs, by: str, *, by_matrix: bool = False) -> None:
        super().__init__()
        self.costs, self.by, self.by_matrix = costs, by, by_matrix

    def _score(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> float:
        true = class_index(y, estimator.classes_)
        if self.by == "predict":
            decided = class_index(estimator.predict(X), estimator.classes_)
        else:
            decided = self.costs.decide(check_probability("p", estimator.predict_proba(X)))
        costs = self.costs.of_rows(true, decided)
        return -inputs.mean(costs, inputs.weights(sample_weight, len(costs)))

    def __repr__(self) -> str:
        costs = f"fp_cost={self.costs.fp_cost!r}, fn_cost={self.costs.fn_cost!r}"
        if self.by_matrix:
            costs = f"cost_matrix={self.costs.matrix.tolist()!r}"
        return f"cost_scorer({costs}, by={self.by!r})"


def _indices(
    y: ArrayLike, decision: ArrayLike, n_classes: int, labels: Any
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Classes of labels and of decisions, as indices."""
    true, decided = np.asarray(y), np.asarray(decision)
    inputs.same_length(y=true, decision=decided)
    if labels is None:
        present = np.unique(np.concatenate([true, decided]))
        kind = present.dtype.kind
        whole = kind in "biu" or (kind == "f" and np.all(present == np.floor(present)))
        if whole and present[0] >= 0 and present[-1] < n_classes:
            return true.astype(np.intp), decided.astype(np.intp)
        if len(present) != n_classes:
            raise ValueError(
                f"y and decision have the labels {present[:5].tolist()}, but the costs are for {n_classes} "
                "classes; give labels= in the order of the costs"
            )
        return np.searchsorted(present, true), np.searchsorted(present, decided)
    order = {label: k for k, label in enumerate(np.asarray(labels).tolist())}
    if len(order) != n_classes:
        raise ValueError(f"labels must name {n_classes} classes, got {list(order)}")
    try:
        places = [np.array([order[v] for v in a.tolist()], dtype=np.intp) for a in (true, decided)]
    except KeyError as error:
        raise ValueError(f"label {error.args[0]!r} is not among labels={list(order)}") from None
    return places[0], places[1]
