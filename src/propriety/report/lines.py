"""What each way to decide costs, with intervals, and what the model saves against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.costs import Costs
from propriety.weights import Estimate, Weights


@dataclass(frozen=True)
class Line:
    """One way to decide: its cost, and what the model saves against it, per 1,000 cases; rows in pairs."""

    name: str
    cost: Estimate
    alarms: float
    misses: float
    saved: Estimate | None


def compare(y: Any, ways: Mapping[str, NDArray[np.intp]], weights: Weights, costs: Costs) -> list[Line]:
    """A line for each way to decide; the first is the model.

    >>> ways = {"all": np.array([1, 1]), "none": np.array([0, 0])}
    >>> lines = compare([0, 1], ways, Weights(2), Costs.of_mistakes(1, 9))
    >>> [(line.cost.value, line.misses) for line in lines], lines[1].saved.value
    ([(500.0, 0.0), (4500.0, 500.0)], 4000.0)
    """
    true = np.asarray(y, dtype=np.intp)
    of_rows = {name: costs.of_rows(true, decided) for name, decided in ways.items()}
    of_model = next(iter(of_rows.values()))
    lines = []
    for name, decided in ways.items():
        cost = weights.estimate(of_rows[name], scale=1000)
        saved = None
        if of_rows[name] is not of_model:
            saved = weights.estimate(of_rows[name] - of_model, scale=1000)
        alarms, misses = (1000 * weights.mean(wrong) for wrong in (decided > true, decided < true))
        lines.append(Line(name, Estimate(cost.value, max(cost.low, 0.0), cost.high), alarms, misses, saved))
    return lines
