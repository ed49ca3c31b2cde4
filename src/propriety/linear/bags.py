"""Boosting of columns for a loss that is chosen as it runs: F, E and F* of [N8 §6] for linear separators."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from propriety.aliases import MatrixLike
from propriety.costs import ResolvedCosts
from propriety.linear.objective import BinaryLoss
from propriety.losses import Composite
from propriety.separators import margins, uls
from propriety.separators.bags import first_of_least
from propriety.separators.linalg import Codes, Floats
from propriety.separators.uls import UlsState


@dataclass(frozen=True)
class Bag:
    """The losses, how one is chosen ("risk", "edge" or "once"), and the costs that the risk counts."""

    composites: tuple[Composite, ...]
    choose: str
    costs: ResolvedCosts


@dataclass(frozen=True)
class BagRun:
    """Coefficients, the loss of each round, and the empirical risk before the first round and after each."""

    state: UlsState
    chosen: tuple[Composite, ...]
    risks: tuple[float, ...]

    @property
    def composite(self) -> Composite:
        """The loss whose link gives the probabilities: that of the last round."""
        return self.chosen[-1]


class BagBooster:
    """Universal linear separators over the columns of X, a constant among them if there is one.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    codes, weight : arrays of shape (n,)
    bag : Bag
    features : as those of `uls.step`
    """

    def __init__(self, X: MatrixLike, codes: Codes, weight: Floats, bag: Bag, features: str | int) -> None:
        self.bag, self.features, self.y = bag, features, codes
        self.share = weight / weight.sum()
        self.signs = np.where(codes > 0, 1.0, -1.0)
        y = codes.astype(np.float64)
        self.problems = [
            margins.binary(X, codes, composite, self.share / BinaryLoss(composite, y).scale)
            for composite in bag.composites
        ]

    def run(self, coef: Floats, tol: float, rounds: int) -> BagRun:
        """Take rounds until no loss has an edge above `tol`, or they are done."""
        if self.bag.choose == "once":
            every = range(len(self.problems))
            runs = [self._run(coef, tol, rounds, [k]) for k in every]
            return runs[first_of_least([run.risks[-1] for run in runs], self.bag.composites)]
        return self._run(coef, tol, rounds, list(range(len(self.problems))))

    def _run(self, coef: Floats, tol: float, rounds: int, members: list[int]) -> BagRun:
        chosen = self._first(members)
        state = self._inside(chosen, uls.start(self.problems[chosen], coef))
        done: list[Composite] = []
        risks = [self.risk(chosen, state)]
        for _ in range(rounds):
            # 1. The scores so far as each loss reads them, and its edges on its own weights.
            starts = {k: self._inside(k, self._recast(k, state)) for k in members}
            able = [k for k in members if np.max(np.abs(starts[k].edges), initial=0.0) > tol]
            if not able:
                break
            if self.bag.choose == "edge":
                edges = [-self._edge(k, starts[k]) for k in able]
                able = [able[first_of_least(edges, [self.bag.composites[k] for k in able])]]
            # 2. A round of ULS; 3. of several losses, that of least empirical risk.
            taken = [self._inside(k, uls.step(starts[k], self.problems[k], self.features)) for k in able]
            after = [self.risk(k, new) for k, new in zip(able, taken, strict=True)]
            best = first_of_least(after, [self.bag.composites[k] for k in able])
            state = taken[best]
            done.append(self.bag.composites[able[best]])
            risks.append(after[best])
        return BagRun(state, tuple(done) or (self.bag.composites[chosen],), tuple(risks))

    def _first(self, members: list[int]) -> int:
        """The loss before the first round, where all have the same risk."""
        return members[first_of_least([0.0] * len(members), [self.bag.composites[k] for k in members])]

    def _recast(self, k: int, state: UlsState) -> UlsState:
        """The same coefficients, as another loss reads them."""
        return replace(uls.start(self.problems[k], state.coef), used=state.used, rounds=state.rounds)

    def _inside(self, k: int, state: UlsState) -> UlsState:
        """A loss with a bounded link has the coefficients renormalized, so that scores stay inside."""
        limit = min(self.bag.composites[k].link.high, -self.bag.composites[k].link.low)
        size = float(np.max(np.abs(state.margins), initial=0.0))
        if size <= limit:
            return state
        return self._recast(k, replace(state, coef=state.coef * (limit / size)))

    def _edge(self, k: int, state: UlsState) -> float:
        """γ of [N9 (42)], of the column of largest edge."""
        total = float(self.problems[k].weights(state.margins).sum())
        return float(np.max(np.abs(state.edges))) / total if total > 0 else 0.0

    def risk(self, k: int, state: UlsState) -> float:
        """Mean cost of the decisions on the training rows."""
        p = np.clip(self.bag.composites[k].inverse(self.signs * state.margins), 0.0, 1.0)
        costs = self.bag.costs
        return float(self.share @ costs.of_rows(self.y, costs.decide(np.column_stack([1 - p, p]))))
