"""A column as a few bins: merged by the loss, monotone where asked, missing values and rare levels apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from propriety.scorecard.columns import BinnedColumn, Codes, Floats, drawn_rates
from propriety.trees.quantiles import distinct_values, quantile_edges

_FINE = 50  # bins of equal weight that numbers are merged from
_RARE = 0.2  # of the least share of a bin: levels with fewer rows are rare
_BIN = 1.0  # log loss that a bin must save, as much as another parameter saves by chance


@dataclass(frozen=True)
class BinRules:
    """How bins are made: by the entropy of a loss, not too many, none too small."""

    entropy: Callable[[Floats, Floats], Floats]
    max_bins: int
    min_share: float

    def bins_of(
        self, feature: int, column: Floats, n_categories: int, sign: int, weight: Floats, labels: Floats
    ) -> BinnedColumn | None:
        """The bins of a column of values or of codes of categories; None if they are one bin.

        >>> rules = BinRules(lambda p, q: p * q, 5, 0.05)
        >>> x = np.repeat([1.0, 2.0, 3.0, np.nan], 20)
        >>> bins = rules.bins_of(0, x, 0, 0, np.ones(80), (x > 2).astype(float))
        >>> bins.edges, bins.sums.tolist()
        (array([2.5]), [[40.0, 0.0], [0.0, 20.0], [20.0, 0.0]])
        """
        lost = np.isnan(column)
        least = self.min_share * float(weight.sum())
        rare = -1
        if n_categories == 0:
            fine = np.empty(0)
            if not lost.all():
                fine = quantile_edges(distinct_values(column[~lost], weight[~lost]), _FINE)
            places = np.searchsorted(fine, column[~lost], side="left")
            cuts = self._cuts(_sums(places, len(fine) + 1, weight[~lost], labels[~lost]), least, sign)
            edges, groups, missing = fine[cuts - 1], None, len(cuts) + 1
        else:
            codes = column[~lost].astype(np.intp)
            sums = _sums(codes, n_categories, weight[~lost], labels[~lost])
            frequent = np.flatnonzero(sums.sum(axis=1) >= max(_RARE * least, np.finfo(float).tiny))
            rates = drawn_rates(sums[frequent], float(labels @ weight / weight.sum()))
            order = frequent[np.argsort(rates, kind="stable")]
            cuts = self._cuts(sums[order], least, 0) if len(order) else np.empty(0, dtype=np.intp)
            edges, n = None, (len(cuts) + 1 if len(order) else 0)
            groups = np.full(n_categories, n, dtype=np.intp)
            groups[order] = np.searchsorted(cuts, np.arange(len(order)), side="right")
            rare = n if len(order) < n_categories else -1
            missing = n + (rare >= 0) if rare < 0 or lost.any() else rare
        bins = BinnedColumn(feature, edges, groups, rare, missing, np.zeros((0, 2)))
        n_bins = max(missing, rare) + 1
        sums = _sums(bins.place(column), n_bins, weight, labels)
        if np.count_nonzero(sums.sum(axis=1)) < 2:
            return None
        return BinnedColumn(feature, edges, groups, rare, missing, sums)

    def gain(self, bins: BinnedColumn) -> float:
        """By how much the bins of a column lower the loss of the training rows."""
        whole, each = bins.sums.sum(axis=0, keepdims=True), bins.sums
        return float(self._losses(whole).sum() - self._losses(each).sum())

    def _losses(self, sums: Floats) -> Floats:
        total = sums.sum(axis=-1)
        safe = np.where(total > 0, total, 1.0)
        return np.where(total > 0, total * self.entropy(sums[..., 1] / safe, sums[..., 0] / safe), 0.0)

    def _cuts(self, sums: Floats, least: float, sign: int) -> Codes:
        """Where bins begin, but the first, if neighbours are merged to the smallest loss.

        A bin costs a unit, in which stating ½ costs log 2. With a `sign` the rates rise, or fall, from each
        to the next.
        """
        n, total = len(sums), sums.sum()
        if n < 2 or total == 0:
            return np.empty(0, dtype=np.intp)
        unit = float(self.entropy(np.array([0.5]), np.array([0.5]))[0]) / np.log(2)
        ends = np.vstack([np.zeros((1, 2)), np.cumsum(sums, axis=0)])
        between = np.maximum(ends[None, :, :] - ends[:, None, :], 0.0)  # [i, j]: the rows of i … j − 1
        weight, base = between.sum(axis=2), sums[:, 1].sum() / total
        rate = drawn_rates(between, float(base))
        cost = self._losses(between) + _BIN * unit
        cost[(weight < least * (1 - 1e-9)) | (weight <= 0) | np.tri(n + 1, dtype=bool)] = np.inf
        cost[0, n] = self._losses(between[0, n]) + _BIN * unit
        best = np.full((n + 1, n + 1), np.inf)  # [i, j]: the loss of the rows up to j if the last bin is i, j
        best[0] = cost[0]
        least_loss, chosen, before = float(best[0, n]), [], []
        for _ in range(1, self.max_bins):
            longer, came = np.full_like(best, np.inf), np.zeros(best.shape, dtype=np.intp)
            for i in range(1, n):
                wrong = sign * (rate[i][None, :] - rate[:i, i][:, None]) < 0
                options = np.where(wrong, np.inf, best[:i, i][:, None])
                came[i] = np.argmin(options, axis=0)
                longer[i] = cost[i] + options[came[i], np.arange(n + 1)]
            before.append(came)
            best = longer
            last = int(np.argmin(best[:, n]))
            if best[last, n] < least_loss - 1e-9 * unit:
                least_loss, chosen, stop = float(best[last, n]), [last], n
                for came in reversed(before[1:]):
                    chosen.append(int(came[chosen[-1], stop]))
                    stop = chosen[-2]
        return np.array(sorted(chosen), dtype=np.intp)


def _sums(places: Codes, n_bins: int, weight: Floats, labels: Floats) -> Floats:
    """Weight of the rows of each bin whose label is 0, and of those whose label is 1."""
    ones = np.bincount(places, weights=weight * labels, minlength=n_bins)
    zeros = np.bincount(places, weights=weight * (1 - labels), minlength=n_bins)
    return np.column_stack([zeros, ones])
