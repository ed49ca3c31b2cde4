"""Estimators whose score may start from one that is known: an exposure, or another model's score."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.data.cost_terms import TERMS
from propriety.data.lazy import over_partitions, refuse_to_score
from propriety.data.namespaces import as_numpy, in_kind
from propriety.data.training import read_offset
from propriety.model.base import ProperClassifier, squeezed
from propriety.model.worth import worth

Floats = NDArray[np.float64]


class MissingOffsetWarning(UserWarning):
    """``fit`` was given an offset, and what is asked of the model now was not."""


class OffsetClassifier(ProperClassifier):
    """A `ProperClassifier` that learns what to add to an offset: F = offset + what was learned.

    ``fit`` passes its ``offset`` to `_read`, and learning finds it in ``Training.offset``.
    """

    def _shifted(self, scores: Floats, offset: Any) -> Floats:
        """Scores with the offset of their rows; a warning if the fit had one and these rows have none."""
        if offset is not None:
            return scores + read_offset(offset, *scores.shape)
        if self._needs_offset:
            warnings.warn(
                "fit was given an offset, and these rows have none: their scores are what the model adds to "
                "an offset of 0; give the offset of these rows",
                MissingOffsetWarning,
                stacklevel=3,
            )
        return scores

    @over_partitions
    def decision_function(self, X: Any, *, offset: Any = None) -> Floats:
        """The score F: that of ``classes_[1]``, of shape (n,), for two classes, (n, K) for more.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        offset : array of shape (n,), or (n, K) for more than two classes, optional
            Added to the score, as in ``fit``.
        """
        return in_kind(squeezed(self._shifted(self._scores(self._table(X)), offset)), X)

    @over_partitions
    def predict_proba(self, X: Any, *, offset: Any = None) -> Floats:
        """Probabilities of the classes, of shape (n, K), through the link of the loss.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        offset : array of shape (n,), or (n, K) for more than two classes, optional
            Added to the score, as in ``fit``.
        """
        return in_kind(self._probabilities(self._shifted(self._scores(self._table(X)), offset)), X)

    @over_partitions
    def predict(
        self,
        X: Any,
        *,
        fp_cost: Any = None,
        fn_cost: Any = None,
        tp_benefit: Any = None,
        tn_benefit: Any = None,
        cost_matrix: Any = None,
        budget: float | None = None,
        offset: Any = None,
    ) -> NDArray[Any]:
        """Decide by the stated costs: the class of least expected cost.

        Of two classes it is the positive one iff its probability is at least fp_cost/(fp_cost + fn_cost). The
        positive class, whose misses cost ``fn_cost``, is ``pos_label`` or, if that is None, ``classes_[1]``,
        the last label in sorted order. With more than two classes and no cost matrix, the class of largest
        probability is decided.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        fp_cost, fn_cost, tp_benefit, tn_benefit : array of shape (n,), or number, optional
            Costs of these rows, in the place of those of the constructor.
        cost_matrix : array of shape (n, K, K) or (K, K), optional
            The same; with another last column for abstaining, which returns ``abstain_label``.
        budget : int, or float in (0, 1), optional
            Decide the positive class for at most so many of the rows, or for such a share of them: those of
            largest expected saving, and only where there is one.
        offset : array of shape (n,), or (n, K) for more than two classes, optional
            Added to the score, as in ``fit``.
        """
        given = {
            "fp_cost": fp_cost,
            "fn_cost": fn_cost,
            "tp_benefit": tp_benefit,
            "tn_benefit": tn_benefit,
            "cost_matrix": cost_matrix,
        }
        costs = self._costs_to_decide(X, given)
        probabilities = self._probabilities(self._shifted(self._scores(self._table(X)), offset))
        return in_kind(self._decided(probabilities, costs, budget), X)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        fp_cost: Any = None,
        fn_cost: Any = None,
        tp_benefit: Any = None,
        tn_benefit: Any = None,
        cost_matrix: Any = None,
        offset: Any = None,
    ) -> float:
        """Minus the mean cost of decisions where costs are stated; else the share of right ones.

        It is what ``GridSearchCV`` and ``cross_val_score`` maximize if they are given no ``scoring``;
        ``evaluation.scorer`` judges the probabilities, with less noise.
        """
        refuse_to_score(X, y)
        given = (fp_cost, fn_cost, tp_benefit, tn_benefit, cost_matrix)
        costs = self._costs_to_decide(X, dict(zip(TERMS, given, strict=True)))
        probabilities = self._probabilities(self._shifted(self._scores(self._table(X)), offset))
        return worth(self.classes_, probabilities, costs, as_numpy(y), as_numpy(sample_weight))
