"""What decisions cost in all, how sure that is, and what they save against deciding the same for everyone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import Label, Shares
from propriety.data.costs import read_terms
from propriety.evaluation import inputs
from propriety.evaluation.condensing import as_copies, condensed
from propriety.evaluation.decisions import read_decisions, with_terms
from propriety.evaluation.judging import JudgedRows, share_saved
from propriety.model.adapt import read_shares
from propriety.weights import Estimate, Weights

if TYPE_CHECKING:
    from propriety.data.costs import CostsLike


@dataclass(frozen=True)
class CostSummary:
    """What decisions cost; made by `cost_summary`.

    Attributes
    ----------
    mean, total : Estimate
        Cost of a decision, and of all of them, with 95% confidence intervals. The total is over rows;
        weights that are not whole numbers count relative to their mean.
    constant : label
        The one decision that would have cost least if it had been made for every row.
    constant_mean : float
        What that would have cost a row.
    saved : Estimate
        Mean saving of a row against it.
    positives : float
        Rows of the positive class, or of the rarest of several, on which the intervals rest.

    Examples
    --------
    >>> cost_summary([0, 1, 1], [0, 1, 0], fn_cost=6).saved.value
    -1.6666666666666667
    """

    mean: Estimate
    total: Estimate
    constant: Any
    constant_mean: float
    saved: Estimate
    positives: float

    @property
    def savings(self) -> float:
        """1 − cost/min(always, never): the share saved of what the cheapest decision for everyone costs.

        References
        ----------
        Bahnsen, Aouada & Ottersten (2014), Example-dependent cost-sensitive logistic regression for credit
        scoring. Höppner et al. (2022), Instance-dependent cost-sensitive learning for detecting transfer
        fraud.
        """
        return share_saved(self.mean.value, self.constant_mean)

    def __str__(self) -> str:
        less = self.saved.value < 0
        ends = (-self.saved.high, -self.saved.low) if less else (self.saved.low, self.saved.high)
        more = f"{_number(abs(self.saved.value))} {'less' if less else 'more'}"
        return (
            f"{_number(self.mean.value)} a decision ({_number(self.mean.low)} to {_number(self.mean.high)}), "
            f"{_number(self.total.value)} in all; deciding {self.constant!r} for everyone costs "
            f"{_number(self.constant_mean)} a decision, {more} "
            f"({' to '.join(map(_number, ends))}); intervals rest on "
            f"{_number(self.positives)} positives"
        )


def _number(value: float) -> str:
    """Four digits, never an exponent for a large number.

    >>> _number(0.25), _number(1234.56), _number(81790.4)
    ('0.25', '1,235', '81,790')
    """
    return f"{value:,.0f}" if abs(value) >= 9999.5 else f"{value:,.4g}"


def cost_summary(
    y: ArrayLike,
    decision: ArrayLike,
    *,
    costs: CostsLike | None = None,
    fp_cost: ArrayLike = 1.0,
    fn_cost: ArrayLike = 1.0,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Label | None = None,
    prevalence: Shares | None = None,
) -> CostSummary:
    """Mean and total cost of decisions, and savings, with 95% intervals; arguments as in `mean_cost`.

    With ``prevalence``, the share of the positive class in a population (of several classes a dictionary by
    label, or an array), rows that were drawn by class are weighted to stand for that population.

    Rows may be in Dask collections with the same partitions: labels, ``predict`` of them, weights and costs.

    >>> summary = cost_summary([0, 0, 1, 1], [0, 1, 1, 1], fp_cost=1, fn_cost=9)
    >>> summary.mean.value, summary.total.value, summary.constant, summary.savings
    (0.25, 1.0, 1, 0.5)
    >>> print(summary)
    0.25 a decision (... to 7.233), 1 in all; deciding 1 for everyone costs 0.5 a decision, 0.25 more (...)...
    >>> round(cost_summary([0, 0, 1, 1], [0, 1, 1, 1], fn_cost=9, prevalence=0.02).mean.value, 6)
    0.49
    """
    stated = read_terms(costs, fp_cost, fn_cost, pos_label)
    given = as_copies(condensed(y=y, decision=decision, sample_weight=sample_weight, **stated.terms))
    judged = read_decisions(given["y"], given["decision"], with_terms(stated, given), labels=labels)
    weights = Weights.read(given["sample_weight"], len(judged.true))
    rows = JudgedRows(judged.true, judged.classes, judged.costs, weights)
    if prevalence is not None:
        shares = read_shares(prevalence, np.asarray(judged.classes), judged.costs.positive)
        weights, drawn = inputs.at_prevalence(weights, judged.true, shares), weights
        rows = replace(rows, weights=weights, sampled=drawn)
    row_costs, best = rows.row_costs(judged.decided), rows.cheapest[0]
    constant = rows.row_costs(np.full(len(judged.true), best))
    return CostSummary(
        rows.cost(row_costs, 1.0),
        rows.cost(row_costs, weights.total),
        [*judged.classes, stated.abstain_label][best],
        float(weights.mean(constant)),
        rows.difference(judged.decided, np.full(len(judged.true), best), 1.0)[0],
        rows.positives,
    )
