"""How far a step may go: the trust region of a round.

A leaf of few rows of a rare class has the value −G/H ≈ 1/p: to second order the loss asks for a step that
takes p from 0.002 to 1. The expansion is good for about a unit of log-odds, whatever the loss; so that is
where the step is bounded. A row whose log-odds t may move by δ may move its score by

    up = ψ(t + δ) − ψ(t)   and   down = ψ(t) − ψ(t − δ),   ψ the link as a function of the log-odds,

and a leaf by the least that its rows allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from propriety.losses.composite import GRID
from propriety.losses.links import Link
from propriety.losses.point import at_log_odds

_SAME = 1e-9  # relative: what rounding alone makes of a bound that is the same for all scores
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reach:
    """How far scores may move down and up, by the score: tabulated, or one number for all.

    Examples
    --------
    >>> from propriety import links
    >>> Reach.of_link(links.Logit(0.5), 3.0).constant
    1.5
    >>> down, up = Reach.of_link(links.Identity(), 1.0).within(np.array([0.1]), np.array([0.5]))
    >>> down.round(3), up.round(3)
    (array([0.061]), array([0.132]))
    """

    scores: Floats
    down: Floats
    up: Floats

    @classmethod
    def of_size(cls, size: float) -> Reach:
        """The same for all scores."""
        return cls(np.zeros(1), np.array([size]), np.array([size]))

    @classmethod
    @lru_cache(maxsize=64)  # each model of a fold asks anew
    def of_link(cls, link: Link, delta: float) -> Reach:
        """At most `delta` in log-odds, for scores of this link."""
        with np.errstate(all="ignore"):
            below, scores, above = (_scores(link, GRID + shift) for shift in (-delta, 0.0, delta))
            down, up = scores - below, above - scores
        # At the ends of a link of bounded range, scores are too near to each other for their differences.
        good = (down > 0) & (up > 0) & np.isfinite(down) & np.isfinite(up)
        good &= np.diff(scores, prepend=-np.inf) > 0
        scores, down, up = scores[good], down[good], up[good]
        if max(np.ptp(down), np.ptp(up)) <= _SAME * up[0]:
            middle = _scores(link, np.array([0.0, delta]))
            return cls.of_size(float(middle[1] - middle[0]))
        return cls(scores, down, up)

    @property
    def constant(self) -> float | None:
        """The bound, if it is the same for all scores."""
        return float(self.up[0]) if len(self.up) == 1 else None

    def at(self, scores: Floats) -> tuple[Floats, Floats]:
        """How far each score may move, down and up."""
        return np.interp(scores, self.scores, self.down), np.interp(scores, self.scores, self.up)

    def within(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """What all scores from `low` to `high` allow, down and up."""
        first, last = np.searchsorted(self.scores, low), np.searchsorted(self.scores, high, side="right")
        between = [
            [table[a:b].min(initial=np.inf) for a, b in zip(first, last, strict=True)]
            for table in (self.down, self.up)
        ]
        down, up = (np.minimum(a, b) for a, b in zip(self.at(low), self.at(high), strict=True))
        return np.minimum(down, between[0]), np.minimum(up, between[1])


def _scores(link: Link, log_odds: Floats) -> Floats:
    point = at_log_odds(log_odds)
    return np.asarray(link(point.p, point.q))
