"""The same numbers for parts of the rows: what decisions cost, how often they err, if shares are right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.aliases import Label
from propriety.costs import ResolvedCosts
from propriety.evaluation import inputs
from propriety.evaluation.judging import JudgedRows
from propriety.weights import Z95, Estimate, Weights


@dataclass(frozen=True)
class Subgroup:
    """Decisions about some of the rows; each number with its 95% CI.

    Attributes
    ----------
    name : str
    n, positives : int
        Rows, and those of them that are of class 1.
    cost : Estimate
        Mean cost of a decision.
    rate, stated : Estimate
        Share of class 1, and mean of its stated probabilities.
    gap : Estimate
        Stated less seen: above 0 the probabilities are too high here.
    alarmed : Estimate
        Share of the rows that class 1 is decided for.
    missed, false_alarms : Estimate or None
        Share of class 1 that is missed, and of class 0 that is alarmed; None without such rows.
    threshold : float
        From which class 1 is decided, by the mean costs of these rows.
    differences : dict
        Of "cost", "gap", "alarmed", "missed" and "false_alarms" from all other rows.
    """

    name: str
    n: int
    positives: int
    cost: Estimate
    rate: Estimate
    stated: Estimate
    gap: Estimate
    alarmed: Estimate
    missed: Estimate | None
    false_alarms: Estimate | None
    threshold: float
    differences: dict[str, Estimate] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For machines; estimates as value, low and high."""
        return asdict(self, dict_factory=_document)


def _document(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    return list(found.values()) if list(found) == ["value", "low", "high"] else found


#: What is compared with the other rows.
COMPARED = ("cost", "gap", "alarmed", "missed", "false_alarms")


def subgroups(
    y: ArrayLike,
    p: ArrayLike,
    by: ArrayLike,
    *,
    costs: ResolvedCosts | None = None,
    decided: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: NDArray[np.intp] | None = None,
    pos_label: Label | None = None,
    prevalence: float | None = None,
) -> list[Subgroup]:
    """Cost, calibration and rates of error for the rows of each value of `by`, in the order of their names.

    Parameters
    ----------
    y : array of labels
    p : array of shape (n,) or (n, 2)
    by : array of shape (n,)
        The part that each row belongs to.
    costs : ResolvedCosts, optional
        By default every mistake costs 1.
    decided : array of shape (n,), optional
        Decisions, 0 and 1; by default those of least expected cost.
    sample_weight, groups : arrays of shape (n,), optional
        Rows of a group are one observation in the intervals of means; rates have Wilson's.
    pos_label : label, optional
    prevalence : float, optional
        The share of class 1 in the population that rows drawn by class stand for.

    Examples
    --------
    >>> parts = subgroups([1, 0, 1, 0], [0.9, 0.2, 0.4, 0.1], ["a", "a", "b", "b"])
    >>> [(part.name, part.cost.value, part.missed.value) for part in parts]
    [('a', 0.0, 0.0), ('b', 0.5, 1.0)]
    >>> parts[1].differences["missed"]
    Estimate(value=1.0, low=-0.12..., high=1.0)
    """
    p = inputs.probabilities(p, column=inputs.column_of(y, pos_label))
    outcomes = inputs.outcomes(y, pos_label)
    names = np.asarray(by)
    inputs.same_length(y=outcomes, p=p, by=names)
    costs = ResolvedCosts.of_mistakes() if costs is None else costs
    chosen = costs.decide(p) if decided is None else np.asarray(decided, dtype=np.intp)
    weights = drawn = Weights.read(sample_weight, len(p))
    if prevalence is not None:
        shares = np.array([1 - prevalence, prevalence])
        weights = inputs.at_prevalence(weights, outcomes.astype(np.intp), shares)

    def numbers(chosen_rows: NDArray[np.bool_]) -> dict[str, Any]:
        rows = np.flatnonzero(chosen_rows & (weights.array > 0))
        own, held = None if groups is None else groups[rows], weights.take(rows)
        codes, taken = outcomes[rows].astype(np.intp), None if weights is drawn else drawn.take(rows)
        part = JudgedRows(codes, (0, 1), costs.take(rows), held, own, sampled=taken)
        stated = held.estimate(p[rows], groups=own)
        reach = stated.value - 1, stated.value
        return {
            "n": len(rows),
            "positives": int(codes.sum()),
            "cost": part.cost(part.row_costs(chosen[rows]), 1.0),
            "stated": stated,
            "gap": held.estimate(p[rows] - codes, groups=own, reach=reach),
            "threshold": float(part.costs.mean(held.array).threshold),
            **_rates(codes > 0, chosen[rows] > 0, held),
        }

    known = weights.array > 0
    parts = []
    for name in np.unique(names[known]):
        found, others = numbers(names == name), {}
        if np.any(known & (names != name)):
            others = numbers(names != name)
        pairs = {key: (found[key], others.get(key)) for key in COMPARED}
        apart = {key: own.minus(other) for key, (own, other) in pairs.items() if own and other}
        parts.append(Subgroup(str(name), **found, differences=apart))
    return parts


def _rates(positive: Any, alarmed: Any, weights: Weights) -> Mapping[str, Any]:
    ones, zeros = np.flatnonzero(positive), np.flatnonzero(~positive)
    return {
        "rate": share(positive, weights),
        "alarmed": share(alarmed, weights),
        "missed": share(~alarmed[ones], weights.take(ones)) if len(ones) else None,
        "false_alarms": share(alarmed[zeros], weights.take(zeros)) if len(zeros) else None,
    }


def share(holds: ArrayLike, weights: Weights) -> Estimate:
    """The share of rows for which something holds, with Wilson's interval; relative weights count for fewer.

    >>> share([True, False, False, False], Weights(4)).low > 0
    True
    """
    value = weights.mean(np.asarray(holds, dtype=np.float64))
    n = weights.total / weights.overdispersion
    middle = (value + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * np.sqrt(value * (1 - value) / n + Z95**2 / (4 * n**2))
    return Estimate(value, max(0.0, float(middle - half)), min(1.0, float(middle + half)))


def in_parts(values: ArrayLike, n_parts: int) -> NDArray[np.intp]:
    """The part of each row, 0, 1, …, by increasing values: of about equal size, equal values together.

    >>> in_parts([3.0, 1.0, 2.0, 2.0], 2)
    array([1, 0, 1, 1])
    """
    values = np.asarray(values, dtype=np.float64)
    ordered = np.sort(values)
    cuts = np.unique([ordered[len(values) * k // n_parts] for k in range(1, n_parts)])
    return np.unique(np.searchsorted(cuts, values, side="right"), return_inverse=True)[1]
