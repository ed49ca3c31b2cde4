"""Universal linear separators: boosting of given features for every strictly convex margin loss.

Reference: Nock & Nielsen (2009), Figure 4, equations (34)–(43); Nock & Nielsen (2008) for losses that are
strictly convex but not permissible (the exponential loss among them: real AdaBoost).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from propriety.separators.linalg import Floats, inverse_of
from propriety.separators.margins import Margins, largest
from propriety.solve import OnMargins, newton_on_margins

_EXACT = 1e-10
_NOTHING = 1e-13


@dataclass(frozen=True)
class Round:
    """What one round did."""

    features: tuple[int, ...]
    edge: float  # γ_j of (42)
    total: float  # Z_j = ‖w_j‖₁
    drop: float  # D(0‖w_j) − D(0‖w_{j+1}): what the loss fell by
    divergence: float  # D(w_{j+1}‖w_j)

    @property
    def identity_gap(self) -> float:
        """How far the round is from the identity (38), D(0‖w_{j+1}) − D(0‖w_j) = −D(w_{j+1}‖w_j)."""
        return abs(self.drop - self.divergence)


@dataclass(frozen=True)
class UlsState:
    """Coefficients, margins, the features used so far, and the rounds."""

    coef: Floats
    margins: Floats
    value: float
    edges: Floats
    used: tuple[int, ...] = ()
    rounds: tuple[Round, ...] = ()


def start(problem: Margins, coef: Floats) -> UlsState:
    """State at given coefficients."""
    v = np.asarray(problem.M @ coef).ravel()
    return UlsState(coef, v, problem.values(v), problem.edges(problem.weights(v)))


def step(state: UlsState, problem: Margins, features: str | int) -> UlsState:
    """One round of ULS [N9 Fig. 4].

    1. w_j = (Mα_j) ⋄ w_0, which is −φ′ of the margins.
    2. T_j: the feature of largest edge ("one"), the k of largest edge (an integer), all features used so
       far and the one of largest edge ("active"), or all ("all").
    3. δ_j on T_j with zero edge on the new weights (35): the minimum along T_j, found by Newton's method to
       1e-10 in every coefficient.
    4. α_{j+1} = α_j + δ_j.
    """
    w = problem.weights(state.margins)
    chosen = _choose(state, features)
    M = problem.columns(list(chosen))
    delta, v, value, _ = _corrective(problem, M, state.margins)
    total = float(np.abs(w).sum())
    edge = abs(float(np.mean(state.edges[list(chosen)]))) / total if total > 0 else 0.0
    after = problem.weights(v)
    # D(w₂‖w₁) = φ(v₁) − φ(v₂) + w₂ (v₁ − v₂) for the generator φ*(−w) of the loss.
    drop = state.value - value
    divergence = drop + float(after @ (state.margins - v))
    coef = state.coef.copy()
    coef[list(chosen)] += delta
    used = tuple(sorted({*state.used, *chosen}))
    done = (*state.rounds, Round(chosen, edge, total, drop, divergence))
    return replace(
        state, coef=coef, margins=v, value=value, edges=problem.edges(after), used=used, rounds=done
    )


def _choose(state: UlsState, features: str | int) -> tuple[int, ...]:
    if features == "all":
        return tuple(range(len(state.edges)))
    count = features if isinstance(features, int) else 1
    chosen = largest(np.abs(state.edges), count)
    return tuple(sorted({*state.used, *chosen})) if features == "active" else tuple(chosen)


def _corrective(problem: Margins, M: Floats, v: Floats) -> OnMargins:
    """δ that minimizes the loss of v + Mδ, and the new margins."""
    # Edges that are nothing beside those of the first weights w₀ end the search where there is no minimum,
    # before rounding decides; where there is one, they are met at coefficients exact to about 1e-12.
    nothing = _NOTHING * (np.abs(M).T @ problem.weights(np.zeros_like(v)))
    return newton_on_margins(
        M,
        v,
        lambda v, delta: problem.values(v),
        lambda v: -(M.T @ problem.weights(v)),
        lambda v, gradient: _direction(problem, M, v, gradient),
        nothing,
        _EXACT,
    )


def _direction(problem: Margins, M: Floats, v: Floats, gradient: Floats) -> Floats:
    """Newton's; by Fisher's curvature where the Hessian is 0 along a slope, as where φ is straight."""
    hessian = problem.loss.curvature(v, M, problem.weight)
    direction = -inverse_of(hessian)(gradient)
    if np.linalg.norm(hessian @ direction + gradient) <= 0.1 * np.linalg.norm(gradient):
        return direction
    return -inverse_of(problem.loss.curvature(v, M, problem.weight, "fisher"))(gradient)


@dataclass(frozen=True)
class UlsReport:
    """A run beside what the theory promises.

    Attributes
    ----------
    rounds : tuple of Round
        Features, edge, Σw, fall of the loss and divergence of each.
    identity_gap : float
        Largest departure from the identity of the weights (38).
    bound : float
        Rounds that suffice under the weak learning assumption (43),
        4 m b a_m² / (a_φ a_Z² a_γ²); infinite if an edge is 0 or φ″ is not bounded, nan for several classes.
    """

    rounds: tuple[Round, ...]
    identity_gap: float
    bound: float

    def __str__(self) -> str:
        edges = [r.edge for r in self.rounds] or [0.0]
        return (
            f"{len(self.rounds)} rounds, edges {edges[0]:.3g} (first) to {edges[-1]:.3g} (last), "
            f"identity of the weights to {self.identity_gap:.1e}, weak learning bound {self.bound:.3g} rounds"
        )


def report(state: UlsState, problem: Margins) -> UlsReport:
    """The report of a run."""
    gap = max((r.identity_gap for r in state.rounds), default=0.0)
    return UlsReport(state.rounds, gap, _bound(state, problem))


def _bound(state: UlsState, problem: Margins) -> float:
    """See `Composite.rounds_by_weak_learning`."""
    composite = getattr(problem.loss, "composite", None)
    if composite is None or not state.rounds:
        return float("nan")
    # A weight w of ours is (row weight)·(−φ′); rows of weight k/n count as k of the n rows of (43).
    m = float(np.count_nonzero(problem.weight))
    unit = float(problem.weight.sum()) / m
    squares = problem.absolute()
    squares = np.asarray((squares * squares).T @ (problem.weight / unit)).ravel()
    a_Z = min(r.total for r in state.rounds) / unit
    a_gamma = float(np.mean([r.edge for r in state.rounds]))
    return float(composite.rounds_by_weak_learning(m, float(squares.max()), a_Z, a_gamma))
