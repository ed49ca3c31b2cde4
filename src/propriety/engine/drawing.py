"""What is drawn at random: the rows of a tree, and the features of a split.

Draws are hashes, so that they depend neither on the number of threads nor on the order of the rows.
"""

from __future__ import annotations

import numpy as np

from propriety.engine.compiling import inner

_I, _U = np.int64, np.uint64


@inner
def mix(x):
    """A well-mixed 64-bit hash (the finalizer of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner
def allow(rules, path_groups, key, numbers, allowed):
    """Mark the features that the node may be split on: the tree's, its groups', the split's sample.

    The sample has the features of the smallest numbers, all of which differ; ``numbers`` has room for them.
    """
    usable = _I(0)
    for f in range(allowed.size):
        joint = rules.groups.shape[0] == 0
        for k in range(rules.groups.shape[0]):
            joint = joint or (path_groups[k] != 0 and rules.groups[k, f] != 0)
        allowed[f] = rules.features[f] != 0 and joint
        usable += allowed[f]
    if usable <= rules.split_features:
        return
    base, at = mix(rules.seed + key), _I(0)
    for f in range(allowed.size):
        numbers[at] = mix(base + _U(f))
        at += allowed[f]
    largest = _select(numbers, usable, _I(rules.split_features - 1))
    for f in range(allowed.size):
        allowed[f] &= mix(base + _U(f)) <= largest


@inner
def draw_below(rules, key, f, count):
    """A number from 0 to ``count`` − 1 that belongs to a node and a feature."""
    return _I(mix(~mix(rules.seed + key) + _U(f)) % _U(count))


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
def draw_rows(harvest, salt, rows):
    """Put the drawn rows at the front of ``rows``, the others, reversed, at its back; returns how many are.

    A row that takes part is drawn if its number is below the limit. If none is, those of the lowest are.
    """
    chosen = _draw_below(harvest, salt, harvest.limit, rows)
    if chosen == 0:
        lowest = ~_U(0)
        for i in range(_U(rows.size)):
            if not harvest.out.size or not harvest.out[i]:
                lowest = min(lowest, mix(harvest.hashes[i] + salt))
        chosen = _draw_below(harvest, salt, lowest + _U(1), rows)
    return chosen


@inner
def _draw_below(harvest, salt, limit, rows):
    every, drawn = harvest.out.size == 0, harvest.hashes.size > 0
    first, last = _U(0), _U(rows.size - 1)
    for i in range(_U(rows.size)):
        takes_part = _U(1) if every else _U(harvest.out[i] == 0)
        if drawn:
            takes_part &= _U(mix(harvest.hashes[i] + salt) < limit)
        rows[first] = i
        first += takes_part
        rows[last] = i
        last -= _U(1) - takes_part
    return np.int64(first)
