"""Costs as a user states them: numbers, ranges, columns, functions of rows, a matrix; and for which class.

`CostTerms` holds the statement; with classes and rows it becomes `propriety.costs.Costs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from propriety.costs import Costs
from propriety.data import uncertain
from propriety.data.table import named_column

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
    cost_matrix : array of shape (K, K), (K, K + 1), or one for each row, callable, or None
    pos_label : label, or None
        The class whose miss costs ``fn_cost``; None: the last of two.

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

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The parameters of an estimator; those it has not have their defaults."""
        terms = cls(**{term.name: getattr(estimator, term.name, term.default) for term in fields(cls)})
        for name in TERMS:
            value = getattr(terms, name)
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
            name: value if isinstance(value, str) or callable(value) else np.asarray(value)
            for name, value in given.items()
            if value is not None
        }
        return replace(self, **rows)

    @property
    def by_row(self) -> bool:
        """Whether they cannot be known without the rows."""
        return any(_of_rows(getattr(self, name)) for name in TERMS)

    def costs(self, classes: NDArray[Any], X: Any = None) -> Costs:
        """The costs for these classes and, where they depend on them, for these rows; checked."""
        positive = self._positive(classes)
        given = {name: self._resolved(name, X) for name in TERMS}
        if len(classes) > 2 and given["cost_matrix"] is None:
            defaults = {term.name: term.default for term in fields(self)}
            if any(np.ndim(given[name]) or given[name] != defaults[name] for name in TERMS[:-1]):
                raise ValueError(
                    f"benefits, fp_cost and fn_cost are for two classes, got {len(classes)} classes; give "
                    "cost_matrix[true, predicted]"
                )
            return Costs.equal(len(classes))
        costs = Costs.read(**given, positive=positive)
        if costs.n_classes != len(classes):
            raise ValueError(
                f"cost_matrix is for {costs.n_classes} classes, and there are {len(classes)}: "
                f"{classes.tolist()[:10]}"
            )
        if X is not None:
            costs.check_rows(_num_samples(X))
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
        if _of_rows(value):
            if X is None:
                raise ValueError(f"{name}={value!r} differs by row, so costs are known only for rows of X")
            return named_column(X, value, name) if isinstance(value, str) else np.asarray(value(X))
        if name != "cost_matrix" and uncertain.is_uncertain(value):
            return uncertain.mean(name, value)
        return value


def _of_rows(value: Any) -> bool:
    """Whether a term is a column or a function of the rows."""
    return isinstance(value, str) or callable(value)
