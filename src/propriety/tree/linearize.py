"""A tree as a linear separator on rules: the bridge from decision trees to linear models. [N9 §4.2]"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety.aliases import MatrixLike
from propriety.data.table import Schema
from propriety.losses.links import Link
from propriety.tree.conditions import Rule

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LinearizedTree:
    """Rules and coefficients whose weighted sum is the tree's score.

    The root's rule is always true; its coefficient is the score of the base rate. Each other node has a rule,
    true for the rows that reach it, and as coefficient what its score adds to its parent's. Along a path the
    sum telescopes to the leaf's score, α_k h_k = F(p_k) − Σ of the ancestors'.

    Attributes
    ----------
    rules : list of Rule
        One for each node, the root first.
    coefficients : ndarray of shape (rules, 1) or (rules, K)
        For two classes one column.
    link : Link or None
        The link of the scores for two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from propriety import TreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = TreeClassifier(max_leaf_nodes=4).fit(X, y)
    >>> linear = tree.to_linear()
    >>> bool(np.allclose(linear.transform(X) @ linear.coefficients[:, 0], tree.decision_function(X)))
    True
    """

    rules: list[Rule]
    coefficients: Floats
    schema: Schema
    link: Link | None = None

    def transform(self, X: MatrixLike) -> Floats:
        """Rules as columns of 0 and 1, computed from their conditions alone."""
        table = self.schema.read(X)
        columns: dict[int, Floats] = {}

        def column(f: int) -> Floats:
            if f not in columns:
                columns[f] = np.asarray(table.column(f), dtype=np.float64)
            return columns[f]

        return np.column_stack([rule.covers(column, table.n_rows) for rule in self.rules]).astype(np.float64)

    def decision_function(self, X: MatrixLike) -> Floats:
        """The score: the sum of the coefficients of the rules that hold."""
        # A rule that does not hold adds nothing, even where its coefficient is infinite.
        held = self.transform(X)[:, :, None] > 0
        scores = np.where(held, self.coefficients[None, :, :], 0.0).sum(axis=1)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def __str__(self) -> str:
        """One rule a line, with its coefficient for the last class."""
        return "\n".join(
            f"{c: 9.4f}  {rule}" for c, rule in zip(self.coefficients[:, -1], self.rules, strict=True)
        )
