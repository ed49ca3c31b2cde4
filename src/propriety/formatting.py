"""Numbers of a column with the same digits, and losses, for people."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

_MOST = 4  # decimals


def aligned(values: Sequence[float]) -> list[str]:
    """Numbers of a column with the same decimals: three digits of the largest, two of the smallest.

    >>> aligned([214.4, 3353.3, 0]), aligned([2.48, 0.107, 0.0]), aligned([12.3, 8.8, 372.6, math.nan])
    (['214', '3,353', '0'], ['2.48', '0.11', '0.00'], ['12.3', '8.8', '372.6', '–'])
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    decimals = 0
    if sizes and not all(float(value).is_integer() for value in values if math.isfinite(value)):
        wanted = (3 - _digits(max(sizes)), 2 - _digits(min(sizes)))
        decimals = min(_MOST, max(0, *wanted))
    return ["–" if math.isnan(value) else f"{value:,.{decimals}f}" for value in values]


def _digits(size: float) -> int:
    """How many digits stand before the point: 3 for 214.4, 0 for 0.5, −1 for 0.05."""
    return math.floor(math.log10(size)) + 1


def intervals(ends: Sequence[tuple[float, float]]) -> list[str]:
    """Intervals of a column with the same decimals.

    >>> intervals([(0.636, 0.801), (2.37, 2.6)])
    ['0.64 – 0.80', '2.37 – 2.60']
    """
    numbers = iter(aligned([end for pair in ends for end in pair]))
    return [f"{low} – {high}" for low, high in zip(numbers, numbers, strict=True)]


def loss_text(loss: Any) -> str:
    """A loss and its link, without the parameters of a recalibration.

    >>> from propriety import losses
    >>> loss_text(losses.Tailored(1 / 6, 20).with_link("Logit()"))
    'Tailored(0.1667, 20), logit link'
    """
    link, note = getattr(loss, "link", None), ""
    if link is None or callable(loss.loss):  # no composite: one of several classes has its own link
        return _rounded(loss)
    while hasattr(link, "base"):
        link, note = link.base, ", recalibrated"
    text = _rounded(link)
    name = text.removesuffix("()").lower() if text.endswith("()") else text
    return f"{_rounded(loss.loss)}, {name} link{note}"


def _rounded(value: Any) -> str:
    return re.sub(r"\d+\.\d{5,}", lambda number: f"{float(number[0]):.4g}", repr(value))
