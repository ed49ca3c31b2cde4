"""From rows and a loss to coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from propriety import losses
from propriety.aliases import MatrixLike
from propriety.communicator import refuse_if_spread
from propriety.data.table import is_sparse
from propriety.linear import solvers
from propriety.linear.bags import Bag, BagBooster
from propriety.linear.descent import Run
from propriety.linear.design import NARROW, Design
from propriety.linear.moments import Moments, moments
from propriety.linear.objective import BinaryLoss, Objective, SimplexRows
from propriety.linear.penalties import Penalty
from propriety.linear.row_tailoring import RowTailored, TailoredRows
from propriety.linear.rows import FittedLoss, LinearRows, composite_of
from propriety.linear.separating import MarginTask, separate
from propriety.linear.settings import LinearSettings
from propriety.linear.solvers import AnyLoss
from propriety.linear.tailoring import (
    RoughLoss,
    SlopeWarning,
    focuses_below,
    is_convex,
    ran_off,
    stations,
    without_factor,
)
from propriety.losses.value import has_function
from propriety.separators import separation, uls
from propriety.separators.linalg import Floats, with_ones

_SAMPLE = 20_000
#: Probability from which separation is suspected.
_EXTREME = 1e-6
#: The losses of two classes.
TwoClasses = BinaryLoss | TailoredRows


@dataclass(frozen=True)
class LinearFit:
    """Coefficients of shape (K, d), intercepts of shape (K,), and how they were reached."""

    coef: Floats
    intercept: Floats
    loss: AnyLoss  # an earlier station of the one asked for, if the slopes ran off
    columns: Moments
    trace: tuple[float, ...]
    n_iter: int
    converged: bool
    gap: float
    report: Any = None
    span: tuple[float, float] | None = None  # least and largest score, if known
    ran_off: bool = False
    chosen: tuple[losses.Composite, ...] = ()  # from a bag, the loss of each round


def learn(
    rows: LinearRows, loss: FittedLoss, settings: LinearSettings, start: tuple[Floats, Floats] | None = None
) -> LinearFit:
    """Fit a composite (two classes) or a loss on the simplex (more); from `start` if it is given."""
    check(rows, loss, settings)
    columns = moments(rows.X, rows.weight, rows.communicator)
    if settings.solver.smooth is None:
        return _by_margins(rows, composite_of(loss), settings, columns, start)
    design = Design(rows.X, settings.intercept, settings.n_jobs, columns, rows.communicator)
    penalty = Penalty.make(design, settings.alpha, settings.l1_ratio, settings.scaled, settings.thresholds)
    theta = None if start is None else design.pack(*start)
    fit = _by_steps(design, rows, loss, penalty, settings, theta, columns)
    # Scores with an offset are not those of the runs.
    return fit if rows.offset is None else replace(fit, span=None)


def check(rows: LinearRows, loss: FittedLoss, settings: LinearSettings) -> None:
    """Refuse a solver that cannot fit this."""
    solvers.check(settings.solver, composite_of(loss), settings.alpha, settings.l1_ratio)
    check_spread(rows, loss, settings)
    if settings.solver.smooth is None and (rows.offset is not None or isinstance(loss, RowTailored)):
        what = "an offset" if rows.offset is not None else "a loss tailored to each row"
        raise ValueError(
            f"solver={settings.solver.name!r} takes the margins of the columns alone and cannot fit {what}; "
            f"solvers that would do: {', '.join(solvers.SMOOTH)}"
        )


def check_spread(rows: LinearRows, loss: FittedLoss, settings: LinearSettings) -> None:
    """Refuse what needs all rows in one place, if they are spread over processes."""
    unfit = {
        "alpha='cv'": settings.chosen,
        f"solver={settings.solver.name!r}": settings.solver.smooth is None,
        "l1_ratio > 0": settings.alpha * settings.l1_ratio > 0,
        "a loss tailored to each row": isinstance(loss, RowTailored),
    }
    refuse_if_spread(rows.communicator, unfit)


def _by_steps(
    design: Design,
    rows: LinearRows,
    loss: FittedLoss,
    penalty: Penalty,
    settings: LinearSettings,
    theta: Floats | None,
    columns: Moments,
) -> LinearFit:
    """Steps of a smooth solver, for one problem or one for each class."""
    if isinstance(loss, losses.Composite | RowTailored):
        run, loss, off = _two_classes(design, rows, loss, penalty, settings, theta)
        unit = rows.losses(loss)[0].scale
        return replace(_joined(design, [run], composite_of(loss), columns, unit), ran_off=off)
    parts = rows.losses(loss)
    unit = parts[0].scale
    if len(parts) > 1:
        begins = [None if theta is None else theta[:, k : k + 1] for k in range(rows.n_classes)]
        runs = [
            minimize_binary(design, part, rows.weight, penalty, settings, begin)
            for part, begin in zip(parts, begins, strict=True)
            if isinstance(part, BinaryLoss)
        ]
        return _joined(design, runs, loss, columns, loss.factor * unit)
    objective = Objective(design, parts[0], rows.weight, penalty)
    begin = objective.start() if theta is None else theta
    run = settings.solver.minimize(objective, begin, settings.tol, settings.max_iter)
    joined = _joined(design, [run], loss, columns, unit)
    return _centred(joined, settings) if loss.shift_invariant else joined


def _centred(fit: LinearFit, settings: LinearSettings) -> LinearFit:
    """Of the coefficients that differ by a constant over the classes, which changes nothing, those of mean 0.

    A penalty on the slopes has decided among them already.
    """
    coef = fit.coef if settings.alpha > 0 else fit.coef - fit.coef.mean(axis=0)
    return replace(fit, coef=coef, intercept=fit.intercept - fit.intercept.mean())


def _joined(design: Design, runs: list[Run], loss: AnyLoss, columns: Moments, unit: float) -> LinearFit:
    """The fit of one run or of one for each class; `unit` turns their objectives into the loss's own."""
    coef, intercept = design.unpack(np.column_stack([r.point.theta for r in runs]))
    longest = max(len(r.trace) for r in runs)
    ends = design.communicator.max(
        (max(-float(r.point.scores.min()) for r in runs), max(float(r.point.scores.max()) for r in runs))
    )
    trace = np.sum([np.pad(r.trace, (0, longest - len(r.trace)), mode="edge") for r in runs], axis=0)
    return LinearFit(
        coef,
        intercept,
        loss,
        columns,
        tuple(float(unit * v) for v in trace),
        max(r.n_iter for r in runs),
        all(r.converged for r in runs),
        max(r.stationarity for r in runs),
        span=(-ends[0], ends[1]),
    )


