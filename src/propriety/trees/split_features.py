"""Which features a node may be split on: those of its tree, of its groups, and of the split's own sample."""

from __future__ import annotations

import numpy as np

from propriety.trees.jit import inner
from propriety.trees.random import scramble

_I, _U = np.int64, np.uint64


@inner
def _select(numbers, size, rank):
    """The number that has ``rank`` smaller ones among the first ``size``, which are put in another order.

    Hoare's algorithm: part the numbers at one of them, and go on in the part that holds the wanted one.
    """
    low, high = _I(0), size - 1
    while low < high:
        pivot, i, j = numbers[rank], low, high
        while i <= j:
            while numbers[i] < pivot:
                i += 1
            while pivot < numbers[j]:
                j -= 1
            if i <= j:
                numbers[i], numbers[j] = numbers[j], numbers[i]
                i, j = i + 1, j - 1
        if j < rank:
            low = i
        if rank < i:
            high = j
    return numbers[rank]


@inner
def allow(params, features, groups, path_groups, key, drawn, allowed):
    """Mark the features that a node may be split on: the tree's, its groups', the split's sample.

    The sample has the features of the smallest numbers, all of which differ. They are hashes, so that they
    depend neither on the number of threads nor on the order in which nodes are split.
    """
    usable = _I(0)
    for f in range(allowed.size):
        joint = groups.shape[0] == 0
        for k in range(groups.shape[0]):
            joint = joint or (path_groups[k] != 0 and groups[k, f] != 0)
        allowed[f] = features[f].used != 0 and joint
        usable += allowed[f]
    if usable <= params.split_features:
        return
    base, at = scramble(params.seed + key), _I(0)
    for f in range(allowed.size):
        drawn[at] = scramble(base + _U(f))
        at += allowed[f]
    largest = _select(drawn, usable, params.split_features - 1)
    for f in range(allowed.size):
        allowed[f] &= scramble(base + _U(f)) <= largest
