"""Trees as arrays: one column for each field of a node, checked so that no walk can leave them.

The walks over a forest are compiled and do not test their indices. What makes them safe is tested here:
children lie after their parent and inside its tree, so that every walk ends; each node but a root has one
parent; depths are what the links say; features and sets exist; only categories are split by a set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from propriety.storage.checks import Arrays, require
from propriety.trees.binned import BINS, SET_WORDS
from propriety.trees.binning import Binner
from propriety.trees.predictor import TREE_NODE, Forest

_FIELDS = {name: TREE_NODE[name].str.lstrip("<>=|") for name in TREE_NODE.names or ()}
#: Largest size of a value, gain or weight: sums of them stay finite.
LARGEST = 1e100


def forest_arrays(forest: Forest) -> dict[str, Any]:
    """The arrays of a forest by name."""
    columns = {f"nodes.{name}": forest.nodes[name] for name in _FIELDS}
    return {**columns, "trees.start": forest.roots, "nodes.sets": forest.sets}


def read_forest(arrays: Arrays, n_scores: int, categorical: Any) -> Forest:
    """A forest that is safe to walk; ``categorical`` tells for each feature whether it has categories."""
    roots = arrays.take("trees.start", "i8", (None,))
    require(
        len(roots) >= 1 and roots[0] == 0 and np.all(np.diff(roots) > 0), "trees do not follow each other"
    )
    n_trees, m = len(roots) - 1, int(roots[-1])
    require(n_trees % n_scores == 0, f"{n_trees} trees are no whole rounds of {n_scores}")
    require(m < 2**31, "there are too many nodes")
    columns = {name: arrays.take(f"nodes.{name}", kind, (m,)) for name, kind in _FIELDS.items()}
    nodes = np.zeros(m, dtype=TREE_NODE)
    for name, column in columns.items():
        nodes[name] = column
    sets = arrays.take("nodes.sets", "u4", (None, SET_WORDS))
    _check_links(nodes, roots)
    _check_splits(nodes, roots, sets, np.asarray(categorical, dtype=bool))
    return Forest(nodes, roots, sets, n_scores)


def _check_links(nodes: Any, roots: Any) -> None:
    m = len(nodes)
    own = np.arange(m)
    tree = np.repeat(np.arange(len(roots) - 1), np.diff(roots))
    start, end = roots[:-1][tree], roots[1:][tree]
    inner = nodes["feature"] >= 0
    left = nodes["left"].astype(np.int64)
    require(np.all(left[~inner] == start[~inner] - 1), "a leaf has children")
    require(
        np.all((left[inner] > own[inner]) & (left[inner] + 1 < end[inner])), "children lie outside a tree"
    )
    parents = np.bincount(left[inner], minlength=m) + np.bincount(left[inner] + 1, minlength=m)
    expected = np.ones(m, dtype=np.int64)
    expected[roots[:-1]] = 0
    require(np.array_equal(parents, expected), "a node has no parent, or two")
    depth = np.zeros(m, dtype=np.int64)
    for child in (0, 1):
        depth[left[inner] + child] = nodes["depth"][inner].astype(np.int64) + 1
    require(np.array_equal(depth, nodes["depth"]), "depths do not fit the links")


def _check_splits(nodes: Any, roots: Any, sets: Any, categorical: Any) -> None:
    inner = nodes["feature"] >= 0
    require(np.all(nodes["feature"] >= -1) and np.all(nodes["feature"] < len(categorical)), "no such feature")
    by_set = nodes["set"] >= 0
    require(np.all(nodes["set"] >= -1) and not np.any(by_set & ~inner), "a leaf has a set")
    require(
        np.array_equal(np.sort(nodes["set"][by_set]), np.arange(len(sets))),
        "sets do not belong to the splits",
    )
    require(np.all(categorical[nodes["feature"][by_set]]), "a feature of numbers is split by a set")
    require(np.all((nodes["bin"] >= 0) & (nodes["bin"] < BINS)), "no such bin")
    require(np.all((nodes["missing_left"] == 0) | (nodes["missing_left"] == 1)), "missing values go nowhere")
    require(not np.any(np.isnan(nodes["threshold"])), "a threshold is not a number")
    for name in ("value", "gain", "weight"):
        require(np.all(np.abs(nodes[name]) < LARGEST), f"a node's {name} is not finite, or too large")
    require(np.all(nodes["weight"] >= 0), "a node's weight is negative")
    leaves = np.add.reduceat(np.where(inner, 0.0, nodes["weight"]), roots[:-1]) if len(nodes) else np.ones(1)
    require(np.all(leaves > 0), "a tree has no weight")


def binner_arrays(binner: Binner) -> dict[str, Any]:
    """The arrays of a binner by name."""
    arrays = {
        "bins.edges": binner.edges,
        "bins.count": binner.n_bins,
        **category_arrays(binner.category_bins),
    }
    return arrays | ({"bins.noise": binner.noise} if np.any(binner.noise < 1.0) else {})


def category_arrays(category_bins: Any) -> dict[str, Any]:
    """Bins of the categories by name."""
    return {f"bins.categories.{f}": bins for f, bins in enumerate(category_bins) if bins is not None}


def read_binner(arrays: Arrays, n_categories: list[int]) -> Binner:
    """A binner for features with as many categories each, 0 for numbers."""
    d = len(n_categories)
    edges = arrays.take("bins.edges", "f8", (d, BINS - 1))
    require(not np.any(np.isnan(edges)), "an edge of a bin is not a number")
    require(np.all(edges[:, 1:] >= edges[:, :-1]), "edges of bins do not rise")
    n_bins = arrays.take("bins.count", "i8", (d,))
    require(np.all((n_bins >= 1) & (n_bins < BINS)), "there are too many bins")
    require(np.array_equal((edges < np.inf).sum(axis=1), n_bins - 1), "there are not as many edges as bins")
    noise = np.ones(d)
    if "bins.noise" in arrays:
        noise = arrays.take("bins.noise", "f8", (d,))
        require(np.all((noise >= 0) & (noise <= 1)), "a share of noise is not between 0 and 1")
    return Binner(edges, n_bins, read_categories(arrays, n_categories, n_bins), noise)


def read_categories(arrays: Arrays, n_categories: list[int], n_bins: Any) -> tuple[Any, ...]:
    """The bin of each category, below ``n_bins`` if that is given; None for features of numbers."""
    found: list[Any] = [None] * len(n_categories)
    for f, count in enumerate(n_categories):
        if count:
            bins = arrays.take(f"bins.categories.{f}", "f8", (count,))
            most = BINS - 1 if n_bins is None else n_bins[f]
            require(np.all((bins >= 0) & (bins < most) & (bins == np.floor(bins))), "a category has no bin")
            found[f] = bins
    return tuple(found)
