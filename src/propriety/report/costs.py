"""What decisions cost, with intervals, and against other ways to decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import evaluation

Floats = NDArray[np.float64]
_Z = 1.959964  # of a 95% interval


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Any, weight: Floats, scale: float = 1.0) -> Estimate:
        """Of the weighted mean of values of rows.

        >>> Estimate.of(np.array([0.0, 1.0, 1.0, 0.0]), np.ones(4)).value
        0.5
        """
        mean = float(np.average(values, weights=weight))
        share = weight / weight.sum()
        error = float(np.sqrt(np.sum((share * (values - mean)) ** 2)))
        return cls(scale * mean, scale * (mean - _Z * error), scale * (mean + _Z * error))

    @property
    def sure(self) -> bool:
        """Whether 0 lies outside of the interval."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Costs:
    """What a false alarm and a miss cost."""

    alarm: float
    miss: float

    @property
    def threshold(self) -> float:
        """The probability from which the positive class is decided."""
        return self.alarm / (self.alarm + self.miss)

    def of_rows(self, y: Any, decided: Any) -> Floats:
        """What the decision on each row cost."""
        costs = {"fp_cost": self.alarm, "fn_cost": self.miss}
        return evaluation.costs_of(
            np.asarray(y, dtype=int), np.asarray(decided, dtype=int), **costs, labels=[0, 1]
        )

    def decide(self, p: Any) -> NDArray[np.bool_]:
        """Whether the positive class is decided."""
        return evaluation.decide(p, fp_cost=self.alarm, fn_cost=self.miss).astype(bool)


@dataclass(frozen=True)
class Line:
    """One way to decide: its cost, and what the model saves against it, per 1,000 cases; rows in pairs."""

    name: str
    cost: Estimate
    alarms: float
    misses: float
    saved: Estimate | None


def compare(y: Floats, ways: dict[str, NDArray[np.bool_]], weight: Floats, costs: Costs) -> list[Line]:
    """A line for each way to decide; the first is the model.

    >>> y, all_, none = np.array([0, 1]), np.array([True, True]), np.array([False, False])
    >>> lines = compare(y, {"all": all_, "none": none}, np.ones(2), Costs(1, 9))
    >>> [(line.cost.value, line.misses) for line in lines], lines[1].saved.value
    ([(500.0, 0.0), (4500.0, 500.0)], 4000.0)
    """
    rows = {name: costs.of_rows(y, decided) for name, decided in ways.items()}
    own = next(iter(rows.values()))
    positive = y > 0.5
    lines = []
    for name, decided in ways.items():
        saved = None if rows[name] is own else Estimate.of(rows[name] - own, weight, 1000)
        cost = Estimate.of(rows[name], weight, 1000)
        cost = Estimate(cost.value, max(cost.low, 0.0), cost.high)
        alarms, misses = (
            1000 * float(np.average(wrong, weights=weight))
            for wrong in (decided & ~positive, ~decided & positive)
        )
        lines.append(Line(name, cost, alarms, misses, saved))
    return lines
