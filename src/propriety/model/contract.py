"""What a fitted model promises to those who read it: files, tables, report, command line and evaluation.

Readers ask for nothing else: no private name, no ``hasattr``. A new estimator that keeps this contract is
saved, reported, explained and served without a line changed elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from propriety.aliases import MatrixLike
from propriety.costs import ResolvedCosts

Floats = NDArray[np.float64]
#: How a model can be shown: a drawn tree, text, curves of its columns, or what columns add to the score.
TREE, TEXT, CURVES, EFFECTS = "tree", "text", "curves", "effects"


@runtime_checkable
class FittedModel(Protocol):
    """A fitted classifier of this library.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted.
    loss_ : composite, loss on the simplex, or loss
        What was fitted, gain and link included: a composite for two classes, a loss on the simplex for
        more; a tree grown by a loss without a weight function has that loss.
    has_row_costs : bool
        Whether its costs differ by row. If they do not, it has ``costs_``, what its decisions follow; if they
        do, there is no such attribute. ``costs_for(X)`` has them either way.
    view : str
        How it can be shown: "tree", "text", "curves" or "effects".
    """

    classes_: NDArray[Any]
    loss_: Any

    @property
    def has_row_costs(self) -> bool: ...  # noqa: D102

    @property
    def view(self) -> str: ...  # noqa: D102

    def costs_for(self, X: MatrixLike) -> ResolvedCosts:
        """What the decisions about these rows follow."""
        ...

    def decision_function(self, X: MatrixLike) -> Floats:
        """The score F: of shape (n,) for two classes, (n, K) for more."""
        ...

    def predict_proba(self, X: MatrixLike) -> Floats:
        """Probabilities of the classes, of shape (n, K)."""
        ...

    def contributions(self, X: MatrixLike) -> Floats:
        """What each feature adds to the score of each row, the score of no feature last; they add up to it.

        Of shape (n, d + 1) for two classes, (n, K, d + 1) for more. An offset is no part of them.
        """
        ...

    def importances(self) -> Floats:
        """How much each feature counts; the sum is 1, or 0 if none does."""
        ...

    def words(self, X: MatrixLike, class_names: Sequence[str] | None = None) -> list[list[str]]:
        """The rules that each row meets, in words; empty for a model that is not made of rules.

        `class_names` are what they call the classes; by default the labels themselves.
        """
        ...

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What it has learned, as plain values and as arrays."""
        ...

    @classmethod
    def from_state(cls, parameters: dict[str, Any], state: Any, arrays: Any) -> Self:
        """The model again: everything in the state and the arrays is taken out, and checked."""
        ...
