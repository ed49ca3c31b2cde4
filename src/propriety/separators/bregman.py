"""The Bregman-distance updates of Collins, Schapire and Singer, for every loss whose growth is bounded.

All of them lower the bound that the loss's growth L allows (see `Composite.growth`),

    Σ_i φ(v_i + (Mδ)_i) − φ(v_i) ≤ (1/L) Σ_i w_i (e^{−L(Mδ)_i} − 1),

by Jensen's inequality on the rows of M, whose absolute sums are at most 1 after scaling. The paper has L = 1
(logistic and exponential loss). For another L, the right side is that of the paper in the variable Lδ, with
w in the place of q: the minimizing step is the paper's divided by L, and the proofs apply word for word.
They converge for every convex margin loss with L < ∞ whose sublevel sets in w are bounded.

Reference: Collins, Schapire & Singer (2000): Figures 1–3, sections 5–7 and 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse

from propriety.data.table import is_sparse
from propriety.separators.linalg import Codes, Floats
from propriety.separators.margins import Margins, largest

RULES = ("parallel", "sequential", "sequential2", "confidence", "sphere", "norm", "lp")
#: Rules that scale the parallel step by a vector of ‖a‖_q ≤ 1, 1/p + 1/q = 1, and their p; "norm" has any.
_NORMS = {"parallel": 1.0, "sphere": 2.0, "sequential2": np.inf}
_LITTLE = 1e-12  # share of the weights that is added where one sign has none, so that steps are finite
_ROUNDING = 8 * np.finfo(float).eps
_EXACT = 1e-10  # to which α of the confidence-rated rule and δ of improved iterative scaling are found
_NEWTON = 100  # steps to it, at most
_TINY = 1e-300


@dataclass(frozen=True)
class UpdateState:
    """Coefficients, margins and the objective there."""

    coef: Floats
    margins: Floats
    value: float
    edges: Floats


@dataclass(frozen=True)
class Updates:
    """One of the rules, ready for a problem: the parts of M by sign, and the scale each rule asks for."""

    problem: Margins
    rule: str
    positive: Any
    negative: Any
    size: float
    p: float | None  # of the norm, for the rules that have one

    @classmethod
    def make(cls, problem: Margins, rule: str, p: float = 2.0) -> Updates:
        """Scale M so that Σ_j |M_ij|^p ≤ 1: p = 1 (parallel), 2 (sphere), ∞ (sequential2), any (norm).

        The other rules ask for |M_ij| ≤ 1, as p = ∞ does; the linear program has the rows' sums among its
        constraints. The growth of the loss must be finite: no step is safe otherwise.
        """
        absolute = problem.absolute()
        norm = p if rule == "norm" else _NORMS.get(rule)
        size = _largest_norm(absolute, np.inf if norm is None else norm)
        positive, negative = (absolute + problem.M) / 2, (absolute - problem.M) / 2
        return cls(problem, rule, positive, negative, size, norm)

    def start(self, coef: Floats) -> UpdateState:
        """State at given coefficients."""
        return self._state(coef, np.asarray(self.problem.M @ coef).ravel())

    def _state(self, coef: Floats, margins: Floats) -> UpdateState:
        w = self.problem.weights(margins)
        return UpdateState(coef, margins, self.problem.values(margins), self.problem.edges(w))

    def step(self, state: UpdateState) -> UpdateState:
        """One round: w from the margins, the update δ, and λ ← λ + δ."""
        w = self.problem.weights(state.margins)
        delta = self._delta(w) / (self.problem.loss.growth * self.size)
        moved = np.flatnonzero(delta)
        if len(moved) == 1:
            change = self.problem.columns(moved) @ delta[moved]
        else:
            change = np.asarray(self.problem.M @ delta).ravel()
        return self._state(state.coef + delta, state.margins + change)

    def _delta(self, w: Floats) -> Floats:
        """Step in the scaled features, for L = 1."""
        if self.rule == "sequential":
            return self._sequential(w)
        if self.rule == "confidence":
            return self._confident(w)
        # 1. W⁺_j = Σ_{M_ij > 0} w_i |M_ij| and W⁻_j, in the scale of the rule.
        plus = np.asarray(self.positive.T @ w).ravel() / self.size
        minus = np.asarray(self.negative.T @ w).ravel() / self.size
        # 2. d_j = ½ ln(W⁺_j / W⁻_j); where one of them is nothing, a long but finite step.
        little = _LITTLE * w.sum()
        d = 0.5 * np.log((plus + little) / (minus + little))
        # 3. a = argmax over A of Σ_j a_j (√W⁺_j − √W⁻_j)²; 4. δ_j = a_j d_j.
        return self._scaling((np.sqrt(plus) - np.sqrt(minus)) ** 2) * d

    def _scaling(self, gain: Floats) -> Floats:
        if self.p is None:
            return self._program(gain)
        if self.p == np.inf:
            a = np.zeros_like(gain)
            a[largest(gain)] = 1.0
            return a
        # The dual norm: a_j ∝ gain_j^{p−1} has ‖a‖_q = 1 and Σ a_j gain_j = ‖gain‖_p. [C §7]
        top = float(gain.max(initial=0.0))
        if not top > 0:
            return np.ones_like(gain)
        share = gain / top
        return share ** (self.p - 1) / np.linalg.norm(share, self.p) ** (self.p - 1)

    def _program(self, gain: Floats) -> Floats:
        """max Σ a_j gain_j subject to a ≥ 0 and Σ_j a_j |M_ij| ≤ 1 for all i."""
        top = gain.max()
        if not top > 0:
            return np.zeros_like(gain)
        rows = (self.positive + self.negative) / self.size
        limit = np.ones(rows.shape[0])
        result: Any = optimize.linprog(-gain / top, A_ub=rows, b_ub=limit, bounds=(0, None), method="highs")
        if result.status != 0:  # unbounded only if a feature with gain is 0 in all rows, which has none
            raise RuntimeError(f"the linear program of the update failed: {result.message}")
        a = np.maximum(result.x, 0.0)
        # The solver's own tolerance must not break the condition of the proof.
        return a / max(1.0, float(np.max(rows @ a)))

    def _sequential(self, w: Floats) -> Floats:
        """Fig. 2: j of the largest |r_j|, r_j = Σ_i w_i M_ij, Z = Σ_i w_i, δ = ½ ln((Z + r)/(Z − r))."""
        r = self.problem.edges(w) / self.size
        j = largest(np.abs(r))[0]
        Z = float(w.sum())
        delta = np.zeros_like(r)
        ratio = np.clip(r[j] / Z, -1 + 1e-12, 1 - 1e-12) if Z > 0 else 0.0
        delta[j] = np.arctanh(ratio)
        return delta

    def _confident(self, w: Floats) -> Floats:
        """j and α chosen together to minimize Σ_i w_i e^{−αM_ij}, the bound (26) itself. [C §6]

        The sequential rule minimizes an upper bound of it, which is the same where |M_ij| is 0 or 1 for all
        rows.
        """
        sums = _ColumnSums.make(self.problem.M, self.size, w)
        alpha = _tilts(sums, _LITTLE * float(w.sum()))
        j = largest(sums.at(np.zeros_like(alpha))[0] - sums.at(alpha)[0])[0]
        delta = np.zeros_like(alpha)
        delta[j] = alpha[j]
        return delta


def _largest_norm(absolute: Any, p: float) -> float:
    """The largest p-norm of a row; 1 if all are 0."""
    top = float(absolute.max())
    if not top > 0:
        return 1.0
    if p == np.inf:
        return top
    share = absolute / top
    powers = share.power(p) if is_sparse(share) else share**p
    return top * float(np.max(powers.sum(axis=1))) ** (1 / p)


@dataclass(frozen=True)
class _ColumnSums:
    """f_j(α) = Σ_i w_i e^{−αM_ij} of every column, and two derivatives; only what is not 0 is looked at."""

    values: Floats
    weights: Floats
    columns: Any  # of each value; None if `values` is a matrix
    rest: Floats  # Σ w_i over the rows where a column is 0

    @classmethod
    def make(cls, M: Any, size: float, w: Floats) -> _ColumnSums:
        if not is_sparse(M):
            return cls(np.asarray(M) / size, w[:, None], None, np.zeros(M.shape[1]))
        entries = sparse.coo_array(M)
        weights = w[entries.row]
        rest = w.sum() - np.bincount(entries.col, weights, M.shape[1])
        return cls(entries.data / size, weights, entries.col, rest)

    def at(self, alpha: Floats) -> tuple[Floats, Floats, Floats]:
        """f, f′ and f″ at an α for each column."""
        spread = alpha if self.columns is None else alpha[self.columns]
        tilted = self.weights * np.exp(-spread * self.values)
        first = tilted * self.values
        return (
            self.rest + self._summed(tilted),
            -self._summed(first),
            self._summed(first * self.values),
        )

    def _summed(self, values: Floats) -> Floats:
        if self.columns is None:
            return values.sum(axis=0)
        return np.asarray(np.bincount(self.columns, values, len(self.rest)), dtype=np.float64)


def _tilts(sums: _ColumnSums, little: float) -> Floats:
    """The α of each column that minimizes f(α) + little (e^α + e^{−α}), by Newton's method on its logarithm.

    The logarithm is convex; steps are at most 2, and halved where it would rise.
    """

    def at(alpha: Floats) -> tuple[Floats, Floats, Floats]:
        f, slope, bend = sums.at(alpha)
        cosh, sinh = 2 * little * np.cosh(alpha), 2 * little * np.sinh(alpha)
        value = f + cosh
        slope, bend = (slope + sinh) / value, (bend + cosh) / value
        return np.log(value), slope, np.maximum(bend - slope**2, 1e-300)

    alpha = np.zeros_like(sums.rest)
    value, slope, bend = at(alpha)
    step = np.clip(-slope / bend, -2.0, 2.0)
    for _ in range(200):
        if np.max(np.abs(step), initial=0.0) <= _EXACT:
            break
        new, *bent = at(alpha + step)
        lower = new <= value + _ROUNDING  # at the minimum rounding decides nothing
        alpha = np.where(lower, alpha + step, alpha)
        value = np.where(lower, new, value)
        slope, bend = (np.where(lower, b, old) for b, old in zip(bent, (slope, bend), strict=True))
        step = np.where(lower, np.clip(-slope / bend, -2.0, 2.0), step / 2)
    return alpha


@dataclass(frozen=True)
class IterativeScaling:
    """Iterative scaling: the baseline of section 9, logistic loss only.

    Features h_j(x, l) = x_f 1[l = c], one for each column f and each class c but the first when there are
    two, plus a constant for every label that makes them non-negative and changes no probability.

    Generalized (Darroch & Ratcliff 1972): δ_j = ln(Σ_i h_j(x_i, y_i) / Σ_i Σ_l p(l|x_i) h_j(x_i, l)) / S, S
    the largest sum h#(x, l) = Σ_j h_j(x, l). Improved (Della Pietra, Della Pietra & Lafferty 1997): each row
    has its own sum, and δ_j solves Σ_i Σ_l p(l|x_i) h_j(x_i, l) e^{δ_j h#(x_i, l)} = Σ_i h_j(x_i, y_i).
    """

    X: Any
    y: Codes
    classes: Codes  # those with coefficients
    n_classes: int
    weight: Floats
    shift: Floats
    size: float
    improved: bool

    @classmethod
    def make(
        cls, X: Any, y: Codes, n_classes: int, weight: Floats, improved: bool = False
    ) -> IterativeScaling:
        """Shift and scale of the features."""
        X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
        classes = np.array([1]) if n_classes == 2 else np.arange(n_classes)
        shift = np.maximum(-X.min(axis=0), 0.0)
        size = float(np.max(np.maximum(X.sum(axis=1), 0.0)) + len(classes) * shift.sum())
        return cls(X, y, classes, n_classes, weight, shift, size if size > 0 else 1.0, improved)

    def start(self, coef: Floats) -> UpdateState:
        """State at coefficients of shape (number of classes with coefficients, p), flattened."""
        F = self._scores(coef)
        log_total = np.logaddexp.reduce(F, axis=1)
        value = float(self.weight @ (log_total - F[np.arange(len(F)), self.y]))
        P = np.exp(F - log_total[:, None])
        residual = (np.eye(self.n_classes)[self.y] - P) * self.weight[:, None]
        return UpdateState(coef, F, value, (residual.T @ self.X)[self.classes].ravel())

    def _scores(self, coef: Floats) -> Floats:
        F = np.zeros((len(self.X), self.n_classes))
        F[:, self.classes] = self.X @ coef.reshape(len(self.classes), -1).T
        return F

    def step(self, state: UpdateState) -> UpdateState:
        """One round for all features at once."""
        F = state.margins
        P = np.exp(F - np.logaddexp.reduce(F, axis=1)[:, None])
        constant = self.shift * self.weight.sum()
        chosen = np.eye(self.n_classes)[self.y][:, self.classes]
        seen = (chosen * self.weight[:, None]).T @ self.X + constant
        if self.improved:
            return self.start(state.coef + self._improved(P, seen).ravel())
        expected = (P[:, self.classes] * self.weight[:, None]).T @ self.X + constant
        delta = np.log((seen + _TINY) / (expected + _TINY)) / self.size
        return self.start(state.coef + delta.ravel())

    def _improved(self, P: Floats, seen: Floats) -> Floats:
        """The δ of each class and column, by Newton's method on the logarithm of its equation.

        h#(x_i, l) is T + s_i for a class with coefficients and T for one without: the left side is
        e^{δT} (Σ_i a_i e^{δ s_i} + b). Its logarithm is convex and rises, so that from the second step on
        Newton's method comes down to the solution.
        """
        T, s = len(self.classes) * float(self.shift.sum()), self.X.sum(axis=1)
        mass = P * self.weight[:, None]
        with_coefficients = mass[:, self.classes].sum(axis=1)
        b = self.shift * float(mass.sum() - with_coefficients.sum())
        delta = np.zeros_like(seen)
        for k, c in enumerate(self.classes):
            a = mass[:, c, None] * self.X + with_coefficients[:, None] * self.shift
            for _ in range(_NEWTON):
                tilted = a * np.exp(delta[k] * s[:, None])
                left = tilted.sum(axis=0) + b + _TINY
                rate = T + s @ tilted / left
                gap = np.log((seen[k] + _TINY) / left) - T * delta[k]
                step = np.divide(gap, rate, out=np.zeros_like(gap), where=rate > 0)
                delta[k] += step
                if np.max(np.abs(step), initial=0.0) <= _EXACT * max(1.0, float(np.max(np.abs(delta[k])))):
                    break
        return delta
