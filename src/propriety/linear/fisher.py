"""Fisher scoring, that is iteratively reweighted least squares, and Newton's method, with a line search.

Reference: Buja, Stuetzle & Shen (2005), section 9, equations (30)–(33).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from propriety.linear import lbfgs
from propriety.linear.descent import Pairs, Run, iterate, line_search
from propriety.linear.objective import Iterate, Objective, SimplexRows
from propriety.separators.linalg import Floats, Solve, inverse_of, inverse_of_positive

_DENSE = 400  # coefficients up to which the curvature is a matrix; beyond, conjugate gradients,
_LARGEST = 2500  # unless there are few rows
_CHEAP = 4e9
_ROWS_PER_COLUMN = 1500  # rows of the sample that gives the curvature when there are many more
_COSTLY = 200  # coefficients from which a curvature that works is kept
_SLOW = 0.3  # a step that leaves more of the gradient than this calls for a new curvature
_MEMORY = 8
_ALIKE = 0.1  # two gradients that differ by less than this share are the same but for their size
_FARTHEST = 64  # times a step


@dataclass(frozen=True)
class FisherState:
    """Where the solver stands."""

    point: Iterate
    solve: Solve | None = None  # inverse of the curvature in use
    stride: int = 1  # it comes from every `stride`-th row
    pairs: Pairs = field(default_factory=Pairs)
    slow: bool = False  # the last step with a curvature of all rows left much of the gradient
    stuck: bool = False


def minimize(objective: Objective, theta: Floats, tol: float, max_iter: int) -> Run:
    """Fisher scoring from θ on.

    Where the curvature is too large to be a matrix, quasi-Newton steps come first: a pass over X each, and
    on well-conditioned problems they suffice. If they do not, Fisher's steps go on where they end.
    """
    if is_dense(objective) or max_iter == 1:
        return _scoring(objective, theta, "fisher", tol, max_iter)
    first = lbfgs.minimize(objective, theta, tol, max_iter // 2)
    if first.stationarity <= tol:
        return first
    rest = _scoring(objective, first.point.theta, "fisher", tol, max_iter - first.n_iter)
    return replace(rest, trace=first.trace + rest.trace[1:], n_iter=first.n_iter + rest.n_iter)


def newton(objective: Objective, theta: Floats, tol: float, max_iter: int) -> Run:
    """Newton's method: the same with the Hessian, from the first step on."""
    return _scoring(objective, theta, "newton", tol, max_iter)


def _scoring(objective: Objective, theta: Floats, kind: str, tol: float, max_iter: int) -> Run:
    return iterate(objective, start(objective, theta), partial(step, kind=kind, tol=tol), tol, max_iter)


