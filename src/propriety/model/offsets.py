"""Estimators whose score may start from one that is known: an exposure, or another model's score."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.aliases import CostTerm, MatrixLike
from propriety.data.lazy import over_partitions, refuse_to_score
from propriety.data.namespaces import as_numpy, in_kind
from propriety.data.training import read_offset
from propriety.model.base import ProperClassifier, squeezed
from propriety.model.worth import worth

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike

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
    def decision_function(self, X: MatrixLike, *, offset: ArrayLike | None = None) -> Floats:
        """The score F: that of ``classes_[1]``, of shape (n,), for two classes, (n, K) for more.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        offset : array of shape (n,), or (n, K) for more than two classes, optional
            Added to the score, as in ``fit``.
        """
        return in_kind(squeezed(self._shifted(self._scores(self._table(X)), offset)), X)

    @over_partitions
    def predict_proba(self, X: MatrixLike, *, offset: ArrayLike | None = None) -> Floats:
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
        X: MatrixLike,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
        budget: float | None = None,
        offset: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Decide by the stated costs: the class of least expected cost.

        Of two classes it is the positive one iff its probability is at least fp_cost/(fp_cost + fn_cost). The
        positive class, whose misses cost ``fn_cost``, is ``pos_label`` or, if that is None, ``classes_[1]``,
        the last label in sorted order. With more than two classes and no cost matrix, the class of largest
        probability is decided.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        costs : Costs, data frame or array of shape (n, K, K), optional
            Costs of these rows, in the place of those of the constructor: a data frame has columns such as
            ``fp`` and ``fn``.
        fp_cost, fn_cost : array of shape (n,), or number, optional
            The short form of it.
        budget : int, or float in (0, 1), optional
            Decide the positive class for at most so many of the rows, or for such a share of them: those of
            largest expected saving, and only where there is one.
        offset : array of shape (n,), or (n, K) for more than two classes, optional
            Added to the score, as in ``fit``.
        """
        resolved = self._costs_to_decide(X, costs, fp_cost, fn_cost)
        probabilities = self._probabilities(self._shifted(self._scores(self._table(X)), offset))
        return in_kind(self._decided(probabilities, resolved, budget), X)

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        costs: CostsLike | None = None,
        fp_cost: CostTerm | None = None,
        fn_cost: CostTerm | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """1 less the share of the possible cost that the decisions incur: 1 is right throughout, 0 all wrong.

        Where every mistake costs the same it is the accuracy. It is what ``GridSearchCV`` and
        ``cross_val_score`` maximize if they are given no ``scoring``; ``evaluation.scorer`` judges the
        probabilities, with less noise.
        """
        refuse_to_score(X, y)
        resolved = self._costs_to_decide(X, costs, fp_cost, fn_cost)
        probabilities = self._probabilities(self._shifted(self._scores(self._table(X)), offset))
        return worth(self.classes_, probabilities, resolved, as_numpy(y), as_numpy(sample_weight))
