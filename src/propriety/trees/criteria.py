"""The entropy of any loss as a table, so that compiled code reads each of them equally fast.

A node with the weight c of a class, of W in all, loses W·h(c/W). The table has cubics in the share, 256
panels to each power of two, so that they are close where shares are small; a smooth entropy differs from them
by less than 1e-12 of its value. Where an entropy has a kink, as that of a cost-weighted loss has, its panel
has two cubics that meet there.

Gains are compared as whole numbers of steps, of 1e-12 of the node's loss: cuts that only rounding tells apart
are equal. Then the squared loss decides, in the same way, and then the first column and the first cut. That
order is a total one, so whoever compares which cuts first does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.trees.jit import inner, kernel, small

Floats = NDArray[np.float64]
_Entropy = Callable[[Floats], Floats]
_BITS = 8  # of the mantissa: 256 panels to each power of two
_OCTAVES = 26
_SHIFT = np.int64(52 - _BITS)
_FIRST = np.int64((np.float64(2.0 ** -(_OCTAVES + 1)).view(np.int64) >> _SHIFT) - 1)
_LAST = np.int64(_OCTAVES * 2**_BITS + 1)
_NUMBERS = np.uint64(9)  # of a panel: where its second cubic begins, and both
_SMOOTH = 1e-11  # part of its values by which a smooth entropy differs from a cubic at most
_KINKS = 64  # panels with a kink, at most; an entropy that has more is rough, and has one cubic a panel
_HALVINGS = 50  # until a kink is known to rounding
_NARROW = 1 / 16  # part of a panel below which a line is as good as a cubic, and does not cancel
#: Step of a gain, as a share of the loss of the node.
EQUAL = 1e-12
#: Rows of a node up to which its loss is looked up by its counts, if these are whole numbers.
FEW = 64
#: How a split of two classes is judged: by the entropy, from the table or by counts; or by the larger share
#: of class 1 in its sides, or of class 0. Then what the node loses is the share of the other class.
BY_TABLE, BY_COUNTS, HIGHEST, LOWEST = 0, 1, 2, 3


class EntropyTable(NamedTuple):
    """h in units of its largest value.

    ``panels`` are those of the smaller share: of the class itself, then of others. ``few[FEW·a + b]`` is the
    loss of a node with a rows of one class and b of the other.
    """

    panels: Floats  # (2 · panels · 9,)
    few: Floats  # (FEW · FEW,)
    unit: float


@lru_cache(maxsize=64)
def entropy_table(measure: Any) -> EntropyTable:
    """Tabulate what a measure (:class:`~propriety.model.measure.Measure`) says of one class's share.

    >>> from propriety.model.measure import measure_of
    >>> table = entropy_table(measure_of("Squared", None, 2))
    >>> round(float(table.unit * table.few[3 * FEW + 1]), 4)  # 4 · ¼ · ¾
    0.75
    """
    grid = _grid()
    pure = [float(measure.share_entropy(np.array([p]), np.array([1 - p]))[0]) for p in (0.0, 1.0)]

    def entropy(small: Floats, side: int) -> Floats:
        p, q = (small, 1 - small) if side == 0 else (1 - small, small)
        return measure.share_entropy(p, q) - q * pure[0] - p * pure[1]

    values = [entropy(grid, side) for side in (0, 1)]
    unit = float(np.max(values))
    if not (np.all(np.isfinite(values)) and unit > 0):
        raise ValueError(
            f"loss={measure.fitted!r} has no finite entropy that could tell one split from another; "
            "give another loss, such as 'Log'"
        )
    sides = [partial(_scaled, entropy, side, unit) for side in (0, 1)]
    panels = np.stack([_panels(h, grid) for h in sides]).ravel()
    few = np.zeros(FEW * FEW)
    _fill_few(panels, few)
    return EntropyTable(panels, few, unit)


def _scaled(entropy: Callable[[Floats, int], Floats], side: int, unit: float, small: Floats) -> Floats:
    return entropy(small, side) / unit


def _grid() -> Floats:
    """0, and the shares from 2⁻²⁷ to ½ at which panels meet."""
    mantissas = 1 + np.arange(2**_BITS) / 2**_BITS
    octaves = np.ldexp(1.0, np.arange(-_OCTAVES - 1, -1))
    return np.concatenate([[0.0], (octaves[:, None] * mantissas).ravel(), [0.5]])


def _panels(h: _Entropy, grid: Floats) -> Floats:
    """The numbers of all panels: one from each number of the grid to the next, and the last number alone."""
    panels = np.zeros((len(grid), int(_NUMBERS)))
    panels[:, 0] = 2.0  # no share is so large
    low, high = grid[1:-1], grid[2:]
    cubics, misses = _cubics(h, low, high)
    panels[1:-1, 1:5] = cubics
    panels[0, 1:5] = _lines(h, grid[:1], grid[1:2])
    panels[-1, 1] = h(grid[-1:])[0]
    bent = np.flatnonzero(misses > _SMOOTH)
    if 0 < len(bent) <= _KINKS:
        a, b = low[bent], high[bent]
        before, after = a, b
        for _ in range(_HALVINGS):
            middle = (before + after) / 2
            smooth = _cubics(h, a, middle)[1] <= _SMOOTH
            before, after = np.where(smooth, middle, before), np.where(smooth, after, middle)
        panels[bent + 1, 0] = before
        for place, (start, stop) in ((1, (a, before)), (5, (before, b))):
            narrow = stop - start < _NARROW * (b - a)
            with np.errstate(invalid="ignore", divide="ignore"):
                piece = np.where(narrow[:, None], _lines(h, start, stop), _cubics(h, start, stop)[0])
            panels[bent + 1, place : place + 4] = np.nan_to_num(piece)
    return panels


_NODES = np.cos((2 * np.arange(4) + 1) * np.pi / 8)  # of Chebyshev, on [−1, 1]
_TO_CUBIC = np.linalg.inv(np.vander(_NODES, increasing=True)).T
_TESTED = np.array([-1.0, 0.0, 1.0])  # where the miss of a smooth function is largest


def _cubics(h: _Entropy, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Cubics in the share on some panels, and by which part of its values h misses them."""
    middle, half = (low + high) / 2, (high - low) / 2
    at = middle[:, None] + half[:, None] * np.concatenate([_NODES, _TESTED])
    values = h(at.ravel()).reshape(at.shape)
    local = values[:, :4] @ _TO_CUBIC
    miss = np.abs(values[:, 4:] - local @ np.vander(_TESTED, 4, increasing=True).T).max(axis=1)
    s, r = 1 / half, -middle / half  # local coordinate s·x + r
    c0, c1, c2, c3 = local.T
    cubic = np.column_stack(
        [
            c0 + r * (c1 + r * (c2 + r * c3)),
            s * (c1 + r * (2 * c2 + r * 3 * c3)),
            s**2 * (c2 + r * 3 * c3),
            s**3 * c3,
        ]
    )
    return cubic, miss / np.maximum(np.abs(values).max(axis=1), 1e-300)