def start(objective: Objective, theta: Floats) -> FisherState:
    """State at θ; with far more rows than the curvature needs, it will come from a sample of them."""
    n, size = objective.design.all_rows, objective.shape[0] * objective.shape[1]
    enough = max(_ROWS_PER_COLUMN * size, 20_000)
    return FisherState(objective.at(theta), stride=max(1, n // enough) if is_dense(objective) else 1)


def is_dense(objective: Objective) -> bool:
    """Whether the curvature is a matrix; else there are only products with it."""
    size = objective.shape[0] * objective.shape[1]
    return size <= _DENSE or (size <= _LARGEST and objective.design.all_rows * size**2 <= _CHEAP)


def step(state: FisherState, objective: Objective, kind: str = "fisher", tol: float = 1e-8) -> FisherState:
    """One step θ ← θ + t (XᵀWX)⁻¹XᵀWz, with W the Fisher weights or the Hessians, and t by a line search.

    1. Curvature XᵀWX of a sample of rows, or of all. The gradient is always that of all rows, so the
       sample decides how fast the minimum is reached, not where it is.
    2. Direction −(XᵀWX)⁻¹ ∇f [B (33)], corrected by the gradient changes seen since the curvature was
       taken (the two-loop recursion).
    3. Line search: the non-convex tailored losses need it [B §15].
    4. The curvature of a sample, or of very many columns, is kept while steps leave little of the gradient,
       and taken anew otherwise, from more rows if a fresh one was of no use.
    5. Off the canonical link Fisher's weights are not the Hessian: where a step leaves much of the gradient,
       the next one is by the Hessian if that is positive definite, and else made better by the steps seen.
    """
    point, solve, (p, K) = state.point, state.solve, objective.shape
    if solve is None and state.slow and kind == "fisher" and is_dense(objective):
        solve = _hessian_solver(objective, point)
        state = state if solve is None else replace(state, pairs=Pairs())
    solve = solve or _curvature_solver(objective, point, kind, state.stride, tol)
    new = line_search(objective, point, state.pairs.direction(point.gradient, solve))
    if new is None and kind == "newton":
        # The Hessian may be 0 along a slope, as where the loss is straight for many rows.
        by_fisher = _curvature_solver(objective, point, "fisher", 1, tol)
        new = line_search(objective, point, -by_fisher(point.gradient))
    if new is None:
        if state.solve is not None or state.stride > 1 or state.pairs.pairs:
            return FisherState(point, None, 1)  # once more with fresh curvature of all rows
        return replace(state, stuck=True)
    before, after = np.linalg.norm(point.gradient), np.linalg.norm(new.gradient)
    moved = new.theta - point.theta, new.gradient - point.gradient
    if state.stride > 1 and after > _SLOW * before:
        return FisherState(new, None, state.stride if state.solve is not None else max(1, state.stride // 4))
    kept = after <= _SLOW / 3 * before and is_dense(objective) and p * K > _COSTLY
    if state.stride > 1 or kept:
        return FisherState(new, solve, state.stride, state.pairs.add(*moved, _MEMORY))
    slow = bool(after > _SLOW / 3 * before)
    if state.slow and slow and _may_have_no_minimum(objective):
        new = _stretched(objective, new, tol) or _continued(objective, point, new, tol)
    pairs = state.pairs.add(*moved, _MEMORY) if slow else Pairs()
    return FisherState(new, None, 1, pairs, state.slow or slow)


def _curvature_solver(objective: Objective, point: Iterate, kind: str, stride: int, tol: float) -> Solve:
    p, K = objective.shape
    if not is_dense(objective):
        return _conjugate_gradients(objective, point, kind, tol)
    matrix = objective.curvature(point, kind, stride)
    if K > 1:
        _fix_gauge(matrix, p, K, objective)
    solve = inverse_of(matrix)
    return lambda g: solve(g.T.ravel()).reshape(K, p).T.copy()


def _hessian_solver(objective: Objective, point: Iterate) -> Solve | None:
    """x ↦ A⁻¹x for the Hessian A; None if it is not positive definite, or dear, as that of several scores."""
    p, K = objective.shape
    if isinstance(objective.loss, SimplexRows) and not objective.loss.canonical:
        return None
    matrix = objective.curvature(point, "newton")
    if K > 1:
        _fix_gauge(matrix, p, K, objective)
    solve = inverse_of_positive(matrix)
    return None if solve is None else lambda g: solve(g.T.ravel()).reshape(K, p).T.copy()


def _may_have_no_minimum(objective: Objective) -> bool:
    """Whether the loss falls like e⁻ᵐ for large margins m of several classes, and nothing is penalized.

    Then it has its minimum at infinity, if classes are separated: steps approach it one by one, and each
    leaves 1/e of the gradient.
    """
    loss = objective.loss
    return isinstance(loss, SimplexRows) and loss.canonical and objective.penalty.is_zero


def _stretched(objective: Objective, point: Iterate, tol: float) -> Iterate | None:
    """A multiple of θ with no gradient left, if θ has every row on its right side: the loss falls along θ."""
    loss = objective.loss
    assert isinstance(loss, SimplexRows)
    if loss.offset is not None or objective.design.communicator.size > 1:
        return None
    margin = loss.least_margin(point.scores)
    if not margin > 0:
        return None
    far = objective.at(point.theta * (1 + np.log(max(objective.stationarity(point) / tol, 1.0)) / margin))
    return far if far.value <= point.value and objective.stationarity(far) <= tol else None


def _continued(objective: Objective, point: Iterate, new: Iterate, tol: float) -> Iterate:
    """The step from `point` to `new` gone on with, four times as far each time.

    While it leaves 1/e of the whole gradient for each of its lengths: some rows are separated, and it does
    nothing but move them away.
    """
    step, length, size = new.theta - point.theta, 1.0, np.linalg.norm(point.gradient)
    while objective.stationarity(new) > tol and length < _FARTHEST:
        if np.linalg.norm(np.exp(length) * new.gradient - point.gradient) > _ALIKE * size:
            break
        length *= 4
        far = objective.at(point.theta + length * step)
        if not (far.value <= new.value and objective.stationarity(far) < objective.stationarity(new)):
            break
        new = far
    return new


def _fix_gauge(matrix: Floats, p: int, K: int, objective: Objective) -> None:
    """Give the directions that move all K scores alike, which change nothing, a curvature of their own."""
    size = np.maximum(matrix.diagonal().reshape(K, p).sum(axis=0) / K, 1e-300)
    alike: Floats = np.einsum("afbf->abf", matrix.reshape(K, p, K, p))  # a view
    alike += np.where(objective.penalty.l2[:, 0] == 0, size / K, 0.0)


def _conjugate_gradients(objective: Objective, point: Iterate, kind: str, tol: float) -> Solve:
    """x ↦ A⁻¹x to a share of |x|, by conjugate gradients with a diagonal preconditioner."""
    product = objective.curvature_product(point, kind)
    diagonal = objective.curvature_diagonal(point, kind)
    inverse = 1 / np.where(diagonal > 0, diagonal, 1.0)
    # Forcing term: loose far from the minimum, tight near it, so that steps converge superlinearly, but no
    # tighter than the end calls for.
    size = max(float(np.max(np.abs(point.gradient), initial=0.0)), 1e-300)
    share = min(0.1, max(size**0.5, 0.1 * tol / size))

    def solve(g: Floats) -> Floats:
        x, r = np.zeros_like(g), g.copy()
        z = inverse * r
        d, rz = z.copy(), float(np.vdot(r, z))
        target = share**2 * rz
        for _ in range(250):
            if rz <= target:
                break
            Ad = product(d)
            curvature = float(np.vdot(d, Ad))
            if curvature <= 0:
                break
            t = rz / curvature
            x += t * d
            r -= t * Ad
            z = inverse * r
            rz, old = float(np.vdot(r, z)), rz
            d = z + (rz / old) * d
        return x if np.any(x) else z

    return solve
