"""Gradient, curvature and value of a composite in one compiled pass over arrays.

Any loss with any link runs through the same kernel, because the kernel never sees a formula. Both are
functions of the score alone once the label is known, so it sees a table of them: polynomials
on narrow panels of the score, made from the NumPy formulas when first needed, and checked against them to
1e-12, or to what the formulas themselves are good for, where they are numerical derivatives. A loss written
by a user, a mixture or a numerically inverted link is then as fast as a family, nothing is compiled for it,
and the kernels are compiled once per machine.

Scores beyond a table, where p < 1e-17 or so, and composites that no table fits (kinks, jumps) are computed
by the formulas themselves, block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import parallel
from propriety.losses.links import Logit
from propriety.losses.point import Array, Foreign, as_float, at_log_odds, product

if TYPE_CHECKING:
    from propriety.losses.base import SmoothLoss
    from propriety.losses.composite import Composite

# Coefficients of a polynomial and panels a unit, tried in turn until the table fits the usual scores.
_RESOLUTIONS = ((6, 64), (8, 64), (8, 128), (8, 512), (8, 4096))
_USUAL = 6.0  # log-odds that a table must cover
_WIDEST = 64.0  # units of the link's own scale that it covers at most ...
_WIDEST_FINE = 12.0  # ... where its panels are narrow
_KINKS = 8  # misfits among the usual scores that are not for want of narrower panels
SMALL = 2000  # rows for which a table is not worth making
MANY = 200_000  # rows of one loss for which it is, where no training will use it again
_NOTHING = 1e-280  # values below this need not keep their digits
_BLOCK = 1 << 15
_PIECES = 4  # for each thread, where there are fewer rows than that: a helper begins later
# z⁸ on [−½, ½] as a polynomial of degree 7: what is left is Chebyshev's, below 2⁻¹⁵.
_EIGHTH = np.array([-(2.0**-15), 0, 2.0**-8, 0, -5 * 2.0**-6, 0, 0.5, 0])

Formula = Callable[[Array, Array], tuple[Array, Array]]
Step = Callable[[int, int], object]  # what is done with the rows from … to


class ScoreTable(NamedTuple):
    """Two functions of a score for each label, as polynomials on equal panels.

    ``coefficients[panel, label, function]`` are those of a polynomial in the distance from the panel's
    centre, in panel widths; the first panel begins at `origin`. The table holds for scores from `low` to
    `high`, which may be infinite.
    """

    origin: float
    per_unit: float
    coefficients: Array
    low: float
    high: float


def derivatives(
    c: Composite,
    y: ArrayLike,
    F: ArrayLike,
    curvature: str,
    out: tuple[Array, Array] | None,
    n_jobs: int | None,
    table: bool | None = None,
) -> tuple[Array, Array]:
    """See `Composite.derivatives`."""
    if curvature not in ("fisher", "newton"):
        raise ValueError(f"curvature must be 'fisher' or 'newton', got {curvature!r}")
    y, F = _arrays(y, F)
    if out is None:
        out = np.empty_like(F), np.empty_like(F)
    for i, array in enumerate(out):
        if array.shape != F.shape or array.dtype != np.float64:
            raise ValueError(f"out[{i}] must be a float64 array of shape {F.shape}")
    derivative_pass(c, np.asarray(y), curvature, table)(F, out, n_jobs)
    return out


def derivative_pass(c: Composite, y: Any, curvature: str, table: bool | None = None) -> Callable[..., bool]:
    """`derivatives` for scores of the same rows, asked for again and again.

    `run(F, out, n_jobs, before=None, after=None)` calls both with the ends of each block of rows: before its
    scores are read, and when its derivatives are written. It says whether some of these were written anew
    after that, by formulas, because their scores are beyond the kernel's.

    >>> from propriety import losses
    >>> out = np.empty(1), np.empty(1)
    >>> derivative_pass(losses.Log().composite(), np.array([1.0]), "fisher")(np.array([0.0]), out, 1)
    False
    >>> out
    (array([-0.5]), array([0.25]))
    """
    formula = _newton(c) if curvature == "newton" else _fisher(c)
    compiled = (len(y) >= SMALL or _is_logistic(c)) if table is None else table
    kernel = _derivative_kernel(c, curvature == "newton") if compiled else None
    return lambda F, out, n_jobs, *steps: _fill(out, formula, kernel, y, F, n_jobs, *steps)


def values_and_gradients(
    c: Composite, y: ArrayLike, F: ArrayLike, n_jobs: int | None, table: bool | None = None
) -> tuple[Array, Array]:
    """See `Composite.values_and_gradients`."""
    y, F = _arrays(y, F)
    out = np.empty_like(F), np.empty_like(F)
    compiled = len(F) >= SMALL if table is None else table
    _fill(out, _value(c), _value_kernel(c) if compiled else None, y, F, n_jobs)
    return out


def values(c: Composite, y: ArrayLike, F: ArrayLike, n_jobs: int | None, table: bool | None = None) -> Array:
    """See `Composite.values`; few rows do without the gradients."""
    y, F = _arrays(y, F)
    if table or len(F) >= SMALL:
        return values_and_gradients(c, y, F, n_jobs, table)[0]
    labels = np.asarray(y, dtype=np.float64)
    if _is_logistic(c):  # log(1 + e⁻ᵗ) and log(1 + eᵗ), a fraction of the calls
        t = F / c.link.scale  # type: ignore[attr-defined]
        factor = c._canonical_factor * c.link.scale  # type: ignore[attr-defined]
        return factor * (product(labels, np.logaddexp(0.0, -t)) + product(1 - labels, np.logaddexp(0.0, t)))
    with np.errstate(all="ignore"):
        return c._value(labels, c._parts(F))


def are_many(loss: SmoothLoss, y: ArrayLike, F: Any) -> bool:
    """Whether values of so many rows are better looked up than computed by the formulas of the loss."""
    if not loss._slow or isinstance(y, Foreign) or isinstance(F, Foreign):
        return False
    return np.broadcast(y, F).size >= MANY


def many_values(c: Composite, y: Array, F: Array) -> Array:
    """Values by the table, of arrays of any shape that go together."""
    y, F = np.broadcast_arrays(y, F)
    return values_and_gradients(c, y.ravel(), F.ravel(), None, table=True)[0].reshape(F.shape)


def value_pass(c: Composite) -> Callable[[Array, Array], tuple[Array, Array]]:
    """`values_and_gradients` by the table for blocks of rows that are known to be sound, one after the other.

    >>> from propriety import losses
    >>> value_pass(losses.Squared().composite())(np.array([1.0]), np.array([0.0]))
    (array([0.25]), array([-0.25]))
    """
    formula, kernel = _value(c), _value_kernel(c)

    def run(y: Array, F: Array) -> tuple[Array, Array]:
        out = np.empty_like(F), np.empty_like(F)
        if kernel is None or kernel.run(y, F, *out):
            _fill(out, formula, kernel, y, F, 1)
        return out

    return run


@lru_cache(maxsize=256)
def _is_logistic(c: Composite) -> bool:
    return isinstance(c.link, Logit) and c._canonical_factor is not None


def _arrays(y: ArrayLike, F: ArrayLike) -> tuple[Any, Array]:
    F = np.ascontiguousarray(as_float("F", F))
    y = np.asarray(y)
    if y.dtype != np.uint8:
        y = as_float("y", y)
    if F.ndim != 1 or y.shape != F.shape:
        raise ValueError(
            f"y and F must be one-dimensional and of one length, got shapes {y.shape} and {F.shape}"
        )
    return np.ascontiguousarray(y), F


class _Kernel(NamedTuple):
    """A compiled loop over (y, F, out...) that returns how many rows it could not do, its range and table."""

    run: Callable[..., int]
    low: float
    high: float
    table: ScoreTable | None = None


def _fill(
    out: tuple[Array, Array],
    formula: Formula,
    kernel: _Kernel | None,
    y: Any,
    F: Array,
    n_jobs: int | None,
    before: Step | None = None,
    after: Step | None = None,
) -> bool:
    """Write two functions of label and score, block by block; see `derivative_pass`."""
    beyond: list[NDArray[np.intp]] = []

    def exact(rows: Any) -> None:
        out[0][rows], out[1][rows] = formula(np.asarray(y[rows], dtype=np.float64), F[rows])

    def block(start: int, stop: int) -> None:
        rows = slice(start, stop)
        if before is not None:
            before(start, stop)
        if kernel is None:
            exact(rows)
        elif kernel.run(y[rows], F[rows], out[0][rows], out[1][rows]):
            inside = (F[rows] >= kernel.low) & (F[rows] <= kernel.high)
            beyond.append(start + np.flatnonzero(~inside))
        if after is not None:
            after(start, stop)

    rows = _BLOCK
    if len(F) > _BLOCK:
        rows = min(_BLOCK, -(-len(F) // (_PIECES * parallel.n_threads(n_jobs))))
    parallel.for_blocks(block, len(F), n_jobs=n_jobs, block=rows)
    if beyond:
        # A few rows from all over: one call of the formulas for all of them.
        rest = np.concatenate(beyond)
        parallel.for_blocks(lambda a, b: exact(rest[a:b]), len(rest), n_jobs=n_jobs, block=_BLOCK)
    return bool(beyond)


def _fisher(c: Composite) -> Formula:
    def formula(y: Array, F: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            at = c._parts(F)
            return c._gradient(y, at), c._fisher(at)

    return formula


def _newton(c: Composite) -> Formula:
    def formula(y: Array, F: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            at = c._parts(F)
            return c._gradient(y, at), c._hessian(y, at)

    return formula


def _value(c: Composite) -> Formula:
    def formula(y: Array, F: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            at = c._parts(F)
            return c._value(y, at), c._gradient(y, at)

    return formula


@lru_cache(maxsize=256)
def _derivative_kernel(c: Composite, newton: bool) -> _Kernel | None:
    if not _is_logistic(c):
        return _table_kernel(c, "newton" if newton else "fisher")
    # The log loss: r t′ is constant, and the exponential itself is faster than a table.
    from propriety.losses import kernels

    scale, rate = c.link.scale, c._canonical_factor  # type: ignore[attr-defined]
    return _Kernel(lambda *arrays: kernels.logistic(*arrays, 1 / scale, rate), -700 * scale, 700 * scale)


@lru_cache(maxsize=256)
def _value_kernel(c: Composite) -> _Kernel | None:
    return _table_kernel(c, "value")


def _table_kernel(c: Composite, what: str) -> _Kernel | None:
    formula = {"newton": _newton, "fisher": _fisher, "value": _value}[what](c)
    table = _summed(c, formula) if what == "value" and c.loss._slow else None
    if table is None:
        table = tabulate(c, formula)
    if table is None:
        return None
    from propriety.losses import kernels

    return _Kernel(lambda *arrays: kernels.look_up(*arrays, *table), table.low, table.high, table)


def _summed(c: Composite, formula: Formula) -> ScoreTable | None:
    """The table of values and gradients from that of the gradients alone, whose formula is fast.

    The value of label 1 is its value at the high end plus all that the gradient loses from there down, that
    of label 0 begins at the low end: sums of terms of one sign, which keep their digits. None if there is no
    table of gradients, or if the sums do not agree with the formula.
    """
    kernel = _derivative_kernel(c, False)
    if kernel is None or kernel.table is None:
        return None
    origin, per_unit, tabled, low, high = kernel.table
    slopes = tabled[:, :, 0]  # panel, label, coefficient
    panels, _, size = slopes.shape
    ends = origin, origin + panels / per_unit
    at_ends = formula(np.array([0.0, 1.0]), np.array(ends))[0]
    integrals = slopes / (per_unit * np.arange(1, size + 1))  # the factors of z, z², … of the value
    half = 0.5 ** np.arange(1, size + 1)
    above, below = integrals @ half, integrals @ (half * (-1) ** np.arange(1, size + 1))
    steps = above - below  # the change over each panel
    falls = np.append(np.cumsum(-steps[::-1, 1])[-2::-1], 0.0)  # of label 1 from a panel's high edge on
    rises = np.append(0.0, np.cumsum(steps[:-1, 0]))
    coefficients = np.zeros((panels, 2, 2, 8))
    coefficients[:, 0, 0, 0] = at_ends[0] + rises - below[:, 0]
    coefficients[:, 1, 0, 0] = at_ends[1] + falls - above[:, 1]
    coefficients[:, :, 0, 1 : size + 1] = integrals[:, :, :7]
    if size == 8:
        coefficients[:, :, 0] += integrals[:, :, 7:] * _EIGHTH
    coefficients[:, :, 1, :size] = slopes
    table = ScoreTable(origin, per_unit, coefficients, low, high)
    runs = np.linspace(1, max(panels - 10, 1), 40).astype(np.intp)  # of neighbours, each as large as the next
    sample = np.unique(np.minimum(runs[:, None] + np.arange(8), panels - 1))
    part = table._replace(coefficients=coefficients[sample])
    good = _fitting(part, np.rint(origin * per_unit) + sample, formula, c)
    return table if np.all(good) and np.all(np.isfinite(at_ends)) else None


def tabulate(c: Composite, formula: Formula) -> ScoreTable | None:
    """A table of the formula for y = 0 and 1 as functions of the score, or None if none is good to 1e-12.

    Panels are narrowed until every one fits. Where some never do, as where a user's function of p has used
    up the digits of p near 1, the table ends there, if it then still covers the usual scores.
    """
    link = c.link
    unit = float(link.link(0.75) - link.link(0.25)) / 2.2
    smooth_beyond = c._form is not None or (c._canonical_factor is not None and link._rate_beyond > 0)
    ends = (-np.inf, np.inf) if smooth_beyond else (link.low, link.high)
    usual = _score_of(c, -_USUAL), _score_of(c, _USUAL)

    @lru_cache
    def active(widest: float) -> tuple[float, float]:
        return _active(formula, max(ends[0], -widest), min(ends[1], widest))

    for size, per_unit in _RESOLUTIONS:
        low, high = active(unit * (_WIDEST if per_unit <= 256 else _WIDEST_FINE))
        # Whole panels from 0, so that a kink at F = 0 falls between two of them.
        panels = np.arange(np.ceil(low / unit * per_unit), np.floor(high / unit * per_unit), dtype=np.float64)
        tried = panels[(panels >= usual[0] / unit * per_unit) & (panels < usual[1] / unit * per_unit)]
        if len(tried) == 0:
            return None
        # A few panels among the usual scores tell whether they are narrow enough.
        sample = tried[:: max(1, len(tried) // 50)]
        if np.all(_fitting(_table(formula, sample, per_unit / unit, size), sample, formula, c)):
            table = _table(formula, panels, per_unit / unit, size)
            good = _fitting(table, panels, formula, c)
            usable = _usable(table, good, *usual)
            if usable is not None:
                return _ended(usable, formula)
            if np.count_nonzero(~good[np.isin(panels, tried)]) <= _KINKS:
                return None  # panels around a kink never fit, however narrow
    return None


def _score_of(c: Composite, t: float) -> float:
    with np.errstate(all="ignore"):
        return float(c.link._score(at_log_odds(t)))


def _of_labels(formula: Formula, F: Array) -> tuple[Array, Array]:
    """Both functions at the scores, a row for each label; what does not depend on the label is found once."""
    first, second = formula(np.array([[0.0], [1.0]]), F)
    return np.broadcast_to(first, (2, len(F))), np.broadcast_to(second, (2, len(F)))


def _active(formula: Formula, low: float, high: float) -> tuple[float, float]:
    """The part of [low, high] outside which both functions are zero in effect for both labels."""
    F = np.linspace(low, high, 4001)
    sizes = [np.max(np.abs(values), axis=0) for values in _of_labels(formula, F)]
    there = np.flatnonzero(np.max(sizes, axis=0) > _NOTHING)
    if len(there) == 0:
        return 0.0, 0.0
    return float(F[max(there[0] - 1, 0)]), float(F[min(there[-1] + 1, len(F) - 1)])


def _table(formula: Formula, panels: Array, per_unit: float, size: int) -> ScoreTable:
    """Polynomials for the panels, numbered from score 0."""
    centres = (panels + 0.5) / per_unit
    nodes, fit = _interpolation(size)
    F = (centres[:, None] + nodes / per_unit).ravel()
    coefficients = np.empty((len(centres), 2, 2, size))
    with np.errstate(all="ignore"):
        for j, of_labels in enumerate(_of_labels(formula, F)):
            for label, values in enumerate(of_labels):
                at_nodes = values.reshape(-1, size)
                # Differences from one value a panel: a constant stays exactly that constant.
                coefficients[:, label, j] = (at_nodes - at_nodes[:, :1]) @ fit.T
                coefficients[:, label, j, 0] += at_nodes[:, 0]
    low, high = panels[0] / per_unit, (panels[-1] + 1) / per_unit
    return ScoreTable(low, per_unit, coefficients, low, high)


@lru_cache(maxsize=4)
def _interpolation(size: int) -> tuple[Array, Array]:
    """Chebyshev's nodes in panel widths from the centre, and the matrix from values to coefficients."""
    nodes = 0.5 * np.cos(np.pi * (np.arange(size) + 0.5) / size)
    return nodes, np.linalg.inv(np.vander(nodes, increasing=True)).astype(np.float64)


