"""Whether a fitted model has seen the rows that judge it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.aliases import MatrixLike
from propriety.data.hashing import row_hashes
from propriety.data.seen import RowsSeen
from propriety.model.base import ProperClassifier

_ASKED = 1 << 20  # rows of a table that is read in pieces which are asked about


def rows_seen(model: ProperClassifier, X: MatrixLike) -> RowsSeen | None:
    """What is known of whether a model was fitted to the rows of X; None if nothing is.

    A model of this library keeps hashes of some of its training rows; files of older versions hold none.

    >>> from propriety import LinearClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(300, 3)), np.arange(300) % 2
    >>> model = LinearClassifier().fit(X[:200], y[:200])
    >>> rows_seen(model, X[:200]).judged_by, rows_seen(model, X[200:]).judged_by
    ('rows that the model was fitted to', 'rows that the model was not fitted to')
    """
    asked = RowsAsked(model)
    asked.add(X)
    return asked.answer


class RowsAsked:
    """The same of a table that is read in pieces, of which the first million rows are asked about."""

    def __init__(self, model: ProperClassifier) -> None:
        self._model = model if isinstance(model, ProperClassifier) else None
        self._sketch = None if self._model is None else self._model._training_rows
        self._hashes: list[NDArray[np.uint64]] = []
        self._n_rows = 0

    def add(self, X: MatrixLike) -> None:
        """Ask about the rows of a piece as well."""
        if self._model is not None and self._sketch is not None and self._n_rows < _ASKED:
            self._hashes.append(row_hashes(self._model._table(X)))
            self._n_rows += len(self._hashes[-1])

    def join(self, other: RowsAsked) -> None:
        """Ask about the rows of another table as well."""
        self._hashes += other._hashes
        self._n_rows += other._n_rows

    @property
    def answer(self) -> RowsSeen | None:
        """What is known so far."""
        if self._sketch is None or not self._hashes:
            return None
        return self._sketch.asked_hashes(np.concatenate(self._hashes))
