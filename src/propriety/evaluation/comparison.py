"""Many models on many data sets: ranks, tests over all of them and of pairs, and who beats whom.

Friedman's test and Nemenyi's critical difference as in Demšar (2006); paired tests as in [N8 §6].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from propriety.cached_properties import cached_property
from propriety.evaluation.inputs import Array
from propriety.losses.value import number


class TestResult(NamedTuple):
    """A statistic and its p-value."""

    statistic: float
    pvalue: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of models (columns) on data sets (rows); `compare` makes it.

    Attributes
    ----------
    scores : array of shape (n_datasets, n_models)
    names : tuple of str
        The models.
    greater_is_better : bool
    """

    scores: Array
    names: tuple[str, ...]
    greater_is_better: bool = False

    @property
    def _losses(self) -> Array:
        return -self.scores if self.greater_is_better else self.scores

    @cached_property
    def ranks(self) -> Array:
        """Rank of every model on every data set: 1 is best, equal scores share their mean rank."""
        return stats.rankdata(self._losses, axis=1)

    @cached_property
    def average_ranks(self) -> Array:
        """Mean rank of every model over the data sets."""
        return self.ranks.mean(axis=0)

    @property
    def friedman(self) -> TestResult:
        """Friedman's χ² test that all models are alike, with the correction for ties."""
        n, k = self.ranks.shape
        spread = np.sum((self.ranks - (k + 1) / 2) ** 2)
        if spread == 0:
            return TestResult(0.0, 1.0)
        # With no ties the spread is n k (k² − 1)/12 and this is the usual formula.
        statistic = n * (k - 1) * n * np.sum((self.average_ranks - (k + 1) / 2) ** 2) / spread
        return TestResult(float(statistic), float(stats.chi2.sf(statistic, k - 1)))

    @property
    def iman_davenport(self) -> TestResult:
        """The less conservative F version of Friedman's test."""
        n, k = self.ranks.shape
        chi2 = self.friedman.statistic
        rest = n * (k - 1) - chi2
        statistic = (n - 1) * chi2 / rest if rest > 0 else np.inf
        return TestResult(float(statistic), float(stats.f.sf(statistic, k - 1, (k - 1) * (n - 1))))

    def critical_difference(self, alpha: float = 0.05) -> float:
        """Nemenyi's: average ranks that differ by more are different models at level α."""
        n, k = self.ranks.shape
        q = stats.studentized_range.ppf(1 - number("alpha", alpha, 0, 1), k, np.inf) / np.sqrt(2)
        return float(q * np.sqrt(k * (k + 1) / (6 * n)))

    @property
    def nemenyi(self) -> Array:
        """p-values of all pairs by Nemenyi's test, corrected for their number; shape (n_models, n_models)."""
        n, k = self.ranks.shape
        gap = np.abs(self.average_ranks[:, None] - self.average_ranks)
        p = stats.studentized_range.sf(gap / np.sqrt(k * (k + 1) / (6 * n)) * np.sqrt(2), k, np.inf)
        return np.where(np.eye(k, dtype=bool), 1.0, np.minimum(p, 1.0))

    @property
    def wilcoxon(self) -> Array:
        """p-values of all pairs by Wilcoxon's signed-rank test, each by itself; see `holm`."""
        return self._pairs(_wilcoxon)

    @property
    def student(self) -> Array:
        """p-values of all pairs by Student's paired t-test, each by itself. [N8 §6]"""
        return self._pairs(_student)

    def beats(self, level: float = 0.1, test: str = "student") -> np.ndarray:
        """How many others each model beats: better on average, paired p-value below `level`. [N8 §6]"""
        if test not in ("student", "wilcoxon", "nemenyi"):
            raise ValueError(f"test must be 'student', 'wilcoxon' or 'nemenyi', got {test!r}")
        pvalues = getattr(self, test)
        middle = self.average_ranks if test == "nemenyi" else self._losses.mean(axis=0)
        better = middle[:, None] < middle
        return np.sum(better & (pvalues < number("level", level, 0, 1)), axis=1)

    @property
    def wins(self) -> np.ndarray:
        """On how many data sets the row's model has a better score than the column's."""
        return np.sum(self._losses[:, :, None] < self._losses[:, None, :], axis=0)

    def cliques(self, alpha: float = 0.05) -> list[tuple[int, ...]]:
        """Largest groups of models, best first, whose ranks lie within the critical difference."""
        reach = self.critical_difference(alpha)
        order = np.argsort(self.average_ranks, kind="stable")
        ranks = self.average_ranks[order]
        groups: list[tuple[int, ...]] = []
        last = 0
        for i in range(len(order)):
            end = int(np.searchsorted(ranks, ranks[i] + reach, side="right"))
            if end > last and end - i > 1:
                groups.append(tuple(int(m) for m in order[i:end]))
                last = end
        return groups

    def _pairs(self, test: Any) -> Array:
        k = self.scores.shape[1]
        out = np.ones((k, k))
        for i in range(k):
            for j in range(i):
                out[i, j] = out[j, i] = test(self.scores[:, i] - self.scores[:, j])
        return out

    def __str__(self) -> str:
        n, k = self.scores.shape
        lines = [
            f"{k} models on {n} data sets; Friedman p = {self.friedman.pvalue:.3g}, "
            f"critical difference {self.critical_difference():.3g} (5 %)"
        ]
        width = max(len(name) for name in self.names)
        beaten = self.beats()
        for m in np.argsort(self.average_ranks, kind="stable"):
            name, rank, mean = self.names[m], self.average_ranks[m], self.scores[:, m].mean()
            lines.append(f"{name:<{width}}  rank {rank:.2f}  mean {mean:.4g}  beats {beaten[m]}")
        return "\n".join(lines)


