"""What each feature contributed to a score: exact Shapley values of a forest.

The game of a row: the worth of a set of features is the forest's mean score when only these features are
known, each other split followed both ways in proportion to the training rows. Lundberg, Erion and Lee
(2018), "Consistent individualized feature attribution for tree ensembles", algorithm 2, with an explicit
stack instead of recursion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import parallel
from propriety.data.table import Table
from propriety.export.formula import Formula, Trees, Votes
from propriety.trees.jit import allocating, inner
from propriety.trees.predictor import Forest, step

# Columns of a path: feature, share of rows that follow it unknown (zero), known (one), and weight.
_FEATURE, _ZERO, _ONE, _WEIGHT = range(4)
#: No feature is given; the root of a path has −1.
NONE = -2
_NOWHERE = np.empty(0)


@inner
def _extend(path, depth, zero, one, feature):
    path[depth, _FEATURE], path[depth, _ZERO], path[depth, _ONE] = feature, zero, one
    path[depth, _WEIGHT] = 1.0 if depth == 0 else 0.0
    for i in range(depth - 1, -1, -1):
        path[i + 1, _WEIGHT] += one * path[i, _WEIGHT] * (i + 1.0) / (depth + 1.0)
        path[i, _WEIGHT] = zero * path[i, _WEIGHT] * (depth - i) / (depth + 1.0)


@inner
def _unwind(path, depth, index):
    """Undo the extension by ``path[index]``; the path has depth + 1 entries before and depth after."""
    zero, one = path[index, _ZERO], path[index, _ONE]
    following = path[depth, _WEIGHT]
    for i in range(depth - 1, -1, -1):
        if one != 0.0:
            kept = path[i, _WEIGHT]
            path[i, _WEIGHT] = following * (depth + 1.0) / ((i + 1.0) * one)
            following = kept - path[i, _WEIGHT] * zero * (depth - i) / (depth + 1.0)
        else:
            path[i, _WEIGHT] = path[i, _WEIGHT] * (depth + 1.0) / (zero * (depth - i))
    for i in range(index, depth):
        for column in range(3):
            path[i, column] = path[i + 1, column]


@inner
def _unwound_sum(path, depth, index):
    """Sum of the weights that :func:`_unwind` would leave."""
    zero, one = path[index, _ZERO], path[index, _ONE]
    following, total = path[depth, _WEIGHT], 0.0
    for i in range(depth - 1, -1, -1):
        if one != 0.0:
            w = following * (depth + 1.0) / ((i + 1.0) * one)
            total += w
            following = path[i, _WEIGHT] - w * zero * (depth - i) / (depth + 1.0)
        else:
            total += path[i, _WEIGHT] * (depth + 1.0) / (zero * (depth - i))
    return total


@inner
def _add_leaf(path, depth, value, row):
    for i in range(1, depth + 1):
        known = path[i, _ONE] - path[i, _ZERO]
        row[np.int64(path[i, _FEATURE])] += _unwound_sum(path, depth, i) * known * value


@inner
def _follow(path, depth, zero, one, feature):
    """Extend a path by a feature, and return its depth."""
    for i in range(1, depth):  # a feature seen before: undo it, and multiply the shares
        if path[i, _FEATURE] == feature:
            zero *= path[i, _ZERO]
            one *= path[i, _ONE]
            _unwind(path, depth - 1, i)
            depth -= 1
            break
    _extend(path, depth, zero, one, feature)
    return depth


@inner
def _descend(nodes, sets, both, root, x, row, paths, stack, given, known):
    """Walk all leaves of a tree; ``stack`` holds (node, level, depth of path, zero, one, feature, share).

    The feature `given` takes no part in the game: it is `known` to all, or to none; `NONE` if there is none.
    The share is of the rows that follow it unknown. A value that is missing goes both ways at the nodes where
    ``both`` (empty: none) is a number, in the shares of the training rows: known or not, it tells nothing.
    """
    top = 0
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4], stack[0, 5] = root, 0, 0, 1.0, 1.0, -1.0
    stack[0, 6] = 1.0
    while top >= 0:
        at, level, depth = np.int64(stack[top, 0]), np.int64(stack[top, 1]), np.int64(stack[top, 2])
        zero, one, feature, part = stack[top, 3], stack[top, 4], stack[top, 5], stack[top, 6]
        top -= 1
        path = paths[level]
        if level > 0:
            for i in range(depth + 1):
                for column in range(path.shape[1]):
                    path[i, column] = paths[level - 1, i, column]
        # A feature that is given leaves the path as it was.
        depth = depth - 1 if feature == given else _follow(path, depth, zero, one, feature)
        node = nodes[at]
        if node.feature < 0:
            _add_leaf(path, depth, node.value * part, row)
            continue
        hot = np.int64(step(node, x[node.feature], sets))
        parted = both.size > 0 and np.isnan(x[node.feature]) and not np.isnan(both[at])
        for child in (np.int64(node.left), np.int64(node.left + 1)):
            share = nodes[child].weight / node.weight
            one, rest = np.float64(child == hot), part
            if parted:
                one = share
            if node.feature == given:
                rest *= one if known else share
            if share > 0.0 and rest > 0.0:
                top += 1
                stack[top, 0], stack[top, 1], stack[top, 2] = child, level + 1, depth + 1
                stack[top, 3], stack[top, 4], stack[top, 5] = share, one, node.feature
                stack[top, 6] = rest


@allocating
def _contribute(X, nodes, roots, sets, both, n_scores, max_depth, given, known, start, stop, result):
    paths = np.zeros((max_depth + 2, max_depth + 2, 4))
    stack = np.zeros((2 * max_depth + 4, 7))
    x = np.empty(X.shape[1])
    for i in range(start, stop):
        for j in range(X.shape[1]):
            x[j] = X[i, j]
        for t in range(roots.size - 1):
            _descend(nodes, sets, both, roots[t], x, result[i, t % n_scores], paths, stack, given, known)


def mean_values(forest: Forest) -> NDArray[np.float64]:
    """Mean score of the forest over its training rows, per score."""
    means = np.zeros(forest.n_scores)
    for t in range(len(forest.roots) - 1):
        nodes = forest.nodes[forest.roots[t] : forest.roots[t + 1]]
        leaves = nodes["feature"] < 0
        means[t % forest.n_scores] += np.average(nodes["value"][leaves], weights=nodes["weight"][leaves])
    return means


def contributions(forest: Forest, X: NDArray[np.floating], n_jobs: int) -> NDArray[np.float64]:
    """Contribution of each feature to each score, (n, n_scores, d).

    With :func:`mean_values` added they are the forest's scores.
    """
    return _values(forest, X, n_jobs, NONE, False)


def interactions(
    forest: Forest, X: NDArray[np.floating], n_jobs: int, both: NDArray[np.float64] = _NOWHERE
) -> NDArray[np.float64]:
    """Shapley interaction values, (n, n_scores, d, d): symmetric, and each row sums to its contribution.

    For two features, half of what the one contributes more when the other is known than when it is not; on
    the diagonal, what is left of the feature's own contribution. Lundberg et al. (2020), "From local
    explanations to global understanding with explainable AI for trees", equations 4 to 6. Missing values go
    both ways at the nodes where `both` is no NaN.
    """
    whole, d = _values(forest, X, n_jobs, NONE, False, both), X.shape[1]
    result = np.zeros((*whole.shape, d))
    for f in np.unique(forest.nodes["feature"][forest.nodes["feature"] >= 0]).tolist():
        with_it, without = (_values(forest, X, n_jobs, f, known, both) for known in (True, False))
        result[..., f] = 0.5 * (with_it - without)
    every = np.arange(d)
    result[..., every, every] = 0.0
    result[..., every, every] = whole - result.sum(axis=-1)
    return result


def interactions_of_votes(
    formula: Formula, table: Table, encoders: Sequence[Any], n_jobs: int
) -> NDArray[np.float64]:
    """Interaction values of trees that vote, on the scale of the probability.

    Of shape (n, d, d) for two classes, those of the second, and (n, K, d, d) for more.
    """
    trees, votes = formula.scores, formula.readout
    assert isinstance(trees, Trees)
    assert isinstance(votes, Votes)
    d, two = table.n_features, len(votes.sign) == 2
    columns = trees.values[:, -1:] if two else trees.values
    result = np.zeros((table.n_rows, columns.shape[1], d, d))
    both = _NOWHERE if trees.unseen_left is None else trees.unseen_left
    nodes = trees.nodes.copy()
    for k in range(columns.shape[1]):
        nodes["value"] = columns[:, k] / votes.total
        forest = Forest(nodes, trees.roots, trees.sets, 1)
        for start, stop, values in table.chunks(encoders):
            result[start:stop, k] = interactions(forest, values, n_jobs, both)[:, 0]
    return result[:, 0] if two else result


def _values(
    forest: Forest,
    X: NDArray[np.floating],
    n_jobs: int,
    given: int,
    known: bool,
    both: NDArray[np.float64] = _NOWHERE,
) -> NDArray[np.float64]:
    """Contributions while one feature is known to all, or to none."""
    result = np.zeros((len(X), forest.n_scores, X.shape[1]))
    max_depth = int(forest.nodes["depth"].max(initial=0))
    trees = (X, forest.nodes, forest.roots, forest.sets, both, forest.n_scores)
    parallel.for_blocks(
        lambda s, e: _contribute(*trees, max_depth, given, known, s, e, result),
        len(X),
        n_jobs=n_jobs,
        block=max(1, -(-len(X) // (8 * n_jobs))),
    )
    return result
