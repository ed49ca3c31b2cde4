"""From data and a loss to coefficients: the route of each kind of solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from propriety import losses
from propriety.linear import bregman, margins, uls
from propriety.linear.design import Design, Floats
from propriety.linear.objective import BinaryLoss, Objective, SimplexRows
from propriety.linear.penalties import Penalty
from propriety.linear.solve import SMOOTH, Run, sampled, solve
from propriety.linear.tailoring import RoughLoss, ran_off, stations

#: gradient that is left when the objective is flat to rounding
_FLAT = 1e-6
_ROUNDING = 8 * np.finfo(float).eps
_IDLE = 50  # rounds without any gain after which rounding is all that happens
SOLVERS = (*SMOOTH, "uls", *bregman.RULES, "gis")


@dataclass(frozen=True)
class Data:
    """Checked data: X, class codes, weights, and the classes."""

    X: Any
    y: np.ndarray
    weight: Floats
    classes: np.ndarray

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)


@dataclass(frozen=True)
class Settings:
    """How to fit."""

    solver: str
    alpha: float
    l1_ratio: float
    intercept: bool
    tol: float
    max_iter: int
    features: str | int
    n_jobs: int | None
    flexible: bool = False  # may stop at an earlier station of a loss that runs off


@dataclass(frozen=True)
class Fit:
    """Coefficients of shape (K, d), intercepts of shape (K,), and how they were reached."""

    coef: Floats
    intercept: Floats
    trace: tuple[float, ...]
    n_iter: int
    converged: bool
    gap: float
    report: Any = None
    span: tuple[float, float] | None = None  # least and largest score, if known
    ran_off: bool = False
    loss: Any = None  # if not the one that was asked for


def unit(loss: Any, n_classes: int, solver: str) -> float:
    """What a solver's objective is multiplied by to be in the loss's own units: its scale s."""
    no_rows = np.empty(0)
    if isinstance(loss, losses.Composite):
        return BinaryLoss(loss, no_rows).scale
    if solver in SMOOTH and loss.one_vs_rest is not None:  # a problem for each class
        return loss.factor * BinaryLoss(loss.one_vs_rest, no_rows).scale
    return SimplexRows(loss, no_rows, n_classes).scale


def fit(data: Data, loss: Any, settings: Settings, start: tuple[Floats, Floats] | None) -> Fit:
    """Fit a composite (two classes) or a loss on the simplex (more); from `start` if it is given."""
    if settings.solver not in SMOOTH:
        return _fit_margins(data, loss, settings, start)
    design = Design(data.X, data.weight, settings.intercept, settings.n_jobs)
    penalty = Penalty.make(design, settings.alpha, settings.l1_ratio)
    theta = None if start is None else design.pack(*start)
    if isinstance(loss, losses.Composite):
        return _fit_two(design, data, loss, penalty, settings, theta)
    if loss.one_vs_rest is not None:
        runs = []
        for k in range(data.n_classes):
            begin = None if theta is None else theta[:, k : k + 1]
            label = (data.y == k).astype(np.float64)
            runs.append(fit_binary(design, label, data.weight, loss.one_vs_rest, penalty, settings, begin))
        return _joined(design, runs)
    rows = SimplexRows(loss, data.y, data.n_classes)
    objective = Objective(design, rows, data.weight, penalty)
    begin = objective.start() if theta is None else theta
    joined = _joined(design, [solve(objective, begin, settings.solver, settings.tol, settings.max_iter)])
    return _centred(joined, settings) if loss.shift_invariant else joined


def _centred(fit: Fit, settings: Settings) -> Fit:
    """Of the coefficients that differ by a constant over the classes, which changes nothing, those of mean 0.

    A penalty on the slopes has decided among them already.
    """
    coef = fit.coef if settings.alpha > 0 else fit.coef - fit.coef.mean(axis=0)
    return replace(fit, coef=coef, intercept=fit.intercept - fit.intercept.mean())


def _joined(design: Design, runs: list[Run]) -> Fit:
    coef, intercept = design.unpack(np.column_stack([r.point.theta for r in runs]))
    longest = max(len(r.trace) for r in runs)
    trace = np.sum([np.pad(r.trace, (0, longest - len(r.trace)), mode="edge") for r in runs], axis=0)
    return Fit(
        coef,
        intercept,
        tuple(float(v) for v in trace),
        max(r.n_iter for r in runs),
        all(r.converged for r in runs),
        max(r.stationarity for r in runs),
        span=(min(float(r.point.scores.min()) for r in runs), max(float(r.point.scores.max()) for r in runs)),
    )


def _fit_two(
    design: Design,
    data: Data,
    loss: losses.Composite,
    penalty: Penalty,
    settings: Settings,
    theta: Floats | None,
) -> Fit:
    """Fit two classes; if the slopes run off, say so, or stop at the last station where they do not."""
    y = data.y.astype(np.float64)
    run = fit_binary(design, y, data.weight, loss, penalty, settings, theta)
    scores = run.point.scores
    separated = np.all((scores[:, 0] > float(loss.link(0.5))) == (y > 0))
    if loss.properties()["convex"] or separated or not ran_off(loss, scores):
        return _joined(design, [run])
    if settings.flexible:
        for earlier in reversed(stations(loss)[1:-1]):
            again = fit_binary(design, y, data.weight, earlier, penalty, settings, None)
            if not ran_off(earlier, again.point.scores):
                return replace(_joined(design, [again]), loss=earlier)
    return replace(_joined(design, [run]), ran_off=True)


def fit_binary(
    design: Design,
    y: Floats,
    weight: Floats,
    composite: losses.Composite,
    penalty: Penalty,
    settings: Settings,
    theta: Floats | None,
) -> Run:
    """Fit along the stations of the loss: on a sample of the rows first if there are very many."""
    objective = Objective(design, BinaryLoss(composite, y), weight, penalty)
    route = stations(composite) if theta is None else (composite,)
    if theta is None:
        stride = sampled(design, weight, 1000 if len(route) == 1 else 100)
        label = y[::stride]
        if stride > 1 and 0 < label @ weight[::stride] < weight[::stride].sum():
            small, few = design.sample(stride), weight[::stride].copy()
            theta = _along(route, small, label.copy(), few, penalty, settings)
            route = (composite,)
    if len(route) > 1:
        theta = _along(route[:-1], design, y, weight, penalty, settings)
    begin = objective.start() if theta is None else theta
    return solve(objective, begin, settings.solver, settings.tol, settings.max_iter)


def _along(
    route: tuple[losses.Composite, ...],
    design: Design,
    y: Floats,
    weight: Floats,
    penalty: Penalty,
    settings: Settings,
) -> Floats:
    """Follow the minimum along the stations, to 1e-4."""
    theta = None
    for composite in route:
        rows = BinaryLoss(composite, y) if len(route) == 1 else RoughLoss(composite, y)
        objective = Objective(design, rows, weight, penalty)
        begin = objective.start() if theta is None else theta
        theta = solve(objective, begin, settings.solver, 1e-4, settings.max_iter).point.theta
    return theta


def _fit_margins(data: Data, loss: Any, settings: Settings, start: tuple[Floats, Floats] | None) -> Fit:
    """Boosting of features and Bregman updates, on the features as they are, the constant among them."""
    if settings.alpha > 0:
        raise ValueError(
            f"solver={settings.solver!r} minimizes the loss alone, without a penalty: use alpha=0, or a "
            f"solver among {', '.join(SMOOTH)}"
        )
    X = _with_ones(data.X) if settings.intercept else data.X
    X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    p, K = X.shape[1], data.n_classes
    n_scores = 1 if K == 2 else K
    coef = np.zeros((n_scores, p))
    if start is not None:
        coef = np.column_stack([start[0], start[1]]) if settings.intercept else start[0].copy()
    state, trace, problem, flat = _iterate(data, X, loss, settings, coef.ravel())
    coef = state.coef.reshape(n_scores, p)
    if K > 2 and loss.shift_invariant:
        coef = coef - coef.mean(axis=0)
    d = data.X.shape[1]
    gap = float(np.max(np.abs(state.edges), initial=0.0))
    return Fit(
        coef[:, :d].copy(),
        coef[:, d].copy() if settings.intercept else np.zeros(n_scores),
        tuple(trace),
        len(trace) - 1,
        gap <= settings.tol or (flat and gap <= _FLAT),
        gap,
        uls.report(state, problem) if settings.solver == "uls" else None,
    )


def _iterate(
    data: Data, X: Any, loss: Any, settings: Settings, coef: Floats
) -> tuple[Any, list[float], Any, bool]:
    K, state = data.n_classes, None
    rows = BinaryLoss(loss, data.y) if K == 2 else SimplexRows(loss, data.y, K)
    weight = data.weight / (data.weight.sum() * rows.scale)
    if settings.solver == "gis":
        if not _is_logistic(loss):
            raise ValueError(
                f"generalized iterative scaling is for the log loss with the logit link, not {loss!r}"
            )
        problem: Any = bregman.IterativeScaling.make(X, data.y.astype(np.intp), K, weight)
        state, step = problem.start(coef), problem.step
    else:
        problem = (
            margins.binary(X, data.y, loss, weight) if K == 2 else margins.several(X, data.y, K, loss, weight)
        )
        if settings.solver == "uls":
            state = uls.start(problem, coef)
            features = settings.features
            step = lambda s: uls.step(s, problem, features)  # noqa: E731
        else:
            updates = bregman.Updates.make(problem, settings.solver)
            state, step = updates.start(coef), updates.step
    trace, idle = [state.value], 0
    gap = least = np.max(np.abs(state.edges), initial=0.0)
    while len(trace) <= settings.max_iter and gap > settings.tol and idle < _IDLE:
        new = step(state)
        gap = np.max(np.abs(new.edges), initial=0.0)
        # In the last rounds the objective moves by less than its rounding, while the edges still shrink.
        if new.value > state.value + _ROUNDING * abs(state.value):
            idle = _IDLE
            break
        idle = idle + 1 if gap >= least and new.value >= trace[-1] else 0
        state, least = new, min(least, gap)
        trace.append(min(trace[-1], state.value))
    return state, trace, problem, idle == _IDLE


def _is_logistic(loss: Any) -> bool:
    return loss in (losses.simplex.Log(), losses.Log().composite())


def _with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sparse.hstack([X, ones]).tocsr() if sparse.issparse(X) else np.hstack([X, ones])
