"""What each way to decide costs, with intervals, and what the model saves against it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.costs import ResolvedCosts
from propriety.weights import Estimate, Weights


@dataclass(frozen=True)
class Line:
    """One way to decide, per 1,000 cases.

    Attributes
    ----------
    cost : Estimate
    alarms, misses : float
        Of two classes; NaN for more.
    saved : Estimate or None
        What the model saves against it, rows in pairs.
    wrong, abstained : float
        Mistakes, and cases without a decision.
    constant : bool
        Whether it decides the same for everyone.
    """

    name: str
    cost: Estimate
    alarms: float
    misses: float
    saved: Estimate | None
    wrong: float = 0.0
    abstained: float = 0.0
    constant: bool = False


def compare(
    y: Any,
    ways: Mapping[str, NDArray[np.intp]],
    weights: Weights,
    costs: ResolvedCosts,
    *,
    constants: Collection[str] = (),
    groups: NDArray[np.intp] | None = None,
) -> list[Line]:
    """A line for each way to decide; the first is the model, and `constants` decide the same for everyone.

    >>> ways = {"all": np.array([1, 1]), "none": np.array([0, 0])}
    >>> lines = compare([0, 1], ways, Weights(2), ResolvedCosts.of_mistakes(1, 9))
    >>> [(line.cost.value, line.misses) for line in lines], lines[1].saved.value
    ([(500.0, 0.0), (4500.0, 500.0)], 4000.0)
    """
    true = np.asarray(y, dtype=np.intp)
    of_rows = {name: costs.of_rows(true, decided) for name, decided in ways.items()}
    of_model = next(iter(of_rows.values()))
    least = 0.0 if costs.matrix.min() >= 0 else -np.inf
    lines = []
    for name, decided in ways.items():
        cost = weights.estimate(of_rows[name], scale=1000, groups=groups)
        saved = None
        if of_rows[name] is not of_model:
            saved = weights.estimate(of_rows[name] - of_model, scale=1000, groups=groups)
        abstained = decided == costs.n_classes
        sides = (decided > true, decided < true) if costs.n_classes == 2 and not costs.abstains else None
        alarms, misses = (np.nan, np.nan) if sides is None else (1000 * weights.mean(side) for side in sides)
        lines.append(
            Line(
                name,
                Estimate(cost.value, max(cost.low, least), cost.high),
                alarms,
                misses,
                saved,
                1000 * weights.mean((decided != true) & ~abstained),
                1000 * weights.mean(abstained),
                name in constants,
            )
        )
    return lines
