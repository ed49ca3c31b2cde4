"""Which columns go together: what is to be known before the importance of one of them is read.

A model leans on any of several columns that say the same thing, and shuffling one of them alone makes rows
that there are not. So the loss may rise much, although a model fitted without the column would be as good.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

#: The rank correlation from which on two columns are said to go together.
TOGETHER = 0.8
#: What the rise of the loss is when a column is shuffled, and what it is not.
RELIES = (
    "The increase in log loss when the values of a column are shuffled among the test rows: how much this "
    "model relies on it. A model fitted without a column that is correlated with others may be "
    "nearly as good."
)
_MOST = 4000  # rows that are looked at, evenly spaced


class Companion(NamedTuple):
    """The column that another one goes with most, and Spearman's rank correlation of the two."""

    name: str
    correlation: float

    @property
    def close(self) -> bool:
        """Whether the two go together."""
        return abs(self.correlation) >= TOGETHER


def companions(
    columns: Mapping[str, NDArray[Any]], names: Collection[str] | None = None
) -> dict[str, Companion]:
    """For each column of numbers, or for those of these names, the one that it is most correlated with.

    Text has no ranks and is left out; missing values rank below all others.

    >>> x = np.arange(50.0)
    >>> found = companions({"x": x, "twin": -(x**3), "noise": np.sin(x), "kind": x.astype(str)}, ["x"])
    >>> found["x"].name, round(found["x"].correlation, 3)
    ('twin', -1.0)
    """
    ranks = {
        name: ranked
        for name, values in columns.items()
        if np.asarray(values).dtype.kind == "f" and (ranked := _ranks(np.asarray(values))) is not None
    }
    if len(ranks) < 2:
        return {}
    every, of_all = list(ranks), np.array(list(ranks.values()))
    found = {}
    for name in every if names is None else [name for name in names if name in ranks]:
        r = of_all @ ranks[name]
        r[every.index(name)] = 0.0
        other = int(np.argmax(np.abs(r)))
        found[name] = Companion(every[other], float(r[other]))
    return found


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Ranks of mean 0 and length 1; None if all values are one."""
    few = values[np.unique(np.linspace(0, len(values) - 1, min(len(values), _MOST)).astype(np.intp))]
    ranks = stats.rankdata(np.where(np.isnan(few), -np.inf, few))
    ranks -= ranks.mean()
    length = np.linalg.norm(ranks)
    return ranks / length if length > 0 else None
