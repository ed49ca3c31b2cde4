"""Labels, probabilities and weights as they come from scikit-learn, read once for every function here.

A label of class 1 is 1 or True, ``pos_label``, or the last of two labels in sorted order, as in every
estimator here; probabilities are those of class 1, or ``predict_proba`` with its two columns in sorted order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.aliases import Label
from propriety.evaluation.condensing import Counted, condensed, refuse_collections
from propriety.losses.point import as_float, check_probability
from propriety.model.adapt import read_shares
from propriety.weights import Weights, check

Array = NDArray[np.float64]


class Rows(NamedTuple):
    """Outcomes y ∈ {0, 1}, probabilities p of class 1 and weights of the same rows.

    ``times`` says how many rows of equal weight an entry stands for; None: one each.
    """

    y: Array
    p: Array
    weight: Array
    times: Array | None = None

    @property
    def n(self) -> float:
        """Number of rows."""
        return float(len(self.y) if self.times is None else self.times.sum())


def read(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None, pos_label: Label | None = None
) -> Rows:
    """The rows with a positive weight, checked.

    >>> read(["no", "yes"], [[0.9, 0.1], [0.25, 0.75]])
    Rows(y=array([0., 1.]), p=array([0.1 , 0.75]), weight=array([1., 1.]), times=None)
    """
    p = probabilities(p, column=column_of(y, pos_label))
    y = outcomes(y, pos_label)
    same_length(y=y, p=p)
    weight = weights(sample_weight, len(y))
    times = sample_weight.times if isinstance(sample_weight, Counted) else None
    kept = weight > 0
    if kept.all():
        return Rows(y, p, weight, times)
    return Rows(y[kept], p[kept], weight[kept], None if times is None else times[kept])


def read_counted(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None, pos_label: Label | None = None
) -> Rows:
    """The same for who counts rows, not entries: of Dask collections the distinct rows with their numbers."""
    given = condensed(y=y, p=p, sample_weight=sample_weight)
    return read(given["y"], given["p"], given["sample_weight"], pos_label)


def outcomes(y: ArrayLike, pos_label: Label | None = None) -> Array:
    """Labels as 0 and 1."""
    refuse_collections(y=y)
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"y must be one label for each row, got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError("y has missing or infinite labels; leave those rows out")
    present = np.unique(labels)
    if pos_label is not None:
        if len(present) == 2 and pos_label not in present:
            raise ValueError(f"pos_label={pos_label!r} is not one of the labels {present.tolist()}")
        if len(present) > 2:
            raise ValueError(f"y must have two classes, found {len(present)}: {present[:5].tolist()}")
        return (labels == pos_label).astype(np.float64)
    if labels.dtype.kind in "biuf" and (np.isin(present, (0, 1)).all() or np.isin(present, (-1, 1)).all()):
        return (labels == 1).astype(np.float64)
    if len(present) != 2:
        raise ValueError(
            f"y must have two classes, found {len(present)}: {present[:5].tolist()}"
            + ("; give pos_label to say which one is class 1" if len(present) == 1 else "")
        )
    return (labels == present[1]).astype(np.float64)


def at_prevalence(weights: Weights, codes: NDArray[np.intp], shares: Array) -> Weights:
    """Weights with which the classes have the shares of a population, in the place of those drawn.

    >>> at_prevalence(Weights(4), np.array([0, 1, 1, 1]), np.array([0.5, 0.5])).array.round(3)
    array([2.   , 0.667, 0.667, 0.667])
    """
    own = weights.by_class(codes, len(shares))
    if not np.all(own > 0):
        raise ValueError("prevalence needs rows of each class")
    return weights.times((shares / own)[codes])


def population_weights(sample_weight: Any, outcomes: Array, prevalence: Any) -> Any:
    """Weights of rows of two classes, for the share of class 1 in a population; as given if None."""
    if prevalence is None:
        return sample_weight
    shares, codes = read_shares(prevalence, np.arange(2), 1), outcomes.astype(np.intp)
    return at_prevalence(Weights.read(sample_weight, len(codes)), codes, shares).array


def column_of(y: ArrayLike, pos_label: Label | None = None) -> int:
    """The column of ``predict_proba``, whose columns are in sorted order, that is of class 1.

    >>> column_of(["bad", "good"], "bad"), column_of(["bad", "good"])
    (0, 1)
    """
    if pos_label is None:
        return 1
    others = [label for label in np.unique(np.asarray(y)).tolist() if label != pos_label]
    return 0 if others and pos_label < others[0] else 1


def probabilities(p: ArrayLike, name: str = "p", column: int = 1) -> Array:
    """Probabilities of class 1; of two columns the second, or the one given."""
    refuse_collections(**{name: p})
    p = as_float(name, p)
    if p.ndim == 2 and p.shape[1] == 2:
        p = p[:, column]
    if p.ndim != 1:
        raise ValueError(
            f"{name} must be probabilities of class 1, one for each row, or predict_proba with two columns, "
            f"got shape {p.shape}"
        )
    return check_probability(name, p)


def weights(sample_weight: Any, n: int) -> Array:
    """Weights as they are given, one for each row, none negative, not all zero."""
    refuse_collections(sample_weight=sample_weight)
    if isinstance(sample_weight, Counted):
        sample_weight = sample_weight.total
    weight = check(sample_weight, n)
    return np.ones(n) if weight is None else weight


def same_length(**arrays: Any) -> None:
    """Raise if the named arrays differ in their number of rows."""
    refuse_collections(**arrays)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(f"arrays must have one entry for each row: {text}")


def mean(values: ArrayLike, weight: Array) -> float:
    """Weighted mean; rows of weight 0 take no part, one of infinite loss counts however tiny its weight."""
    return float(Weights(len(weight), weight).mean(values))