def _two_classes(
    design: Design,
    rows: LinearRows,
    loss: losses.Composite | RowTailored,
    penalty: Penalty,
    settings: LinearSettings,
    theta: Floats | None,
) -> tuple[Run, losses.Composite | RowTailored, bool]:
    """The run, its loss, and whether the slopes ran off.

    If `settings` are flexible, it stops at the last station of the loss where they do not.
    """

    def fit(loss: losses.Composite | RowTailored, begin: Floats | None) -> Run:
        (part,) = rows.losses(loss)
        assert isinstance(part, TwoClasses)
        return minimize_binary(design, part, rows.weight, penalty, settings, begin)

    run, composite = fit(loss, theta), composite_of(loss)
    assert isinstance(composite, losses.Composite)
    scores = rows.shifted(run.point.scores)
    wrong = np.any((scores[:, 0] > float(composite.link(0.5))) != (rows.codes > 0))
    separated = not rows.communicator.max((float(wrong),))[0]
    if is_convex(composite) or separated or not ran_off(composite, scores, rows.communicator):
        return run, loss, False
    if settings.flexible:
        for earlier in reversed(_between(loss)):
            again = fit(earlier, None)
            if not ran_off(composite, rows.shifted(again.point.scores), rows.communicator):
                return again, earlier, False
    return run, loss, True


def _between(loss: losses.Composite | RowTailored) -> list[losses.Composite | RowTailored]:
    """The stations between the log loss and the loss."""
    if isinstance(loss, RowTailored):
        return [replace(loss, focus=focus) for focus in focuses_below(loss.focus)]
    return list(stations(loss)[1:-1])


def minimize_binary(
    design: Design,
    loss: TwoClasses,
    weight: Floats,
    penalty: Penalty,
    settings: LinearSettings,
    theta: Floats | None,
) -> Run:
    """Fit along the stations of the loss: on a sample of the rows first if there are very many."""
    if isinstance(loss, BinaryLoss):
        loss = BinaryLoss(without_factor(loss.composite)[1], loss.y, loss.offset)
    if theta is None:
        way = _way(loss)
        stride = _sample_stride(design, weight, 100 if way else 1000)
        few, sample = weight[::stride].copy(), loss.sample(stride) if stride > 1 else loss
        if stride > 1 and 0 < sample.y @ few < few.sum():
            route = [*_way(sample), _quick(sample)]
            theta = _along(route, design.sample(stride), few, penalty, settings)
        elif way:
            theta = _along(way, design, weight, penalty, settings)
    objective = Objective(design, loss, weight, penalty)
    begin = objective.start() if theta is None else theta
    return settings.solver.minimize(objective, begin, settings.tol, settings.max_iter)


