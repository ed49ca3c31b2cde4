"""A loss from the heights of a few handles: a mixture whose weight passes through them.

The mixture is of the log and the squared loss and of bumps at each handle, with factors that are not
negative. It is a mixture and not ``losses.from_weight``, because it has closed forms (faces in milliseconds,
not tenths of a second), prints as text that ``losses.parse`` and ``propriety fit --loss`` read, and can be
kept in a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from propriety import losses
from propriety.losses.value import number
from propriety.plots.panels import Array, Axis

#: Where the handles stand, and the heights that they may have.
HANDLES = (0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97)
AXIS = Axis(0.2, 300.0, log=True)
# Wide bumps leave no dents between handles, narrow ones leave neighbours alone, where heights differ much.
_WIDE = (0.028, 0.045, 0.08, 0.1, 0.08, 0.045, 0.028)
_NARROW = (0.012, 0.02, 0.04, 0.07, 0.04, 0.02, 0.012)
_RELUCTANCE = 0.05  # to use a narrow one
_NEAR = 0.05  # how far the weight may be from a handle, as a share of it
_DIGITS = 4


@dataclass(frozen=True)
class Shape:
    """A loss, and the handles that its weight does not reach."""

    loss: losses.Loss
    missed: tuple[float, ...]

    @property
    def note(self) -> str:
        """What to know of it."""
        if not self.missed:
            return ""
        where = ", ".join(f"{p:g}" for p in self.missed)
        return f"The weight stays above the handle at {where}: the bumps beside it reach that far."


def through(heights: Sequence[Any]) -> Shape:
    """The loss whose weight passes through the handles, as nearly as a mixture can.

    >>> through([1 / (p * (1 - p)) for p in HANDLES]).loss
    Log()
    >>> through([2] * 7).loss
    Squared()
    """
    if len(heights) != len(HANDLES):
        raise ValueError(
            f"handles must be {len(HANDLES)} weights, one at each of {HANDLES}, got {len(heights)}"
        )
    wanted = np.array([number("a handle", h, AXIS.low, AXIS.high, "both") for h in heights])
    parts: list[losses.SmoothLoss] = [losses.Log(), losses.Squared()]
    for widths in (_WIDE, _NARROW):
        parts += [losses.HandVinciotti(c, width) for c, width in zip(HANDLES, widths, strict=True)]
    weights = np.column_stack([part.weight(np.array(HANDLES)) for part in parts]) / wanted[:, None]
    reluctance = np.zeros((len(HANDLES), len(parts)))
    reluctance[:, -len(HANDLES) :] = _RELUCTANCE * np.diag(np.diag(weights[:, -len(HANDLES) :]))
    rows = np.concatenate([weights, reluctance])
    factors, _ = nnls(rows, np.concatenate([np.ones(len(wanted)), np.zeros(len(wanted))]))
    # What is less than a thousandth of every handle is not seen, and would only lengthen the code.
    seen = (weights * factors).max(axis=0) > 1e-3
    terms = [(_rounded(factors[k]), parts[k]) for k in np.flatnonzero(seen)]
    loss = losses.Mixture.of(terms)
    reached = loss.weight(np.array(HANDLES))  # type: ignore[attr-defined]
    missed = tuple(p for p, off in zip(HANDLES, np.abs(reached / wanted - 1) > _NEAR, strict=True) if off)
    return Shape(loss, missed)


def heights_of(loss: losses.SmoothLoss, factor: float) -> Array:
    """Where the handles would stand for a multiple of a loss, within what they may be."""
    heights = np.nan_to_num(factor * loss.weight(np.array(HANDLES)), posinf=AXIS.high)
    return np.clip(heights, AXIS.low, AXIS.high)


def _rounded(factor: float) -> float:
    rounded = float(f"{factor:.{_DIGITS}g}")
    return 1.0 if abs(factor - 1) < 1e-9 else rounded
