"""The loss of a table of scores: one column for two classes, one per class for more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety import memory
from propriety.boosting.reach import Reach
from propriety.communicator import SINGLE, Communicator
from propriety.data.training import n_scores_of
from propriety.losses.fused import SMALL, Step, derivative_pass
from propriety.weights import Weights

if TYPE_CHECKING:
    from propriety.losses import Composite
    from propriety.losses.simplex import SimplexLoss

_NO_CURVATURE = 1e-10
_BEYOND = 16.0  # times the range of a link, that scores may be apart
Floats = NDArray[np.float64]


class BinaryObjective:
    """A composite loss of labels y ∈ {0, 1}; the score is F, of shape (n, 1).

    ``many`` says that derivatives are those of many rows, of which these may be a part: the last bit of a row
    must not depend on how many others are with it.
    """

    n_scores = 1
    pairs_with_own_label = False

    def __init__(self, composite: Any, y: NDArray[Any], many: bool | None = None) -> None:
        self.composite, self.y, self._many = composite, memory.kept(y.astype(np.uint8)), many
        self._passes: dict[str, Any] = {}  # by curvature

    @property
    def loss(self) -> Any:
        """The composite."""
        return self.composite

    def start(self, weights: Weights) -> Floats:
        """The score of the weighted base rate."""
        shares = weights.by_class(self.y.astype(np.intp), 2)
        return np.atleast_1d(self.composite.link(shares[1] / shares.sum()))

    def derivatives(
        self, F: Floats, curvature: str, G: Floats, H: Floats, n_jobs: int, *steps: Step | None
    ) -> bool:
        """Write gradient and curvature, of shape (1, n); for the steps see `derivative_pass`."""
        if curvature not in self._passes:
            self._passes[curvature] = derivative_pass(self.composite, self.y, curvature, self._many)
        return self._passes[curvature](np.ascontiguousarray(F[:, 0]), (G[0], H[0]), n_jobs, *steps)

    def values(self, F: Floats, n_jobs: int) -> Floats:
        """Loss of each row."""
        return self.composite.values(self.y, F[:, 0], n_jobs=n_jobs, table=self._many)

    def probabilities(self, F: Floats) -> Floats:
        """Probabilities of both classes."""
        p = np.asarray(self.composite.inverse(F[:, 0]))
        return np.column_stack((1 - p, p))

    def grows_slowly(self) -> bool:
        """Whether φ is a convex margin loss with −φ″ ≤ φ′·1, what the rules of [C] ask of a loss."""
        return self.composite.growth <= 1 + 1e-9

    def span(self, epsilon: float) -> float:
        """Distance between the scores of the probabilities ε and 1 − ε; beyond a bounded link, much more."""
        distance = float(np.ptp(self.composite.link(np.array([epsilon, 1 - epsilon]))))
        return _BEYOND * distance if self.composite.attains_minimum else distance

    def reach(self, delta: float) -> Reach:
        """How far a score may move that moves log-odds by at most δ."""
        return reach_of(self.composite, delta)


def reach_of(composite: Any, delta: float) -> Reach:
    """How far a score may move; where scores go on beyond the link, as at p = ½."""
    if not composite.leaves_link:
        return Reach.of_link(composite.link, delta)
    middle = composite.link.curve(composite.link(0.5))
    return Reach.of_size(delta * float(middle.p * middle.q / middle.dp))


class SimplexObjective:
    """A loss on the simplex of labels 0 … K−1; the score is F, of shape (n, K)."""

    def __init__(self, loss: Any, y: NDArray[Any], n_classes: int, many: bool | None = None) -> None:
        self.loss, self.y, self.n_scores, self._many = loss, y.astype(np.intp), n_classes, many

    @property
    def pairs_with_own_label(self) -> bool:
        """Whether every label of an example is a margin of its own, the true one too. [C §8]"""
        return self.loss.one_vs_rest is not None

    def start(self, weights: Weights) -> Floats:
        """The scores of the weighted class shares."""
        shares = weights.by_class(self.y, self.n_scores)
        return self.loss.link((shares / shares.sum())[None, :])[0]

    def derivatives(self, F: Floats, curvature: str, G: Floats, H: Floats, n_jobs: int) -> None:
        """Write gradient and diagonal curvature, of shape (K, n)."""
        out = G.T, H.T
        self.loss.derivatives(self.y, F, curvature=curvature, out=out, n_jobs=n_jobs, compiled=self._many)

    def values(self, F: Floats, n_jobs: int) -> Floats:
        """Loss of each row."""
        return self.loss.value(self.y, F)

    def probabilities(self, F: Floats) -> Floats:
        """Probabilities of the classes."""
        return self.loss.inverse(F)

    def grows_slowly(self) -> bool:
        """Whether the rules of [C §8] are for this loss."""
        return self.loss.growth <= 1 + 1e-9

    def span(self, epsilon: float) -> float:
        """Distance between the scores of a class at the probabilities ε and 1 − ε."""
        rest = (1 - epsilon) / (self.n_scores - 1)
        low = np.full(self.n_scores, rest)
        high = np.full(self.n_scores, epsilon / (self.n_scores - 1))
        low[0], high[0] = epsilon, 1 - epsilon
        scores = self.loss.link(np.array([low, high]))
        return float(abs(scores[1, 0] - scores[0, 0]))

    def reach(self, delta: float) -> Reach:
        """How far a class's score may move that moves its log-odds, against any other class, by at most δ."""
        inner = self.loss.one_vs_rest
        if inner is not None:
            return reach_of(inner, delta)
        # The score is a multiple of the log-probability, up to a constant in each row.
        shares = np.full(self.n_scores, 0.5 / (self.n_scores - 1))
        shares[0] = 0.5
        scores = self.loss.link(shares[None, :])[0]
        return Reach.of_size(delta * float((scores[0] - scores[1]) / np.log(shares[0] / shares[1])))


Objective = BinaryObjective | SimplexObjective


def objective_of(
    loss: Composite | SimplexLoss,
    codes: NDArray[np.intp],
    n_classes: int,
    communicator: Communicator = SINGLE,
) -> Objective:
    """A composite, or a loss on the simplex, bound to labels, which may be those of one process of many."""
    many = None
    if communicator.size > 1:
        rows = int(communicator.sum(np.array([len(codes)]))[0])
        many = True if rows * n_scores_of(n_classes) >= SMALL else None
    if n_classes == 2:
        return BinaryObjective(loss, codes, many)
    return SimplexObjective(loss, codes, n_classes, many)


def derivatives(
    objective: Objective,
    F: Floats,
    step: str,
    G: Floats,
    H: Floats,
    n_jobs: int,
    communicator: Communicator = SINGLE,
) -> None:
    """Gradient and the curvature that the step divides by, never negative.

    - fisher: the Fisher weight ω p′².
    - newton: the Hessian, and the Fisher weight where it is not positive. A Hessian that is tiny beside the
      largest one counts as 0: it may be the rounding error of one that is, as half of the Laplace link's are.
    - gradient: |gradient|, so that a leaf's value is the weighted mean of the labels ±1, BoostLR's learner.
    """
    objective.derivatives(F, "newton" if step == "newton" else "fisher", G, H, n_jobs)
    if step == "gradient":
        np.abs(G, out=H)
    elif step == "newton":
        (top,) = communicator.max((float(H.max()),))
        if H.min() <= _NO_CURVATURE * top:
            unused, fisher = np.empty_like(G), np.empty_like(H)
            objective.derivatives(F, "fisher", unused, fisher, n_jobs)
            np.copyto(H, fisher, where=~(_NO_CURVATURE * top < H))
