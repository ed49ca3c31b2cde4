"""Derivatives, integrals and tables of functions that are known only by calling them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from propriety.losses.point import Array
from propriety.losses.special import gauss_legendre

Function = Callable[[Array], Array]

# Eighth-order central differences: the error is of order step⁸ times the ninth or tenth derivative.
_FIRST = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
_SECOND = ((1, 8 / 5), (2, -1 / 5), (3, 8 / 315), (4, -1 / 560))
_SECOND_CENTRE = -205 / 72


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