def _lines(h: _Entropy, low: Floats, high: Floats) -> Floats:
    """Straight lines between the ends of panels, as cubics."""
    first, last = h(low), h(high)
    slope = (last - first) / (high - low)
    return np.column_stack([first - slope * low, slope, np.zeros_like(low), np.zeros_like(low)])


@small
def _term(panels, small, total, side):
    """W·h of a class that is, or lacks, the smaller part of a node."""
    share = small / total
    panel = max((np.float64(share).view(np.int64) >> _SHIFT) - _FIRST, np.int64(0))
    at = _NUMBERS * np.uint64(panel + side * (_LAST + 1))
    at += np.uint64(4) * np.uint64(share >= panels[at]) + np.uint64(1)
    cubic = panels[at + np.uint64(2)] + share * panels[at + np.uint64(3)]
    return total * (panels[at] + share * (panels[at + np.uint64(1)] + share * cubic))


@small
def class_loss(panels, own, total):
    """W·h(c/W) of a class with the weight `own` in a node with the weight `total`."""
    rest = total - own
    return _term(panels, min(own, rest), total, np.int64(own > rest))


@small
def pair_loss(panels, a, b):
    """Loss of a node with the weights a and b of two classes."""
    return _term(panels, min(a, b), a + b, np.int64(b > a))


@kernel
def _fill_few(panels, few):
    for a in range(FEW):
        for b in range(FEW):
            few[a * FEW + b] = pair_loss(panels, np.float64(a), np.float64(b)) if a + b > 0 else 0.0


@inner
def node_loss(panels, sums):
    """Loss of a node with these sums of the classes."""
    if sums.size == 2:
        return pair_loss(panels, np.float64(sums[0]), np.float64(sums[1]))
    total, loss = 0.0, 0.0
    for k in range(sums.size):
        total += np.float64(sums[k])
    for k in range(sums.size):
        loss += class_loss(panels, np.float64(sums[k]), total)
    return loss


@small
def steps(gain, loss):
    """A gain as a whole number of steps of a node's loss."""
    return np.rint(gain / (EQUAL * max(loss, 1e-290)))


@inner
def pair_second(a, b, A, B):
    """What a cut with the sums (a, b) on its left gains in squared loss, of a node with (A, B), in steps."""
    left, right, total = np.float64(a + b), np.float64(A - a + B - b), np.float64(A + B)
    apart = b / left - (B - b) / right
    return np.rint(left * right / total * (2.0 * apart * apart) / (EQUAL * total))


@inner
def second(left, sums):
    """The same of any number of classes."""
    inside = total = apart = 0.0
    for k in range(sums.size):
        inside += left[k]
        total += sums[k]
    outside = total - inside
    for k in range(sums.size):
        apart += (left[k] / inside - (sums[k] - left[k]) / outside) ** 2
    return np.rint(inside * outside / total * apart / (EQUAL * total))
