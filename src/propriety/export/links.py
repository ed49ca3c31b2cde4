"""From scores to probabilities, and back: links as operators, or as tables of their values.

ONNX has neither the error function nor the inverse tangent in double precision. So all but the simplest links
are written as a table: polynomials of degree nine that meet the link's own log-odds, piece by piece, in a
coordinate in which these are nearly straight far out. The largest error of a probability is measured and
kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.export.graph import Graph, Value
from propriety.losses.links import Identity, Interpolated, Link, Logit, Recalibrated, Shifted
from propriety.losses.point import at_log_odds

Floats = NDArray[np.float64]

#: Log-odds beyond which a table ends: there a probability is 0 or 1 to forty digits.
FAR = 100.0
_FARTHEST = 250.0  # the end of the coordinate: scores of 10^108 units
_DEGREE = 9
_PIECES = (64, 256, 1024)
_ERROR = 1e-14  # goal of a table, relative to 1 + |t|
_WORST = 1e-9  # a link whose probabilities would be worse is refused


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials over equal pieces of [low, high], in the place within each, from −1 to 1."""

    low: float
    high: float
    coefficients: Floats  # (pieces, degree + 1), the constant first
    error: float  # relative to 1 + |value|
    felt: float  # the error times what it matters

    @classmethod
    def of(
        cls,
        function: Callable[[Floats], Floats],
        low: float,
        high: float,
        matters: Callable[[Floats], Floats] = np.ones_like,
    ) -> Pieces:
        """As many pieces as the function needs; `matters` says how much an error at each of its values does.

        >>> Pieces.of(np.sin, 0.0, 3.0).error < 1e-14
        True
        """
        best: Pieces | None = None
        for n in _PIECES:
            nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
            powers = np.vander(nodes, increasing=True)
            values = function(_places(low, high, n, nodes))
            found = cls(low, high, np.linalg.solve(powers, values.T).T, np.inf, np.inf)
            between = _places(low, high, n, np.linspace(-0.99, 0.99, 8))
            exact = function(between)
            errors = np.abs(found(between) - exact)
            error = float(np.max(errors / (1 + np.abs(exact))))
            felt = float(np.max(errors * matters(exact)))
            better = best is None or error < 0.5 * best.error or felt < 0.5 * best.felt
            if best is None or felt < best.felt:
                best = replace(found, error=error, felt=felt)
            if error <= _ERROR or not better:  # what is left is the noise of the function itself
                break
        assert best is not None
        return best

    def __call__(self, s: Floats) -> Floats:
        """The function at s; beyond the pieces, at their ends.

        >>> round(float(Pieces.of(np.sin, 0.0, 3.0)(np.array(1.0))), 12) == round(float(np.sin(1.0)), 12)
        True
        """
        n = len(self.coefficients)
        place = (np.clip(s, self.low, self.high) - self.low) * (n / (self.high - self.low))
        piece = np.clip(np.floor(place), 0, n - 1)
        within, total = 2 * (place - piece) - 1, np.zeros_like(place)
        for column in self.coefficients.T[::-1]:
            total = total * within + column[piece.astype(np.intp)]
        return total

    def write(self, graph: Graph, s: Value) -> Value:
        """The function of each entry of s, of shape (n, 1)."""
        n = len(self.coefficients)
        place = (s.clip(self.low, self.high) - self.low) * (n / (self.high - self.low))
        piece = graph.apply("Floor", place).clip(0, n - 1)
        within = 2 * (place - piece) - 1
        number = piece.cast(np.int64)
        total: Any = None
        for column in self.coefficients.T[::-1]:
            each = number.rows_of(np.ascontiguousarray(column))
            total = each if total is None else total * within + each
        return total


def _places(low: float, high: float, n: int, within: Floats) -> Floats:
    width = (high - low) / n
    return low + width * (np.arange(n)[:, None] + 0.5 + 0.5 * within[None, :])


@dataclass(frozen=True, eq=False)
class Coordinate:
    """A scale on which log-odds are nearly straight far out: asinh, or the logarithm of how far an end is."""

    centre: float
    unit: float
    low: float
    high: float

    @classmethod
    def of(cls, link: Link) -> Coordinate:
        """By the link's middle half, and by its ends where it has them."""
        quarter, half, rest = (float(link.link(p)) for p in (0.25, 0.5, 0.75))
        return cls(half, (rest - quarter) / 2, float(link.low), float(link.high))

    def score(self, s: Floats) -> Floats:
        """The score at s."""
        if np.isinf(self.low) and np.isinf(self.high):
            return self.centre + self.unit * np.sinh(s)
        if np.isinf(self.high):
            return self.low + self.unit * np.exp(s)
        if np.isinf(self.low):
            return self.high - self.unit * np.exp(-s)
        share = at_log_odds(s)
        return np.where(
            s < 0, self.low + (self.high - self.low) * share.p, self.high - (self.high - self.low) * share.q
        )

    def write(self, graph: Graph, F: Value) -> Value:
        """The place s of each score."""
        if np.isinf(self.low) and np.isinf(self.high):
            u = (F - self.centre) / self.unit
            size = u.abs()
            return graph.apply("Sign", u) * (size + graph.apply("Sqrt", size * size + 1)).log()
        tiny = np.finfo(float).tiny
        above, below = graph.apply("Max", F - self.low, tiny), graph.apply("Max", self.high - F, tiny)
        if np.isinf(self.high):
            return (above / self.unit).log()
        if np.isinf(self.low):
            return -(below / self.unit).log()
        return (above / below).log()


