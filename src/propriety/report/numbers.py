"""Numbers for people."""

from __future__ import annotations

from propriety.weights import Estimate


def number(value: float) -> str:
    """A number for people.

    >>> number(1234.5), number(12.34), number(-0.1234), number(0)
    ('1,234', '12.3', '−0.123', '0')
    """
    if value == 0:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share for people.

    >>> percent(0.1234), percent(-0.5)
    ('12.3%', '−50.0%')
    """
    return f"{share:.1%}".replace("-", "−")


def between(estimate: Estimate) -> str:
    """An interval in words."""
    return f"{number(estimate.low)} to {number(estimate.high)}"
