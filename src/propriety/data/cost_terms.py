"""Costs as a user states them: numbers, ranges, columns, functions of rows, a matrix; and for which class.

`CostTerms` holds the statement; with classes and rows it becomes `propriety.costs.ResolvedCosts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from propriety.costs import CostsOfRowsError, ResolvedCosts
from propriety.data import uncertain
from propriety.data.stream import Stream
from propriety.data.table import Stacked, named_column, refuse_query

#: The terms that may differ by row.
TERMS = ("fp_cost", "fn_cost", "tp_benefit", "tn_benefit", "cost_matrix")


@dataclass(frozen=True)
class CostTerms:
    """What was said of costs.

    Attributes
    ----------
    fp_cost, fn_cost, tp_benefit, tn_benefit : number, pair, distribution, str, callable or array
        Of a false alarm, a miss, a hit and a right negative. A pair (low, high) or a frozen distribution
        stands for its mean; a text names a column of X; a function of X returns one number for each row.
    cost_matrix : array of shape (K, K), (K, K + 1), or one for each row, callable, data frame, dict or None
        A frame, or ``{true: {decided: cost}}``, names its classes: those that occur are taken from it.
    pos_label : label, or None
        The class whose miss costs ``fn_cost``; None: the last of two.
    known_classes : array, or None
        The classes that a matrix without names is for, if rows may lack some.

    Examples
    --------
    >>> import pandas as pd
    >>> terms = CostTerms(fn_cost="amount", pos_label="bad")
    >>> costs = terms.costs(np.array(["bad", "good"]), pd.DataFrame({"amount": [3.0, 9.0]}))
    >>> costs.threshold, costs.positive
    (array([0.25, 0.1 ]), 0)
    """

    fp_cost: Any = 1.0
    fn_cost: Any = 1.0
    tp_benefit: Any = 0.0
    tn_benefit: Any = 0.0
    cost_matrix: Any = None
    pos_label: Any = None
    known_classes: Any = None

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The parameters of an estimator; those it has not have their defaults."""
        stated = {name: getattr(estimator, name, default) for name, default in _DEFAULTS.items()}
        terms = cls(**stated | {"known_classes": getattr(estimator, "_known_classes", None)})
        for name in TERMS:
            value = getattr(terms, name)
            if _is_plain(value):
                continue
            if name == "cost_matrix":
                for_rows = not callable(value) and value is not None and np.ndim(value) > 2
            else:
                for_rows = not uncertain.is_uncertain(value) and np.ndim(value) > 0
            if for_rows:
                raise ValueError(
                    f"{name} has an entry for each of {len(value)} rows: give those to fit and predict; here "
                    "name a column of X, or give a function that makes them of X"
                )
        return terms

    @classmethod
    def of_rows(
        cls,
        fp_cost: Any,
        fn_cost: Any,
        tp_benefit: Any = 0.0,
        tn_benefit: Any = 0.0,
        cost_matrix: Any = None,
        pos_label: Any = None,
    ) -> CostTerms:
        """Terms of rows that are there: a pair is no range, but the costs of two rows.

        >>> CostTerms.of_rows(1, [5, 20]).costs(np.array([0, 1])).fn_cost
        array([ 5., 20.])
        """
        given = (fp_cost, fn_cost, tp_benefit, tn_benefit, cost_matrix)
        return cls(pos_label=pos_label).with_rows(dict(zip(TERMS, given, strict=True)))

    def with_rows(self, given: Mapping[str, Any]) -> CostTerms:
        """Terms that are given with the rows, in the place of those that were stated before."""
        rows = {
            name: value
            if isinstance(value, str) or callable(value) or is_labelled(value)
            else np.asarray(value)
            for name, value in given.items()
            if value is not None
        }
        return replace(self, **rows) if rows else self

    @property
    def labels(self) -> NDArray[Any] | None:
        """The classes that the cost matrix names; None if it names none."""
        if not is_labelled(self.cost_matrix):
            return None
        return np.array(_labelled_cells(self.cost_matrix)[0])

    @property
    def by_row(self) -> bool:
        """Whether they cannot be known without the rows."""
        return any(_of_rows(getattr(self, name)) for name in TERMS)

    def costs(self, classes: NDArray[Any], X: Any = None) -> ResolvedCosts:
        """The costs for these classes and, where they depend on them, for these rows; checked."""
        positive = self._positive(classes)
        given = {name: self._resolved(name, X) for name in TERMS}
        if len(classes) > 2 and given["cost_matrix"] is None:
            if any(np.ndim(given[name]) or given[name] != _DEFAULTS[name] for name in TERMS[:-1]):
                raise ValueError(
                    f"benefits, fp_cost and fn_cost are for two classes, got {len(classes)} classes; give "
                    "cost_matrix[true, predicted]"
                )
            return ResolvedCosts.equal(len(classes))
        if given["cost_matrix"] is not None:
            given["cost_matrix"] = matrix_for(given["cost_matrix"], classes, self.known_classes)
        costs = ResolvedCosts.read(**given, positive=positive)
        if costs.n_classes != len(classes):
            raise ValueError(
                f"cost_matrix is for {costs.n_classes} classes, and there are {len(classes)}: "
                f"{classes.tolist()[:10]}; if some rows, as those of a fold, may lack a class, name the "
                "classes: give a data frame, or a dict {true: {decided: cost}}"
            )
        if X is not None:
            if not isinstance(X, Stream):
                refuse_query(X)
            costs.check_rows(len(X) if type(X) is np.ndarray and X.ndim else _num_samples(X))
        if costs.n_classes == 2:
            costs.threshold  # noqa: B018 (it refuses a matrix that makes no sense)
        return costs

    def _positive(self, classes: NDArray[Any]) -> int:
        if self.pos_label is None:
            return 1
        if len(classes) > 2:
            raise ValueError(f"pos_label is for two classes, got {len(classes)} classes")
        labels = classes.tolist()
        if self.pos_label not in labels:
            raise ValueError(f"pos_label={self.pos_label!r} is not one of the classes {labels}")
        return int(labels.index(self.pos_label))

    def _resolved(self, name: str, X: Any) -> Any:
        """Numbers for a term."""
        value = getattr(self, name)
        if _is_plain(value):
            return value
        if _of_rows(value):
            if X is None:
                raise CostsOfRowsError(
                    f"{name}={value!r} differs by row, so costs are known only for rows: see costs_for(X)"
                )
            if isinstance(value, str):
                return named_column(X, value, name)
            if isinstance(X, Stream):
                raise TypeError(
                    f"{name} is a function of rows, and these are read in parts: name a column of the scan"
                )
            if isinstance(X, Stacked):
                return np.concatenate([np.asarray(value(part)) for part in X.parts])
            return np.asarray(value(X))
        if name != "cost_matrix" and uncertain.is_uncertain(value):
            return uncertain.mean(name, value)
        return value


