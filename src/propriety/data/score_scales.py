"""On which scale ready scores are: probabilities, log-odds, or points of a scorecard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PROBABILITY, LOG_ODDS, POINTS = "probability", "log-odds", "points"
_FORM = f"{PROBABILITY}, {LOG_ODDS}, {POINTS}, or {POINTS}:600,50,20"


@dataclass(frozen=True)
class ScoreScale:
    """What a score says of the positive class.

    Points are those of a scorecard: `base_points` where the odds against the positive class are `base_odds`,
    and `pdo` more where these odds are twice as large; negative where more points speak for the class.

    Examples
    --------
    >>> ScoreScale.read("points").probability(np.array([600.0, 620.0])).round(4)
    array([0.0196, 0.0099])
    >>> ScoreScale.read("points:500,1,-40").log_odds(np.array([520.0, 540.0])).round(3)
    array([0.347, 0.693])
    """

    name: str = PROBABILITY
    base_points: float = 600.0
    base_odds: float = 50.0
    pdo: float = 20.0

    @classmethod
    def read(cls, text: str) -> ScoreScale:
        """From its name; of points perhaps with base points, base odds and the points that double them."""
        name, given, numbers = str(text).partition(":")
        try:
            values = tuple(float(part) for part in numbers.split(",")) if given else ()
        except ValueError:
            values = (np.nan,)
        known = name in (PROBABILITY, LOG_ODDS, POINTS) and not (given and name != POINTS)
        if not known or (given and (len(values) != 3 or not np.all(np.isfinite(values)))):
            raise ValueError(f"must be {_FORM}, got {text!r}")
        scale = cls(name, *values)
        if not scale.base_odds > 0 or scale.pdo == 0:
            raise ValueError(f"must have base odds above 0, and points that double them, not 0, got {text}")
        return scale

    def log_odds(self, values: Floats) -> Floats:
        """Of the positive class."""
        if self.name == LOG_ODDS:
            return values
        if self.name == PROBABILITY:
            return np.log(values) - np.log1p(-values)
        return -np.log(self.base_odds) - (values - self.base_points) / self.pdo * np.log(2)

    def probability(self, values: Floats) -> Floats:
        """Of the positive class."""
        if self.name == PROBABILITY:
            return values
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-self.log_odds(values)))


def look_like_probabilities(values: Floats) -> bool:
    """Whether all values lie between 0 and 1, as probabilities do and log-odds hardly ever.

    >>> look_like_probabilities(np.array([0.1, 0.8])), look_like_probabilities(np.array([0.1, -0.8]))
    (True, False)
    """
    return bool(np.all((values >= 0) & (values <= 1)))
