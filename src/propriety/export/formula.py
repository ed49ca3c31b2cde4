"""What a fitted model computes, taken apart: columns → scores → probabilities.

An estimator states it by its ``_formula``; whoever writes the model in another language reads that and
nothing else.

>>> import numpy as np
>>> from propriety import LinearClassifier
>>> LinearClassifier(alpha=1.0).fit([[0.0], [1.0]], [0, 1])._formula().readout
Linked(links=(Logit(),))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.data.numbers import Numbers
from propriety.losses import simplex
from propriety.losses.links import Link

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Linear:
    """Scores X·coefᵀ + intercept, of numbers in every cell."""

    coef: Floats  # (S, d)
    intercept: Floats  # (S,)


@dataclass(frozen=True, eq=False)
class Kernel:
    """Scores intercept + Σⱼ coefⱼ · exp(−rate · ‖z − pointⱼ‖²), z the numbers made of the columns.

    No number counts beyond ±`limit`.
    """

    numbers: Numbers
    limit: float
    points: Floats  # (m, terms)
    rate: float
    coef: Floats  # (S, m)
    intercept: Floats  # (S,)


@dataclass(frozen=True, eq=False)
class Trees:
    """Scores start + Σ of the values of the leaves that a row comes to.

    Attributes
    ----------
    nodes : structured array
        Tree after tree, with ``feature`` (−1 at a leaf), ``threshold`` (x ≤ threshold goes left), ``left``
        (the right child is next to it), ``set`` (−1, or which set of bins goes left) and ``missing_left``.
    roots : ndarray of shape (trees + 1,)
        Where each tree begins, and where the last one ends.
    sets : ndarray of shape (sets, words)
        Bit b of a row is bin b.
    values : ndarray of shape (nodes, C)
    targets : ndarray of shape (trees,)
        The score that the first column of a tree's values adds to; the others add to those after it.
    start : ndarray of shape (S,)
    category_bins : tuple
        For each feature the bin of each category, or None for numbers.
    unseen_left : ndarray of shape (nodes,), or None
        The share of a row that goes left at a split by a set if its category is missing or was not in
        training; NaN where ``missing_left`` says. None if that is so everywhere.
    """

    nodes: NDArray[np.void]
    roots: NDArray[np.int64]
    sets: NDArray[np.uint32]
    values: Floats
    targets: NDArray[np.int64]
    start: Floats
    category_bins: tuple[Floats | None, ...]
    unseen_left: Floats | None = None

    @property
    def goes_both_ways(self) -> bool:
        """Whether some rows are in several leaves of a tree."""
        return self.unseen_left is not None and bool(np.any(~np.isnan(self.unseen_left)))

    def in_set(self, which: int, bins: Floats) -> NDArray[np.bool_]:
        """Whether each of these bins is in a set."""
        at = np.asarray(bins, dtype=np.int64)
        return (self.sets[which][at >> 5] >> (at & 31).astype(np.uint32)) & np.uint32(1) != 0


@dataclass(frozen=True, eq=False)
class Stack:
    """Scores intercept + Σ weight · (score of a member's probabilities), these no further out than `largest`.

    The probabilities become scores by `scale`, the inverse of what the readout does.
    """

    members: tuple[tuple[Formula, Numbers | None], ...]
    weights: Floats
    intercept: Floats
    least: float  # probability below which a member's is not taken, nor above one less it
    scale: Linked | Softmax


@dataclass(frozen=True)
class Linked:
    """Each score through its own link; several probabilities are divided by their sum."""

    links: tuple[Link, ...]


@dataclass(frozen=True)
class Ordered:
    """Each score but the first, less the first, through its link: the probability of its class or above."""

    links: tuple[Link, ...]


@dataclass(frozen=True)
class Softmax:
    """p ∝ exp(rate · F)."""

    rate: float


@dataclass(frozen=True)
class Bent:
    """p ∝ exp(slope · log q + shift), q ∝ exp(F): a softmax that calibration has bent."""

    slopes: tuple[float, ...]
    shifts: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Votes:
    """(sign · score + base + smoothing)/total, a column for each class: scores that are shares already."""

    sign: Floats
    base: Floats
    smoothing: Floats
    total: float

    @classmethod
    def plain(cls, n_classes: int) -> Votes:
        """The scores themselves."""
        nothing = np.zeros(n_classes)
        return cls(np.ones(n_classes), nothing, nothing, 1.0)


@dataclass(frozen=True, eq=False)
class Formula:
    """Scores, and what makes probabilities of them: p_k ∝ (that of the readout)^power · factor_k."""

    scores: Linear | Kernel | Trees | Stack
    readout: Linked | Ordered | Softmax | Bent | Votes
    power: float = 1.0
    factors: Floats | None = None


def readout_of(loss: Any, n_classes: int) -> Linked | Ordered | Softmax | Bent:
    """How the scores of a fitted loss become probabilities.

    >>> from propriety.losses import simplex
    >>> readout_of(simplex.Log(), 3), readout_of(simplex.PairwiseExponential(), 3)
    (Softmax(rate=1.0), Softmax(rate=2.0))
    >>> readout_of(simplex.OneVsRest("Log"), 3).links
    (Logit(), Logit(), Logit())
    """
    if n_classes == 2:
        return Linked((loss.link,))
    if isinstance(loss, simplex.OrderedLoss):
        return Ordered((loss.threshold_loss.link,) * (n_classes - 1))
    if isinstance(loss, simplex.Recalibrated):
        return Bent(loss.slopes, loss.shifts)
    inner = loss.one_vs_rest
    # A loss of the user's own states its probabilities by code; they are tried, not guessed.
    F = np.random.default_rng(0).normal(scale=2.0, size=(50, n_classes))
    stated = np.asarray(loss.inverse(F))
    if inner is not None:
        each = np.asarray(inner.inverse(F))
        if np.allclose(each / each.sum(axis=1, keepdims=True), stated, rtol=1e-9, atol=1e-12):
            return Linked((inner.link,) * n_classes)
    first = np.asarray(loss.inverse(np.eye(1, n_classes)))[0]
    rate = round(float(np.log(first[0] / first[1])), 12)
    each = np.exp(rate * (F - F.max(axis=1, keepdims=True)))
    if np.allclose(each / each.sum(axis=1, keepdims=True), stated, rtol=1e-9, atol=1e-12):
        return Softmax(rate)
    raise ValueError(
        f"{loss!r} has probabilities that are neither a softmax of the scores nor one class against the "
        "rest, so they cannot be written as operators; export a model with another loss"
    )
