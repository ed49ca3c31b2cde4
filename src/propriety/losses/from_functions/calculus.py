"""Derivatives, integrals and tables of functions that are known only by calling them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.losses.point import Array
from propriety.losses.special import gauss_legendre

Function = Callable[[Array], Array]

# Eighth-order central differences: the error is of order step⁸ times the ninth or tenth derivative.
_FIRST = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
_SECOND = ((1, 8 / 5), (2, -1 / 5), (3, 8 / 315), (4, -1 / 560))
_SECOND_CENTRE = -205 / 72
_MOST_BREAKS = 64
_AT_BREAK = 1e-9  # how far from a break a point is on it


def derivative(function: Function, x: Array, step: Any) -> Array:
    """f′(x) by central differences of order eight."""
    with np.errstate(all="ignore"):
        total = sum(c * (function(x + k * step) - function(x - k * step)) for k, c in _FIRST)
        return total / step


def second_derivative(function: Function, x: Array, step: Any) -> Array:
    """f″(x) by central differences of order eight."""
    with np.errstate(all="ignore"):
        total = _SECOND_CENTRE * function(x)
        total = total + sum(c * (function(x + k * step) + function(x - k * step)) for k, c in _SECOND)
        return total / step**2


class PiecewiseSmooth:
    """A function with three derivatives by differences, one-sided beside the points where it is not smooth.

    Nine values a step apart give derivatives that are exact for polynomials of degree eight. Near a point
    where the function or a derivative of it jumps, all nine are taken on the side of x; x is always one.
    """

    def __init__(self, function: Function, step: float, breaks: Array) -> None:
        self.function, self.breaks = function, breaks
        self.step = float(2.0 ** np.floor(np.log2(step)))  # so that x + k step is exact
        self._left = np.concatenate([[-np.inf], breaks])
        self._right = np.concatenate([breaks, [np.inf]])

    def at(self, x: Array, from_left: bool = False) -> tuple[Array, Array, Array, Array]:
        """f, f′, f″ and f‴; at a break they are those of its right side, or of its left one."""
        x = np.asarray(x, dtype=np.float64)
        with np.errstate(all="ignore"):
            piece = np.searchsorted(self.breaks, x + (-_AT_BREAK if from_left else _AT_BREAK))
            left, right = self._left[piece], self._right[piece]
            step = np.minimum(self.step, (right - left) * (0.125 - 1e-9))
            shift = np.clip(np.ceil((left - x) / step) + 4, 0, 4) - np.clip(
                np.ceil((x - right) / step) + 4, 0, 4
            )
            shift = np.nan_to_num(shift).astype(np.intp)
            values = [self.function(x + (k - 4 + shift) * step) for k in range(9)]
            weights = _stencils()[shift + 4]  # (..., derivative, k)
            centre = np.choose(4 - shift, values) if values else x
            first, second, third = (
                sum(weights[..., d, k] * (values[k] - centre) for k in range(9)) / step ** (d + 1)
                for d in range(3)
            )
        return centre, first, second, third


@cache
def _stencils() -> Array:
    """Weights of nine values at −4 + s … 4 + s, s from −4 to 4, for three derivatives at 0: [s + 4, d, k]."""
    table = np.empty((9, 3, 9))
    for s in range(-4, 5):
        nodes = np.arange(-4, 5) + s
        for k in range(9):
            others = np.delete(nodes, k)
            basis = np.poly(others)[::-1] / np.prod(nodes[k] - others)
            table[s + 4, :, k] = basis[1:4] * (1, 2, 6)
    return table


def count_rough(function: Function, size: Function, low: float, high: float, width: float) -> int:
    """On how many panels of that width the function is not smooth; see `breaks_of`."""
    edges = np.arange(low - 0.382 * width, high, width)
    return int(np.count_nonzero(~_fits(function, size, edges, edges + width)))


def breaks_of(function: Function, size: Function, low: float, high: float, width: float) -> Array:
    """Where the function, or one of its first three derivatives, jumps between `low` and `high`.

    Panels of the given width, and again those half a panel further, on which no polynomial of degree eight
    fits to 1e-12 of `size` are halved until their halves fit. What is left surrounds a break; the polynomials
    on its two sides say where it is: where the derivative before the one that jumps agrees. A function that
    is rough in many places, such as a table, has no breaks.

    >>> breaks_of(lambda x: np.maximum(0, 1 - x) ** 2, np.ones_like, -4, 4, 0.25).round(9)
    array([1.])
    """
    edges = np.arange(low - 0.382 * width, high + width, width)
    a = np.concatenate([edges, edges + width / 2])
    b = a + width
    rough = ~_fits(function, size, a, b)
    a, b = a[rough], b[rough]
    found: list[tuple[float, float]] = []
    while len(a):
        if len(a) + len(found) > _MOST_BREAKS * 4:
            return np.empty(0)
        middle, quarter = (a + b) / 2, (b - a) / 4
        narrow = b - a < 1e-12 * (1 + np.abs(middle))
        children = [(a, middle), (middle, b), (middle - quarter, middle + quarter)]
        bad = [~_fits(function, size, *child) & ~narrow for child in children]
        bad[2] &= ~(bad[0] | bad[1])
        done = ~(bad[0] | bad[1] | bad[2])
        found += zip(a[done].tolist(), b[done].tolist(), strict=True)
        a, b = (
            np.concatenate([child[i][part] for child, part in zip(children, bad, strict=True)])
            for i in (0, 1)
        )
    return np.array(_located(function, size, _merged(found), width))


def _fits(function: Function, size: Function, a: Array, b: Array) -> NDArray[np.bool_]:
    """Whether a polynomial of degree eight fits the function between a and b."""
    nodes, between = np.cos(np.pi * (np.arange(9) + 0.5) / 9), np.cos(np.pi * np.arange(1, 9) / 9)
    predict = np.polynomial.chebyshev.chebvander(between, 8) @ np.linalg.inv(
        np.polynomial.chebyshev.chebvander(nodes, 8)
    )
    middle, half = (a + b)[:, None] / 2, (b - a)[:, None] / 2
    with np.errstate(all="ignore"):
        known = function((middle + half * nodes).ravel()).reshape(-1, 9)
        truth = function((middle + half * between).ravel()).reshape(-1, 8)
        misfit = np.max(np.abs(known @ predict.T - truth), axis=1)
        scale = size(middle[:, 0]) + np.max(np.abs(known), axis=1)
    # Where the function is infinite there is nothing to find.
    return ~(misfit > 1e-12 * scale)


def _merged(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Intervals that overlap made one."""
    merged: list[tuple[float, float]] = []
    for a, b in sorted(intervals):
        if merged and a <= merged[-1][1] + 1e-9 * (1 + abs(a)):
            merged[-1] = merged[-1][0], max(b, merged[-1][1])
        else:
            merged.append((a, b))
    return merged


