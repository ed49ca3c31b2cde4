"""Decisions and what they cost: thresholds, costs of rows, cost matrices.

Costs are a `propriety.Costs`, or its short form: ``fp_cost`` and ``fn_cost``, what a false alarm and a miss
cost, as numbers or as one number for each row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import make_scorer

from propriety.aliases import CostTerm, Label
from propriety.costs import ResolvedCosts
from propriety.data.costs import OF_ROWS, Costs, abstain_label_of, read_terms
from propriety.data.labels import warn_of_side
from propriety.evaluation import inputs
from propriety.evaluation.condensing import condensed, refuse_collections
from propriety.evaluation.routing import Scorer
from propriety.evaluation.scores import class_index
from propriety.losses.point import check_probability

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike


def mean_cost(
    y: ArrayLike,
    decision: ArrayLike,
    *,
    costs: CostsLike | None = None,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Mean cost of decisions made: what ``predict`` cost on rows whose labels are known.

    `cost_summary` adds its confidence interval, the total and the savings. Rows may be in Dask collections
    with the same partitions.

    Parameters
    ----------
    y : array of labels
    decision : array of labels
        The class decided for each row.
    costs : Costs, data frame or array of shape (n, K, K), optional
        What mistakes cost and right decisions bring, with a label for decisions to abstain.
    fp_cost, fn_cost : float or array of shape (n,)
        The short form of it: costs of a false alarm and of a miss, for two classes.
    sample_weight : array of shape (n,), optional
    labels : array of shape (K,), optional
        The classes, in the order of the matrix; by default the sorted labels of y and the decisions, or
        0 … K−1 if those are whole numbers below K.
    pos_label : label, optional
        The class whose miss costs `fn_cost`; by default the last of two.

    Examples
    --------
    >>> mean_cost([0, 0, 1, 1], [0, 1, 0, 1], fp_cost=1, fn_cost=9)
    2.5
    >>> from propriety import Costs
    >>> costs = Costs(matrix=[[0, 3, 9], [1, 0, 1], [6, 2, 0]])
    >>> mean_cost(["a", "b", "c"], ["b", "b", "a"], costs=costs)
    3.0
    """
    stated = read_terms(costs, fp_cost, fn_cost, pos_label)
    given = condensed(y=y, decision=decision, sample_weight=sample_weight, **stated.terms)
    judged = read_decisions(given["y"], given["decision"], with_terms(stated, given), labels=labels)
    of_decisions = judged.costs.of_rows(judged.true, judged.decided)
    return inputs.mean(of_decisions, inputs.weights(given["sample_weight"], len(of_decisions)))


def expected_cost(
    p: ArrayLike,
    decision: ArrayLike | None = None,
    *,
    costs: CostsLike | None = None,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    sample_weight: ArrayLike | None = None,
    pos_label: int | None = None,
) -> float:
    """Mean cost that the probabilities themselves expect, of decisions given as indices or of the best ones.

    No labels are needed: for rows still to be seen it is a forecast, as good as the probabilities are
    calibrated. Of two columns, `pos_label` is the index of the one whose miss costs `fn_cost`.

    >>> expected_cost([0.05, 0.5], fp_cost=1, fn_cost=9)
    0.475
    """
    refuse_collections(p=p, decision=decision)
    stated = read_terms(costs, fp_cost, fn_cost)
    resolved = stated.replace(pos_label=stated.pos_label if pos_label is None else pos_label).of_columns
    of_decisions = resolved.expected(p)
    last = of_decisions.shape[1] - 1
    decided = resolved.decide(p) if decision is None else np.asarray(decision)
    inputs.same_length(p=of_decisions, decision=decided)
    if decided.dtype.kind not in "biu" or decided.min() < 0 or decided.max() > last:
        raise ValueError(f"decision must be class indices from 0 to {last}")
    of_decided = np.take_along_axis(of_decisions, decided.astype(np.intp)[:, None], axis=1)[:, 0]
    return inputs.mean(of_decided, inputs.weights(sample_weight, len(of_decided)))


def cost_scorer(
    costs: CostsLike | None = None,
    *,
    fp_cost: CostTerm = 1.0,
    fn_cost: CostTerm = 1.0,
    pos_label: Label | None = None,
    by: str = "proba",
) -> CostScorer:
    """A scorer for scikit-learn's ``scoring=``: minus the mean cost of an estimator's decisions.

    ``by="proba"`` decides by the theoretical threshold (or the least expected cost) from ``predict_proba``,
    ``by="predict"`` takes the decisions of ``predict``. Costs that differ by row are the name of a column, a
    function of X, or arrays: the scorer takes them in its call, and asks for them by ``set_score_request``
    where scikit-learn routes metadata. ``TunedThresholdClassifierCV`` takes it as well, and tries thresholds
    by what their decisions cost.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(cost_scorer(fp_cost=1, fn_cost=9)(DummyClassifier().fit(X, y), X, y), 4)
    -0.3726
    """
    if by not in ("proba", "predict"):
        raise ValueError(f"by must be 'proba' or 'predict', got {by!r}")
    stated = read_terms(costs, fp_cost, fn_cost, pos_label)
    if not stated.by_row:
        stated.replace(pos_label=None).of_columns  # noqa: B018 (refuses what makes no sense)
    return CostScorer(stated, by)


