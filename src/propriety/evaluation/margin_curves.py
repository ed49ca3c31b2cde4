"""Normalized margins, and how they are distributed: how sure a classifier is where it is right and wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.aliases import Label
from propriety.evaluation.condensing import refuse_collections
from propriety.evaluation.inputs import Array, column_of, outcomes, same_length, weights
from propriety.losses.point import as_float, check_probability


def normalized_margins(
    y: ArrayLike, p: ArrayLike, *, pos_label: Label | None = None, classes: ArrayLike | None = None
) -> Array:
    """μ = y*(2p − 1) ∈ [−1, 1]: 1 is right and sure, 0 undecided, −1 wrong and sure. [N9 (27)]

    With more than two classes, the probability of the label less the largest of the others'.

    Parameters
    ----------
    y : array of shape (n,)
        Labels.
    p : array of shape (n,), (n, 2) or (n, K)
        Probabilities of class 1, or those of every class as `predict_proba` gives them.
    pos_label : optional
        The label of class 1; by default 1, or the last of two labels in sorted order.
    classes : array of shape (K,), optional
        The labels of the columns of `p`; by default the labels in `y`, sorted.

    Examples
    --------
    >>> normalized_margins([1, 0, 1], [0.75, 0.25, 0.25])
    array([ 0.5,  0.5, -0.5])
    >>> normalized_margins(["a", "c"], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], classes=["a", "b", "c"])
    array([ 0.25, -0.25])
    """
    P = check_probability("p", as_float("p", p))
    if P.ndim == 2 and (P.shape[1] != 2 or classes is not None):
        return _several(y, P, classes)
    P = P[:, column_of(y, pos_label)] if P.ndim == 2 else P
    if P.ndim != 1:
        raise ValueError(f"p must be probabilities of class 1 or of every class, got shape {P.shape}")
    labels = outcomes(y, pos_label)
    same_length(y=labels, p=P)
    return (2 * labels - 1) * (2 * P - 1)


def _several(y: ArrayLike, P: Array, classes: Any) -> Array:
    labels = np.asarray(y)
    known = np.unique(labels) if classes is None else np.asarray(classes)
    same_length(y=labels, p=P)
    if known.shape != (P.shape[1],):
        raise ValueError(
            f"p has {P.shape[1]} columns and there are {len(known)} classes: give classes, one label for "
            "each column"
        )
    if not np.isin(labels, known).all():
        strange = np.unique(labels[~np.isin(labels, known)]).tolist()
        raise ValueError(f"y holds labels that are not in classes: {strange}")
    is_label = labels[:, None] == known
    return P[is_label] - np.where(is_label, -np.inf, P).max(axis=1)


@dataclass(frozen=True)
class MarginDistribution:
    """The cumulative distribution of margins: called with θ, the share of rows of margin at most θ. [N9 §5]

    Attributes
    ----------
    margins : ndarray
        The distinct margins, in order.
    shares : ndarray
        Share of the rows up to each of them; the last is 1.
    """

    margins: Array
    shares: Array

    def __call__(self, theta: ArrayLike) -> Any:
        """Share of rows whose margin is at most θ.

        >>> margin_distribution([-0.5, 0.5, 0.5, 1.0])([0, 0.5])
        array([0.25, 0.75])
        """
        at = np.searchsorted(self.margins, theta, side="right")
        share = np.concatenate(([0.0], self.shares))[at]
        return float(share) if np.ndim(theta) == 0 else share

    @property
    def mean(self) -> float:
        """The mean margin."""
        return float(np.sum(self.margins * np.diff(self.shares, prepend=0.0)))


def margin_distribution(margins: ArrayLike, sample_weight: ArrayLike | None = None) -> MarginDistribution:
    """The cumulative distribution of margins, exact: a step at each distinct one.

    At θ = 0 it is the share of rows decided wrongly at p = ½, ties included.

    Parameters
    ----------
    margins : array of shape (n,)
        As `normalized_margins` gives them.
    sample_weight : array of shape (n,), optional

    Examples
    --------
    >>> distribution = margin_distribution(normalized_margins([1, 0, 1, 1], [0.75, 0.25, 0.25, 1.0]))
    >>> distribution.margins, distribution.shares, distribution.mean
    (array([-0.5,  0.5,  1. ]), array([0.25, 0.75, 1.  ]), 0.375)
    """
    refuse_collections(margins=margins)
    values = as_float("margins", margins)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"margins must be one number for each row, got shape {values.shape}")
    if not np.all(np.abs(values) <= 1):
        raise ValueError("margins must lie in [-1, 1]: those of evaluation.normalized_margins do")
    weight = weights(sample_weight, len(values))
    distinct, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weights=weight)
    kept = mass > 0
    shares = np.cumsum(mass[kept]) / mass.sum()
    shares[-1] = 1.0
    return MarginDistribution(distinct[kept], shares)