def _located(
    function: Function, size: Function, intervals: list[tuple[float, float]], width: float
) -> list[float]:
    """The break in each interval, from the polynomials on its left and right."""
    if len(intervals) > _MOST_BREAKS:
        return []
    ends = [-np.inf, *(b for _, b in intervals)], [*(a for a, _ in intervals), np.inf]
    breaks = []
    for i, (a, b) in enumerate(intervals):
        left, right = min(width, 0.9 * (a - ends[0][i])), min(width, 0.9 * (ends[1][i + 1] - b))
        middle, unit = (a + b) / 2, max(b - a, min(left, right))
        fits = [_polynomial(function, a - left, a), _polynomial(function, b, b + right)]
        jumps = [float(fits[1].deriv(k)(middle) - fits[0].deriv(k)(middle)) for k in range(4)]
        scale = float(size(np.array([middle]))[0] + abs(fits[0](middle)))
        # What jumps is what the next derivative's jump does not explain by itself within the interval.
        order = next(
            (
                k
                for k in range(4)
                if abs(jumps[k]) * unit**k > 1e-8 * scale
                and (k == 3 or abs(jumps[k]) > abs(jumps[k + 1]) * (b - a))
            ),
            None,
        )
        if order is None:
            continue
        move = -jumps[order - 1] / jumps[order] if order > 0 else 0.0
        breaks.append(middle + move if abs(move) <= b - a + 1e-9 else middle)
    return breaks


def _polynomial(function: Function, a: float, b: float) -> Any:
    x = (a + b) / 2 + (b - a) / 2 * np.cos(np.pi * (np.arange(9) + 0.5) / 9)
    with np.errstate(all="ignore"):
        return np.polynomial.Chebyshev.fit(x, function(x), 8, domain=[a, b])


