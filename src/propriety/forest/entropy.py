"""The entropy of any loss as a table, so that compiled code reads each of them equally fast.

A node with the weight c of a class, of W in all, loses W·h(c/W). The table has h at shares that are close
together where they are small, 256 to each power of two, and a straight line between them. Such a curve is
concave if h is: it is itself the entropy of a proper loss, a sum of cost-weighted losses with thresholds at
the grid, so no cut can seem to lose. For smooth losses it differs from h by some millionths of its value.

Where the loss cannot tell cuts apart, the squared loss decides, of which a millionth is added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.engine.compiling import inner, kernel, small
from propriety.model.measure import Measure

Floats = NDArray[np.float64]
_BITS = 8  # of the mantissa: 256 cells to each power of two
_OCTAVES = 32
_SHIFT = np.int64(52 - _BITS)
_FIRST = np.int64((np.float64(2.0 ** -(_OCTAVES + 1)).view(np.int64) >> _SHIFT) - 1)
_LAST = np.int64(_OCTAVES * 2**_BITS + 1)
_SQUARED = 1e-6
#: Rows of a node up to which its loss is looked up by its counts, if these are whole numbers.
FEW = 64


class EntropyTable(NamedTuple):
    """h in units of its largest value.

    ``lines`` are intercept and slope in each cell of the smaller share: of the class itself, then of others.
    ``few[FEW·a + b]`` is the loss of a node with a rows of one class and b of the other.
    """

    lines: Floats  # (2 · cells · 2,)
    few: Floats  # (FEW · FEW,)
    unit: float


def entropy_table(measure: Measure, n_classes: int) -> EntropyTable:
    """Tabulate what a measure says of one class's share.

    >>> from propriety.model.measure import measure_of
    >>> table = entropy_table(measure_of("Squared", None, 2), 2)
    >>> round(float(table.unit * table.few[3 * FEW + 1]), 4)  # 4 · ¼ · ¾
    0.75
    """
    grid = _grid()
    pure = [float(measure.share_entropy(np.array([p]), np.array([1 - p]))[0]) for p in (0.0, 1.0)]
    lines, values = np.zeros((2, _LAST + 1, 2)), []
    for p, q in ((grid, 1 - grid), (1 - grid, grid)):
        values.append(measure.share_entropy(p, q) - q * pure[0] - p * pure[1])
    unit = float(np.max(values))
    if not (np.all(np.isfinite(values)) and unit > 0):
        raise ValueError(
            f"loss={measure.fitted!r} has no finite entropy that could tell one split from another; "
            "give another loss, such as 'Log'"
        )
    for side, value in enumerate(values):
        slope = np.diff(value / unit) / np.diff(grid)
        lines[side, :-1, 0] = value[:-1] / unit - slope * grid[:-1]
        lines[side, :-1, 1] = slope
        lines[side, -1, 0] = value[-1] / unit
    few = np.zeros(FEW * FEW)
    _fill_few(lines.ravel(), few)
    return EntropyTable(lines.ravel(), few, unit)


def _grid() -> Floats:
    """0, and the shares from 2⁻³³ to ½ at which lines meet."""
    mantissas = 1 + np.arange(2**_BITS) / 2**_BITS
    octaves = np.ldexp(1.0, np.arange(-_OCTAVES - 1, -1))
    return np.concatenate([[0.0], (octaves[:, None] * mantissas).ravel(), [0.5]])


@small
def _line(lines, small, total, side):
    """W·h of a class that is, or lacks, the smaller part of a node."""
    share = small / total
    cell = (np.float64(share).view(np.int64) >> _SHIFT) - _FIRST
    at = np.uint64(2) * np.uint64(max(cell, np.int64(0)) + side * (_LAST + 1))
    return total * lines[at] + small * (lines[at + np.uint64(1)] + _SQUARED * (1.0 - share))


@small
def class_loss(lines, own, total):
    """W·h(c/W) of a class with the weight `own` in a node with the weight `total`."""
    rest = total - own
    return _line(lines, min(own, rest), total, np.int64(own > rest))


@small
def pair_loss(lines, a, b):
    """Loss of a node with the weights a and b of two classes."""
    return _line(lines, min(a, b), a + b, np.int64(b > a))


@kernel
def _fill_few(lines, few):
    for a in range(FEW):
        for b in range(FEW):
            few[a * FEW + b] = pair_loss(lines, np.float64(a), np.float64(b)) if a + b > 0 else 0.0


@inner
def node_loss(lines, sums):
    """Loss of a node with these sums of the classes."""
    if sums.size == 2:
        return pair_loss(lines, np.float64(sums[0]), np.float64(sums[1]))
    total, loss = 0.0, 0.0
    for k in range(sums.size):
        total += np.float64(sums[k])
    for k in range(sums.size):
        loss += class_loss(lines, np.float64(sums[k]), total)
    return loss
