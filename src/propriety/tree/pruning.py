"""Cost-complexity pruning in the loss itself: the path, and the choice on it by cross-validation.

A tree T is charged its loss, as a share of the root's, plus α for each leaf. As α grows, the cheapest subtree
loses one weakest link after the other (Breiman, Friedman, Olshen & Stone 1984, chapter 3): each inner node
has a price from which it is a leaf, and the whole path is that one array.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.tree.nodes import Tree

Floats = NDArray[np.float64]
_EQUAL = 1e-12  # relative: means of losses that differ by less are equal


def collapse_prices(left: NDArray[np.int32], losses: Floats) -> Floats:
    """The α from which each node is a leaf of the cheapest subtree; infinite for leaves.

    `left` is the left child of each node, −1 at a leaf; parents come before their children.

    >>> collapse_prices(np.array([1, -1, 3, -1, -1]), np.array([10.0, 4.0, 3.0, 1.0, 1.0]))
    array([0.3, inf, 0.1, inf, inf])
    """
    m, price, children, loss = len(left), [np.inf] * len(left), left.tolist(), losses.tolist()
    root = loss[0] if loss[0] > 0 else 1.0
    below, leaves, parent = list(loss), [1] * m, [-1] * m  # of the subtree under each node
    for node in range(m - 1, -1, -1):
        child = children[node]
        if child >= 0:
            below[node] = below[child] + below[child + 1]
            leaves[node] = leaves[child] + leaves[child + 1]
            parent[child] = parent[child + 1] = node

    def link(node: int) -> float:
        return max(loss[node] - below[node], 0.0) / (leaves[node] - 1) / root

    heap = [(link(node), node) for node in range(m) if children[node] >= 0]
    heapq.heapify(heap)
    gone, alpha = [False] * m, 0.0  # has become a leaf, or lies under one
    while heap:
        value, node = heapq.heappop(heap)
        if gone[node]:
            continue
        # The links above one that is cut only grow: what was true earlier is a bound, looked at in its turn.
        now = link(node)
        if now > value:
            heapq.heappush(heap, (now, node))
            continue
        alpha = max(alpha, value)
        stack = [node]
        while stack:
            inner = stack.pop()
            gone[inner], child = True, children[inner]
            if child >= 0:
                price[inner] = min(price[inner], alpha)
                stack += [c for c in (child, child + 1) if not gone[c]]
        lost, fewer, above = loss[node] - below[node], leaves[node] - 1, node
        while above >= 0:
            below[above] += lost
            leaves[above] -= fewer
            above = parent[above]
    return np.array(price)


@dataclass(frozen=True)
class PruningPath:
    """The subtrees of least loss for every price of a leaf.

    Attributes
    ----------
    alphas : ndarray
        Prices from which each subtree is the cheapest, rising from 0; shares of the root's loss.
    n_leaves : ndarray of int
        Their numbers of leaves.
    losses : ndarray
        Their training losses per unit of weight.
    cv_losses, cv_errors : ndarray or None
        Mean loss on held-out rows and its standard error, if cross-validated.
    """

    alphas: Floats
    n_leaves: NDArray[np.intp]
    losses: Floats
    cv_losses: Floats | None = None
    cv_errors: Floats | None = None

    def __str__(self) -> str:
        """A table, one subtree a line."""
        head = f"{'alpha':>12} {'leaves':>7} {'loss':>10}"
        lines = [head + ("" if self.cv_losses is None else f" {'held out':>10} {'± s.e.':>9}")]
        for i, alpha in enumerate(self.alphas):
            line = f"{alpha:12.6g} {self.n_leaves[i]:7d} {self.losses[i]:10.6f}"
            if self.cv_losses is not None and self.cv_errors is not None:
                line += f" {self.cv_losses[i]:10.6f} {self.cv_errors[i]:9.6f}"
            lines.append(line)
        return "\n".join(lines)

    def choose(self, rule: str) -> int:
        """Position of the subtree with the least held-out loss, or the smallest within one error of it."""
        assert self.cv_losses is not None and self.cv_errors is not None  # noqa: PT018
        # Of equal ones the largest: how sums are rounded must not choose.
        best = int(np.argmax(self.cv_losses <= _raised(np.min(self.cv_losses))))
        if rule == "min" or not np.isfinite(self.cv_losses[best]):
            return best
        within = self.cv_losses <= _raised(self.cv_losses[best] + self.cv_errors[best])
        return int(np.flatnonzero(within)[-1])


def _raised(limit: float) -> float:
    """The limit, and what is equal to it but for rounding."""
    return limit + _EQUAL * abs(limit)


def pruning_path(tree: Tree) -> PruningPath:
    """The path of a grown tree; losses per unit of weight."""
    inner = tree.feature >= 0
    alphas = np.unique(np.append(tree.collapse[inner], 0.0))
    # Prices rise toward the root, so a node is a leaf from its own price (0 for leaves) up to its parent's.
    first = np.searchsorted(alphas, np.where(inner, tree.collapse, 0.0))
    last = np.append(len(alphas), np.searchsorted(alphas, tree.collapse[tree.parent[1:]]))
    counts, losses = np.zeros(len(alphas) + 1), np.zeros(len(alphas) + 1)
    for total, amount in ((counts, np.ones(len(inner))), (losses, tree.losses)):
        stands = first < last
        np.add.at(total, first[stands], amount[stands])
        np.subtract.at(total, last[stands], amount[stands])
    n_leaves = np.rint(np.cumsum(counts)[:-1]).astype(np.intp)
    return PruningPath(alphas, n_leaves, np.cumsum(losses)[:-1] / tree.weight[0])


def cross_validate(
    path: PruningPath,
    folds: Iterable[tuple[Any, Any]],
    fit: Callable[[Any], Callable[[Any, float], Floats]],
    y_loss: Callable[[Any, Floats], Floats],
    weights: Weights,
    groups: NDArray[np.intp] | None = None,
) -> PruningPath:
    """Held-out losses along a path, with the standard errors of rows, or of groups of them.

    ``fit(rows)`` grows a tree on some rows and answers probabilities of others at a price;
    ``y_loss(rows, P)`` is the loss of probabilities. Between two prices of the path the subtree is the same,
    and their geometric mean stands for the interval.
    """
    between = np.append(np.sqrt(path.alphas[:-1] * path.alphas[1:]), np.inf)
    parts = [(test, fit(train)) for train, test in folds]
    rows = np.concatenate([test for test, _ in parts])
    held_out, groups = weights.take(rows), None if groups is None else groups[rows]
    means, errors = np.empty(len(between)), np.full(len(between), np.inf)
    for i, alpha in enumerate(between):
        losses = np.concatenate([y_loss(test, predict(test, float(alpha))) for test, predict in parts])
        means[i] = held_out.mean(losses)
        if np.isfinite(means[i]):
            errors[i] = held_out.standard_error(losses, groups)
    return PruningPath(path.alphas, path.n_leaves, path.losses, means, errors)