class CostScorer(Scorer):
    """What `cost_scorer` returns: minus the mean cost of an estimator's decisions."""

    takes: ClassVar[tuple[str, ...]] = ("sample_weight", *OF_ROWS)

    def __init__(self, costs: Costs, by: str) -> None:
        super().__init__()
        self.costs, self.by = costs, by
        # TunedThresholdClassifierCV asks a scorer for its function of labels and decisions; this one has the
        # parts of those that make_scorer returns.
        vars(self).update(vars(make_scorer(self._of_decisions, greater_is_better=False)))

    def _of_decisions(
        self, y: Any, decision: Any, *, sample_weight: ArrayLike | None = None, **of_rows: Any
    ) -> float:
        """Mean cost of decisions as labels, for those who make them from probabilities themselves."""
        stated = self.costs.with_rows(**of_rows)
        return mean_cost(y, decision, costs=stated, sample_weight=sample_weight)

    def _score(self, estimator: Any, X: Any, y: Any, sample_weight: Any, **of_rows: Any) -> float:
        refuse_collections(X=X, y=y)
        stated = self.costs.with_rows(**of_rows)
        # A matrix that names its classes knows those that the estimator has not seen.
        classes = estimator.classes_ if stated.labels is None else stated.labels
        costs = stated.resolve(classes, X)
        warn_of_side(classes, costs, stated.pos_label)
        if self.by == "predict":
            abstained = abstain_label_of(estimator)
            decided = _decided(np.asarray(estimator.predict(X)), classes.tolist(), costs, abstained)
        else:
            P = check_probability("p", estimator.predict_proba(X))
            if stated.labels is not None:
                seen, P = P, np.zeros((len(P), len(classes)))
                P[:, _places(estimator.classes_, classes.tolist())] = seen
            decided = costs.decide(P)
        true = class_index(y, classes) if stated.labels is None else _places(np.asarray(y), classes.tolist())
        of_decisions = costs.of_rows(true, decided)
        return -inputs.mean(of_decisions, inputs.weights(sample_weight, len(of_decisions)))

    def __repr__(self) -> str:
        return f"cost_scorer({self.costs!r}, by={self.by!r})"


class Judged(NamedTuple):
    """Classes and decisions as indices, the classes that these stand for, and the costs."""

    classes: list[Any]
    costs: ResolvedCosts
    true: NDArray[np.intp]
    decided: NDArray[np.intp]


def read_decisions(
    y: ArrayLike, decision: ArrayLike, stated: Costs, *, labels: ArrayLike | None = None
) -> Judged:
    """Labels, decisions and costs as a user gives them."""
    refuse_collections(y=y, decision=decision, **stated.terms)
    true, decided = np.asarray(y), np.asarray(decision)
    inputs.same_length(y=true, decision=decided)
    if labels is None:
        labels = stated.labels
    n_classes, abstained = len(stated.classes), stated.abstain_label
    classes = _classes(true, decided, n_classes, labels, (abstained, stated.pos_label))
    costs = stated.resolve(np.asarray(classes))
    if labels is None:
        warn_of_side(np.asarray(classes), costs, stated.pos_label)
    costs.check_rows(len(true))
    return Judged(classes, costs, _places(true, classes), _decided(decided, classes, costs, abstained))


def with_terms(stated: Costs, terms: Mapping[str, Any]) -> Costs:
    """The same costs with terms as `condensed` returns them."""
    return Costs.of_terms(
        terms,
        pos_label=stated.pos_label,
        abstain_label=stated.abstain_label,
        weight_by_stakes=stated.weight_by_stakes,
    )


def _classes(
    true: NDArray[Any], decided: NDArray[Any], n_classes: int, labels: Any, other: tuple[Any, Any]
) -> list[Any]:
    """The classes in the order of the costs; `other` are the labels of abstaining and of the positive."""
    if labels is not None:
        classes = list(dict.fromkeys(np.asarray(labels).tolist()))
        if len(classes) != n_classes:
            raise ValueError(f"labels must name {n_classes} classes, got {classes}")
        return classes
    abstain_label, pos_label = other
    present = {*true.tolist(), *decided.tolist()} - {abstain_label}
    present |= set() if pos_label is None else {pos_label}
    if all(isinstance(v, int | float) and v == int(v) and 0 <= v < n_classes for v in present):
        return list(range(n_classes))
    if len(present) != n_classes:
        raise ValueError(
            f"y and decision have the labels {sorted(present, key=str)[:5]}, but the costs are for "
            f"{n_classes} classes; give labels= in the order of the costs"
        )
    return sorted(present)


def _places(values: NDArray[Any], classes: list[Any]) -> NDArray[np.intp]:
    order = {label: k for k, label in enumerate(classes)}
    try:
        return np.array([order[value] for value in values.tolist()], dtype=np.intp)
    except KeyError as error:
        raise ValueError(f"label {error.args[0]!r} is not among labels={classes}") from None


def _decided(
    decision: NDArray[Any], classes: list[Any], costs: ResolvedCosts, abstain_label: Any
) -> NDArray[np.intp]:
    """Decisions as indices, abstaining among them if the costs know it."""
    return _places(decision, [*classes, abstain_label] if costs.abstains else classes)