#: What is not stated.
_DEFAULTS: dict[str, Any] = {term.name: term.default for term in fields(CostTerms)}


def as_dict(matrix: Any) -> Any:
    """A data frame of costs as ``{true: {decided: cost}}``, which means the same; others as they are.

    >>> import pandas as pd
    >>> as_dict(pd.DataFrame([[0, 2], [5, 0]], index=["a", "b"], columns=["a", "b"]))
    {'a': {'a': 0.0, 'b': 2.0}, 'b': {'a': 5.0, 'b': 0.0}}
    """
    if not is_labelled(matrix) or isinstance(matrix, Mapping):
        return matrix
    true, decided, values = _labelled_cells(matrix)
    rows = zip(true, values.tolist(), strict=True)
    return {label: dict(zip(decided, row, strict=True)) for label, row in rows}


def is_labelled(matrix: Any) -> bool:
    """Whether a cost matrix names its classes: a dict of dicts, or a data frame with an index."""
    return isinstance(matrix, Mapping) or (hasattr(matrix, "index") and hasattr(matrix, "columns"))


def matrix_for(matrix: Any, classes: NDArray[Any], known: NDArray[Any] | None = None) -> Any:
    """The rows and columns of a cost matrix for these classes; one column more is what abstaining costs.

    `known` are the classes, sorted, that a matrix without names is for.

    >>> costs = {"a": {"a": 0, "b": 1, "c": 4}, "b": {"a": 3, "b": 0, "c": 1}, "c": {"a": 9, "b": 9, "c": 0}}
    >>> matrix_for(costs, np.array(["a", "c"])).tolist()
    [[0.0, 4.0], [9.0, 0.0]]
    >>> matrix_for(1 - np.eye(3), np.array([0, 7]), known=np.array([0, 5, 7])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if is_labelled(matrix):
        true, decided, values = _labelled_cells(matrix)
        missing = [label for label in classes.tolist() if label not in true or label not in decided]
        if missing:
            raise ValueError(
                f"cost_matrix must have a row and a column for each class, and has none for {missing[:5]}"
            )
        others = [label for label in decided if label not in true]
    elif known is None:
        return matrix
    else:
        values = np.asarray(matrix)
        true = decided = known.tolist()
        if values.ndim < 2 or values.shape[-2] != len(true):
            return matrix
        others = ["abstain"] if values.shape[-1] > len(true) else []
        decided = [*decided, *others]
    rows = [true.index(label) for label in classes.tolist()]
    columns = [decided.index(label) for label in [*classes.tolist(), *others]]
    return values[..., rows, :][..., columns]


def _labelled_cells(matrix: Any) -> tuple[list[Any], list[Any], NDArray[np.float64]]:
    """Labels of rows and of columns, and the numbers."""
    if not isinstance(matrix, Mapping):
        return list(matrix.index), list(matrix.columns), np.asarray(matrix, dtype=np.float64)
    if not matrix or not all(isinstance(row, Mapping) and row for row in matrix.values()):
        raise ValueError("cost_matrix as a dict must be {true: {decided: cost}}, a dict for each true class")
    decided = list(next(iter(matrix.values())))
    for label, row in matrix.items():
        if set(row) != set(decided):
            raise ValueError(
                f"cost_matrix must have the same decisions for each class: {label!r} has {list(row)}, and "
                f"{next(iter(matrix))!r} has {decided}"
            )
    return (
        list(matrix),
        decided,
        np.array([[row[k] for k in decided] for row in matrix.values()], dtype=float),
    )


def _is_plain(value: Any) -> bool:
    """Whether a term is a number or is left out, so that nothing more need be asked of it."""
    return value is None or type(value) is float or type(value) is int


def _of_rows(value: Any) -> bool:
    """Whether a term is a column or a function of the rows."""
    return isinstance(value, str) or callable(value)