def _sample_stride(design: Design, weight: Floats, per_column: int) -> int:
    """Stride of the rows on which a first solution is worth finding; 1 if there are too few rows for that."""
    if design.n < 4 * _SAMPLE or design.p > 1000 or design.communicator.size > 1:
        return 1
    stride = max(1, design.n // max(_SAMPLE, per_column * design.p))
    return stride if stride > 2 and np.count_nonzero(weight[::stride]) > 0 else 1


def _way(loss: TwoClasses) -> list[TwoClasses]:
    """The losses of the stations before a loss, the log loss first; none if the loss is convex."""
    if isinstance(loss, TailoredRows):
        first = BinaryLoss(losses.Log().composite(), loss.y, loss.offset)
        return [first, *(loss.with_focus(focus) for focus in focuses_below(loss.loss.focus))]
    return [_quick(BinaryLoss(c, loss.y, loss.offset)) for c in stations(loss.composite)[:-1]]


def _quick(loss: TwoClasses) -> TwoClasses:
    """The loss itself or, if it would be computed by slow formulas, quick values of it."""
    if isinstance(loss, TailoredRows) or not loss.few_values:
        return loss
    slow = loss.composite.loss._slow or has_function(loss.composite)
    return RoughLoss(loss.composite, loss.y, loss.offset) if slow else loss


def _along(
    route: list[TwoClasses], design: Design, weight: Floats, penalty: Penalty, settings: LinearSettings
) -> Floats | None:
    """Follow the minimum along the stations, to 1e-4; where the way has been gone before, take its end."""
    theta = None
    found = {} if settings.found is None else settings.found
    passed: tuple[Any, ...] = ()
    for loss in route:
        passed = (*passed, loss.loss if isinstance(loss, TailoredRows) else loss.composite)
        if (design.n, passed) not in found:
            objective = Objective(design, loss, weight, penalty)
            begin = objective.start() if theta is None else theta
            run = settings.solver.minimize(objective, begin, 1e-4, settings.max_iter)
            found[design.n, passed] = run.point.theta
        theta = found[design.n, passed]
    return theta


def _by_margins(
    rows: LinearRows,
    loss: AnyLoss,
    settings: LinearSettings,
    columns: Moments,
    start: tuple[Floats, Floats] | None,
) -> LinearFit:
    """Rounds on margins, a constant among the columns."""
    assert settings.solver.rounds is not None
    d, K = rows.X.shape[1], rows.n_classes
    n_scores = 1 if K == 2 else K
    X = with_ones(rows.X) if settings.intercept else rows.X
    X = X if is_sparse(X) else X.astype(np.float64, copy=False)
    if start is None:
        begin = np.zeros((n_scores, X.shape[1]))
    else:
        begin = np.column_stack(start) if settings.intercept else start[0].copy()
    if isinstance(loss, losses.Composite):
        scale = BinaryLoss(loss, rows.codes.astype(np.float64)).scale
    else:
        scale = SimplexRows(loss, rows.codes, K).scale
    if settings.bag is not None:
        return _by_bag(rows, X, settings.bag, settings, columns, begin.ravel())
    weight = rows.weight / (rows.weight.sum() * scale)
    task = MarginTask(X, rows.codes, K, loss, weight, settings.update)
    run = separate(settings.solver.rounds(task), begin.ravel(), settings.tol, settings.max_iter)
    coef = run.coef.reshape(n_scores, -1)
    if not isinstance(loss, losses.Composite) and loss.shift_invariant:
        coef = coef - coef.mean(axis=0)
    return LinearFit(
        coef[:, :d].copy(),
        coef[:, d].copy() if settings.intercept else np.zeros(n_scores),
        loss,
        columns,
        tuple(scale * v for v in run.trace),
        len(run.trace) - 1,
        run.converged,
        run.gap,
        run.report,
    )


def linear_scores(X: MatrixLike, coef: Floats, intercept: Floats, n_jobs: int | None) -> Floats:
    """Scores of shape (n, K) of coefficients (K, d) and intercepts (K,); rows whose score is no float raise.

    >>> linear_scores(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.array([0.5]), None)
    array([[11.5]])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scores = Design(X, True, n_jobs).scores(np.vstack([coef.T, intercept]))
    beyond = np.flatnonzero(~np.isfinite(scores).all(axis=1))
    if len(beyond):
        raise ValueError(
            f"Input X has values so large that the score of row {beyond[0]} is no finite number (as for "
            f"{len(beyond)} of {len(scores)} rows): check the units of X, or divide its columns as in the fit"
        )
    return scores


def _by_bag(
    rows: LinearRows, X: Any, bag: Bag, settings: LinearSettings, columns: Moments, begin: Floats
) -> LinearFit:
    """Rounds on margins, each for a loss of its own."""
    booster = BagBooster(X, rows.codes, rows.weight, bag, settings.update.features)
    run = booster.run(begin, settings.tol, settings.max_iter)
    d, coef = rows.X.shape[1], run.state.coef
    problem = booster.problems[bag.composites.index(run.composite)]
    return LinearFit(
        coef[None, :d].copy(),
        coef[d:].copy() if settings.intercept else np.zeros(1),
        run.composite,
        columns,
        run.risks,
        len(run.risks) - 1,
        True,
        float(np.max(np.abs(run.state.edges), initial=0.0)),
        uls.report(run.state, problem),
        chosen=run.chosen,
    )


# -- what is wrong with a fit -----------------------------------------------------------------------------


def complaint(rows: LinearRows, fit: LinearFit, settings: LinearSettings) -> Warning | None:
    """What the user should know of the fit: separation, slopes that ran off, or no convergence."""
    if settings.alpha == 0:
        message = None if rows.communicator.size > 1 else _separation(rows, fit, settings)
        if message is not None:
            return separation.SeparationWarning(message)
        if fit.ran_off:
            return SlopeWarning(
                f"{fit.loss!r} is not convex, and its slopes grew without bound: with this focus a steep "
                "step costs less than any sloping fit. Lower the focus, or set alpha > 0 to shrink the slopes"
            )
    if fit.converged:
        return None
    return ConvergenceWarning(
        f"solver {settings.solver.name!r} stopped after {fit.n_iter} steps with a gradient of {fit.gap:.2g} "
        f"(tol={settings.tol:.2g}): raise max_iter or tol"
        + (", or set alpha > 0" if settings.alpha == 0 else "")
    )


def _separation(rows: LinearRows, fit: LinearFit, settings: LinearSettings) -> str | None:
    """Words on separation, looked for when a probability is next to 0 or 1, or no end is reached."""
    two = isinstance(fit.loss, losses.Composite)
    binary = fit.loss if isinstance(fit.loss, losses.Composite) else fit.loss.one_vs_rest
    if binary is not None and binary.attains_minimum:
        return None
    if fit.converged and fit.span is not None and two:
        low, high = fit.loss.inverse(np.array(fit.span))
        if low > _EXTREME and 1 - high > _EXTREME:
            return None
    scores = rows.shifted(linear_scores(rows.X, fit.coef, fit.intercept, settings.n_jobs))
    P = fit.loss.inverse(scores[:, 0])[:, None] if two else fit.loss.inverse(scores)
    own = rows.codes[:, None] == (np.ones(1) if two else np.arange(P.shape[1]))
    right = np.where(own, P, 1 - P)
    if fit.converged and np.max(right) < 1 - _EXTREME:
        return None
    overlap = None
    for k in range(right.shape[1]):
        if fit.converged and np.max(right[:, k]) < 1 - _EXTREME:
            continue
        # An offset may be what is right: then the columns have to be looked at.
        margins = right[:, k] - (0.5 if rows.offset is None else 1.0)
        if overlap is None and np.min(margins) <= 0:
            design = Design(rows.X, settings.intercept, settings.n_jobs, fit.columns)
            overlap = _overlap(design, rows.weight[:, None] * np.where(own, right - 1, 1 - right))
        if overlap is not None and overlap[k]:
            continue
        message = separation.message(rows.X, own[:, k], margins, settings.intercept)
        if message is not None:
            return message
    return None


def _overlap(design: Design, pull: Floats) -> NDArray[np.bool_]:
    """For each class, whether its residuals times weights prove that no direction b separates it.

    They have one sign in the class and the other in the rest. If b separates, all pullᵢ xᵢ·b have one sign,
    so that |Σ pullᵢ xᵢ·b| = Σ |pullᵢ xᵢ·b| ≥ (bᵀAb)^½ with A = Σ pullᵢ² xᵢxᵢᵀ. The left side is at most
    |g||b|, g = Σ pullᵢ xᵢ, which is next to 0 at the minimum of the log loss: if |g|² is below the least
    eigenvalue of A there is no such b.
    """
    known = np.append(design.inverse_scale > 0, np.ones(design.p - design.d, dtype=bool))
    if design.p > NARROW or not np.any(known):
        return np.zeros(pull.shape[1], dtype=bool)
    sums = np.zeros((1, design.p, pull.shape[1]))
    design.backward(0, design.n, pull, sums[0])
    size = np.sum(design.finish(sums)[known] ** 2, axis=0)
    if pull.shape[1] == 1:
        A = design.gram(pull[:, 0] ** 2)[None]
    else:
        A = design.grams(lambda rows: pull[rows].T ** 2, pull.shape[1])
    A = A[:, known][:, :, known]
    least = np.linalg.eigvalsh(A)[:, 0] - 1e-12 * np.trace(A, axis1=1, axis2=2)
    return np.asarray(4 * size < least)