class Cumulative:
    """Integrals of a non-negative function from the left end and to the right end of an interval.

    Panels are halved until two Gauss–Legendre rules agree to 1e-13 of the panel or 1e-14 of the whole, or
    until they are too narrow to matter, as at a jump. Sums run from the far end inwards, so tails keep their
    relative accuracy.
    """

    _OF_PANEL, _OF_WHOLE, _MOST_PANELS = 1e-13, 1e-14, 20_000

    def __init__(self, function: Function, edges: Array) -> None:
        self._function = function
        with np.errstate(all="ignore"):
            self.edges, self._panels = self._refine(np.asarray(edges, dtype=np.float64))
        self._from_left = np.concatenate([[0.0], np.cumsum(self._panels)])
        self._to_right = np.concatenate([np.cumsum(self._panels[::-1])[::-1], [0.0]])

    def below(self, x: Array) -> Array:
        """∫ from the left end to x."""
        x, panel = self._locate(x)
        return self._from_left[panel] + self._integrate(self.edges[panel], x)

    def above(self, x: Array) -> Array:
        """∫ from x to the right end."""
        x, panel = self._locate(x)
        return self._to_right[panel + 1] + self._integrate(x, self.edges[panel + 1])

    def _locate(self, x: Array) -> tuple[Array, Any]:
        x = np.clip(x, self.edges[0], self.edges[-1])
        return x, np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self._panels) - 1)

    def _integrate(self, low: Array, high: Array) -> Array:
        width = high - low
        total = np.zeros(np.broadcast_shapes(np.shape(low), np.shape(high)))
        with np.errstate(all="ignore"):
            for u, a in zip(*gauss_legendre(16), strict=True):
                total = total + a * self._function(low + u * width)
        return total * width

    def _refine(self, edges: Array) -> tuple[Array, Array]:
        low, high = edges[:-1], edges[1:]
        whole = self._integrate(low, high)
        negligible = self._OF_WHOLE * float(np.nansum(np.abs(whole)))
        done: list[tuple[Array, Array, Array]] = []
        for _ in range(48):
            middle = 0.5 * (low + high)
            left, right = self._integrate(low, middle), self._integrate(middle, high)
            settled = np.abs(left + right - whole) <= self._OF_PANEL * np.abs(left + right) + negligible
            settled |= high - low <= 1e-13 * (1 + np.abs(middle))
            done.append((low[settled], high[settled], (left + right)[settled]))
            go = ~settled
            if not np.any(go) or sum(len(part[0]) for part in done) + 2 * np.sum(go) > self._MOST_PANELS:
                done.append((low[go], high[go], (left + right)[go]))
                break
            low, high = np.concatenate([low[go], middle[go]]), np.concatenate([middle[go], high[go]])
            whole = np.concatenate([left[go], right[go]])
        else:
            done.append((low, high, whole))
        low, high, panels = (np.concatenate(parts) for parts in zip(*done, strict=True))
        order = np.argsort(low)
        return np.concatenate([low[order], high[order][-1:]]), panels[order]


class UserFunction:
    """A user's function of p, or of p and q, called with arrays and answering with float64 arrays.

    A function of two arguments has exact tails: it is given q = 1 − p, not 1.0 − p. Functions that take only
    scalars are called once an element.
    """

    def __init__(self, name: str, function: Callable[..., Any], arguments: int = 1) -> None:
        if not callable(function):
            raise TypeError(f"{name} must be a function, got {function!r}")
        self.name = name
        self.function = function
        self.takes_q = arguments == 2 and _required_arguments(function) == 2
        self._call = self._vectorized()

    def __call__(self, p: Array, q: Array | None = None) -> Array:
        """Values at p, or at p and q."""
        args = (p, q) if self.takes_q else (p,)
        with np.errstate(all="ignore"):
            try:
                return np.asarray(self._call(*args), dtype=np.float64)
            except ArithmeticError:
                # Some functions raise where others return inf, as SciPy's densities at p = 1e-300.
                return np.vectorize(self._or_nan, otypes=[np.float64])(*args)

    def _or_nan(self, *args: float) -> float:
        try:
            return float(self.function(*args))
        except ArithmeticError:
            return float("nan")

    def _vectorized(self) -> Callable[..., Any]:
        probe = (np.array([0.3, 0.6]), np.array([0.7, 0.4]))[: 1 + self.takes_q]
        with np.errstate(all="ignore"):
            try:
                values = np.asarray(self.function(*probe), dtype=np.float64)
                if values.shape == (2,):
                    return self.function
                if values.shape == ():
                    # A constant; the answer must have the shape of the question.
                    self._expect_number(self.function(0.4, 0.6) if self.takes_q else self.function(0.4))
                    return lambda *args: np.broadcast_to(self.function(*args), np.shape(args[0]))
            except (TypeError, ValueError):
                pass
            self._expect_number(self.function(*(float(a[0]) for a in probe)))
        return np.vectorize(self.function, otypes=[np.float64])

    def _expect_number(self, value: Any) -> None:
        if not np.isscalar(value) and np.ndim(value) != 0:
            raise TypeError(f"{self.name} must return a number for a number, got {value!r}")


def _required_arguments(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1  # a ufunc or a builtin
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)
