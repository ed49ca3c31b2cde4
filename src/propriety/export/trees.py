"""Trees as one operator, TreeEnsemble of ai.onnx.ml 5, in double precision.

Sets of categories become columns of their own: 0 where a category goes left, 1 where it goes right, missing
values included. So every test is a comparison, which every runtime has, and a tree keeps its nodes.

Where that operator is not to be had, rows walk down the trees by steps of plain operators, all trees at once.
Where a row may go both ways, in parts, the parts of it that come to each node are computed level by level.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.export.columns import Columns
from propriety.export.formula import Trees
from propriety.export.graph import ML, Value, onnx_package

_SUM, _NOTHING, _LESS_OR_EQUAL = 1, 0, 0  # codes of the operator: aggregate, transform, mode


def write_trees(columns: Columns, trees: Trees) -> Value:
    """The scores, of shape (n, S)."""
    single = np.diff(trees.roots) == 1
    start = trees.start.copy()
    n_columns = trees.values.shape[1]
    for t in np.flatnonzero(single):  # a tree of one leaf is a number
        target = trees.targets[t]
        start[target : target + n_columns] += trees.values[trees.roots[t]]
    graph, first = columns.graph, columns.matrix.columns([0])
    if single.all():
        return graph.apply("IsNaN", first).where(start[None, :], start[None, :])
    matrix, features, thresholds = _tests(columns, trees)
    if trees.goes_both_ways:
        total = _pass_shares(matrix, trees, ~single, features, thresholds)
    elif graph.plain:
        total = _walk(matrix, trees, ~single, features, thresholds)
    else:
        attributes = _attributes(trees, ~single, features, thresholds)
        total = graph.apply("TreeEnsemble", matrix, domain=ML, n_targets=len(start), **attributes)
    return total + start[None, :] if np.any(start) else total


def _tests(columns: Columns, trees: Trees) -> tuple[Value, NDArray[np.int64], NDArray[np.float64]]:
    """The matrix that the tests read, and the column and the threshold of each node."""
    nodes, graph = trees.nodes, columns.graph
    features, thresholds = nodes["feature"].astype(np.int64), nodes["threshold"].copy()
    inner = features >= 0
    by_set = nodes["set"] >= 0
    if not np.any([trees.category_bins[f] is not None for f in np.unique(features[inner])]):
        return columns.matrix, features, thresholds
    parts, place, total = [], np.full(len(trees.category_bins), -1, dtype=np.int64), 0
    tests = np.zeros(len(nodes), dtype=np.int64)
    for f in np.unique(features[inner]).tolist():
        bins, plain = trees.category_bins[f], inner & (features == f) & ~by_set
        if plain.any():
            place[f], total = total, total + 1
            known = None if bins is None else np.append(bins, np.nan)[:, None]
            parts.append(columns.matrix.columns([f]) if known is None else columns.table(f, known))
            tests[plain] = place[f]
        sets = np.flatnonzero(by_set & (features == f))
        if not len(sets):
            continue
        assert bins is not None
        sides: dict[bytes, int] = {}
        rows: list[NDArray[np.float64]] = []
        for node in sets.tolist():
            left = trees.in_set(int(nodes["set"][node]), bins)
            side = 1.0 - np.append(left, _missing_left(trees, node))
            at = sides.setdefault(side.tobytes(), len(sides))
            if at == len(rows):
                rows.append(side)
            tests[node], thresholds[node] = total + at, 0.5
        parts.append(columns.table(f, np.array(rows).T))
        total += len(rows)
    return graph.join(parts), tests, thresholds


def _missing_left(trees: Trees, node: int) -> float:
    """How much of a row without a known category goes left at a split by a set."""
    share = np.nan if trees.unseen_left is None else trees.unseen_left[node]
    return float(trees.nodes["missing_left"][node] if np.isnan(share) else share)


def _attributes(
    trees: Trees, kept: NDArray[np.bool_], features: NDArray[np.int64], thresholds: NDArray[np.float64]
) -> dict[str, Any]:
    """The attributes of the operator: each tree once for each column of its values."""
    nodes, n_columns = trees.nodes, trees.values.shape[1]
    tree = np.repeat(np.arange(len(trees.roots) - 1), np.diff(trees.roots))
    leaf = nodes["feature"] < 0
    split, end = np.flatnonzero(~leaf & kept[tree]), np.flatnonzero(leaf & kept[tree])
    number = np.zeros(len(nodes), dtype=np.int64)
    number[split], number[end] = np.arange(len(split)), np.arange(len(end))
    left = nodes["left"][split].astype(np.int64)

    def children(of: NDArray[np.int64]) -> NDArray[np.int64]:
        shifts = np.where(leaf[of], len(end), len(split))[None, :] * np.arange(n_columns)[:, None]
        return (number[of][None, :] + shifts).ravel()

    def each(values: NDArray[Any]) -> NDArray[Any]:
        return np.tile(values, n_columns)

    yes, no, yes_leaf, no_leaf = children(left), children(left + 1), each(leaf[left]), each(leaf[left + 1])
    blanks = _blanks(yes, no, yes_leaf, no_leaf)
    roots = number[trees.roots[:-1][kept]]
    targets = trees.targets[tree[end]][None, :] + np.arange(n_columns)[:, None]
    weights = np.concatenate([np.zeros(blanks), trees.values[end].T.ravel()])
    tensor = onnx_package().numpy_helper.from_array
    return {
        "aggregate_function": _SUM,
        "post_transform": _NOTHING,
        "tree_roots": (roots[None, :] + len(split) * np.arange(n_columns)[:, None]).ravel().tolist(),
        "nodes_featureids": each(features[split]).tolist(),
        "nodes_modes": tensor(np.full(n_columns * len(split), _LESS_OR_EQUAL, dtype=np.uint8), "modes"),
        "nodes_splits": tensor(each(thresholds[split]), "splits"),
        "nodes_truenodeids": (yes + blanks * yes_leaf).tolist(),
        "nodes_trueleafs": yes_leaf.astype(np.int64).tolist(),
        "nodes_falsenodeids": (no + blanks * no_leaf).tolist(),
        "nodes_falseleafs": no_leaf.astype(np.int64).tolist(),
        "nodes_missing_value_tracks_true": each(nodes["missing_left"][split].astype(np.int64)).tolist(),
        "leaf_targetids": [0] * blanks + targets.ravel().tolist(),
        "leaf_weights": tensor(weights, "weights"),
    }


def _blanks(
    yes: NDArray[np.int64], no: NDArray[np.int64], yes_leaf: NDArray[np.bool_], no_leaf: NDArray[np.bool_]
) -> int:
    """Leaves of no tree to begin with, so that no split and leaf below one node have the same number.

    onnxruntime up to 1.23 takes a node whose children have one number for a leaf, though one is the number of
    a split and the other that of a leaf, and says something wrong.

    >>> _blanks(np.array([3]), np.array([3]), np.array([False]), np.array([True]))
    1
    """
    mixed = yes_leaf != no_leaf
    leaves = np.where(yes_leaf, yes, no)[mixed]
    splits = np.where(yes_leaf, no, yes)[mixed]
    taken = np.unique(splits - leaves)  # shifts of the leaves that would meet a split
    free = np.setdiff1d(np.arange(len(taken) + 1), taken)
    return int(free[0])


def _walk(
    matrix: Value,
    trees: Trees,
    kept: NDArray[np.bool_],
    features: NDArray[np.int64],
    thresholds: NDArray[np.float64],
) -> Value:
    """The sums of the kept trees: every row steps down in all of them; a leaf leads to itself."""
    graph, nodes = matrix.graph, trees.nodes
    leaf, roots = nodes["feature"] < 0, trees.roots[:-1][kept]
    left = np.where(leaf, np.arange(len(nodes)), nodes["left"]).astype(np.int64)
    limit, feature = np.where(leaf, np.inf, thresholds), np.where(leaf, 0, features)
    missing_right = ~leaf & (nodes["missing_left"] == 0)
    at = graph.apply("IsNaN", matrix.columns([0])).where(roots[None, :], roots[None, :])
    for _ in range(_depth(leaf, left, roots)):
        x = graph.apply("GatherElements", matrix, at.rows_of(feature), axis=1)
        lost = graph.apply("And", graph.apply("IsNaN", x), at.rows_of(missing_right))
        right = graph.apply("Or", x > at.rows_of(limit), lost)
        at = at.rows_of(left) + right.cast(np.int64)
    if trees.values.shape[1] > 1:
        return graph.apply("ReduceSum", at.rows_of(trees.values), np.array([1], dtype=np.int64), keepdims=0)
    targets = np.eye(len(trees.start))[trees.targets[kept]]
    return graph.apply("MatMul", at.rows_of(np.ascontiguousarray(trees.values[:, 0])), targets)


def _pass_shares(
    matrix: Value,
    trees: Trees,
    kept: NDArray[np.bool_],
    features: NDArray[np.int64],
    thresholds: NDArray[np.float64],
) -> Value:
    """The sums of the kept trees, where a row comes to a leaf in part: that share of its value is added."""
    graph, nodes = matrix.graph, trees.nodes
    splits = np.flatnonzero(nodes["feature"] >= 0)
    place = np.zeros(len(nodes), dtype=np.int64)
    place[splits] = np.arange(len(splits))
    x = matrix.columns(features[splits])
    below = 1.0 - (x > thresholds[splits][None, :]).cast(np.float64)
    missing_left = nodes["missing_left"][splits].astype(np.float64)[None, :]
    known = graph.apply("IsNaN", x).where(missing_left, below)
    to_left = graph.constant((nodes["set"][splits] >= 0)[None, :]).where(1.0 - x, known)

    n_columns, tree = trees.values.shape[1], np.repeat(np.arange(len(kept)), np.diff(trees.roots))
    level = trees.roots[:-1][kept]
    shares = graph.apply("IsNaN", matrix.columns([0])).where(*(np.ones((1, len(level))),) * 2)
    arrived, leaves = [], []
    while len(level):
        ends = nodes["feature"][level] < 0
        if ends.any():
            arrived.append(shares.columns(np.flatnonzero(ends)))
            leaves.append(level[ends])
        level, here = level[~ends], np.flatnonzero(~ends)
        if len(level):
            part, left = shares.columns(here), to_left.columns(place[level])
            shares = graph.join([part * left, part * (1.0 - left)])
            level = np.concatenate([nodes["left"][level], nodes["left"][level] + 1]).astype(np.int64)
    end = np.concatenate(leaves)
    values = np.zeros((len(end), len(trees.start)))
    for column in range(n_columns):
        values[np.arange(len(end)), trees.targets[tree[end]] + column] = trees.values[end, column]
    return graph.apply("MatMul", graph.join(arrived), values)


def _depth(leaf: NDArray[np.bool_], left: NDArray[np.int64], roots: NDArray[np.int64]) -> int:
    """Steps from a root to the farthest leaf."""
    depth, level = 0, roots[~leaf[roots]]
    while len(level):
        depth += 1
        level = np.concatenate([left[level], left[level] + 1])
        level = level[~leaf[level]]
    return depth
