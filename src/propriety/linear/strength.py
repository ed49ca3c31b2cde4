"""How strong the penalty should be: fits along falling alphas, and their loss on rows they have not seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.data.parameters import number
from propriety.data.training import Training, n_scores_of
from propriety.linear import solvers
from propriety.linear.descent import Run
from propriety.linear.design import Design
from propriety.linear.learning import LinearFit, TwoClasses, check, learn, linear_scores, minimize_binary
from propriety.linear.moments import moments
from propriety.linear.objective import BinaryLoss, Objective
from propriety.linear.penalties import Penalty
from propriety.linear.rows import FittedLoss, LinearRows
from propriety.linear.settings import LinearSettings
from propriety.linear.tailoring import is_convex
from propriety.losses.simplex import SimplexLoss
from propriety.separators.linalg import Floats

#: Strengths that are tried, falling by half orders of magnitude. Loss and columns have their units, so that
#: the values suit every table; in a million rows the least of them is a single row's.
ALPHAS = np.logspace(1, -6, 15)
N_FOLDS = 5
#: Coefficients, intercepts and the objective at a strength.
_Step = tuple[Floats, Floats, float]
_EQUAL = 1e-9  # relative: losses that differ by less are equal, so that how sums are rounded does not choose


@dataclass(frozen=True)
class Path:
    """Coefficients along the path.

    Attributes
    ----------
    alphas : array of shape (m,), decreasing
    coefs : array of shape (m, K, d)
    intercepts : array of shape (m, K)
    objectives : array of shape (m,)
        The objective reached at each alpha.
    """

    alphas: Floats
    coefs: Floats
    intercepts: Floats
    objectives: Floats


def follow(
    rows: LinearRows, loss: FittedLoss, settings: LinearSettings, alphas: Any, eps: float = 1e-3
) -> Path:
    """Fit for falling alphas, given or so many from that without slopes to `eps` times it."""
    if settings.solver.smooth is None:
        raise ValueError(
            f"a path needs one of the solvers {', '.join(solvers.SMOOTH)}, got {settings.solver.name!r}"
        )
    if isinstance(alphas, int):
        design = _design(rows, settings)
        none = Penalty.make(design, 0.0, 0.0)
        bare = [Objective(design, part, rows.weight, none) for part in rows.losses(loss)]
        top = max(_largest(objective, settings.l1_ratio) for objective in bare)
        alphas = top * np.logspace(0, np.log10(number("eps", eps, 0, 1, above=True)), alphas)
    alphas = np.sort(np.asarray([number("alpha", a, 0) for a in alphas]))[::-1]
    steps = list(_steps(rows, loss, settings, alphas))
    coefs, intercepts, objectives = (np.array(each) for each in zip(*steps, strict=True))
    return Path(alphas, coefs, intercepts, objectives)


def _design(rows: LinearRows, settings: LinearSettings) -> Design:
    return Design(rows.X, settings.intercept, settings.n_jobs, moments(rows.X, rows.weight))


def _steps(rows: LinearRows, loss: FittedLoss, settings: LinearSettings, alphas: Floats) -> Iterator[_Step]:
    """Coefficients, intercepts and the objective at each alpha, from the minimum at the last one on."""
    design = _design(rows, settings)
    check(rows, loss, replace(settings, alpha=float(alphas[0])))
    parts, none = rows.losses(loss), Penalty.make(design, 0.0, 0.0)
    thetas = [Objective(design, part, rows.weight, none).start() for part in parts]
    unit = parts[0].scale * (loss.factor if isinstance(loss, SimplexLoss) and len(parts) > 1 else 1.0)
    for alpha in alphas:
        penalty = Penalty.make(design, float(alpha), settings.l1_ratio, settings.scaled)
        runs = [
            _run(Objective(design, part, rows.weight, penalty), theta, rows.weight, settings)
            for part, theta in zip(parts, thetas, strict=True)
        ]
        thetas = [run.point.theta for run in runs]
        coef, intercept = design.unpack(np.column_stack(thetas))
        yield coef, intercept, unit * sum(run.point.value for run in runs)


def _run(objective: Objective, theta: Floats, weight: Floats, settings: LinearSettings) -> Run:
    """From the minimum of the last alpha on; a loss that is not convex by its stations, as `fit` does."""
    loss = objective.loss
    convex = isinstance(loss, BinaryLoss) and is_convex(loss.composite)
    if isinstance(loss, TwoClasses) and not convex:
        return minimize_binary(objective.design, loss, weight, objective.penalty, settings, None)
    return settings.solver.minimize(objective, theta, settings.tol, settings.max_iter)


def _largest(objective: Objective, l1_ratio: float) -> float:
    """Alpha from which the lasso has no slopes: the largest slope of the objective at the base rate."""
    design = objective.design
    g = np.abs(objective.at(objective.start()).gradient[: design.d])
    inverse = design.slopes[:, None]
    raw = np.divide(g, inverse, out=np.zeros_like(g), where=inverse > 0)
    return float(raw.max(initial=0.0)) / max(l1_ratio, 1e-3) or 1.0


@dataclass(frozen=True)
class HeldOut:
    """What models of several strengths say of rows that they were not fitted to.

    Attributes
    ----------
    alpha : float
        The strength of least loss; of equal ones the largest.
    alphas, curve : arrays of shape (m,)
        The strengths, falling, and the mean loss of held-out rows at each.
    scores : array of shape (n, n_scores)
        The score of each training row, its offset included, by the fit with `alpha` to the other folds; NaN
        for rows that are in no fold.
    """

    alpha: float
    alphas: Floats
    curve: Floats
    scores: Floats


def held_out(
    training: Training,
    loss: FittedLoss,
    settings: LinearSettings,
    folds: NDArray[np.intp],
    alphas: Floats = ALPHAS,
    patience: int | None = None,
) -> HeldOut:
    """Fit falling strengths to the other folds of each fold.

    `folds` has the number of each row's fold, or −1 for one that is never held out. With a `patience`, all
    folds stop where the first has had so many strengths without a lesser loss.
    """
    numbers = np.unique(folds[folds >= 0])
    if len(numbers) < 2:
        raise ValueError(
            "alpha='cv' needs rows of each class in two folds at least, and there are too few that differ; "
            "give alpha a number"
        )
    ways, losses, weights = [], [], []
    for fold in numbers:
        rows = LinearRows.of(training, loss, np.flatnonzero(folds == fold))
        others = LinearRows.of(training, loss, np.flatnonzero(folds != fold))
        way, values = judged(others, rows, loss, settings, alphas, patience)
        alphas, patience = alphas[: len(values)], None
        ways.append(way)
        losses.append(values)
        weights.append(rows.weight.sum())
    curve = np.average(losses, axis=0, weights=weights)
    best = int(np.argmax(curve <= curve.min() + _EQUAL * abs(curve.min())))
    scores = np.full((training.n_rows, n_scores_of(training.n_classes)), np.nan)
    for fold, way in zip(numbers, ways, strict=True):
        held = np.flatnonzero(folds == fold)
        scores[held] = linear_scores(training.table.matrix[held], *way[best][:2], settings.n_jobs)
    if training.offset is not None:
        scores += training.offset
    return HeldOut(float(alphas[best]), alphas, curve, scores)


def judged(
    rows: LinearRows,
    held: LinearRows,
    loss: FittedLoss,
    settings: LinearSettings,
    alphas: Floats,
    patience: int | None = None,
) -> tuple[list[_Step], Floats]:
    """The steps of falling strengths, and the mean loss of held-out rows at each."""
    steps: list[_Step] = []
    values: list[float] = []
    for step in _steps(rows, loss, settings, alphas):
        steps.append(step)
        seen = held.weight.sum() > 0
        scores = linear_scores(held.X, *step[:2], settings.n_jobs)
        values.append(held.mean_loss(loss, scores) if seen else 0.0)
        if seen and patience is not None and len(values) - 1 - int(np.argmin(values)) >= patience:
            break
    return steps, np.array(values)


def cross_fit(
    training: Training,
    loss: FittedLoss,
    settings: LinearSettings,
    folds: NDArray[np.intp],
    start: tuple[Floats, Floats] | None = None,
) -> tuple[HeldOut, LinearFit]:
    """Choose alpha by the mean loss on held-out rows, and fit all rows with it."""
    crossed = held_out(training, loss, settings, folds)
    fit = learn(LinearRows.of(training, loss), loss, replace(settings, alpha=crossed.alpha), start)
    return crossed, fit
