"""What a tree reads of a loss: its entropy, its score of a leaf and its value, for two classes or more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from propriety import losses
from propriety.losses import simplex
from propriety.losses.links import Link, Logit

Floats = NDArray[np.float64]


class Measure(Protocol):
    """A loss as a tree sees it; `P` has a column for each class, and rows sum to 1."""

    def __hash__(self) -> int:
        """Measures are values."""
        ...

    def entropy(self, P: Floats) -> Floats:
        """H(p), the least expected loss."""
        ...

    def score(self, P: Floats) -> Floats:
        """Scores of probabilities: one column for two classes, else one for each class."""
        ...

    def loss(self, y: NDArray[np.intp], P: Floats) -> Floats:
        """Loss of the probabilities for the classes `y`."""
        ...

    def share_entropy(self, p: Floats, q: Floats) -> Floats:
        """The h of one class's share p = 1 − q: for two classes H itself, else the h of H = Σ_k h(p_k).

        A loss on the simplex whose entropy is no such sum is taken one class against the rest.
        """
        ...

    @property
    def fitted(self) -> Any:
        """What is fitted: a composite, a loss on the simplex, or a loss that has no link of its own."""
        ...

    @property
    def canonical(self) -> Measure:
        """The same with a canonical link, where the loss has one that a logit stands in for."""
        ...


@dataclass(frozen=True)
class BinaryMeasure:
    """A binary loss with the link of its scores."""

    binary: losses.Loss
    link: Link

    def entropy(self, P: Floats) -> Floats:
        """H(p), the least expected loss."""
        return self.binary.entropy_of_shares(P[:, 1], P[:, 0])

    def score(self, P: Floats) -> Floats:
        """F(p), one column."""
        return np.asarray(self.link.link(P[:, 1], P[:, 0]))[:, None]

    def share_entropy(self, p: Floats, q: Floats) -> Floats:
        """H(p)."""
        return np.asarray(self.binary.entropy(p, q))

    def loss(self, y: NDArray[np.intp], P: Floats) -> Floats:
        """ℓ(y, p)."""
        return np.asarray(self.binary.loss(y.astype(np.float64), P[:, 1], P[:, 0]))

    @property
    def canonical(self) -> BinaryMeasure:
        """A permissible loss with its canonical link where the default one is a logit instead of it.

        That is where the canonical link is bounded, as 2p − 1 of the squared loss. Any other link stays.
        """
        loss = self.binary
        if not isinstance(loss, losses.SmoothLoss) or self.link != loss.default_link:
            return self
        bounded = not loss.canonical_link.has_real_range and loss.properties()["permissible"]
        return replace(self, link=loss.canonical_link) if bounded else self

    @property
    def fitted(self) -> losses.Loss | losses.Composite:
        """The composite, or the loss if it has no weight function."""
        return self.binary.with_link(self.link) if isinstance(self.binary, losses.SmoothLoss) else self.binary


@dataclass(frozen=True)
class SimplexMeasure:
    """A loss on the simplex."""

    whole: simplex.SimplexLoss

    def entropy(self, P: Floats) -> Floats:
        """Least expected loss."""
        return self.whole.entropy(P)

    def score(self, P: Floats) -> Floats:
        """Scores, one column for each class."""
        return self.whole.link(P)

    def share_entropy(self, p: Floats, q: Floats) -> Floats:
        """The h of H = Σ_k h(p_k), or ½ H of the binary loss, one class against the rest."""
        term = self.whole.entropy_term(p)
        return np.asarray(0.5 * self.whole.binary.loss.entropy(p, q)) if term is None else term

    def loss(self, y: NDArray[np.intp], P: Floats) -> Floats:
        """Loss of each row."""
        return self.whole.loss(y, P)

    @property
    def fitted(self) -> simplex.SimplexLoss:
        """The loss itself."""
        return self.whole

    @property
    def canonical(self) -> Measure:
        """The measure itself: its scores are those of its link."""
        return self


@dataclass(frozen=True)
class RestMeasure:
    """factor · Σ_k of a binary loss, each class against the rest; one without a link has logs as scores."""

    binary: losses.Loss
    link: Link | None = None
    factor: float = 0.5

    def entropy(self, P: Floats) -> Floats:
        """factor · Σ_k H(p_k)."""
        return self.factor * np.sum(self.binary.entropy_of_shares(P, _rest(P)), axis=1)

    def score(self, P: Floats) -> Floats:
        """Links of the probabilities, or their centred logarithms."""
        return simplex.Log().link(P) if self.link is None else np.asarray(self.link.link(P, _rest(P)))

    def share_entropy(self, p: Floats, q: Floats) -> Floats:
        """factor · H(p)."""
        return self.factor * np.asarray(self.binary.entropy(p, q))

    def loss(self, y: NDArray[np.intp], P: Floats) -> Floats:
        """factor · Σ_k ℓ(1[y = k], p_k)."""
        Y = np.eye(P.shape[1])[y]
        return self.factor * np.sum(self.binary.loss(Y, P, _rest(P)), axis=1)

    @property
    def fitted(self) -> Any:
        """One class against the rest, or the loss if it has no weight function."""
        if not isinstance(self.binary, losses.SmoothLoss):
            return self.binary
        return simplex.OneVsRest(self.binary.with_link(self.link or self.binary.default_link))

    @property
    def canonical(self) -> Measure:
        """The measure itself: its scores are those of its link."""
        return self


def _rest(P: Floats) -> Floats:
    return np.clip(P.sum(axis=1, keepdims=True) - P, 0.0, 1.0)


def measure_of(loss: Any, link: Any, n_classes: int, multiclass: str = "auto") -> Measure:
    """The measure of a loss, a composite, a loss on the simplex or the name of one.

    A loss without a weight function has no link of its own; its scores are log-odds.

    >>> measure_of("CostWeighted(0.2)", None, 2)
    BinaryMeasure(binary=CostWeighted(0.2), link=Logit())
    """
    if isinstance(loss, str):
        loss = losses.Log() if loss == "auto" else losses.parse(loss)
    if isinstance(loss, losses.Composite) and link is not None:
        raise ValueError(f"loss={loss!r} has a link already; give link=None, or the loss without a link")
    given = None if link is None else losses.as_link(link)
    if isinstance(loss, simplex.SimplexLoss):
        if given is not None:
            raise ValueError(f"loss={loss!r} has a link already; give link=None")
        if n_classes > 2:
            inner = loss.one_vs_rest
            return SimplexMeasure(loss) if inner is None else RestMeasure(inner.loss, inner.link, loss.factor)
        loss = loss.binary
    if isinstance(loss, losses.Composite):
        loss, given = loss.loss, loss.link
    loss = losses.as_loss(loss)
    smooth = isinstance(loss, losses.SmoothLoss)
    if n_classes == 2:
        own = loss.default_link if smooth else Logit()
        return BinaryMeasure(loss, own if given is None else given)
    if not smooth:
        return RestMeasure(loss, given)
    whole = simplex.of(loss if given is None else loss.with_link(given)) if multiclass == "auto" else None
    if whole is None or whole.one_vs_rest is not None:
        return RestMeasure(loss, loss.default_link if given is None else given)
    return SimplexMeasure(whole)


class NodeLoss:
    """W·H(p) of nodes with given class sums: the loss of their rows at their own class shares.

    What even a pure node would lose, Σ_k W_k H(e_k), is left out: it is the same for every tree.

    >>> NodeLoss(measure_of("Squared", None, 2), 2)(np.array([[3.0, 1.0]]))
    array([0.75])
    """

    def __init__(self, measure: Measure, n_classes: int) -> None:
        self.measure = measure
        pure = measure.entropy(np.eye(n_classes))
        self.pure = pure if np.any(pure) else None

    def __call__(self, sums: Floats) -> Floats:
        """Losses of the nodes, one a row of `sums`."""
        # NumPy is slow to sum each of many short rows.
        weight = sums[:, 0] + sums[:, 1] if sums.shape[1] == 2 else sums.sum(axis=1)
        loss = weight * self.measure.entropy(sums / weight[:, None])
        return loss if self.pure is None else loss - sums @ self.pure
