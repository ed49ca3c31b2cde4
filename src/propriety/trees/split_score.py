"""What a split must satisfy, and what it and its leaves are worth by gradient and curvature.

With gradient sum G and curvature sum H, a leaf of value v changes the loss by G v + ½ (H + l2) v² to
second order; its best value is v = −G / (H + l2), and the gain of a split is what two such leaves save
beyond one.

All formulas that a penalty on the values of leaves enters are here, with the settings of a split.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.trees.jit import inner

_TINY_GAIN = 1e-12  # of the children's scores: what rounding alone may show as a gain
Floats = NDArray[np.float64]


class SplitParameters(NamedTuple):
    """What a split must satisfy."""

    max_leaves: int
    max_depth: int
    min_weight: int  # in units of ``QuantizedGradients.weight_unit``
    min_curvature: float
    min_gain: float
    l2: float
    set_smoothing: float  # curvature added when the categories of a node are put in order
    monotone: NDArray[np.int8]
    groups: NDArray[np.uint8]  # (groups, d): features that may interact; (0, d): all may
    features: NDArray[np.uint8]  # (d,): features of this tree
    split_features: int  # how many of them each split may look at
    random_cuts: bool  # whether it looks at one cut of each, drawn at random
    seed: np.uint64
    drift: NDArray[np.float64]  # (d,): what categories that were not seen have got so far, summed over rows


#: Its numbers, as fields of ``gradient_layout.PARAMS``.
SPLIT_FIELDS = [
    ("max_leaves", "i8"),
    ("max_depth", "i8"),
    ("min_weight", "i8"),
    ("min_curvature", "f8"),
    ("min_gain", "f8"),
    ("l2", "f8"),
    ("set_smoothing", "f8"),
    ("split_features", "i8"),
    ("random_cuts", "i8"),
    ("seed", "u8"),
]


class Penalty(NamedTuple):
    """What the value of a leaf is penalized by."""

    l2: float = 0.0


@inner
def penalty_of(params):
    """The penalty, in registers."""
    return Penalty(params.l2)


def penalized(G: Floats, H: Floats, value: Floats, penalty: Penalty) -> tuple[Floats, Floats]:
    """Slope and curvature of loss and penalty together, at these values of leaves."""
    return G + penalty.l2 * value, H + penalty.l2


@inner
def leaf_value(gradient, curvature, penalty, lower, upper):
    """The best value of a leaf, −G / (H + l2), within the bounds."""
    bend = curvature + penalty.l2
    value = -gradient / bend if bend > 0 else 0.0
    return min(max(value, lower), upper)


@inner
def bound_children(params, node, sign, a, b):
    """Hand the bounds down; across a monotone split, the middle of the two values parts the children."""
    a.lower, a.upper, b.lower, b.upper = node.lower, node.upper, node.lower, node.upper
    if sign == 0:
        return
    penalty, g, h = penalty_of(params), params.gradient_unit, params.curvature_unit
    left = leaf_value(a.gradient * g, a.curvature * h, penalty, node.lower, node.upper)
    right = leaf_value(b.gradient * g, b.curvature * h, penalty, node.lower, node.upper)
    middle = 0.5 * (left + right)
    if sign > 0:
        a.upper, b.lower = middle, middle
    else:
        a.lower, b.upper = middle, middle


@inner
def _saving(gradient, curvature, penalty, lower, upper):
    """−2 (G v + ½ (H + l2) v²) at the leaf's value v."""
    v = leaf_value(gradient, curvature, penalty, lower, upper)
    return -v * (2.0 * gradient + (curvature + penalty.l2) * v)


@inner
def score_within(gl, hl, gr, hr, params, sign, node):
    """What two leaves save, doubled, within bounds; −1 where a monotone constraint forbids them."""
    penalty, lower, upper = penalty_of(params), node.lower, node.upper
    if sign * (leaf_value(gr, hr, penalty, lower, upper) - leaf_value(gl, hl, penalty, lower, upper)) < 0:
        return -1.0
    return _saving(gl, hl, penalty, lower, upper) + _saving(gr, hr, penalty, lower, upper)


@inner
def score_cut(g, h, gradient, curvature, g_unit, h_unit, penalty):
    """G_l² / (H_l + l2) + G_r² / (H_r + l2).

    Without a branch, and with a single division, so that it is compiled to vector instructions.
    """
    a, b = h * h_unit + penalty.l2, (curvature - h) * h_unit + penalty.l2
    gl, gr = g * g_unit, (gradient - g) * g_unit
    return (gl * gl * b + gr * gr * a) / (a * b)


@inner
def floor_of(node, params):
    """The score that the node has by itself, and the score that a split must beat."""
    gradient = node.gradient * params.gradient_unit
    curvature = node.curvature * params.curvature_unit
    own = _saving(gradient, curvature, penalty_of(params), node.lower, node.upper)
    return own, (max(own, 0.0) + 2.0 * params.min_gain) * (1.0 + _TINY_GAIN)