@dataclass(frozen=True, eq=False)
class LinkTable:
    """A link as a table of its log-odds, and the largest error of a probability."""

    coordinate: Coordinate
    pieces: Pieces
    error: float


@lru_cache(maxsize=16)
def link_table(link: Link) -> LinkTable:
    """The table of a link's log-odds; one that is too rough is refused.

    >>> from propriety.losses.links import Probit
    >>> link_table(Probit()).error < 1e-14
    True
    """
    coordinate = Coordinate.of(link)

    def log_odds(s: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.clip(link._log_odds(coordinate.score(s)).t, -FAR, FAR)

    low, high = _ends(log_odds)
    # Next to an end of the scores the log-odds are noise, where a probability is 0 or 1 to many digits.
    pieces = Pieces.of(log_odds, low, high, lambda t: at_log_odds(t).p * at_log_odds(t).q)
    s = np.linspace(low, high, 10_007)
    error = float(np.max(np.abs(at_log_odds(pieces(s)).p - at_log_odds(log_odds(s)).p)))
    if not error <= _WORST:
        raise ValueError(
            f"{link!r} cannot be written as a table: its probabilities would be wrong by {error:.1g}; export "
            "a model with another link"
        )
    return LinkTable(coordinate, pieces, error)


def _ends(log_odds: Callable[[Floats], Floats]) -> tuple[float, float]:
    """Where the log-odds reach ±FAR, or the coordinate its end: by bisection from the middle."""
    ends = []
    for sign in (-1.0, 1.0):
        inside, outside = 0.0, sign * _FARTHEST
        for _ in range(60):
            middle = 0.5 * (inside + outside)
            t = float(log_odds(np.array([middle]))[0])
            if np.isfinite(t) and abs(t) < FAR:
                inside = middle
            else:
                outside = middle
        ends.append(inside)
    return ends[0], ends[1]


def write_inverse(graph: Graph, link: Link, F: Value) -> Value:
    """Probabilities of scores of shape (n, 1)."""
    if isinstance(link, Identity):
        return ((F - link.low) / (link.high - link.low)).clip(0.0, 1.0)
    t = _log_odds(graph, link, F)
    e = (-t.abs()).exp()
    return (t >= 0.0).where(1 / (1 + e), e / (1 + e))


def _log_odds(graph: Graph, link: Link, F: Value) -> Value:
    if isinstance(link, Logit):
        return F if link.scale == 1 else F / link.scale
    if isinstance(link, Shifted):
        return _log_odds(graph, link.base, F) - link.by
    if isinstance(link, Recalibrated):
        t = _log_odds(graph, link.base, F)
        low, high = _log_shares(t)
        return link.low_slope * low - link.high_slope * high + link.shift
    if isinstance(link, Interpolated):
        return _on_lines(_log_odds(graph, link.base, F), link)
    table = link_table(link)
    return table.pieces.write(graph, table.coordinate.write(graph, F))


def _on_lines(t: Value, link: Interpolated) -> Value:
    """Log-odds t on the lines through the link's knots, of slope 1 beyond them."""
    knots, values = np.array(link.knots), np.array(link.values)
    slopes = np.concatenate([[1.0], np.diff(values) / np.diff(knots), [1.0]])
    before = np.maximum(np.arange(len(knots) + 1) - 1, 0)  # the knot that each line starts from
    line = (t > knots[None, :]).cast(np.int64).sum_of_columns()
    return line.rows_of(values[before]) + line.rows_of(slopes) * (t - line.rows_of(knots[before]))


def _log_shares(t: Value) -> tuple[Value, Value]:
    """Logarithms of p and of 1 − p at log-odds t."""
    size = t.abs()
    larger = -(1 + (-size).exp()).log()
    smaller = larger - size
    positive = t >= 0.0
    return positive.where(larger, smaller), positive.where(smaller, larger)


def write_link(graph: Graph, link: Link, p: Value, least: float) -> Value:
    """Scores of probabilities of shape (n, 1), which lie from `least` to 1 − `least`."""
    t = p.log() - (1 - p).log()
    if isinstance(link, Logit):
        return t if link.scale == 1 else t * link.scale
    end = 1.25 * float(-np.log(least))  # of several, divided by their sum, some lie a little further out
    return Pieces.of(lambda s: np.asarray(link._score(at_log_odds(s))), -end, end).write(graph, t)


def error_of(link: Link) -> float:
    """The largest error of a probability that the link's table makes; 0 where the link is operators.

    >>> error_of(Logit()), error_of(Shifted(Logit(), 1.0))
    (0.0, 0.0)
    """
    if isinstance(link, Identity):
        return 0.0
    if isinstance(link, Logit | Shifted | Recalibrated | Interpolated):
        return 0.25 * _error_of_log_odds(link)
    return link_table(link).error


def _error_of_log_odds(link: Link) -> float:
    """At most so much; a probability feels a quarter of it."""
    if isinstance(link, Logit):
        return 0.0
    if isinstance(link, Shifted):
        return _error_of_log_odds(link.base)
    if isinstance(link, Recalibrated):
        return max(link.low_slope, link.high_slope) * _error_of_log_odds(link.base)
    if isinstance(link, Interpolated):
        slopes = np.diff(link.values) / np.diff(link.knots)
        return float(slopes.max(initial=1.0)) * _error_of_log_odds(link.base)
    return (1 + FAR) * link_table(link).pieces.error
