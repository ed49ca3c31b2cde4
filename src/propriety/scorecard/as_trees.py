"""Scorecards as trees, for writers in another language: a chain of tests for each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from propriety.data.table import Schema
from propriety.export.formula import Trees
from propriety.scorecard.cards import Card
from propriety.scorecard.columns import BinnedColumn, Floats
from propriety.trees.binned import SET_WORDS
from propriety.trees.predictor import TREE_NODE, Forest, TreeNodes

#: Feature, threshold, set, whether missing values are in it, and the value of the leaf.
_Test = tuple[int, float, Any, bool, float]


def as_trees(cards: Sequence[Card], schema: Schema) -> Trees:
    """The scores of cards: a tree for each column."""
    groups: dict[int, list[Any]] = {}
    for bins in (bins for card in cards for bins in card.columns if bins.groups is not None):
        groups.setdefault(bins.feature, []).append(bins.groups)
    # Categories that no card tells apart are one.
    joint = {
        f: np.unique(np.array(each), axis=1, return_inverse=True)[1].ravel() for f, each in groups.items()
    }
    trees, targets = [], []
    for k, card in enumerate(cards):
        for bins, own in zip(card.columns, card.values, strict=True):
            trees.append(_column_tree(bins, own, joint.get(bins.feature)))
            targets.append(k)
    if not trees:
        trees, targets = [_tree([(-1, 0.0, None, False, 0.0)])], [0]
    forest = Forest.join(trees, 1)
    return Trees(
        forest.nodes,
        forest.roots,
        forest.sets,
        np.ascontiguousarray(forest.nodes["value"])[:, None],
        np.array(targets, dtype=np.int64),
        np.array([card.intercept for card in cards]),
        tuple(
            None if known is None else joint.get(f, np.zeros(max(1, len(known)))).astype(np.float64)
            for f, known in enumerate(schema.categories)
        ),
    )


def _column_tree(bins: BinnedColumn, values: Floats, joint: Any) -> TreeNodes:
    """The bins of a column as a chain of tests, each of which has a leaf on one side."""
    f = bins.feature
    tests: list[_Test] = []
    if bins.edges is not None:
        # Missing values leave at the first test, which all others pass.
        tests.append((f, np.inf, None, False, values[bins.missing]))
        tests += [(f, float(edge), None, False, values[k]) for k, edge in enumerate(bins.edges)]
        return _tree([*tests, (-1, 0.0, None, False, values[len(bins.edges)])])
    for k in range(len(values) - 1):
        members = np.zeros(32 * SET_WORDS, dtype=np.uint8)
        members[joint[bins.groups == k]] = 1
        tests.append((f, 0.0, members, bins.missing == k, values[k]))
    return _tree([*tests, (-1, 0.0, None, False, values[-1])])


def _tree(chain: Sequence[_Test]) -> TreeNodes:
    """A tree of tests, the last of which is a leaf."""
    nodes = np.zeros(2 * len(chain) - 1, dtype=TREE_NODE)
    nodes["feature"], nodes["set"], nodes["left"] = -1, -1, -1
    sets: list[Any] = []
    at = 0
    for i, (feature, threshold, members, missing_left, value) in enumerate(chain):
        if feature < 0:
            nodes["value"][at] = value
            break
        left = 2 * i + 1
        nodes["feature"][at], nodes["threshold"][at], nodes["left"][at] = feature, threshold, left
        nodes["missing_left"][at] = missing_left
        nodes["depth"][left : left + 2] = i + 1
        if members is not None:
            nodes["set"][at] = len(sets)
            sets.append(np.packbits(members, bitorder="little").view("<u4"))
        leaf, at = (left + 1, left) if threshold == np.inf else (left, left + 1)
        nodes["value"][leaf] = value
    return TreeNodes(nodes, np.array(sets, dtype=np.uint32).reshape(-1, SET_WORDS))
