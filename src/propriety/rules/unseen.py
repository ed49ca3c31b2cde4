"""How far a rule holds for a category that was not in training."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from propriety.rules.monomials import Monomial
from propriety.rules.rows import BinnedRows
from propriety.rules.rule_lists import BinScorer, Unseen


def unseen_of(rules: Iterable[Monomial], rows: BinnedRows) -> Unseen:
    """How far each literal of a set of categories holds for others, so that these score as an average row.

    Unseen categories are in the bin of missing values; where that has rows in training, these have
    decided. Else the literal holds for the share of the rows that meet the other
    literals of its rule for which it does.
    """
    shares, n_bins = [], []
    for rule in rules:
        for i, (f, _) in enumerate(rule):
            n_bins.append(int(rows.binner.n_bins[f]))
            if rows.binner.category_bins[f] is None or np.any(rows.columns[f] == n_bins[-1]):
                shares.append(math.nan)
            else:
                others = _share(rule[:i] + rule[i + 1 :], rows)
                shares.append(_share(rule, rows) / others if others > 0.0 else 0.0)
    return Unseen(np.array(n_bins, dtype=np.int64), np.array(shares, dtype=np.float64))


def _share(rule: Monomial, rows: BinnedRows) -> float:
    """Share of the weight where a rule holds."""
    if not rule:
        return 1.0
    return float(rows.weights.mean(BinScorer(0.0, {rule: 1.0}).holds(0, rows.columns)))