def _fitting(table: ScoreTable, panels: Array, formula: Formula, c: Composite) -> NDArray[np.bool_]:
    """Which panels agree with the formula at two random scores, as well as the formula itself is known."""
    rng = np.random.default_rng(0)
    good = np.ones(len(panels), dtype=bool)
    for _ in range(2):
        offset = rng.uniform(-0.5, 0.5, len(panels))
        F = (panels + 0.5 + offset) / table.per_unit
        powers = offset[:, None] ** np.arange(table.coefficients.shape[3])
        with np.errstate(all="ignore"):
            accuracy = c.loss._accuracy(c.link._log_odds(F).t)
            for j, of_labels in enumerate(_of_labels(formula, F)):
                for label, truth in enumerate(of_labels):
                    error = np.abs(np.sum(table.coefficients[:, label, j] * powers, axis=1) - truth)
                    good &= error <= accuracy * _size_nearby(truth) + _NOTHING
    return good


def _size_nearby(values: Array) -> Array:
    """Largest absolute value among the nearest panels: what a Hessian is relative to where it crosses 0."""
    size = np.abs(values)
    return np.maximum.reduce([size, *(np.roll(size, k) for k in (-4, -2, -1, 1, 2, 4))])


def _usable(table: ScoreTable, good: NDArray[np.bool_], low: float, high: float) -> ScoreTable | None:
    """The run of fitting panels around the usual scores, if it covers them."""
    centres = table.origin + (np.arange(len(good)) + 0.5) / table.per_unit
    bad = centres[~good]
    below, above = bad[bad < (low + high) / 2], bad[bad >= (low + high) / 2]
    width = 0.5 / table.per_unit
    start = float(below[-1]) + width if len(below) else table.low
    stop = float(above[0]) - width if len(above) else table.high
    if (len(below) and start > low) or (len(above) and stop < high):
        return None
    i, j = round((start - table.low) * table.per_unit), round((stop - table.low) * table.per_unit)
    return ScoreTable(start, table.per_unit, table.coefficients[i:j], start, stop)


def _ended(table: ScoreTable, formula: Formula) -> ScoreTable:
    """A table that ends in zeros needs no formula beyond them: one panel of zeros goes on for ever."""
    origin, per_unit, coefficients, low, high = table
    zeros = np.zeros_like(coefficients[:1])

    def nothing_at(F: float) -> bool:
        return all(np.all(np.abs(values) <= _NOTHING) for values in _of_labels(formula, np.array([F])))

    if nothing_at(low):
        origin, low, coefficients = origin - 1 / per_unit, -np.inf, np.concatenate([zeros, coefficients])
    if nothing_at(high):
        high, coefficients = np.inf, np.concatenate([coefficients, zeros])
    return ScoreTable(origin, per_unit, np.ascontiguousarray(coefficients), low, high)
