"""Numbers for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from propriety.errors import ArgumentError
from propriety.weights import Estimate

_TINY = 1e-6  # shown as 0


def number(value: float) -> str:
    """A number for people.

    >>> number(1234.5), number(12.34), number(-0.1234), number(0), number(0.0000123)
    ('1,234', '12.3', '−0.123', '0', '0.0000123')
    """
    if abs(value) < _TINY:
        return "0"
    if abs(value) >= 100:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}"
        text = f"{float(text):.12f}".rstrip("0") if "e" in text else text
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


_ROUNDED = 1e4  # from here on three digits are shown
_LARGE = ((1e9, "billion"), (1e6, "million"))


def amount(value: float, unit: str = "") -> str:
    """What something costs, in its unit.

    >>> amount(1_234_567, "€"), amount(-45.678, "€"), amount(31_234)
    ('1.23 million €', '−45.7 €', '31,200')
    """
    for size, name in _LARGE:
        if abs(value) >= size:
            text = f"{number(value / size)} {name}"
            break
    else:
        text = number(float(f"{value:.3g}") if abs(value) >= _ROUNDED else value)
    return f"{text} {unit}" if unit else text


@dataclass(frozen=True)
class Scale:
    """For how many cases numbers are told, and in which unit: 1,000, or those of a period.

    >>> scale = Scale("€", "year", 120_000)
    >>> scale.name, scale.cost(25.0), scale.count(3)
    ('120,000 cases a year', '3,000 €', '360')
    """

    unit: str = ""
    period: str = ""
    cases: float = 1000.0

    @classmethod
    def read(cls, unit: str = "", cases: Any = None) -> Scale:
        """From a unit and a pair (period, number of cases)."""
        if cases is None:
            return cls(unit)
        if len(cases) != 2 or not float(cases[1]) > 0:
            raise ArgumentError(
                "cases", f"must be a period and a number of cases, as ('year', 120_000), got {cases!r}"
            )
        return cls(unit, cases[0], float(cases[1]))

    @property
    def name(self) -> str:
        """The cases."""
        return f"{self.cases:,.0f} cases{self.often}"

    @property
    def often(self) -> str:
        """How often they come: " a year"."""
        return f" a {self.period}" if self.period else ""

    def cost(self, of_thousand: float) -> str:
        """What they cost, of what 1,000 cases do."""
        return amount(of_thousand * self.cases / 1000, self.unit)

    def count(self, of_thousand: float) -> str:
        """How many they are, of how many 1,000 cases have."""
        return number(of_thousand * self.cases / 1000)

    def between(self, of_thousand: Estimate) -> str:
        """An interval of costs in words."""
        return f"{amount(of_thousand.low * self.cases / 1000)} to {self.cost(of_thousand.high)}"
