"""Compiling the grower of trees while the table is binned, which compiles kernels of its own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from propriety import parallel
from propriety.engine import aside
from propriety.engine.addresses import Address, unknown_address
from propriety.engine.compiling import COMPILED, FAMILIAR
from propriety.engine.grower import Grower, grow_tree
from propriety.engine.harvest import NO_HARVEST, NO_TURN
from propriety.engine.layout import BINS, Binned, Rules, Signal
from propriety.engine.predictor import NO_SETS, TREE_NODE, Forest, TreeNodes
from propriety.engine.searching import addresses


def compile_grower(*, categories: bool, kind: np.dtype[Any]) -> None:
    """Begin to compile the grower for tables with categories or without, unless one was compiled before.

    Who waits for it then compiles how trees give scores to rows of numbers of such a kind.
    """
    if not (COMPILED and FAMILIAR) or grow_tree.overloads or parallel.n_cores() == 1:
        return
    byte, number = np.zeros(1, np.uint8), np.zeros(1)
    table, levels = byte[:, None].copy(), np.zeros((1, BINS)) if categories else None
    binned = Binned(table, table, np.ones(1, np.int64), byte, levels, number)
    signal = Signal(np.zeros(1, np.int64), np.zeros((0, 3), np.int32), 0.0, 0.0, 0.0, 0.0)
    rules = Rules(
        max_leaves=1,
        max_depth=1,
        min_weight=1,
        min_curvature=0.0,
        min_gain=0.0,
        l2=0.0,
        set_smoothing=0.0,
        monotone=np.zeros(1, np.int8),
        any_monotone=False,
        groups=np.zeros((0, 1), np.uint8),
        features=byte,
        split_features=1,
        random_cuts=False,
        seed=np.uint64(0),
        drift=number,
    )
    work = Grower(binned, 1, 0, 1).work
    parts = addresses(binned, signal, rules, work, find=_begin)
    _begin(grow_tree, parts, binned, signal, rules, work, NO_HARVEST, NO_TURN, 1, False)
    aside.meanwhile(partial(_give_scores, kind))


def _begin(kernel: Any, *values: Any) -> Address:
    """Begin to compile a kernel for values of these types; its address is not known yet."""
    aside.compile_aside(kernel, *values)
    return unknown_address(kernel, *values)


def _give_scores(kind: np.dtype[Any]) -> None:
    """Let a tree that is one leaf give a row its score."""
    leaf = np.zeros(1, dtype=TREE_NODE)
    leaf["feature"], leaf["set"] = -1, -1
    Forest.join([TreeNodes(leaf, NO_SETS)], 1).add_scores(np.zeros((1, 1), kind), np.zeros((1, 1)), 1)
