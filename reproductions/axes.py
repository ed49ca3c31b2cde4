"""Axes of the papers' figures."""

from __future__ import annotations

from typing import Any


def plain_ticks(*axes: Any) -> None:
    """Ticks of logarithmic axes as numbers: the page has no typeset powers."""
    for axis in axes:
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