def compare(scores: ArrayLike, names: Any = None, *, greater_is_better: bool = False) -> Comparison:
    """Compare models by their scores on several data sets.

    Parameters
    ----------
    scores : array of shape (n_datasets, n_models), data frame, or dict of model to scores
    names : sequence of str, optional
        The models; by default the columns of a data frame, the keys of a dict, or their numbers.
    greater_is_better : bool
        Whether a larger score is better, as scikit-learn's scorers have it.

    Examples
    --------
    >>> c = compare({"A": [0.1, 0.2, 0.3, 0.1], "B": [0.2, 0.3, 0.4, 0.3], "C": [0.3, 0.3, 0.5, 0.2]})
    >>> c.average_ranks, c.wins[0].tolist()
    (array([1.   , 2.375, 2.625]), [0, 4, 4])
    """
    if isinstance(scores, Mapping):
        names = list(scores) if names is None else names
        scores = np.column_stack([np.asarray(v, dtype=np.float64) for v in scores.values()])
    elif hasattr(scores, "columns") and names is None:
        names = [str(c) for c in scores.columns]
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] < 2 or array.shape[0] < 2:
        raise ValueError(
            f"scores must have two data sets (rows) and two models (columns) or more, got {array.shape}"
        )
    if not np.all(np.isfinite(array)):
        raise ValueError("scores must be finite: leave out data sets on which a model has no score")
    names = (
        tuple(f"model {i}" for i in range(array.shape[1])) if names is None else tuple(str(v) for v in names)
    )
    if len(names) != array.shape[1]:
        raise ValueError(f"names must have one entry for each of {array.shape[1]} models, got {len(names)}")
    return Comparison(array, names, bool(greater_is_better))


def holm(pvalues: ArrayLike) -> Array:
    """p-values corrected for their number by Holm's method; of a square matrix, those above the diagonal.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(pvalues, dtype=np.float64)
    if p.ndim == 2:
        upper = np.triu_indices(len(p), 1)
        out = np.ones_like(p)
        out[upper] = holm(p[upper])
        return np.minimum(out, out.T)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(steps, 1.0)
    return out


def _wilcoxon(d: Array) -> float:
    # Equal pairs are shared out between both signs, as Demšar has it: no verdict is got by dropping them.
    return 1.0 if not np.any(d) else float(stats.wilcoxon(d, zero_method="zsplit").pvalue)


def _student(d: Array) -> float:
    if np.ptp(d) == 0:
        return 1.0 if d[0] == 0 else 0.0
    return float(stats.ttest_1samp(d, 0.0).pvalue)
