"""Rules as trees, for writers in another language: a chain of tests, each of which passes on or fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from propriety.data.conditions import Condition, Interval
from propriety.export.formula import Floats, Trees
from propriety.rules.rule_lists import RuleList
from propriety.trees.binned import SET_WORDS
from propriety.trees.binning import Binner
from propriety.trees.predictor import TREE_NODE, Forest, TreeNodes


def as_trees(lists: Sequence[RuleList], binner: Binner) -> Trees:
    """The scores of lists of rules: a tree for each rule."""
    trees, targets, shares = [], [], []
    for k, rule_list in enumerate(lists):
        scorer, place = rule_list.scorer, 0
        for rule in rule_list.rules:
            literals = slice(place, place + len(rule.literals))
            place += len(rule.literals)
            trees.append(rule_tree(rule.literals, scorer.masks[literals], rule.coefficient))
            targets.append(k)
            degrees = None if scorer.unseen is None else scorer.unseen.shares[literals]
            shares.append(_unseen_left(trees[-1], rule.literals, degrees))
    forest = Forest.join(trees, 1)
    start = np.array([rule_list.scorer.intercept for rule_list in lists], dtype=np.float64)
    values = np.ascontiguousarray(forest.nodes["value"])[:, None]
    return Trees(
        forest.nodes,
        forest.roots,
        forest.sets,
        values,
        np.array(targets, dtype=np.int64),
        start,
        binner.category_bins,
        np.concatenate([np.empty(0), *shares]),
    )


def rule_tree(literals: Sequence[Condition], masks: NDArray[np.uint8], coefficient: float) -> TreeNodes:
    """A tree that says `coefficient` where all literals hold, and its negative elsewhere.

    >>> nodes = rule_tree([Interval("x", 0, low=1.5)], np.zeros((1, 256), np.uint8), 2.0).nodes
    >>> nodes["threshold"].tolist(), nodes["value"].tolist()
    ([1.5, 0.0, 0.0], [0.0, -2.0, 2.0])
    """
    tests = [test for literal, mask in zip(literals, masks, strict=True) for test in _tests(literal, mask)]
    nodes = np.zeros(2 * len(tests) + 1, dtype=TREE_NODE)
    nodes["feature"], nodes["set"], nodes["left"] = -1, -1, -1
    nodes["value"] = -coefficient
    sets: list[NDArray[np.uint32]] = []
    at = 0
    for i, (feature, threshold, mask, passes_left, missing_left) in enumerate(tests):
        node, left = nodes[at : at + 1], 2 * i + 1
        node["feature"], node["threshold"], node["left"] = feature, threshold, left
        node["missing_left"], node["value"], nodes["depth"][left : left + 2] = missing_left, 0.0, i + 1
        if mask is not None:
            node["set"] = len(sets)
            sets.append(np.packbits(mask, bitorder="little").view("<u4"))
        at = left if passes_left else left + 1
    nodes["value"][at] = coefficient
    return TreeNodes(nodes, np.array(sets, dtype=np.uint32).reshape(-1, SET_WORDS))


def _unseen_left(tree: TreeNodes, literals: Sequence[Condition], degrees: Floats | None) -> Floats:
    """At the nodes of literals of categories, how far these hold for unseen ones, which then pass left."""
    shares = np.full(len(tree.nodes), np.nan)
    if degrees is not None:  # a literal of categories is one test, and tests are in the order of the literals
        shares[tree.nodes["set"] >= 0] = degrees[[not isinstance(literal, Interval) for literal in literals]]
    return shares


def _tests(
    literal: Condition, mask: NDArray[np.uint8]
) -> Iterator[tuple[int, float, NDArray[np.uint8] | None, bool, bool]]:
    """Feature, threshold, set, whether the left side passes, and whether missing values go left."""
    f, missing = literal.column, literal.missing
    if not isinstance(literal, Interval):
        yield f, 0.0, mask, True, missing
    elif literal.nothing:
        yield f, np.inf, None, False, not missing
    else:
        if literal.low > -np.inf:
            yield f, literal.low, None, False, not missing
        if literal.high < np.inf or literal.low == -np.inf:
            yield f, literal.high, None, True, missing
