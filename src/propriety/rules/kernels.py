"""Compiled loops of boosted rules: sums of weights per bin, which rows a monomial holds for, and scores.

Sums per bin are in fixed point, so they depend neither on the order of the rows nor on the number of threads,
and k copies of a row count as one of weight k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propriety.engine.compiling import kernel

_ROWS = 4096  # rows whose weights stay in the first cache while all features pass over them
_U = np.uint64
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Rows = NDArray[np.uint32]


@kernel
def quantize(g: Floats, weight: Floats, copies: bool, a: float, start: int, stop: int, out: Integers) -> None:
    """out = rint(|g| · a) times the row's weight."""
    for i in range(start, stop):
        if weight.size == 0:
            out[i] = np.int64(np.rint(abs(g[i]) * a))
        elif copies:
            out[i] = np.int64(np.rint(abs(g[i]) * a)) * np.int64(weight[i])
        else:
            out[i] = np.int64(np.rint(abs(g[i]) * weight[i] * a))


@kernel
def add_all(columns: Bytes, first: int, last: int, zeros: int, w: Integers, sums: Integers) -> None:
    """sums[f, 2 · bin + y] += w over all rows, `zeros` of class 0 before those of class 1.

    For the features first … last−1.
    """
    for y in range(2):
        begin, end = (0, zeros) if y == 0 else (zeros, columns.shape[1])
        for start in range(begin, end, _ROWS):
            stop = min(start + _ROWS, end)
            for f in range(first, last):
                column = columns[f]
                cells = sums[f]
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
    for i in range(holds.size):
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
    for i in range(start, stop):
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
