"""Whether a rule holds for a category that was not in training."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from propriety.rules.monomials import BinLiteral, Monomial
from propriety.rules.rows import BinnedRows
from propriety.rules.rule_lists import BinScorer


def neutral(
    rules: dict[Monomial, float], rows: BinnedRows, missing: NDArray[np.bool_]
) -> dict[Monomial, float]:
    """The rules, whose sets of categories hold or fail for unseen ones so that these score as an average row.

    Unseen categories are in the bin of missing values; where that has rows in training, as `missing` tells
    for each column, these have decided. Else each literal, those of the largest coefficients first, takes the
    bin in or leaves it out, whichever brings the sum of what such a row gets beyond the mean nearer to 0.
    """
    drift: dict[int, float] = defaultdict(float)
    changed: dict[Monomial, Monomial] = {}
    for rule, coefficient in sorted(rules.items(), key=lambda item: -abs(item[1])):
        literals, share = list(rule), _share(rule, rows)
        for i, (f, bins) in enumerate(rule):
            if rows.binner.category_bins[f] is None or missing[f]:
                continue
            others = _share(rule[:i] + rule[i + 1 :], rows)
            left_out, taken_in = -2.0 * coefficient * share, 2.0 * coefficient * (others - share)
            if abs(drift[f] + taken_in) < abs(drift[f] + left_out):
                literals[i] = BinLiteral(f, bins | 1 << int(rows.binner.n_bins[f]))
                drift[f] += taken_in
            else:
                drift[f] += left_out
        changed[rule] = tuple(literals)
    return {changed[rule]: coefficient for rule, coefficient in rules.items()}


def _share(rule: Monomial, rows: BinnedRows) -> float:
    """Share of the weight where a rule holds."""
    if not rule:
        return 1.0
    return float(rows.weights.mean(BinScorer(0.0, {rule: 1.0}).holds(0, rows.columns)))
