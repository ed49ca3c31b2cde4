"""What follows the growth of a tree of few rows, in the same call: its values, its scores, its nodes.

A tree of a thousand rows is grown in the time that a dozen calls from Python take. Of many rows the same is
done by threads, kernel after kernel (:mod:`propriety.boosting.leaves`), to the same bits: sums of a leaf are
whole numbers.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner
from propriety.engine.fixed_point import fix, wide_scale
from propriety.engine.layout import Harvest, Turn
from propriety.engine.predictor import TREE_NODE, keep_nodes
from propriety.engine.splitting import leaf_value

_U = np.uint64


@inner
def give_values(harvest, turn, signal, work, n_nodes):
    """Keep the nodes of a grown tree, give its leaves their values, and the values to their rows."""
    nodes = harvest.nodes[:n_nodes]
    keep_nodes(work.nodes, harvest.edges, signal.weight_unit, nodes)
    scale = wide_scale(turn.top_gradient, turn.top_curvature, harvest.total)
    for i in range(n_nodes):
        leaf = work.nodes[i]
        if leaf.left < 0:
            nodes[i].value = _value(harvest, turn, scale, work.rows, leaf)
            for part in range(2):
                first, last = _part(leaf, part)
                for j in range(first, last):
                    harvest.scores[_U(work.rows[j]), turn.score] += nodes[i].value


@inner
def _part(leaf, part):
    """Where the rows lie from which the tree was grown (0), or the others (1)."""
    return (_U(leaf.start), _U(leaf.stop)) if part == 0 else (_U(leaf.others), _U(leaf.others_stop))


@inner
def _value(harvest, turn, scale, rows, leaf):
    """−G / (H + l2) of all rows of a leaf, within its bounds and reach, times the rate."""
    k, G, H, weights = turn.score, np.int64(0), np.int64(0), harvest.weights
    for part in range(2):
        first, last = _part(leaf, part)
        for i in range(first, last):
            row = _U(rows[i])
            w = weights[row] if weights.size else 1.0
            G += fix(harvest.G[k, row], w, scale.gradient, harvest.folded)
            H += fix(harvest.H[k, row], w, scale.curvature, harvest.folded)
    value = leaf_value(G / scale.gradient, H / scale.curvature, harvest.l2[k], leaf.lower, leaf.upper)
    if harvest.by_sign:
        value = np.sign(value)
    return harvest.rate * min(max(value, -harvest.reach), harvest.reach)


def _no_harvest() -> Harvest:
    numbers, table = np.empty(0), np.empty((0, 0))
    return Harvest(
        wanted=False,
        out=np.empty(0, dtype=np.bool_),
        hashes=np.empty(0, dtype=np.uint64),
        limit=np.uint64(0),
        every_row=False,
        G=table,
        H=table,
        weights=numbers,
        folded=False,
        total=0.0,
        l2=numbers,
        by_sign=False,
        reach=0.0,
        rate=0.0,
        edges=table,
        scores=table,
        nodes=np.empty(0, dtype=TREE_NODE),
    )


#: Those of a tree that is grown by itself.
NO_HARVEST = _no_harvest()
NO_TURN = Turn(0, np.uint64(0), 0.0, 0.0)
