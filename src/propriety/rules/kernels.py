"""Compiled loops of boosted rules: sums of weights per bin, which rows a monomial holds for, and scores.

Sums per bin are in fixed point, so they depend neither on the order of the rows nor on the number of threads,
and k copies of a row count as one of weight k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.trees.fixed_point import RowWeights, Scale, fix, weight_of
from propriety.trees.jit import kernel

_ROWS = 4096  # rows whose weights stay in the first cache while all features pass over them
_U = np.uint64
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Rows = NDArray[np.uint32]


@kernel
def quantize(g: Floats, weight: Floats, copies: bool, a: float, start: int, stop: int, out: Integers) -> None:
    """out = rint(|g| · a) times the row's weight."""
    for i in range(_U(start), _U(stop)):
        if weight.size == 0:
            out[i] = np.int64(np.rint(abs(g[i]) * a))
        elif copies:
            out[i] = np.int64(np.rint(abs(g[i]) * a)) * np.int64(weight[i])
        else:
            out[i] = np.int64(np.rint(abs(g[i]) * weight[i] * a))


@kernel
def add_all(columns: Bytes, first: int, last: int, zeros: int, w: Integers, sums: Integers) -> None:
    """sums[f, 2 · bin + y] += w over all rows, `zeros` of class 0 before those of class 1.

    For the features first … last−1, by pairs, so that a weight is read once for two of them.
    """
    for y in range(2):
        begin, end = (0, zeros) if y == 0 else (zeros, columns.shape[1])
        for start in range(begin, end, _ROWS):
            stop = min(start + _ROWS, end)
            for f in range(first, last - 1, 2):
                column, other, cells, other_cells = columns[f], columns[f + 1], sums[f], sums[f + 1]
                for i in range(_U(start), _U(stop)):
                    amount = w[i]
                    cells[(_U(column[i]) << _U(1)) + _U(y)] += amount
                    other_cells[(_U(other[i]) << _U(1)) + _U(y)] += amount
            if (last - first) % 2 == 1:
                column, cells = columns[last - 1], sums[last - 1]
                for i in range(_U(start), _U(stop)):
                    cells[(_U(column[i]) << _U(1)) + _U(y)] += w[i]


@kernel
def add_some(
    columns: Bytes, first: int, last: int, y: Bytes, w: Integers, rows: Rows, sums: Integers
) -> None:
    """The same over the rows listed."""
    for start in range(0, rows.size, _ROWS):
        stop = min(start + _ROWS, rows.size)
        for f in range(first, last):
            column = columns[f]
            cells = sums[f]
            for k in range(_U(start), _U(stop)):
                i = _U(rows[k])
                cells[(_U(column[i]) << _U(1)) + _U(y[i])] += w[i]


@kernel
def cumulate(
    sums: Integers,
    missing: Integers,
    features: Integers,
    last: Integers,
    with_missing: NDArray[np.bool_],
    out: Integers,
) -> None:
    """out[k] = sums[features[k], : last[k] + 1] in all, and missing[features[k]] where missing values are in.

    Where last[k] is not 0, k − 1 is the cut before it of the same feature.
    """
    zeros = ones = np.int64(0)
    for k in range(features.size):
        f = features[k]
        if last[k] == 0:
            zeros = ones = np.int64(0)
        zeros += sums[f, last[k], 0]
        ones += sums[f, last[k], 1]
        out[k, 0] = zeros + (missing[f, 0] if with_missing[k] else 0)
        out[k, 1] = ones + (missing[f, 1] if with_missing[k] else 0)


@kernel
def sum_sides(
    holds: Bytes,
    y: Bytes,
    g: Floats,
    h: Floats,
    weights: RowWeights,
    scale: Scale,
    start: int,
    stop: int,
    sums: Integers,
) -> None:
    """sums[holds, y] = gradient and curvature of the rows, in fixed point.

    Summed without a branch: of all rows, of those where the rule holds, of class 1, and of both kinds.
    """
    all_g = all_h = held_g = held_h = ones_g = ones_h = both_g = both_h = np.int64(0)
    for i in range(_U(start), _U(stop)):
        w = weight_of(weights, i)
        gradient = fix(g[i], w, scale.gradient, weights.folded)
        curvature = fix(h[i], w, scale.curvature, weights.folded)
        held, one = -np.int64(holds[i]), -np.int64(y[i])
        all_g += gradient
        all_h += curvature
        held_g += gradient & held
        held_h += curvature & held
        ones_g += gradient & one
        ones_h += curvature & one
        both_g += gradient & held & one
        both_h += curvature & held & one
    sums[1, 1, 0], sums[1, 1, 1] = both_g, both_h
    sums[1, 0, 0], sums[1, 0, 1] = held_g - both_g, held_h - both_h
    sums[0, 1, 0], sums[0, 1, 1] = ones_g - both_g, ones_h - both_h
    sums[0, 0, 0], sums[0, 0, 1] = all_g - held_g - ones_g + both_g, all_h - held_h - ones_h + both_h


@kernel
def chord(weight0: int, weight1: int, nodes: Floats) -> float:
    """W times the entropy's chord at p = weight1/W: `nodes` are its values at 0, 1/N, … 1.

    Counted from the nearer end, so that it keeps its digits there.
    """
    W = weight0 + weight1
    if W == 0:
        return 0.0
    N = nodes.size - 1
    smaller = min(weight0, weight1)
    x = N * (smaller / W)
    k = int(x)
    if weight1 <= weight0:
        a, b = nodes[k], nodes[k + 1]
    else:
        a, b = nodes[N - k], nodes[N - k - 1]
    return W * (a + (x - k) * (b - a))


@kernel
def bound_entropies(within: Integers, zeros: int, ones: int, nodes: Floats, out: Floats) -> None:
    """The chords' sum over two leaves, where monomials hold and the rest of (zeros, ones), for each monomial.

    An entropy is concave, so that its chords lie below it.
    """
    for i in range(within.shape[0]):
        a, b = within[i, 0], within[i, 1]
        out[i] = chord(a, b, nodes) + chord(zeros - a, ones - b, nodes)


@kernel
def narrow(column: Bytes, mask: Bytes, holds: Bytes) -> None:
    """holds[i] becomes 0 where the row's bin is not in the mask."""
    for i in range(_U(holds.size)):
        holds[i] &= mask[column[i]]


@kernel
def list_rows(holds: Bytes, rows: Rows) -> None:
    """Write down the rows where holds[i] is 1; `rows` has room for all of them."""
    k = 0
    for i in range(holds.size):
        if holds[i]:
            rows[k] = i
            k += 1


@kernel
def move(F: Floats, holds: Bytes, inside: float, outside: float, start: int, stop: int, out: Floats) -> None:
    """out = F + inside where the rule holds, F + outside elsewhere."""
    for i in range(_U(start), _U(stop)):
        out[i] = F[i] + (inside if holds[i] else outside)


@kernel
def add_scores(
    columns: Bytes,
    features: Integers,
    masks: Bytes,
    starts: Integers,
    coefficients: Floats,
    start: int,
    stop: int,
    out: Floats,
) -> None:
    """Add the score of each rule: rule t has the literals starts[t] … starts[t+1]−1."""
    for first in range(start, stop, _ROWS):
        last = min(first + _ROWS, stop)
        for t in range(coefficients.size):
            amount = coefficients[t]
            for i in range(first, last):
                holds = np.uint8(1)
                for k in range(starts[t], starts[t + 1]):
                    holds &= masks[k, columns[features[k], i]]
                out[i] += amount if holds else -amount
